"""The test set and the control set, drawn from the measured candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.build.react.build_texts import Build
from cgbench.benchmark.build.react.control import draw_control
from cgbench.benchmark.candidates.cut import scan_parts
from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.matching import MatchedControl
from cgbench.benchmark.candidates.noise_share import choose_cut, noise_text, with_cut
from cgbench.benchmark.candidates.selection import select_rows, selection_sizes
from cgbench.benchmark.candidates.strata import OWN_SCORE, draw_columns
from cgbench.benchmark.candidates.table import vocabularies_of
from cgbench.benchmark.candidates.uncertainty import candidate_lines
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import sentence_chrf
from cgbench.text.normalisation import SIDES


@dataclass(frozen=True)
class Draw:
    """Which candidates the test set is drawn from, and which are drawn."""

    columns: dict[str, Any]
    """Columns for the table of candidates: ``rank``, ``stage``, probabilities of the draw."""
    noise: dict[str, Any] | None
    """The estimated share of noise, with the cut chosen for it."""

    @property
    def selected(self) -> list[int]:
        """The rows of the test set."""
        return [row for row, stage in enumerate(self.columns["stage"]) if stage == "selected"]


def draw_test_set(
    build: Build, candidates: Path, table: Any, quality: dict[str, Any] | None
) -> Draw:
    """Drop the least likely references (not in the paper) and the most uncertain candidates, which
    are mostly noise, and draw at random from the next.
    """
    config, rows = build.request.as_dict(), table.to_pydict()
    drawing = build.request.drawing
    # How many, and by which measure the noise is dropped.
    noise = choose_cut(rows, config, quality)
    if noise:
        build.workspace.say(f"selection: {noise_text(noise, config, table.num_rows)}")
    chosen = with_cut(config, noise)
    sizes = selection_sizes(chosen, table.num_rows)
    ranks, stages = select_rows(rows, chosen, sizes)
    columns: dict[str, Any] = {"rank": ranks, "stage": stages}
    # The ensemble's own score allocates a stratified sample (Neyman).
    if drawing.design == "stratified" and drawing.allocation == "neyman":
        _, targets = candidate_lines(candidates, original=build.plan.inputs.reads_originals)
        columns[OWN_SCORE] = sentence_chrf(rows["hypothesis"], targets)
    # The probability of each draw, and a stratified sample of all candidates if there is to be one.
    columns |= draw_columns({**rows, **columns}, config, sizes)
    return Draw(columns, noise)


def draw_matched_control(
    build: Build,
    candidates: Path,
    scans: Sequence[Path],
    ngrams: Path,
    table: Any,
    selected: Sequence[int],
) -> MatchedControl:
    """Draw a control set matched to the test set: the rows ``selected`` of the candidates."""
    test = {
        name: table[name].to_numpy()[selected]
        for name in ("pool", "source_length", "target_length")
    }
    test["pool"] = test["pool"] - 1  # as the scans count
    source, target = (
        (candidates / f"candidates.{side}").read_bytes().split(b"\n") for side in SIDES
    )
    control = draw_control(
        scan_parts(scans),
        build.pools,
        test,
        ([source[row] for row in selected], [target[row] for row in selected]),
        vocabularies_of(ngrams, build.request.filters.degree_side),
        seed=build.request.seed,
        bounds=build.bounds,
        seen=build.seen,
    )
    if build.request.drawing.document is None:
        return control
    documents = build.documents(control.rows["pool"] + 1, control.rows["line"] + 1)
    return replace(control, rows=control.rows | {DOCUMENT: np.array(documents, object)})
