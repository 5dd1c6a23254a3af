"""What a model may have seen of a test set: exposure of its pairs to a corpus, and scores with and
without it.

A pair is a new combination of known pieces: each piece of its cover by the training text ends where
the next word would make an n-gram that is not known from training. The shortest such n-gram is the
*new combination* of that place. If a larger corpus has it, a model that was pre-trained on this
corpus has seen it ("combination leakage", arXiv 2604.27340). The exposure of a pair is the share of
its new combinations that the corpus has.

Pairs that are exposed differ from others, above all in length. So their score is compared with that
of the other pairs nearest in length, weighted to the same distribution of lengths
(post-stratification, Holt and Smith 1979). Whatever else differs between exposed pairs and others of the same length is part of the
difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from cgbench.argument_types import AnyPath
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.metrics.bins import lengths
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.measure.overlap.known_of_test import KnownOfTest
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.evaluation.scored import Binning, ScoredSystems, score
from cgbench.benchmark.score.outputs.systems import System
from cgbench.requests import changed
from cgbench.text.blocks import join_blocks
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of

EXPOSED = 0.5
"""Share of the new combinations in the corpus from which a pair is exposed."""
FEWEST = 10
"""Minimum number of exposed pairs, and of others. With fewer, 95% intervals hold a planted
difference in fewer than 90% of trials (``perf/exposure.py few``).
"""
OTHERS, MOST_STRATA = 5, 20
"""Minimum number of other pairs in a stratum, and maximum number of strata."""


def new_combinations(line: str, known: KnownNgrams) -> list[tuple[int, int]]:
    """The new combinations of a line: the place of the last word, and the number of words."""
    words, combinations = words_of(line), []
    for end in list(accumulate(map(len, known.cover(line))))[:-1]:  # where the next piece begins
        sizes = range(1, end + 2)
        combinations.append(
            (
                end,
                next(length for length in sizes if words[end + 1 - length : end + 1] not in known),
            )
        )
    return combinations


def exposure_of(
    lines: Sequence[str], given: AnyPath, train: Sequence[str] | None, min_count: int
) -> np.ndarray:
    """The share of new combinations that a corpus has, float64 ``[lines]``; NaN for lines without
    new combinations.

    :param given: a folder of ``cgbench overlap --out``.
    :param train: None: the share of words in the longest span that the corpus has, instead.
    :param min_count: the smallest count in ``train`` of a known n-gram.
    :raises InputError: ``given`` is something else, or has counts of another text.
    """
    blocks = KnownOfTest.load(Path(given)).ends("the text", join_blocks(lines), 1)
    ends = [
        of_line
        for _, lengths, of_block in blocks
        for of_line in np.split(of_block, np.cumsum(lengths)[:-1])
    ]
    if train is None:
        return np.array(
            [line_ends.max() / len(line_ends) if len(line_ends) else np.nan for line_ends in ends]
        )
    known = KnownNgrams.learn(train, min_count=min_count)
    seen = [
        [line_ends[end] >= length for end, length in new_combinations(line, known)]
        for line, line_ends in zip(lines, ends, strict=True)
    ]
    return np.array([np.mean(is_seen) if is_seen else np.nan for is_seen in seen])


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


def compare_exposure(
    metric: Metric,
    sampling: Sampling,
    systems: Sequence[System],
    results: Sequence[SystemScores],
    comparison: Comparison,
    binning: Binning,
    text: Column,
) -> ScoredSystems | str:
    """Compare exposed pairs with others of the same length; a warning where that is impossible.

    :param binning: by the exposure of each pair; pairs with NaN are left out. ``text``: that has
        the length.
    """
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
    matched = Matched(metric, results, exposed, lengths(text.values), rows)
    # A bootstrap resample may have no exposed pair at all.
    return score(
        matched, systems, with_intervals, sampling=replace(sampling, rows=rows, jackknife=True)
    )
