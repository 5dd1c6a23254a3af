"""From a request to a release: ``build-react``. The method is :func:`.find_pairs.find_pairs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cgbench.benchmark.build.react.build_plan import Plan, plan_build
from cgbench.benchmark.build.react.ensemble_measures import check_ensembles
from cgbench.benchmark.build.react.find_candidates import open_lm
from cgbench.benchmark.build.react.find_pairs import find_pairs
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.benchmark.build.react.write_release import write_release
from cgbench.benchmark.candidates.division import publish_division
from cgbench.benchmark.candidates.table import read_difficulty
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import find_work, keep_private
from cgbench.engines import Engine
from cgbench.errors import check_installed, warn
from cgbench.locks import locked
from cgbench.models.training.ensemble_training import check_beside, warn_of_length
from cgbench.progress import numbered_steps
from cgbench.request import accepts
from cgbench.steps import STEPS, Workspace

TEXTS = "texts"  # in the workspace: lists of sentences, the two sides of a divided corpus


@accepts(BuildRequest)
def build_react(request: BuildRequest) -> Release:
    """Build a release, or resume a build: finished steps are kept.

    One ``corpus`` is divided into a training corpus and a pool; the training side is for the
    systems to be tested, and is in ``OUT.work/corpus``.

    A corpus is one file with both sides (TSV, JSON lines, Parquet), two plain files, ``(source,
    target)``, or two lists of sentences.

    :returns: the release in ``out``; if the build stops early, it contains the candidates.
    :raises InputError: an input or a setting is invalid, or too few pairs are left for the
        selection.
    """
    return run_build(
        plan_build(request, texts_of(request)),
        request.execution.tasks.workers,
        request.execution.tasks.say,
    )


def run_build(plan: Plan, engine: Engine, say: Callable[[str], None] | None = None) -> Release:
    """Run the missing steps of a plan, and write the release.

    :param say: receives one line per step: why it runs or is kept.
    """
    # Nothing is written where a package is missing.
    for package in ("numba", "pyarrow"):
        check_installed(package)
    out, beside = plan.request.folders[0], find_work(*plan.request.folders)
    workspace = Workspace(beside / STEPS, say)
    if plan.ensemble:
        check_beside(workspace)
    with (
        locked(workspace.root / "lock", wait=False),
        numbered_steps(step.name for step in plan.steps),
    ):
        keep_private(beside)
        if plan.inputs.division:
            publish_division(plan.inputs.division, beside)
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
        check_ensembles(plan, train)
    open_lm(plan, workspace)
    pools = [pool for planned in plan.pools if (pool := planned.kept(workspace))]
    if len(pools) == len(plan.pools):
        read_difficulty(plan.inputs.difficulty, pools, plan.inputs.pools)
    return [workspace.why(step) for step in plan.steps]


def texts_of(request: BuildRequest) -> Path:
    """The folder for texts that a build writes before it runs."""
    return find_work(*request.folders) / STEPS / TEXTS


def division_lines(plan: Plan) -> list[str]:
    """The line about the division of a single corpus, if there is one."""
    division = plan.inputs.division
    return [f"corpus: {division}"] if division else []


def workspace_of(request: BuildRequest) -> Workspace:
    """The workspace with the finished steps of a build."""
    return Workspace(find_work(*request.folders) / STEPS)
