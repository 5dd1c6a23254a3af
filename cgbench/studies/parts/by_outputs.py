"""Which pieces come out, judged by the outputs of the system alone:
:mod:`~cgbench.studies.parts.own_translations` on a folder of ``cgbench parts --side source``."""

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.studies.parts.folder import PartsFolder, Place
from cgbench.studies.parts.gate import Parts, gate_of, parts_of_folder
from cgbench.studies.parts.own_translations import Outcomes, judge_outputs
from cgbench.studies.parts.residual import LEAST_VISIBLE
from cgbench.text.plain_text import words_of


def source_parts(folder: PartsFolder, rows: Sequence[Sequence[Place]]) -> Parts:
    """The pieces of rows and probes, with the lengths of their sources."""
    lengths, probe_lengths = (
        np.array(list(map(len, sources)), np.int64)
        for sources in (folder.words_of_rows(rows), _probe_words(folder))
    )
    return parts_of_folder(folder, rows, lengths, probe_lengths, False)


def judge_run(
    folder: PartsFolder,
    rows: Sequence[Sequence[Place]],
    parts: Parts,
    outputs: tuple[Sequence[str], Sequence[str]],
) -> Outcomes:
    """What came out in one run. ``outputs``: those for the probes and for the rows."""
    pieces = [piece.text.split(" ") for piece in folder.pieces]
    sources = _probe_words(folder), folder.words_of_rows(rows)
    return judge_outputs(pieces, sources, outputs, parts.probes, parts.rows)


def judge_systems(
    folder: PartsFolder,
    rows: Sequence[Sequence[Place]],
    systems: Sequence[System],
    probe_systems: Sequence[System],
) -> tuple[Parts, tuple[tuple[Outcomes, ...], ...]]:
    """The pieces of rows and of probes, and what came out in each run of each system.

    :param systems: their outputs for the rows; ``probe_systems``: for the probes, in the same
        order.
    """
    parts = source_parts(folder, rows)
    outcomes = tuple(
        tuple(
            judge_run(folder, rows, parts, outputs)
            for outputs in zip(on_probes.runs, system.runs, strict=True)
        )
        for on_probes, system in zip(probe_systems, systems, strict=True)
    )
    return parts, outcomes


def left_out(folder: PartsFolder, parts: Parts) -> list[str]:
    """Warnings about test rows that are never given: of other lengths than probes, or with a piece
    without a probe.
    """
    lines, rows = [], len(parts.length)
    if outside := int((~parts.in_span).sum()):
        lines.append(
            f"{rows - outside:,} of {rows:,} test pairs are as long as probes "
            f"({parts.span[0]} to {parts.span[1]} words); the other {outside:,} count as not given"
        )
    if untested := folder.untested:
        lines.append(
            f"{untested:,} of {rows:,} test pairs with a piece without a probe (or without pieces)"
            " count as not given"
        )
    return lines


def by_chance(outcomes: Sequence[Sequence[Outcomes]]) -> str:
    """A warning: how often pieces come out by chance, for each system."""
    chances = [100 * float(np.mean([run.chance for run in runs])) for runs in outcomes]
    return (
        "pieces come out of outputs for other test pairs in"
        f" {' / '.join(f'{chance:.0f}%' for chance in chances)} of cases, by chance; errors are"
        " corrected for this"
    )


def no_residual(
    system: str, parts: Parts, runs: Sequence[Outcomes], least: int, given_count: float
) -> str:
    """Why a system has no residual composition error."""
    if not given_count:
        known = 100 * np.mean([gate_of(parts, run.probes, least).known for run in runs])
        return (
            f"{system}: no pair is given, so there is no residual composition error: it knows"
            f" {known:.0f}% of the pieces, and a test pair has"
            f" {len(parts.rows.piece) / max(len(parts.length), 1):.1f} on average"
        )
    if any(
        run.chance is not None and float(np.mean(run.chance)) >= 1 - LEAST_VISIBLE for run in runs
    ):
        return (
            f"{system}: nearly every piece comes out of outputs for other test pairs, so outputs"
            " alone cannot show an error; judge them by references"
        )
    return f"{system}: too few known pieces have a second probe, so no error can be predicted"


def _probe_words(folder: PartsFolder) -> list[list[str]]:
    return [words_of(source) for source, _ in folder.normalised]
