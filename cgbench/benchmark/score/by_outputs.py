"""Which pieces come out, judged by the outputs of the system alone: :mod:`~cgbench.benchmark.parts.own_translations` on
a folder of ``cgbench parts --side source``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.parts.folder import PartsFolder, Place
from cgbench.benchmark.parts.own_translations import judge_outputs
from cgbench.benchmark.score.residual import Outcomes, Parts, parts_of_folder
from cgbench.text.plain_text import words_of


def source_parts(folder: PartsFolder, rows: Sequence[Sequence[Place]]) -> Parts:
    """The pieces of rows and probes, with the lengths of their sources."""
    lengths, probe_lengths = (
        np.array(list(map(len, sources)), np.int64) for sources in (folder.words_of_rows(rows), _probe_words(folder))
    )
    return parts_of_folder(folder, rows, lengths, probe_lengths, False)


def judge_run(
    folder: PartsFolder, rows: Sequence[Sequence[Place]], parts: Parts, outputs: tuple[Sequence[str], Sequence[str]]
) -> Outcomes:
    """What came out in one run. ``outputs``: those for the probes and for the rows."""
    judged = judge_outputs(
        [piece.text.split(" ") for piece in folder.pieces],
        (_probe_words(folder), folder.words_of_rows(rows)),
        outputs,
        (parts.probes.piece, parts.probes.sentence),
        (parts.rows.piece, parts.rows.sentence),
    )
    return Outcomes(judged.probes, judged.rows, judged.folds, judged.chance)


def left_out(folder: PartsFolder, parts: Parts) -> list[str]:
    """Warnings about test rows that are never given: of other lengths than probes, or with a piece without a probe."""
    lines, rows = [], len(parts.length)
    if outside := int((~parts.in_span).sum()):
        lines.append(
            f"{rows - outside:,} of {rows:,} test pairs are as long as probes "
            f"({parts.span[0]} to {parts.span[1]} words); the other {outside:,} count as not given"
        )
    if untested := folder.untested:
        lines.append(
            f"{untested:,} of {rows:,} test pairs with a piece without a probe (or without pieces) count as not given"
        )
    return lines


def by_chance(outcomes: Sequence[Sequence[Outcomes]]) -> str:
    """A warning: how often pieces come out by chance, for each system."""
    chances = [100 * float(np.mean([run.chance for run in runs])) for runs in outcomes]
    return (
        f"pieces come out of outputs for other test pairs in {' / '.join(f'{chance:.0f}%' for chance in chances)} "
        "of cases, by chance; errors are corrected for this"
    )


def _probe_words(folder: PartsFolder) -> list[list[str]]:
    return [words_of(source) for source, _ in folder.normalised]
