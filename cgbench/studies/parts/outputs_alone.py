"""The residual composition error by outputs alone: ``cgbench consistency score FOLDER``, for a
folder of ``cgbench parts --side source``.
"""

from itertools import cycle, islice
from typing import Any

from cgbench.argument_types import AnyPath
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.outputs.hypotheses import check_same_runs, read_systems, same_systems
from cgbench.errors import InputError, argument, warn
from cgbench.studies.parts.by_outputs import (
    by_chance,
    judge_systems,
    left_out,
    no_residual,
)
from cgbench.studies.parts.folder import PartsFolder
from cgbench.studies.parts.options import PartsOptions
from cgbench.studies.parts.residual import compare_composition
from cgbench.text.output_checks import check_outputs


def score_outputs_alone(
    items: AnyPath, outputs: Any, probe_outputs: Any, comparison: Comparison
) -> Evaluation:
    """The residual composition error of systems by their outputs alone.

    :param items: the folder. ``outputs``: of the systems for its rows; ``probe_outputs``: for its
        probes.
    :raises InputError: the folder contains pieces of another type, or outputs do not fit its rows.
    """
    folder = PartsFolder.open(items)
    if folder.match != "outputs":
        raise InputError(
            f"{folder.folder}: not for outputs alone; run cgbench parts with"
            f" {argument('side', 'source')}"
        )
    if probe_outputs is None:
        raise InputError(
            f"{folder.folder}: needs the translations of its probes; give"
            f" {argument('probe_systems')}"
        )
    for name in ("cluster", "anytime", "samples"):
        if getattr(comparison, name):
            raise InputError(
                f"{argument(name)} has no effect on a folder: intervals leave out a piece or a"
                " sentence at a time"
            )
    # Read the outputs.
    systems = read_systems(outputs, len(folder.rows), f"{folder.folder}/rows.jsonl")
    of_same_systems = same_systems("probe_systems", probe_outputs, outputs, "probes")
    probes_name = f"{folder.folder}/probes.source"
    probe_systems = read_systems(of_same_systems, len(folder.probes), probes_name)
    check_same_runs("probe_systems", probe_systems, systems, "probes")
    sources = [source for source, _ in folder.probes]
    for of_text, n in ((systems, len(folder.rows)), (probe_systems, len(sources))):
        texts = {system.name: system.runs for system in of_text}
        check_outputs(texts, list(islice(cycle(sources or [""]), n)))
    # Judge and compare.
    parts, outcomes = judge_systems(folder, folder.rows, systems, probe_systems)
    by_system = list(zip([system.name for system in systems], outcomes, strict=True))
    least = PartsOptions().known
    scored = compare_composition(parts, by_system, least, comparison)
    # Warn of what is left out and of what is not defined.
    lines = [*left_out(folder, parts), by_chance(outcomes)]
    for result, (name, runs) in zip(scored.results, by_system, strict=True):
        if result.whole.figures["residual"].value is None:
            given = result.whole.figures["given"].value or 0.0
            lines.append(no_residual(name, parts, runs, least, given))
    for line in lines:
        warn(line)
    return Evaluation(scored, tuple(systems))
