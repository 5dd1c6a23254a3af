"""How many sentences an interval of a given width needs, by the design that draws them.

Before any translation, the sentence chrF of the ensemble's own translations stands in for the scores of a system. With
a pilot (:func:`cgbench.evaluate` with ``estimate``), the spread within strata is that of the pilot's linearised scores.
Variances are those of the textbook (Cochran 1977, chapters 2 and 5), with finite population correction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgbench.benchmark.candidates.strata import (
    ALLOCATIONS,
    FEWEST,
    OWN_SCORE,
    STRATUM,
    allocate,
    deviations_in,
    sentence_chrf,
    strata_from,
)
from cgbench.benchmark.metrics.comparison import SystemScores
from cgbench.benchmark.metrics.intervals import student_quantile
from cgbench.benchmark.metrics.metric import Design, Metric
from cgbench.benchmark.metrics.result import Evaluation
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.tables import sides_of
from cgbench.errors import InputError, argument, require

RANDOM = "simple random"


@dataclass(frozen=True)
class WidthNeeds:
    """What an interval of ``width`` for the score of ``system`` needs: ``sentences`` by design, simple random sampling
    first."""

    system: str
    width: float
    sentences: dict[str, int]


@dataclass(frozen=True)
class DesignResult:
    """What intervals need, for scores by ``metric`` of all ``pairs`` in ``strata`` strata."""

    metric: str
    pairs: int
    strata: int
    needs: tuple[WidthNeeds, ...]


@dataclass(frozen=True)
class Spread:
    """A population in strata: their ``sizes``, the ``means`` and standard ``deviations`` of scores in them."""

    sizes: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def width(self, n: int, design: str) -> float:
        """The width of the 95 % interval from ``n`` sentences."""
        share = self.sizes / self.sizes.sum()
        if design == RANDOM:
            total = share @ (self.deviations**2 + (self.means - share @ self.means) ** 2)
            variance, degrees = total * (1 / n - 1 / self.sizes.sum()), n - 1
        else:
            draws = allocate(self.sizes, self.deviations, n, design)  # type: ignore[arg-type]
            variance = share**2 @ (self.deviations**2 * (1 / draws - 1 / self.sizes))
            degrees = int(np.maximum(draws - 1, 0).sum())
        return 2 * student_quantile(max(degrees, 1)) * math.sqrt(max(float(variance), 0.0))

    def needs(self, width: float, design: str) -> int:
        """The smallest sample whose interval is at most this wide; all candidates have no interval at all."""
        least = FEWEST if design == RANDOM else int(np.minimum(self.sizes, FEWEST).sum())
        total = int(self.sizes.sum())
        return least + bisect_left(range(least, total), True, key=lambda n: self.width(n, design) <= width)


def spread_of_release(release: Release) -> Spread:
    """The spread of the ensemble's own sentence chrF over all candidates.

    :raises InputError: the release has no strata (uncertainty), no translations or no text.
    """
    release.check_finished()
    table = release.table(text=True)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    if OWN_SCORE not in columns:
        texts = sides_of(table, release.languages)
        if "hypothesis" not in columns or not texts:
            raise InputError(f"{release.folder}: has no translations of its candidates; give a pilot with its scores")
        require("sacrebleu", "scores")
        columns[OWN_SCORE] = sentence_chrf(columns["hypothesis"], texts[1])
    known = columns.get(STRATUM)
    stratum = strata_from(columns, release.configuration) if known is None else np.array(known) - 1
    return _spread(np.bincount(stratum), stratum, np.array(columns[OWN_SCORE], float))


def spread_of_pilot(metric: Metric, result: SystemScores, design: Design) -> Spread:
    """The spread of the linearised scores of a system, the mean over its runs."""
    weights, values = design.weights, []
    for run in result.statistics:
        weighted = run * weights[:, None]
        total = weighted.sum(axis=0)
        lost = metric.compute(total[None])[:, 0] - metric.compute(total - weighted)[:, 0]
        values.append(lost * design.pairs / weights)
    return _spread(design.sizes, design.strata, np.mean(values, axis=0))


def _spread(sizes: np.ndarray, stratum: np.ndarray, values: np.ndarray) -> Spread:
    means = np.bincount(stratum, values) / np.bincount(stratum)
    return Spread(sizes, means, deviations_in(stratum, values))


def widths_needed(pilot: Evaluation | None, release: Release | None, widths: Sequence[float]) -> DesignResult:
    """What intervals of these widths need: by a pilot that is an estimate, else by the ensemble of a release.

    :raises InputError: a width is not above 0, or there is neither.
    """
    if bad := [width for width in widths if not 0 < width < math.inf]:
        raise InputError(f"{argument('widths', bad[0])}: a width is above 0")
    design = pilot.scored.metric.design if pilot else None
    if pilot is not None and design is not None:
        name, metric = pilot.scored.metric.name, pilot.scored.metric
        spreads = {one.system: spread_of_pilot(metric, one, design) for one in pilot.results}
    elif pilot is None and release is not None:
        name, spreads = "chrF of the ensemble", {"": spread_of_release(release)}
    else:
        raise InputError(
            f"{argument('widths')} needs {argument('release')}, or a pilot scored with {argument('estimate')}"
        )
    needs = tuple(
        WidthNeeds(system, width, {how: spread.needs(width, how) for how in (RANDOM, *ALLOCATIONS)})
        for system, spread in spreads.items()
        for width in widths
    )
    sizes = next(iter(spreads.values())).sizes
    return DesignResult(name, int(sizes.sum()), len(sizes), needs)
