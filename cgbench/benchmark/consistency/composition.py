"""The residual composition error without references: ``cgbench consistency score`` of a folder of ``cgbench parts``."""

from __future__ import annotations

import warnings

from cgbench.benchmark.consistency.request import ConsistencyRequest
from cgbench.benchmark.outputs.systems import check_same_runs, read_systems, same_systems
from cgbench.benchmark.parts.folder import PartsFolder
from cgbench.benchmark.score.by_outputs import by_chance, judge_run, left_out, no_residual, source_parts
from cgbench.benchmark.score.residual import compare_composition
from cgbench.benchmark.score.result import Evaluation
from cgbench.errors import InputError, InputWarning, argument

KNOWN = 4
"""The probes of a piece that must agree."""


def composition(request: ConsistencyRequest) -> Evaluation:
    """The residual composition error of systems by their outputs alone, for the pieces of a folder.

    :raises InputError: the folder contains pieces of another type, or outputs do not fit its rows.
    """
    folder = PartsFolder.open(request.items)
    if folder.match != "outputs":
        raise InputError(f"{folder.folder}: not for outputs alone; run cgbench parts with {argument('side', 'source')}")
    if request.probe_systems is None:
        raise InputError(f"{folder.folder}: needs the translations of its probes; give {argument('probe_systems')}")
    for name in ("cluster", "anytime", "samples"):
        if getattr(request.comparison, name):
            raise InputError(
                f"{argument(name)} has no effect on a folder: intervals leave out a piece or a sentence at a time"
            )
    systems = read_systems(request.systems, len(folder.rows), f"{folder.folder}/rows.jsonl")
    probe_outputs = same_systems("probe_systems", request.probe_systems, request.systems)
    probe_systems = read_systems(probe_outputs, len(folder.probes), f"{folder.folder}/probes.source")
    parts = source_parts(folder, folder.rows)
    outcomes = []
    for system, probes in zip(systems, probe_systems, strict=True):
        check_same_runs("probe_systems", system, probes)
        runs = [judge_run(folder, folder.rows, parts, run) for run in zip(probes.runs, system.runs, strict=True)]
        outcomes.append((system.name, runs))
    scored = compare_composition(parts, outcomes, KNOWN, request.comparison)
    lines = [*left_out(folder, parts), by_chance([runs for _, runs in outcomes])]
    for result, (name, runs) in zip(scored.results, outcomes, strict=True):
        if result.whole.figures["residual"].value is None:
            lines.append(no_residual(name, parts, runs, KNOWN, result.whole.figures["given"].value or 0.0))
    for line in lines:
        warnings.warn(InputWarning(line), stacklevel=3)
    return Evaluation(scored, tuple(systems))
