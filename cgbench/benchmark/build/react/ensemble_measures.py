"""What the ensemble tells: the uncertainty of candidates, the quality of its translations, and how
hard the sets are for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.build.react.build_texts import Build
from cgbench.benchmark.candidates.ensemble_quality import QUALITY, control_step, measure_quality
from cgbench.benchmark.candidates.hardness import chrf_gap, chrf_statistics
from cgbench.benchmark.candidates.matching import MatchedControl
from cgbench.benchmark.candidates.table import with_columns
from cgbench.benchmark.candidates.uncertainty import (
    candidate_lines,
    check_reverse,
    read_uncertainty,
    reverse_of_candidates,
    shard_needs,
    translate_sources,
    uncertainty_of_candidates,
)
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import chrf_and_bleu
from cgbench.engines import saying_where
from cgbench.files import read_json, write_json
from cgbench.models.checkpoints import member_folders
from cgbench.models.external.token_space import Measurement, measure_in_token_space
from cgbench.models.training.ensemble_training import (
    check_trained_on,
    publish_beside,
    train_members,
)
from cgbench.models.training.held_out import PARTS, texts_in
from cgbench.text.corpus import ParallelText

STATISTICS = "chrf.npy"


def measure_uncertainty(
    build: Build, candidates: Path, table: Any
) -> tuple[Any, dict[str, Any] | None]:
    """The table with hypotheses and uncertainties, and the quality of the ensemble (None if the
    build stops before).

    That the ensemble translates at all is checked, which is not in the paper.
    """
    plan, workspace = build.plan, build.workspace
    if not (plan.uncertainty and plan.quality):
        return table, None
    # The members translate the candidates.
    members = _members(build)
    with saying_where(build.engine, "uncertainty", workspace.say):
        uncertainty = workspace.run(
            plan.uncertainty,
            lambda out: _measure(out, build, members, candidates),
            resumable=True,
        )
    measures = read_uncertainty(uncertainty)
    # How good are the translations, and those of pairs that training has held out?
    held_out = None
    if plan.ensemble and plan.ensemble.held_out:
        held_out = texts_in(workspace.result(plan.ensemble.held_out), PARTS[1])

    def check_quality(out: Path) -> None:
        measure_quality(
            out,
            measures,
            candidate_lines(candidates, original=plan.inputs.reads_originals),
            members=members,
            train=(build.train.source.path, build.train.target.path),
            train_lines=build.train.lines,
            held_out=held_out,
            search=build.request.ensemble_options.search,
            device=plan.device,
            engine=build.engine,
            scores=chrf_and_bleu,
        )

    quality = read_json(workspace.run(plan.quality, check_quality) / QUALITY)
    return with_columns(table, measures), quality


def measure_reverse(build: Build, candidates: Path, table: Any) -> Any:
    """The table with the scores of the reverse-direction ensemble, if there is one."""
    plan = build.plan
    if not plan.reverse:
        return table
    assert plan.inputs.reverse is not None
    members = member_folders(plan.inputs.reverse)
    scores = build.workspace.run(
        plan.reverse,
        lambda out: reverse_of_candidates(
            members, candidates, out, device=plan.device, engine=build.engine
        ),
        resumable=True,
    )
    return with_columns(table, read_uncertainty(scores))


def score_sets(
    build: Build,
    candidates: Path,
    table: Any,
    selected: Sequence[int],
    control: MatchedControl | None,
    quality: dict[str, Any] | None,
) -> dict[str, Any] | None:
    """``quality`` with chrF and BLEU of the ensemble on the test set and on the control set.

    External models may cost money, so they do not translate the control set.
    """
    if quality is None:
        return None
    _, references = candidate_lines(candidates, original=build.plan.inputs.reads_originals)
    hypotheses = table["hypothesis"].to_pylist()
    test = [hypotheses[row] for row in selected], [references[row] for row in selected]
    sets = {"test": {"pairs": len(selected), **chrf_and_bleu(*test)}}
    if control and control.sources and not build.plan.inputs.members:
        sets["control"], statistics = _score_control(build, control)
        gap = chrf_gap(chrf_statistics(*test), statistics, build.request.seed)
        sets["harder_by"] = gap
    return {**quality, **sets}


def _score_control(build: Build, control: MatchedControl) -> tuple[dict[str, Any], np.ndarray]:
    """chrF and BLEU of the ensemble on the control set, and the statistics of chrF."""
    plan = build.plan
    assert plan.uncertainty and (plan.ensemble or plan.inputs.ensemble)
    if plan.ensemble:
        members = [build.workspace.result(step) for step in plan.ensemble.members]
    elif plan.inputs.ensemble:
        members = member_folders(plan.inputs.ensemble)
    search = build.request.ensemble_options.search
    step = control_step(plan.uncertainty, control.sources, control.targets)

    def translate(out: Path) -> None:
        tasks = [(members, control.sources, plan.device, search)]
        for hypotheses in build.engine.run(translate_sources, tasks, shard_needs(plan.device)):
            scores = chrf_and_bleu(hypotheses, control.targets)
            write_json(out / QUALITY, {"pairs": len(hypotheses), **scores})
            statistics = chrf_statistics(hypotheses, control.targets)
            np.save(out / STATISTICS, statistics, allow_pickle=False)

    folder = build.workspace.run(step, translate)
    scores: dict[str, Any] = read_json(folder / QUALITY)
    return scores, np.load(folder / STATISTICS, allow_pickle=False)


def check_ensembles(plan: Plan, train: ParallelText) -> None:
    """Check that the user's ensembles were trained on the training text."""
    if plan.inputs.ensemble and plan.uncertainty:
        check_trained_on(plan.inputs.ensemble, train)
    if plan.inputs.reverse and plan.reverse:
        check_reverse(plan.inputs.reverse, train)


def _members(build: Build) -> list[Path]:
    """The folders of the ensemble's members, trained and published first if needed; empty for
    external models.
    """
    plan, workspace = build.plan, build.workspace
    if plan.inputs.ensemble:
        return member_folders(plan.inputs.ensemble)
    if plan.ensemble is None:
        return []
    members = train_members(workspace, plan.ensemble, build.train, None, build.engine)
    publish_beside(workspace, members)
    return members


def _measure(out: Path, build: Build, members: Sequence[Path], candidates: Path) -> None:
    """Write hypotheses and uncertainties of the candidates, by external models or the members."""
    plan = build.plan
    search = build.request.ensemble_options.search
    if plan.inputs.members:
        sources, targets = candidate_lines(candidates, original=plan.inputs.reads_originals)
        measurement = Measurement(plan.inputs.members, sources, None, targets, plan.device, search)
        measure_in_token_space(measurement, out, build.engine)
    else:
        uncertainty_of_candidates(
            members, candidates, out, device=plan.device, engine=build.engine, search=search
        )
