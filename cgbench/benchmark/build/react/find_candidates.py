"""From a pool to candidates: scans, the cut to the highest degrees, and what is known of candidates
without the ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.build.react.build_texts import Build
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.cut import count_lengths, cut, scan_parts
from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.pool_scan import scan_with
from cgbench.benchmark.candidates.table import DIFFICULTY, candidate_table, with_columns
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.engines import saying_where
from cgbench.files import read_json, write_atomic, write_json
from cgbench.lm.language_model import LanguageModel
from cgbench.steps import Workspace
from cgbench.text.arrow_tables import arrays_of
from cgbench.text.corpus import ParallelText
from cgbench.text.normalisation import SIDES


def scan_pools(build: Build, ngrams: Path) -> tuple[Path, ...]:
    """Filter the pairs of each corpus of the pool, and measure their degree; returns the scans."""
    filters = build.request.filters
    sides = filters.degree_side, filters.filter_sides

    def scan_pool(out: Path, index: int) -> None:
        counts = scan_with(build.engine, build.pools[index], index, ngrams, sides, out)
        write_json(out / "counts.json", counts)

    with saying_where(build.engine, "scan", build.workspace.say):
        return tuple(
            build.workspace.run(step, partial(scan_pool, index=index), resumable=True)
            for index, step in enumerate(build.plan.scans)
        )


def describe_candidates(
    build: Build,
    candidates: Path,
    ngrams: Path,
    model: LanguageModel | None,
    difficulty: Sequence[np.ndarray],
) -> Any:
    """The table of candidates, with what is known of them without the ensemble.

    :param model: scores their perplexity, if that is not done yet.
    :param difficulty: of every pair of each corpus of the pool; empty if unknown.
    """
    plan = build.plan
    perplexity = None
    if plan.perplexity:
        perplexity = build.workspace.run(
            plan.perplexity, lambda out: _score(out, plan, model, candidates)
        )
    degree_side = build.request.filters.degree_side
    table = candidate_table(candidates, build.pools, perplexity, ngrams, degree_side)
    pool, line = arrays_of(table, ("pool", "pool_line")).values()
    if difficulty:
        values = [difficulty[i - 1][j - 1] for i, j in zip(pool, line, strict=True)]
        table = with_columns(table, {DIFFICULTY: list(map(float, values))})
    if build.request.drawing.document is not None:
        table = with_columns(table, {DOCUMENT: build.documents(pool, line)})
    return table


def write_candidates(out: Path, build: Build, scans: Sequence[Path]) -> None:
    """Write the candidates, and their original text, into the folder ``out``."""
    request, bounds = build.request, build.bounds
    lengths = count_lengths([read_json(scan / "counts.json")["lengths"] for scan in scans], bounds)
    size = resolve_amount("candidates", request.filters.candidates, lengths["within_length"])
    candidates = cut(
        scan_parts(scans),
        build.pools,
        size=size,
        bounds=bounds,
        seed=request.seed,
        seen=build.seen,
    )
    replace(candidates, counts={**lengths, **candidates.counts}).save(out)
    originals = original_pairs(
        build.plan.inputs.pools,
        build.pools,
        candidates.rows,
        candidates.sides,
        build.plan.train.normalisation,
    )
    for side, lines in zip(SIDES, originals, strict=True):
        write_atomic(out / f"originals.{side}", "".join(line + "\n" for line in lines))


def counts_of(
    pools: Sequence[ParallelText], scans: Sequence[Path], candidates: Path
) -> dict[str, int]:
    """The number of pairs left at each stage, up to the candidates."""
    counts = [read_json(scan / "counts.json") for scan in scans]
    return {
        "pool": sum(pool.lines for pool in pools),
        "empty": sum(count["empty"] for count in counts),
        "rare_word": sum(count["rare"] for count in counts),
        **read_json(candidates / "counts.json"),
    }


def open_lm(plan: Plan, workspace: Workspace) -> LanguageModel | None:
    """The language model if it is needed to score the candidates, so that a bad file fails before
    the scan.
    """
    if plan.perplexity is None or workspace.done(plan.perplexity):
        return None
    assert plan.inputs.lm is not None
    return LanguageModel.load(plan.inputs.lm)


def _score(out: Path, plan: Plan, model: LanguageModel | None, candidates: Path) -> None:
    assert model is not None and plan.perplexity is not None
    lines = candidate_lines(candidates)[SIDES.index(plan.perplexity.config["side"])]
    np.save(out / "perplexity.npy", model.perplexity(lines), allow_pickle=False)
