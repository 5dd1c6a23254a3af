"""Everything ``cgbench validate`` says of a release, as one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.arguments import check_choice, check_whole
from cgbench.benchmark.candidates.correlations import Correlation
from cgbench.benchmark.metrics.evaluate import make_metric
from cgbench.benchmark.metrics.evaluation import System
from cgbench.benchmark.metrics.inputs import Runs, read_systems
from cgbench.benchmark.metrics.significance import SAMPLES, SEED
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.validity.members import Draws, candidate_texts, draw_members
from cgbench.benchmark.validity.overlap import Overlap, overlaps, select_alike
from cgbench.benchmark.validity.ranking import (
    FEWEST_SYSTEMS,
    OwnFamily,
    Ranking,
    Scores,
    own_family,
    rank,
    score_parts,
)
from cgbench.errors import InputError, argument
from cgbench.models.devices import choose_device
from cgbench.text.inputs import AnyPath

METRICS = ("bleu", "chrf", "ter", "exact")
DRAWN_FROM = 1000  # candidates that drawn ensembles score


@dataclass(frozen=True)
class Scored:
    """Systems on parts of the candidates, or on the test set and the control set.

    ``whole``: the part that the others are compared with; ``rankings`` by part; ``own``: what each family loses on the
    part that its own kind selected, beyond what the others lose there.
    """

    metric: str
    signature: str
    lower_is_better: bool
    whole: str
    scores: Scores
    rankings: dict[str, Ranking]
    own: tuple[OwnFamily, ...]
    families: tuple[str | None, ...]


@dataclass(frozen=True)
class Validity:
    """What is known of a release: how its figures go together, what other ensembles would have selected, how stable the
    selection is, and how it ranks systems. None: not asked for."""

    release: Release
    correlations: list[Correlation]
    overlaps: list[Overlap]
    draws: Draws | None
    scored: Scored | None
    notes: tuple[str, ...]

    def report(self, form: str = "text") -> str:
        """As text, or as JSON."""
        check_choice(("text", "json"), form=form)
        from cgbench.benchmark.validity.report import as_json, as_text

        return as_json(self) if form == "json" else as_text(self)


def validate(
    release: Release | AnyPath,
    systems: Mapping[str, Runs] | None = None,
    *,
    control_systems: Mapping[str, Runs] | None = None,
    name: str | None = None,
    others: Mapping[str, Release | AnyPath] | None = None,
    metric: str = "bleu",
    samples: int | None = None,
    seed: int = SEED,
    draws: int = 0,
    sample: int = DRAWN_FROM,
    device: str = "cpu",
    **options: Any,
) -> Validity:
    """Ask of a release whether it is what it claims to be.

    :param systems: hypotheses by system (files or lists; several are runs), a line a candidate in the order of
        ``candidates.parquet``; with ``control_systems``, a line a pair of the test set, and these of the control set.
    :param name: the family that selected the release, such as ``transformer``; a system is of the family that its name
        begins with, up to a ``/``.
    :param others: releases that other ensembles selected from the same candidates, by family.
    :param metric: ``bleu``, ``chrf``, ``ter`` or ``exact``; ``options`` are those of the metric.
    :param samples: of the bootstrap, by default 1,000 or as many more as the pairs of systems ask for; with ``seed``.
    :param draws: ensembles of each size to draw from the members; ``sample``: candidates that they score.
    :raises InputError: the releases are not of the same candidates, files have other lengths, fewer than three systems,
        fewer than three members, or something that is needed is not here.
    """
    check_choice(METRICS, metric=metric)
    check_whole(1, samples=samples, sample=sample)
    check_whole(0, seed=seed, draws=draws)
    opened = _open(release)
    releases = {name or "release": opened, **{key: _open(one) for key, one in (others or {}).items()}}
    if len(releases) <= len(others or {}):
        raise InputError(f"{argument('others')}: {name or 'release'} is the name of the release itself; take another")
    if control_systems and not systems:
        raise InputError(f"{argument('control_systems')} goes with {argument('systems')}, those of the test set")
    notes: list[str] = []
    selected = select_alike(releases) if opened.finished else []
    if not opened.finished and (others or systems):
        opened.check_finished()
    scored = None
    if systems:
        parts, references = (
            _test_and_control(opened, systems, control_systems)
            if control_systems
            else _candidates(opened, {one.name: one.rows("selected") for one in selected})
        )
        read = _read(systems, control_systems, parts, references)
        scored = _score(
            make_metric(metric, [[reference] for reference in references], **options),
            *(read, parts, list(releases)),
            samples=samples or SAMPLES["bootstrap"],
            seed=seed,
        )
        notes += _cautions(scored)
    return Validity(
        release=opened,
        correlations=opened.correlations(),
        overlaps=overlaps(selected),
        draws=draw_members(opened, draws=draws, sample=sample, seed=seed, device=choose_device(device))
        if draws
        else None,
        scored=scored,
        notes=tuple(notes),
    )


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
            f"{argument('control_systems')}: {lacking[0]} has hypotheses of one of test set and control set alone"
        )
    test, other = release.lines("target"), release.control_lines("target")
    return {"test": np.arange(len(test)), "control": np.arange(len(test), len(test) + len(other))}, [*test, *other]


def _read(
    systems: Mapping[str, Runs], control: Mapping[str, Runs] | None, parts: Parts, references: list[str]
) -> list[System]:
    if len(systems) < FEWEST_SYSTEMS:
        raise InputError(
            f"{argument('systems')}: {len(systems)} system{'s' * (len(systems) > 1)}, and {FEWEST_SYSTEMS} are needed: "
            "the order of fewer says nothing of a ranking"
        )
    if not control:
        return read_systems(systems, len(references), "the candidates")
    test = read_systems(systems, len(parts["test"]), "the test set")
    other = {one.name: one for one in read_systems(control, len(parts["control"]), "the control set")}
    for one in test:
        if len(one.runs) != len(other[one.name].runs):
            raise InputError(
                f"{argument('control_systems')}: {one.name} has {len(other[one.name].runs)} runs, and {len(one.runs)} "
                "of the test set; give the same"
            )
    return [
        System(one.name, tuple([*a, *b] for a, b in zip(one.runs, other[one.name].runs, strict=True))) for one in test
    ]


def _score(metric: Any, systems: list[System], parts: Parts, families: list[str], *, samples: int, seed: int) -> Scored:
    whole = list(parts)[-1]
    scores = score_parts(metric, {one.name: one.runs for one in systems}, parts, samples=samples, seed=seed)
    lower = metric.lower_is_better
    of = tuple(next((f for f in families if one.name.split("/")[0] == f), None) for one in systems)
    own = {name: name for name in families if name in parts}
    return Scored(
        metric=metric.name,
        signature=str(metric.signature()),
        lower_is_better=lower,
        whole=whole,
        scores=scores,
        rankings={part: rank(scores, part, whole, lower) for part in parts if part != whole},
        own=tuple(own_family(scores, own, of, whole, lower)),
        families=of,
    )


def _cautions(scored: Scored) -> list[str]:
    systems = len(scored.scores.systems)
    notes = []
    if systems < 6:
        best = min((one.chance for one in scored.rankings.values() if one.chance is not None), default=None)
        said = "" if best is None else f"; a random order would reach the highest tau here with p = {best:.2g}"
        notes.append(f"{systems} systems are few: tau has {systems * (systems - 1) // 2} pairs{said}")
    for part, size in scored.scores.sizes.items():
        if size < 200:
            notes.append(f"{part} has {size:,} pairs: intervals are wide, and percentile intervals a little too narrow")
    if len(scored.own) and any(scored.families.count(one.family) < 2 for one in scored.own):
        notes.append("one system a family: what its own set costs a family is that of one training run")
    return notes
