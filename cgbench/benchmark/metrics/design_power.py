"""How many sentences an interval of a given width needs, by the design that draws them.

Nothing is translated yet, so the sentence chrF of the ensemble's own translations stands in for the scores of a system.
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
    allocate,
    deviations_in,
    sentence_chrf,
    strata_from,
)
from cgbench.benchmark.metrics.intervals import student_quantile
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.tables import sides_of
from cgbench.errors import InputError, argument, require

RANDOM = "simple random"


@dataclass(frozen=True)
class DesignResult:
    """What intervals for the mean chrF of all ``pairs`` in ``strata`` strata need: ``sentences`` by width and design,
    simple random sampling first."""

    pairs: int
    strata: int
    sentences: dict[float, dict[str, int]]


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


def spread_of(release: Release) -> Spread:
    """The spread of the ensemble's own sentence chrF over all candidates.

    :raises InputError: the release has no uncertainty, no translations or no text.
    """
    release.check_finished()
    table = release.table(text=True)
    columns, texts = table.to_pydict(), sides_of(table, release.languages)
    if "hypothesis" not in columns or not texts:
        raise InputError(f"{release.folder}: has no text or no translations of its candidates")
    require("sacrebleu", "scores")
    scores = np.array(sentence_chrf(columns["hypothesis"], texts[1]))
    stratum = strata_from(columns, release.configuration)
    sizes = np.bincount(stratum)
    return Spread(sizes, np.bincount(stratum, scores) / sizes, deviations_in(stratum, scores))


def sentences_needed(release: Release, widths: Sequence[float]) -> DesignResult:
    """The sentences that intervals of these widths need.

    :raises InputError: a width is not above 0, or as for :func:`spread_of`.
    """
    if bad := [width for width in widths if not 0 < width < math.inf]:
        raise InputError(f"{argument('widths', bad[0])}: a width is above 0")
    spread = spread_of(release)
    needs = {width: {how: spread.needs(width, how) for how in (RANDOM, *ALLOCATIONS)} for width in widths}
    return DesignResult(int(spread.sizes.sum()), len(spread.sizes), needs)
