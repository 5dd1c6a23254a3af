"""The agreement of releases that were selected from the same candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, rho_interval, spearman
from cgbench.benchmark.candidates.table import DIFFICULTY
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError

WINDOW = ("window", "selected")


@dataclass(frozen=True)
class Common:
    """Two parts of the same ``of`` candidates: their sizes, the number in both, and that expected by chance."""

    first: int
    second: int
    common: int
    expected: float
    of: int

    @property
    def jaccard(self) -> float:
        """The size of the intersection over that of the union."""
        either = self.first + self.second - self.common
        return self.common / either if either else 0.0

    @property
    def beyond_chance(self) -> float | None:
        """The overlap beyond chance: 0 for chance, 1 for the same part, negative for less than chance (the form of
        Cohen's kappa). None if the parts are the same by chance alone."""
        most = min(self.first, self.second)
        return (self.common - self.expected) / (most - self.expected) if most > self.expected else None

    def as_dict(self) -> dict[str, Any]:
        """The sizes and shares as JSON."""
        return {
            **{"first": self.first, "second": self.second, "common": self.common, "expected": self.expected},
            **{"of": self.of, "jaccard": self.jaccard, "beyond_chance": self.beyond_chance},
        }


@dataclass(frozen=True)
class Agreement:
    """Two releases: the overlap of their ``window``, ``dropped`` and ``selected`` candidates, and Spearman's
    correlation of the measures that selected."""

    first: str
    second: str
    rho: float | None
    rho_interval: Interval
    window: Common
    dropped: Common
    selected: Common

    def as_dict(self) -> dict[str, Any]:
        """The overlaps and the correlation as JSON."""
        low, high = self.rho_interval or (None, None)
        sets = {name: getattr(self, name).as_dict() for name in ("window", "dropped", "selected")}
        return {"releases": [self.first, self.second], "rho": self.rho, "rho_low": low, "rho_high": high, **sets}


@dataclass(frozen=True)
class Selected:
    """The selection of a release: its measure, and the stage of each candidate."""

    name: str
    uncertainty: np.ndarray
    stage: np.ndarray
    seed: Any

    def rows(self, *stages: str) -> np.ndarray:
        """The candidates of these stages, ascending."""
        return np.flatnonzero(np.isin(self.stage, stages))


def selected_of(name: str, release: Release) -> tuple[Selected, np.ndarray]:
    """The selection of a finished release, in the order of its candidates; and their content hashes."""
    release.check_finished()
    by = release.configuration.get("select_by", "uncertainty")
    table = release.table()
    measure = str(release.configuration.get("uncertainty") if by == "uncertainty" else DIFFICULTY)
    columns = {}
    for column in (measure, "stage", "content"):
        if column not in table.column_names:
            raise InputError(f"{release.folder}: candidates.parquet has no column {column}; see cgbench verify")
        columns[column] = np.array(table[column].to_pylist())
    sign = -1 if by == "easiness" else 1
    values = sign * np.asarray(columns[measure], np.float64), np.asarray(columns["stage"], str)
    return Selected(name, *values, release.configuration.get("seed")), np.asarray(columns["content"], np.uint64)


def select_alike(releases: Mapping[str, Release]) -> list[Selected]:
    """The selection of each release, in the order of the first one's candidates."""
    selections: list[Selected] = []
    first: np.ndarray | None = None
    for name, release in releases.items():
        selection, content = selected_of(name, release)
        if first is None:
            first, start = np.sort(content), release
            rank = np.argsort(np.argsort(content))
        elif not np.array_equal(np.sort(content), first):
            shared = len(np.intersect1d(content, first))
            raise InputError(
                f"{release.folder}: its {len(content):,} candidates are not those of {start.folder} ({shared:,} are "
                "in both); compare releases with the same training text, pool and settings before the ensemble"
            )
        order = np.argsort(content)[rank]
        selections.append(Selected(name, selection.uncertainty[order], selection.stage[order], selection.seed))
    return selections


def agreements(selected: Sequence[Selected]) -> list[Agreement]:
    """The agreement of every two selections."""
    return [_agreement(first, second) for position, first in enumerate(selected) for second in selected[position + 1 :]]


def _agreement(release: Selected, other_release: Selected) -> Agreement:
    total = len(release.stage)
    numbers = [
        np.where(np.isnan(values), np.inf, values) for values in (release.uncertainty, other_release.uncertainty)
    ]
    rho = spearman(*numbers)

    def common(*stages: str) -> Common:
        first, second = release.rows(*stages), other_release.rows(*stages)
        return Common(
            len(first), len(second), len(np.intersect1d(first, second)), len(first) * len(second) / total, total
        )

    window, drawn = common(*WINDOW), common("selected")
    if release.seed == other_release.seed and window.first and window.second:
        # Both draw by the same hash of content, so most pairs in both windows are drawn by both or by neither. Windows
        # that overlap by chance alone would share this many drawn pairs.
        smaller = min(drawn.first / window.first, drawn.second / window.second)
        drawn = Common(drawn.first, drawn.second, drawn.common, smaller * window.expected, total)
    return Agreement(
        *(release.name, other_release.name, rho, None if rho is None else rho_interval(rho, total)),
        *(window, common("dropped"), drawn),
    )
