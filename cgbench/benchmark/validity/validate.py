"""``validate()``: check the validity of a release, as ``cgbench validate`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.selection import selecting_measure
from cgbench.benchmark.comparison.design import Clusters
from cgbench.benchmark.comparison.significance import SAMPLES
from cgbench.benchmark.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.metrics.registry import make_metric
from cgbench.benchmark.outputs.systems import Runs, System, read_systems
from cgbench.benchmark.release.manifest import CONTROL, SPLIT, table_file
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.validity.agreement import agreements, select_alike
from cgbench.benchmark.validity.measures import ENSEMBLE, SystemMeasures, losses_of, measure_errors
from cgbench.benchmark.validity.members import candidate_texts, draw_members
from cgbench.benchmark.validity.ranking import FEWEST_SYSTEMS, own_family, rank, score_parts
from cgbench.benchmark.validity.request import ValidateRequest
from cgbench.benchmark.validity.result import RankedSystems, Validity
from cgbench.errors import InputError, argument
from cgbench.models.devices import choose_device
from cgbench.requests import accepts
from cgbench.text.inputs import AnyPath
from cgbench.text.joins import Examples


@accepts(ValidateRequest)
def validate(request: ValidateRequest) -> Validity:
    """Check the validity of a release.

    Hypotheses have one line per candidate, in the order of ``candidates.parquet``; with ``control_systems`` one line
    per pair of the test set, and of the control set. The family of a system is the part of its name before a ``/``.

    :raises InputError: releases have different candidates, files have wrong lengths, there are fewer than three systems
        or members, or something required is not here.
    """
    name, others, systems, control = request.name, request.others or {}, request.systems, request.control_systems
    opened = _open(request.release)
    releases = {name or "release": opened, **{key: _open(one) for key, one in others.items()}}
    if len(releases) <= len(others):
        raise InputError(f"{argument('others')}: {name or 'release'} is the name of the release itself; use another")
    if control and not systems:
        raise InputError(f"{argument('control_systems')} needs {argument('systems')}, for the test set")
    selected = select_alike(releases) if opened.finished else []
    if not opened.finished and (others or systems or request.measures):
        opened.check_finished()
    if request.measures and control:
        raise InputError(
            f"{argument('measures')} needs the hypotheses of all candidates, without {argument('control_systems')}"
        )
    measures = _measures(opened, request) if request.measures else ()
    scored = None
    if systems and not (request.measures and len(systems) < FEWEST_SYSTEMS):
        parts, references = (
            _test_and_control(opened, systems, control)
            if control
            else _candidates(opened, {one.name: one.rows("selected") for one in selected})
        )
        read = _read(opened, systems, control, parts, references)
        metric = _metric(request, references)
        clusters, samples = _clusters(opened, request), request.samples or SAMPLES["bootstrap"]
        scored = _score(metric, clusters, read, parts, list(releases), samples=samples, seed=request.seed)
    draws = None
    if request.draws:
        device = choose_device(request.device)
        draws = draw_members(opened, draws=request.draws, sample=request.sample, seed=request.seed, device=device)
    notes = tuple(_cautions(scored)) if scored else ()
    return Validity(opened, opened.correlations(), agreements(selected), draws, scored, notes, tuple(measures))


def _metric(request: ValidateRequest, references: Sequence[str]) -> Metric:
    options = {} if request.metric == "exact" else {"preset": request.preset}
    options |= {"tokenize": request.tokenize} if request.tokenize else {}
    return make_metric(request.metric, ExampleTexts([[reference] for reference in references]), options)


def _measures(release: Release, request: ValidateRequest) -> list[SystemMeasures]:
    """The measures and the errors of the ensemble, of each system, and of those of no family of the ensemble."""
    columns = release.table().to_pydict()
    references = _candidates(release, {})[1]
    metric, clusters = _metric(request, references), _clusters(release, request)
    read = _read_candidates(release, request.systems, references) if request.systems else []
    own = {ENSEMBLE: [columns["hypothesis"]]} if "hypothesis" in columns else {}
    runs = {**own, **{one.name: one.runs for one in read}}
    if not runs:
        raise InputError(f"{release.folder}: has no translations of its candidates; give {argument('systems')}")
    return measure_errors(
        columns,
        {name: losses_of(metric, of) for name, of in runs.items()},
        selecting_measure(release.configuration),
        [one.name for one in read if one.name.split("/")[0] != request.name],
        samples=request.samples or SAMPLES["bootstrap"],
        seed=request.seed,
        clusters=clusters.labels[0] if clusters else None,
    )


def _clusters(release: Release, request: ValidateRequest) -> Clusters | None:
    """The requested clusters of the examples."""
    if not request.cluster:
        return None
    names = _cluster_names(release, request.cluster, request.control_systems is not None)
    return Clusters((request.cluster,), (np.unique(names, return_inverse=True)[1],))


def _cluster_names(release: Release, name: str, control: bool) -> list[str]:
    """The source or the document of each candidate, or of each pair of the test set and then the control set."""
    if name == "source":
        return [*release.lines(name), *release.control_lines(name)] if control else candidate_texts(release)[0]
    if control:
        found = [row.get(name) for row in (*release.split(), *release.control_rows())]
    else:
        table = release.table()
        found = table[name].to_pylist() if name in table.column_names else [None]
    if None in found:
        raise InputError(f"{argument('cluster', name)}: the release does not name documents; build it with documents")
    return [str(one) for one in found]


def _open(release: Release | AnyPath) -> Release:
    return release if isinstance(release, Release) else Release.open(release)


Parts = dict[str, np.ndarray]


def _candidates(release: Release, selected: Mapping[str, np.ndarray]) -> tuple[Parts, list[str]]:
    targets = candidate_texts(release)[1]
    rows = release.table().num_rows
    if len(targets) != rows:
        raise InputError(f"{release.folder}: {len(targets):,} candidates in the workspace for {rows:,} in the table")
    return {**selected, "candidates": np.arange(rows)}, targets


def _test_and_control(
    release: Release, systems: Mapping[str, Runs], control: Mapping[str, Runs]
) -> tuple[Parts, list[str]]:
    lacking = sorted(set(systems) ^ set(control))
    if lacking:
        raise InputError(
            f"{argument('control_systems')}: {lacking[0]} needs hypotheses of both the test set and the control set"
        )
    test, other = release.lines("target"), release.control_lines("target")
    return {"test": np.arange(len(test)), "control": np.arange(len(test), len(test) + len(other))}, [*test, *other]


def _read_candidates(release: Release, systems: Mapping[str, Runs], references: Sequence[str]) -> list[System]:
    """The outputs of systems for the candidates."""
    examples = Examples.of("the candidates", {"reference": references, "source": candidate_texts(release)[0]},
                           release.path(table_file("candidates")))  # fmt: skip
    return read_systems(systems, len(references), "the candidates", examples)


def _read(
    release: Release,
    systems: Mapping[str, Runs],
    control: Mapping[str, Runs] | None,
    parts: Parts,
    references: list[str],
) -> list[System]:
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{argument('systems')}: {len(systems)} system{'s' * (len(systems) > 1)}, but a ranking needs at least "
            f"{FEWEST_SYSTEMS}"
        )
    if not control:
        return _read_candidates(release, systems, references)
    texts = {"reference": release.lines("target"), "source": release.lines("source")}
    test = read_systems(systems, len(parts["test"]), "the test set",
                        Examples.of("the test set", texts, release.folder / SPLIT))  # fmt: skip
    texts = {"reference": release.control_lines("target"), "source": release.control_lines("source")}
    other = {one.name: one for one in read_systems(
        control, len(parts["control"]), "the control set",
        Examples.of("the control set", texts, release.folder / CONTROL),
    )}  # fmt: skip
    for one in test:
        if len(one.runs) != len(other[one.name].runs):
            raise InputError(
                f"{argument('control_systems')}: {one.name} has {len(other[one.name].runs)} files for the control set "
                f"and {len(one.runs)} for the test set; give the same number"
            )
    return [
        System(one.name, tuple([*a, *b] for a, b in zip(one.runs, other[one.name].runs, strict=True))) for one in test
    ]


def _score(
    metric: Any,
    clusters: Clusters | None,
    systems: list[System],
    parts: Parts,
    families: list[str],
    *,
    samples: int,
    seed: int,
) -> RankedSystems:
    whole = list(parts)[-1]
    scores = score_parts(metric, clusters, {one.name: one.runs for one in systems}, parts, samples=samples, seed=seed)
    lower = metric.lower_is_better
    of = tuple(next((f for f in families if one.name.split("/")[0] == f), None) for one in systems)
    own = {name: name for name in families if name in parts}
    return RankedSystems(
        metric=metric.name,
        signature=str(metric.signature()),
        lower_is_better=lower,
        whole=whole,
        scores=scores,
        rankings={part: rank(scores, part, whole) for part in parts if part != whole},
        own=tuple(own_family(scores, own, of, whole, lower)),
        families=of,
    )


def _cautions(scored: RankedSystems) -> list[str]:
    systems = len(scored.scores.systems)
    notes = []
    if systems < 6:
        best = min((one.chance for one in scored.rankings.values() if one.chance is not None), default=None)
        best_p = "" if best is None else f"; a random order would reach the highest tau here with p = {best:.2g}"
        notes.append(f"{systems} systems are few: tau has {systems * (systems - 1) // 2} pairs{best_p}")
    for part, size in scored.scores.sizes.items():
        if size < 200:
            notes.append(f"{part} has {size:,} pairs: intervals are wide, and percentile intervals slightly too narrow")
    if single := [one.family for one in scored.own if scored.families.count(one.family) < 2]:
        notes.append(f"one system only in {', '.join(single)}: the disadvantage is that of a single training run")
    return notes
