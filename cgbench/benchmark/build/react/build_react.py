"""Build a benchmark of compositional generalisation from real text, by ReaCT's method.

Zheng and Lapata, "Real-World Compositional Generalization with Disentangled Sequence-to-Sequence
Learning" (Findings of ACL 2023), section 4: drop pairs with rare words; compute each pair's
compositional degree from the known n-grams of the training corpus; keep the pairs of the highest
degree; translate them with an ensemble and measure its knowledge uncertainty; drop the most
uncertain, draw from the next. :func:`find_pairs` implements these steps; :func:`build_react` goes
from a request to a release.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.build.react.build_plan import Built, Plan, plan_build
from cgbench.benchmark.build.react.checks import check_enough, size_warnings
from cgbench.benchmark.build.react.control import draw_control
from cgbench.benchmark.build.react.known_words import learn_known
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.build.react.write_release import write_release
from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.cut import Bounds, count_lengths, cut, scan_parts
from cgbench.benchmark.candidates.documents import DOCUMENT, documents_of
from cgbench.benchmark.candidates.ensemble_quality import QUALITY, measure_quality, warning_of
from cgbench.benchmark.candidates.noise_share import choose_cut, noise_text
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.pair_measures import pair_measures
from cgbench.benchmark.candidates.scan import scan_with
from cgbench.benchmark.candidates.selection import select_rows, selection_sizes
from cgbench.benchmark.candidates.strata import OWN_SCORE, draw_columns
from cgbench.benchmark.candidates.table import (
    DIFFICULTY,
    candidate_table,
    read_difficulty,
    vocabularies_of,
    with_columns,
)
from cgbench.benchmark.candidates.uncertainty import (
    candidate_lines,
    check_reverse,
    read_uncertainty,
    reverse_of_candidates,
    uncertainty_of_candidates,
)
from cgbench.benchmark.measure.metrics.bleu import chrf_and_bleu, sentence_chrf
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import find_work, keep_private
from cgbench.engines import Engine, Local, saying_where
from cgbench.errors import warn
from cgbench.files import read_json, write_atomic, write_json
from cgbench.lm.language_model import LanguageModel
from cgbench.locks import locked
from cgbench.models.checkpoints import member_folders
from cgbench.models.external.token_space import Measurement, measure_in_token_space
from cgbench.models.training.ensemble_training import (
    check_beside,
    check_trained_on,
    publish_beside,
    train_members,
    warn_of_length,
)
from cgbench.models.training.held_out import PARTS, texts_in
from cgbench.progress import numbered_steps
from cgbench.requests import accepts
from cgbench.steps import STEPS, Workspace
from cgbench.text.corpus import ParallelText
from cgbench.text.normalisation import SIDES

TEXTS = "texts"  # in the workspace: corpora that were passed as lists of sentences


@accepts(BuildRequest)
def build_react(request: BuildRequest) -> Release:
    """Build a release, or resume a build: finished steps are kept.

    A corpus is one file with both sides (TSV, JSON lines, Parquet), two plain files, ``(source,
    target)``, or two lists of sentences.

    :returns: the release in ``out``; if the build stops early, it contains the candidates.
    :raises InputError: an input or a setting is invalid, or too few pairs are left for the
        selection.
    """
    texts = find_work(*request.folders) / STEPS / TEXTS
    return run_build(
        plan_build(request, texts),
        request.execution.engine or Local(request.execution.jobs),
        request.execution.say,
    )


def run_build(plan: Plan, engine: Engine, say: Callable[[str], None] | None = None) -> Release:
    """Run the missing steps of a plan, and write the release.

    :param say: receives one line per step: why it runs or is kept.
    """
    out, beside = plan.request.folders[0], find_work(*plan.request.folders)
    workspace = Workspace(beside / STEPS, say)
    if plan.ensemble:
        check_beside(workspace)
    with (
        locked(workspace.root / "lock", wait=False),
        numbered_steps(step.name for step in plan.steps),
    ):
        keep_private(beside)
        built = find_pairs(plan, workspace, engine=engine)
        release = write_release(built, out, workspace)
    for warning in built.warnings:  # with the caller's paths; the manifest has file names only
        warn(warning)
    return release


def explain(plan: Plan, workspace: Workspace) -> list[str]:
    """One line per step: whether :func:`run_build` would run it, and why. Writes nothing.

    :raises InputError: as :func:`build_react`, as far as it can be known before any step runs.
    """
    if plan.ensemble:
        check_beside(workspace)
        warn_of_length(workspace, plan.ensemble)
    if train := plan.train.kept(workspace):
        _check_ensembles(plan, train)
    _open_lm(plan, workspace)
    return [workspace.why(step) for step in plan.steps]


def workspace_of(request: BuildRequest) -> Workspace:
    """The workspace with the finished steps of a build."""
    return Workspace(find_work(*request.folders) / STEPS)


def find_pairs(plan: Plan, workspace: Workspace, *, engine: Engine) -> Built:
    """The method: from a training corpus and a pool to the pairs of the benchmark.

    Finished steps are kept.
    """
    request = plan.request
    engine.share(workspace.root)
    train = plan.train.realise(workspace, engine)
    pools = tuple(pool.realise(workspace, engine) for pool in plan.pools)
    exclude = tuple(text.realise(workspace, engine) for text in plan.exclude)
    _check_ensembles(plan, train)  # fail before the expensive scan
    model = _open_lm(plan, workspace)
    difficulty = (
        read_difficulty(plan.inputs.difficulty, pools, plan.inputs.pools)
        if plan.inputs.difficulty
        else None
    )

    # Known n-grams: of any length, from the training corpus or an overlap result.
    ngrams = workspace.run(plan.ngrams, lambda out: learn_known(out, plan, train, pools))

    # Pairs with a rare word are dropped; known n-grams cover the others, which gives their degree.
    def scan_pool(out: Path, index: int) -> None:
        sides = request.filters.degree_side, request.filters.filter_sides
        write_json(out / "counts.json", scan_with(engine, pools[index], index, ngrams, sides, out))

    with saying_where(engine, "scan", workspace.say):
        scans = tuple(
            workspace.run(step, partial(scan_pool, index=index), resumable=True)
            for index, step in enumerate(plan.scans)
        )
    # Candidates: the highest degrees, without repeats and without seen text.
    filters, seen = request.filters, (train, *exclude)
    bounds = Bounds(filters.min_length, filters.max_length, filters.degree_side)
    candidates = workspace.run(
        plan.candidates, lambda out: _cut(out, plan, scans, pools, bounds, seen)
    )
    counts = _counts(pools, scans, candidates)
    check_enough(request, counts, train)
    perplexity = (
        workspace.run(plan.perplexity, lambda out: _score(out, plan, model, candidates))
        if plan.perplexity
        else None
    )
    table = candidate_table(candidates, pools, perplexity, ngrams, request.filters.degree_side)
    pool_and_line = table["pool"].to_numpy(), table["pool_line"].to_numpy()
    if difficulty:
        values = [
            float(difficulty[pool - 1][line - 1]) for pool, line in zip(*pool_and_line, strict=True)
        ]
        table = with_columns(table, {DIFFICULTY: values})
    document = request.drawing.document
    if document is not None:
        table = with_columns(
            table, {DOCUMENT: documents_of(document, plan.inputs.pools, pools, *pool_and_line)}
        )
    # The ensemble translates the candidates and measures its uncertainty.
    quality = None
    if plan.uncertainty and plan.quality:
        members = _members(plan, workspace, train, engine)
        with saying_where(engine, "uncertainty", workspace.say):
            uncertainty = workspace.run(
                plan.uncertainty,
                lambda out: _measure(out, plan, members, candidates, engine),
                resumable=True,
            )
        measures = read_uncertainty(uncertainty)
        table = with_columns(table, measures)
        # Does the ensemble translate at all? (Not in the paper.)
        held_out = (
            workspace.result(plan.ensemble.held_out)
            if plan.ensemble and plan.ensemble.held_out
            else None
        )

        def check_quality(out: Path) -> None:
            measure_quality(
                out,
                measures,
                candidate_lines(candidates, original=plan.inputs.reads_originals),
                members=members,
                train=train.target.path,
                train_lines=train.lines,
                held_out=texts_in(held_out, PARTS[1]) if held_out else None,
                search=request.ensemble_options.search,
                device=plan.device,
                engine=engine,
                scores=chrf_and_bleu,
            )

        quality = read_json(workspace.run(plan.quality, check_quality) / QUALITY)
    # The reverse-direction ensemble: how unlikely is each source given its target?
    if plan.reverse:
        assert plan.inputs.reverse is not None
        back = member_folders(plan.inputs.reverse)
        reverse = workspace.run(
            plan.reverse,
            lambda out: reverse_of_candidates(
                back, candidates, out, device=plan.device, engine=engine
            ),
            resumable=True,
        )
        table = with_columns(table, read_uncertainty(reverse))
    perplexity_of = plan.perplexity.config["side"] if plan.perplexity else None
    table = with_columns(table, pair_measures(table.to_pydict(), perplexity_of))
    noise = None
    # The least likely references (not in the paper) and the most uncertain candidates are mostly
    # noise and dropped; the benchmark is drawn at random from the next.
    if plan.request.execution.until == "release":
        config = request.as_dict()
        sizes, noise = (
            selection_sizes(config, table.num_rows),
            choose_cut(table.to_pydict(), config, quality),
        )
        if noise:
            workspace.say(f"selection: {noise_text(noise, config)}")
            config["drop_by"] = noise["cut"]
        ranks, stages = select_rows(table.to_pydict(), config, sizes)
        drawn: dict[str, Any] = {"rank": ranks, "stage": stages}
        if request.drawing.design == "stratified" and request.drawing.allocation == "neyman":
            targets = candidate_lines(candidates, original=plan.inputs.reads_originals)[1]
            drawn[OWN_SCORE] = sentence_chrf(table["hypothesis"].to_pylist(), targets)
        # The probability of each draw, and a stratified sample of all candidates if there is to be
        # one.
        drawn |= draw_columns({**table.to_pydict(), **drawn}, request.as_dict(), sizes)
        table = with_columns(table, drawn)
    # Optionally, a control set matched to the test set.
    control = None
    if plan.request.execution.until == "release" and request.drawing.control:
        chosen = [row for row, stage in enumerate(stages) if stage == "selected"]
        test = {
            name: table[name].to_numpy()[chosen]
            for name in ("pool", "source_length", "target_length")
        }
        test["pool"] = test["pool"] - 1  # as the scans count
        source, target = (
            (candidates / f"candidates.{side}").read_bytes().split(b"\n") for side in SIDES
        )
        pairs = [source[row] for row in chosen], [target[row] for row in chosen]
        words = vocabularies_of(ngrams, filters.degree_side)
        control = draw_control(
            scan_parts(scans),
            pools,
            test,
            pairs,
            words,
            seed=request.seed,
            bounds=bounds,
            seen=seen,
        )
        if document is not None:
            where = control.rows["pool"] + 1, control.rows["line"] + 1
            documents = documents_of(document, plan.inputs.pools, pools, *where)
            control = replace(control, rows=control.rows | {DOCUMENT: np.array(documents, object)})
        counts["control"] = len(control.sources)
    faults = [control.warning if control else None, warning_of(quality) if quality else None]
    warnings = [
        *(finding.text for finding in plan.findings),
        *size_warnings(request, counts),
        *filter(None, faults),
    ]
    return Built(plan, train, pools, candidates, table, counts, warnings, quality, control, noise)


def _check_ensembles(plan: Plan, train: ParallelText) -> None:
    if plan.inputs.ensemble and plan.uncertainty:
        check_trained_on(plan.inputs.ensemble, train)
    if plan.inputs.reverse and plan.reverse:
        check_reverse(plan.inputs.reverse, train)


def _cut(
    out: Path,
    plan: Plan,
    scans: Sequence[Path],
    pools: Sequence[ParallelText],
    bounds: Bounds,
    seen: Sequence[ParallelText],
) -> None:
    request = plan.request
    lengths = count_lengths([read_json(scan / "counts.json")["lengths"] for scan in scans], bounds)
    count = resolve_amount("candidates", request.filters.candidates, lengths["within_length"])
    result = cut(scan_parts(scans), pools, size=count, bounds=bounds, seed=request.seed, seen=seen)
    replace(result, counts={**lengths, **result.counts}).save(out)
    rows = result.rows
    originals = original_pairs(
        plan.inputs.pools, rows["pool"], rows["line"], plan.train.normalisation
    )
    for side, lines in zip(SIDES, originals, strict=True):
        write_atomic(out / f"originals.{side}", "".join(line + "\n" for line in lines))


def _counts(
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


def _members(plan: Plan, workspace: Workspace, train: ParallelText, engine: Engine) -> list[Path]:
    """The folders of the ensemble's members, trained and published first if needed; empty for
    external models.
    """
    if plan.inputs.ensemble:
        return member_folders(plan.inputs.ensemble)
    if plan.ensemble is None:
        return []
    members = train_members(workspace, plan.ensemble, train, None, engine)
    publish_beside(workspace, members)
    return members


def _measure(
    out: Path, plan: Plan, members: Sequence[Path], candidates: Path, engine: Engine
) -> None:
    search = plan.request.ensemble_options.search
    if plan.inputs.members:
        sources, targets = candidate_lines(candidates, original=plan.inputs.reads_originals)
        measure_in_token_space(
            Measurement(plan.inputs.members, sources, None, targets, plan.device, search),
            out,
            engine,
        )
    else:
        uncertainty_of_candidates(
            members, candidates, out, device=plan.device, engine=engine, **search
        )


def _open_lm(plan: Plan, workspace: Workspace) -> LanguageModel | None:
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
