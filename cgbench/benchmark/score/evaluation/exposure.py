"""Scores of pairs that a model may have seen, and of the rest: ``cgbench score --by exposure``.

Pairs that are exposed (:mod:`~cgbench.benchmark.measure.overlap.exposure`) differ from others,
above all in length. So their score is compared with that of the other pairs nearest in length,
weighted to the same distribution of lengths (post-stratification, Holt and Smith 1979). Whatever
else differs between exposed pairs and others of the same length is part of the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cgbench.benchmark.measure.metrics.bins import lengths
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.scored import score
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.forms import analyses
from cgbench.request import changed

EXPOSED = 0.5
"""Share of the new combinations in the corpus from which a pair is exposed."""
FEWEST = 10
"""Minimum number of exposed pairs, and of the rest. With fewer, 95% intervals hold a planted
difference in fewer than 90% of trials (``lab/consistency_exposure.py few``).
"""
OTHERS, MOST_STRATA = 5, 20
"""Minimum number of other pairs in a stratum, and maximum number of strata."""


@dataclass(frozen=True)
class Stratum:
    """Exposed pairs of ``low`` to ``high`` words, with the other pairs of ``reach`` words more or
    less.
    """

    low: float
    high: float
    reach: float = 0.0

    def holds(self, lengths: np.ndarray) -> np.ndarray:
        """Which lengths are those of its other pairs."""
        return (self.low - self.reach <= lengths) & (lengths <= self.high + self.reach)

    def reaching(self, lengths: np.ndarray) -> "Stratum":
        """The same with the least reach that gives it :data:`OTHERS` of the other pairs'
        ``lengths``, or all of them if there are fewer.
        """
        distances = np.maximum(np.maximum(self.low - lengths, lengths - self.high), 0.0)
        last = min(OTHERS, len(lengths)) - 1
        return replace(self, reach=float(np.partition(distances, last)[last]))

    def meets(self, following: "Stratum") -> bool:
        """Whether a pair could belong to both."""
        return self.high + self.reach >= following.low - following.reach


def length_strata(lengths: np.ndarray, exposed: np.ndarray) -> list[Stratum]:
    """Strata of exposed pairs and of the other pairs nearest to them in length, by length.

    Exposed pairs are divided into at most :data:`MOST_STRATA` groups by length, each of which has
    the other pairs in its range, or the nearest. Groups that would share other pairs are one.

    :param lengths: of the pairs that are compared, ``[n]``.
    :param exposed: bool ``[n]``; some are, and some are not.
    """
    exposed_lengths, counts = np.unique(lengths[exposed], return_counts=True)
    # Groups of whole lengths with about as many exposed pairs each.
    group = (np.cumsum(counts) - counts) * MOST_STRATA // counts.sum()
    strata: list[Stratum] = []
    for number in np.unique(group):
        in_group = exposed_lengths[group == number]
        stratum = Stratum(in_group[0], in_group[-1]).reaching(lengths[~exposed])
        while strata and strata[-1].meets(stratum):
            stratum = Stratum(strata.pop().low, stratum.high).reaching(lengths[~exposed])
        strata.append(stratum)
    return strata


class Matched(Metric):
    """Scores of exposed pairs, of the other pairs matched on length, their difference, and the
    score of the test set without exposure: if exposed pairs scored like others of their length.

    The sums of a resample are kept by stratum, so its weights are those of its own lengths.
    """

    figures = ("exposed", "matched", "difference", "without")

    def __init__(
        self,
        metric: Metric,
        results: Sequence[SystemScores],
        exposed: np.ndarray,
        lengths: np.ndarray,
        rows: np.ndarray,
    ) -> None:
        """
        :param results: the statistics of all systems.
        :param exposed: bool ``[n]``; ``lengths`` ``[n]``; ``rows``: those that are compared.
        """
        self.metric, self.results, self.exposed, self.rows = metric, results, exposed, rows
        compared, strata = lengths[rows], length_strata(lengths[rows], exposed[rows])
        # The stratum of each pair; other pairs that are like no exposed pair have the last.
        self.stratum = np.full(len(rows), len(strata))
        for number, stratum in enumerate(strata):
            self.stratum[stratum.holds(compared)] = number
        self.strata = len(strata)
        self.name, self.lower_is_better, self.width = (
            metric.name,
            metric.lower_is_better,
            metric.width,
        )

    @property
    def n(self) -> int:
        """The number of examples."""
        return self.metric.n

    def limits(self, figure: str) -> tuple[float | None, float | None]:
        """Those of the metric; a difference has none."""
        return (None, None) if figure == "difference" else self.metric.limits(figure)

    def signature(self) -> Signature:
        """That of the metric, with the number of exposed and of other pairs."""
        signature, exposed = self.metric.signature(), int(self.exposed[self.rows].sum())
        signature.items |= {
            "exposed": exposed,
            "others": len(self.rows) - exposed,
            "strata": self.strata,
        }
        return signature

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The statistics of the metric, in the columns of the row's stratum, after a count."""
        return self._wide(self.metric.statistics(hypotheses))

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The same, from the statistics of the results."""
        return [self._wide(run) for result in self.results for run in result.statistics]

    def _wide(self, statistics: np.ndarray) -> np.ndarray:
        wide = np.zeros((len(statistics), 2, self.strata + 1, statistics.shape[1] + 1))
        side = self.exposed[self.rows].astype(int)
        wide[self.rows, side, self.stratum, 0] = 1
        wide[self.rows, side, self.stratum, 1:] = statistics[self.rows]
        self._shape = wide.shape[1:]
        return wide.reshape(len(statistics), -1)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The scores from sums by stratum; strata without exposed or without other pairs do not
        count.
        """
        by_side = sums.reshape(-1, *self._shape)
        other_sums, exposed = by_side[:, 0], by_side[:, 1]
        usable = (other_sums[..., 0] > 0) & (exposed[..., 0] > 0)
        weights = np.where(usable, exposed[..., 0] / np.where(usable, other_sums[..., 0], 1), 0)[
            ..., None
        ]
        weighted_sums = (
            exposed * usable[..., None],
            other_sums * weights,
            other_sums * (1 + weights),
        )
        scores = (self.metric.compute(strata.sum(axis=1)[:, 1:])[:, 0] for strata in weighted_sums)
        exposed_score, matched, without = scores
        return np.stack([exposed_score, matched, exposed_score - matched, without], axis=1)


def compare_exposure(context: ScoringContext) -> ScoredSystems | str:
    """Compare exposed pairs with others of the same length; a warning where that is impossible.

    The bins are by the exposure of each pair; pairs with NaN are left out.
    """
    metric, sampling, comparison = context.metric, context.sampling, context.comparison
    binning, text = context.binning, context.text
    assert binning is not None and text is not None  # check_effects: by exposure
    if type(metric).collect is not Metric.collect:
        return f"{metric.name} groups its examples: exposed pairs are not matched on length"
    values = binning.feature.values
    exposed, rows = values >= EXPOSED, sampling.counted(np.flatnonzero(~np.isnan(values)))
    exposed_rows = int(exposed[rows].sum())
    if min(exposed_rows, len(rows) - exposed_rows) < FEWEST:
        return (
            f"{exposed_rows:,} of {len(rows):,} pairs are exposed; a comparison matched on length"
            f" needs at least {FEWEST} exposed and {FEWEST} other pairs"
        )
    with_intervals = changed(
        comparison, paired=CALIBRATED if comparison.paired else None, confidence=True
    )
    matched = Matched(metric, context.results, exposed, lengths(text.values), rows)
    # A bootstrap resample may have no exposed pair at all.
    of_rows = replace(sampling, rows=rows, jackknife=True)
    return score(matched, context.systems, with_intervals, sampling=of_rows)


EXPOSURE = Analysis("exposure", compare_exposure, layout=analyses.EXPOSURE)
