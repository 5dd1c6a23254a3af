"""The result of ``validate()``, as text or JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Correlation, correlation_table, shown
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.validity.agreement import Agreement, Common
from cgbench.benchmark.validity.measures import ENSEMBLE, OUTSIDE, SystemMeasures
from cgbench.benchmark.validity.members import Draws
from cgbench.benchmark.validity.ranking import OwnFamily, PartScores, Ranking
from cgbench.errors import InputError, argument
from cgbench.tables import render


@dataclass(frozen=True)
class RankedSystems:
    """Systems on parts of the candidates, or on the test set and the control set.

    ``whole``: the part that the others are compared with; ``rankings`` by part; ``own``: the disadvantage of each
    family on the part that its own kind selected.
    """

    metric: str
    signature: str
    lower_is_better: bool
    whole: str
    scores: PartScores
    rankings: dict[str, Ranking]
    own: tuple[OwnFamily, ...]
    families: tuple[str | None, ...]


@dataclass(frozen=True)
class Validity:
    """The validity of a release: correlations of its measures, the selections of other ensembles, the stability of the
    selection, its ranking of systems, and how its measures order errors. None or empty: not requested."""

    release: Release
    correlations: list[Correlation]
    agreements: list[Agreement]
    draws: Draws | None
    scored: RankedSystems | None
    notes: tuple[str, ...]
    measures: tuple[SystemMeasures, ...] = ()

    def report(self, form: str = "text") -> str:
        """As text, or as JSON."""
        if form not in ("text", "json"):
            raise InputError(f"{argument('form', form)}: it must be text or json")
        return _as_json(self) if form == "json" else _as_text(self)


def _as_json(found: Validity) -> str:
    return json.dumps(
        {
            "release": str(found.release.folder),
            "signature": found.release.signature,
            "correlations": [one.as_dict() for one in found.correlations],
            "overlaps": [one.as_dict() for one in found.agreements],
            "draws": dataclasses.asdict(found.draws) if found.draws else None,
            "scored": _scored_dict(found.scored) if found.scored else None,
            "measures": [dataclasses.asdict(one) for one in found.measures],
            "notes": list(found.notes),
        },
        ensure_ascii=False,
        indent=1,
    )


def _scored_dict(scored: RankedSystems) -> dict[str, Any]:
    systems = scored.scores.systems
    return {
        "metric": scored.metric,
        "signature": scored.signature,
        "whole": scored.whole,
        "parts": scored.scores.sizes,
        "systems": {
            name: {
                "family": family,
                "scores": {part: float(values[row]) for part, values in scored.scores.values.items()},
                "intervals": {part: scored.scores.intervals[part][row] for part in scored.scores.sizes},
            }
            for row, (name, family) in enumerate(zip(systems, scored.families, strict=True))
        },
        "rankings": {part: one.as_dict(systems) for part, one in scored.rankings.items()},
        "own_family": [{"family": one.family, "points": one.points, "interval": one.interval} for one in scored.own],
    }


def _as_text(found: Validity) -> str:
    parts = [found.release.signature, _correlations(found)]
    if found.agreements:
        parts.append(_agreements(found.agreements))
    if found.draws:
        parts.append(_draws(found.draws))
    if found.scored:
        parts += [_scores(found.scored), *(_ranking(part, found.scored) for part in found.scored.rankings)]
        if found.scored.own:
            parts.append(_own(found.scored))
    several = any(one.system == OUTSIDE for one in found.measures)  # a table per system is too much to read
    tables = [one for one in found.measures if not several or one.system in (ENSEMBLE, OUTSIDE)]
    parts += [one.report() for one in tables]
    if len(tables) < len(found.measures):
        parts.append("tables of single systems: --report or --format json")
    parts += [f"note: {line}" for line in found.notes]
    return "\n\n".join(parts)


def _correlations(found: Validity) -> str:
    columns, rows = correlation_table(found.correlations, str(found.release.configuration.get("uncertainty")))
    head = ("", *(word for column in columns for word in (column, "given length")))
    return "correlations (Spearman over the candidates)\n" + render(head, [[name, *cells] for name, cells in rows])


def _agreements(found: Sequence[Agreement]) -> str:
    rows = [
        [
            f"{one.first}, {one.second}",
            shown(one.rho, one.rho_interval),
            *(_common(getattr(one, part)) for part in ("window", "dropped", "selected")),
        ]
        for one in found
    ]
    head = ("releases", "rho of uncertainty", "window: common", "dropped: common", "selected: common")
    return "selections of other ensembles from the same candidates (in brackets: by chance)\n" + render(head, rows)


def _common(one: Common) -> str:
    return f"{one.common:,} of {min(one.first, one.second):,} ({one.expected:,.0f})"


def _draws(draws: Draws) -> str:
    names = {"all": "with all", "apart": "two disjoint", "bootstrap": "bootstrap, with all"}
    rows = [
        [
            f"{one.members}, {names[one.how]}",
            str(len(one.rho)),
            f"{np.mean(one.rho):.3f}",
            f"{min(one.rho):.3f}",
            f"{np.mean(one.window):.3f}",
            f"{min(one.window):.3f}",
        ]
        for one in draws.draws
        if one.rho
    ]
    head = ("members", "pairs", f"rho of {draws.measure}", "minimum", "window in common", "minimum")
    return (
        f"ensembles drawn from the {draws.members} members, on {draws.candidates:,} candidates "
        f"(window in common by chance: {draws.by_chance:.3f})\n" + render(head, rows)
    )


def _scores(scored: RankedSystems) -> str:
    scores = scored.scores
    head = ("system", *(f"{part} ({size:,})" for part, size in scores.sizes.items()))
    rows = [
        [name, *(shown(scores.values[part][row], scores.intervals[part][row], 1) for part in scores.sizes)]
        for row, name in enumerate(scores.systems)
    ]
    return f"{scored.metric} ({scored.signature})\n" + render(head, rows)


def _ranking(part: str, scored: RankedSystems) -> str:
    one: Ranking = scored.rankings[part]
    chance = "" if one.chance is None else f", p = {one.chance:.2g} for a random order"
    lines = [
        f"does {part} rank systems like {scored.whole}? Kendall's tau {shown(one.tau, one.interval)}{chance}; "
        f"{one.swapped} of {one.pairs} pairs in another order",
        f"of {one.decided} pairs that differ on {scored.whole}: {one.kept} differ in the same direction on {part}, "
        f"{one.reversed} in the other, {one.decided - one.kept - one.reversed} do not",
    ]
    for name, pairs in ((scored.whole, one.whole), (part, one.part)):
        groups = " > ".join(", ".join(scored.scores.systems[row] for row in tier) for tier in pairs.tiers)
        lines.append(f"clusters on {name}: {groups}")
    return "\n".join(lines)


def _own(scored: RankedSystems) -> str:
    rows = [[one.family, shown(one.points, one.interval, 2)] for one in scored.own]
    return "disadvantage of a family on the part that its own kind selected\n" + render(("family", "points"), rows)
