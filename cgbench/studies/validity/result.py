"""The result of ``validate()``, as text or JSON."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from cgbench.benchmark.candidates.correlations import Correlation, correlation_table, with_interval
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, argument
from cgbench.studies.validity.cell_effects import CellEffects
from cgbench.studies.validity.error_prediction import ENSEMBLE, OUTSIDE, SystemMeasures
from cgbench.studies.validity.ranking import PartScores, Ranking
from cgbench.studies.validity.separation import Separation
from cgbench.tables import render


@dataclass(frozen=True)
class RankedSystems:
    """Systems on parts of the candidates, or on the test set and the control set.

    ``whole``: the part that the others are compared with; ``parts`` and ``rankings`` by part.
    """

    metric: str
    signature: str
    whole: str
    systems: list[str]
    parts: dict[str, PartScores]
    rankings: dict[str, Ranking]


@dataclass(frozen=True)
class Validity:
    """The validity of a release: correlations of its measures, its ranking of systems, and how its
    measures order errors. None or empty: not requested."""

    release: Release
    correlations: list[Correlation]
    scored: RankedSystems | None
    notes: tuple[str, ...]
    measures: tuple[SystemMeasures, ...] = ()
    separation: Separation | None = None
    cells: CellEffects | None = None

    @property
    def card_lines(self) -> dict[str, str]:
        """The sentences for the card, by what they are about."""
        results = {"Memory": self.separation, "Degree or uncertainty": self.cells}
        return {name: result.card for name, result in results.items() if result}

    def report(self, form: str = "text") -> str:
        """As text, or as JSON."""
        if form not in ("text", "json"):
            raise InputError(f"{argument('form', form)}: it must be text or json")
        return _as_json(self) if form == "json" else _as_text(self)


def _as_json(validity: Validity) -> str:
    return json.dumps(
        {
            "release": str(validity.release.folder),
            "signature": validity.release.signature,
            "correlations": [item.as_dict() for item in validity.correlations],
            "scored": _scored_dict(validity.scored) if validity.scored else None,
            "controls": validity.separation.as_dict() if validity.separation else None,
            "cells": validity.cells.as_dict() if validity.cells else None,
            "measures": [dataclasses.asdict(item) for item in validity.measures],
            "notes": list(validity.notes),
        },
        ensure_ascii=False,
        indent=1,
    )


def _scored_dict(scored: RankedSystems) -> dict[str, Any]:
    return {
        "metric": scored.metric,
        "signature": scored.signature,
        "whole": scored.whole,
        "parts": {name: part.size for name, part in scored.parts.items()},
        "systems": {
            system: {
                "scores": {name: float(part.values[row]) for name, part in scored.parts.items()},
                "intervals": {name: part.intervals[row] for name, part in scored.parts.items()},
            }
            for row, system in enumerate(scored.systems)
        },
        "rankings": {
            name: entry.as_dict(scored.systems) for name, entry in scored.rankings.items()
        },
    }


def _as_text(validity: Validity) -> str:
    blocks = [validity.release.signature, _correlations(validity)]
    if validity.scored:
        blocks += [
            _scores(validity.scored),
            *(_ranking(name, validity.scored) for name in validity.scored.rankings),
        ]
    blocks += [result.report() for result in (validity.separation, validity.cells) if result]
    # With families, a table per system is too much to read.
    has_families = any(measures.system == OUTSIDE for measures in validity.measures)
    tables = [
        measures
        for measures in validity.measures
        if not has_families or measures.system in (ENSEMBLE, OUTSIDE)
    ]
    blocks += [measures.report() for measures in tables]
    if len(tables) < len(validity.measures):
        blocks.append("tables of single systems: --report or --format json")
    blocks += [f"note: {line}" for line in validity.notes]
    return "\n\n".join(blocks)


def _correlations(validity: Validity) -> str:
    columns, rows = correlation_table(
        validity.correlations, str(validity.release.configuration.get("uncertainty"))
    )
    head = ("", *(word for column in columns for word in (column, "given length")))
    return "correlations (Spearman over the candidates)\n" + render(
        head, [[name, *cells] for name, cells in rows]
    )


def _scores(scored: RankedSystems) -> str:
    head = ("system", *(f"{name} ({part.size:,})" for name, part in scored.parts.items()))
    rows = [
        [
            system,
            *(
                with_interval(part.values[row], part.intervals[row], 1)
                for part in scored.parts.values()
            ),
        ]
        for row, system in enumerate(scored.systems)
    ]
    return f"{scored.metric} ({scored.signature})\n" + render(head, rows)


def _ranking(set_name: str, scored: RankedSystems) -> str:
    ranking: Ranking = scored.rankings[set_name]
    chance = "" if ranking.chance is None else f", p = {ranking.chance:.2g} for a random order"
    tau = with_interval(ranking.tau, ranking.interval)
    lines = [
        (
            f"does {set_name} rank systems like {scored.whole}? Kendall's tau {tau}{chance};"
            f" {ranking.swapped} of {ranking.pairs} pairs in another order"
        ),
        (
            f"of {ranking.decided} pairs that differ on {scored.whole}: {ranking.kept} differ in"
            f" the same direction on {set_name}, {ranking.reversed} in the other,"
            f" {ranking.decided - ranking.kept - ranking.reversed} do not"
        ),
    ]
    for name, pairs in ((scored.whole, ranking.whole), (set_name, ranking.part)):
        groups = " > ".join(", ".join(scored.systems[row] for row in tier) for tier in pairs.tiers)
        lines.append(f"clusters on {name}: {groups}")
    return "\n".join(lines)
