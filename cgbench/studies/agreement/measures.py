"""How well a metric agrees with people: measures of segments and of systems.

All read two matrices ``[systems, items]``: judgements (NaN where nobody judged) and the metric's
scores of the same outputs. A measure is sums over items and a function of these sums, so that an
interval resamples items and a test exchanges metrics item by item, whatever the measure.

The definitions are those of WMT's metrics tasks, and the numbers those of mt-metrics-eval.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

PERMUTATIONS, FEW_ITEMS = 1_000, 12
"""Draws of the test between two systems in :class:`SoftPairwiseAccuracy`, and the number of items
up to which all exchanges are used instead.
"""


class Measure(ABC):
    """A measure of agreement; higher is better.

    ``name``: in tables. ``meaning``: one line for readers. ``scales``: whether it depends on the
    scale of the metric, which then has to be removed before metrics are exchanged. ``few_systems``:
    up to this number, intervals are too wide (docs/lab/agreement.md).
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    scales: ClassVar[bool] = False
    few_systems: ClassVar[int] = 0

    @abstractmethod
    def sums(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """What is summed over items, float64 ``[items, k]``."""

    @abstractmethod
    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The measure from sums ``[..., k]``; NaN where it is not defined."""

    def value(self, human: np.ndarray, metric: np.ndarray) -> float:
        """The measure of all items."""
        return float(self.compute(self.sums(human, metric).sum(axis=0)))


class _MeanOverItems(Measure):
    """The mean over the items where it is defined."""

    @abstractmethod
    def of_items(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """The measure of each item, ``[items]``; NaN where it is not defined."""

    def sums(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """The value of each item, and whether there is one."""
        values = self.of_items(human, metric)
        return np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1).astype(np.float64)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The mean."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1])


@dataclass(frozen=True)
class PairsOfOutputs:
    """All pairs of judged outputs of the same item.

    ``item`` int64 ``[pairs]``; ``human`` and ``metric`` float64 ``[pairs]``: the differences of
    their scores.
    """

    item: np.ndarray
    human: np.ndarray
    metric: np.ndarray

    @classmethod
    def of(cls, human: np.ndarray, metric: np.ndarray) -> "PairsOfOutputs":
        """The pairs of matrices ``[systems, items]``."""
        first, second = np.triu_indices(len(human), 1)
        human_differences = human[first] - human[second]
        pair, item = np.nonzero(~np.isnan(human_differences))
        metric_differences = (metric[first] - metric[second])[pair, item]
        return cls(item, human_differences[pair, item], metric_differences)

    @property
    def agree(self) -> np.ndarray:
        """Whether both prefer the same output."""
        return np.asarray(np.sign(self.human) * np.sign(self.metric) > 0)

    def count(self, chosen: np.ndarray, items: int) -> np.ndarray:
        """The number of chosen pairs of each item."""
        return np.bincount(self.item[chosen], minlength=items)


class PairwiseAccuracy(_MeanOverItems):
    """Pairwise accuracy with tie calibration, by item (Deutsch, Foster and Freitag 2023, "Ties
    Matter", EMNLP, section 5: acc*_eq).

    Of the pairs of outputs of an item, the share on which metric and people agree: the same one is
    better, or both are equally good. A metric's difference of at most ``threshold`` counts as a
    tie; it is the smallest one with the highest accuracy on these items, since metrics hardly ever
    give equal scores.
    """

    name = "accuracy"
    meaning = "share of pairs of outputs that the metric orders as people do, ties included"

    def of_items(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """The accuracy of each item, with the calibrated threshold."""
        return self.at_threshold(human, metric, self.threshold(human, metric))

    @staticmethod
    def at_threshold(human: np.ndarray, metric: np.ndarray, threshold: float) -> np.ndarray:
        """The accuracy of each item, ``[items]``."""
        pairs, items = PairsOfOutputs.of(human, metric), human.shape[1]
        is_tie = np.abs(pairs.metric) <= threshold
        right = np.where(is_tie, pairs.human == 0, pairs.agree)
        with np.errstate(invalid="ignore"):
            return pairs.count(right, items) / pairs.count(right | True, items)

    @staticmethod
    def threshold(human: np.ndarray, metric: np.ndarray) -> float:
        """The largest difference of the metric's scores that counts as a tie."""
        pairs = PairsOfOutputs.of(human, metric)
        if not len(pairs.item):
            return 0.0
        # Each item weighs the same, whatever its number of pairs.
        weights = 1 / np.bincount(pairs.item)[pairs.item]
        # What the accuracy gains when a pair becomes a tie.
        gains = weights * ((pairs.human == 0).astype(np.float64) - pairs.agree)
        distances, group = np.unique(np.abs(pairs.metric), return_inverse=True)
        total = np.cumsum(np.bincount(group.ravel(), gains))
        # Exactly equal scores are always ties; sums are compared without their last digits.
        if distances[0] > 0:
            distances, total = np.append(0.0, distances), np.append(0.0, total)
        return float(distances[np.argmax(np.round(total, 9))])


class KendallTau(_MeanOverItems):
    """Kendall's tau-b of the outputs of an item, the mean over items; items where people or the
    metric score all outputs alike have none.
    """

    name = "kendall"
    meaning = "Kendall's tau-b between the scores of an item's outputs, mean over items"

    def of_items(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """The tau of each item."""
        pairs, items = PairsOfOutputs.of(human, metric), human.shape[1]
        human_differs, metric_differs = pairs.human != 0, pairs.metric != 0
        disagree = np.sign(pairs.human) * np.sign(pairs.metric) < 0
        agreed = pairs.count(pairs.agree, items) - pairs.count(disagree, items)
        untied = pairs.count(human_differs, items) * pairs.count(metric_differs, items)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(untied > 0, agreed / np.sqrt(untied), np.nan)


class PearsonCorrelation(Measure):
    """Pearson's correlation over all judged outputs, without grouping."""

    name = "pearson"
    meaning = "Pearson's correlation of judgements and scores over all outputs"
    scales = True

    def sums(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """The number, and the sums of scores, squares and products."""
        judged = ~np.isnan(human)
        x, y = np.where(judged, human, 0.0), np.where(judged, metric, 0.0)
        return np.stack([part.sum(axis=0) for part in (judged, x, y, x * x, y * y, x * y)], axis=1)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The correlation."""
        n, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.maximum(n * xx - x * x, 0) * np.maximum(n * yy - y * y, 0))
            return np.asarray((n * xy - x * y) / np.where(spread > 0, spread, np.nan))


class SoftPairwiseAccuracy(Measure):
    """Soft pairwise accuracy of systems (Thompson et al. 2024, "Improving Statistical Significance
    in Human Evaluation of Automatic Metrics via Soft Pairwise Accuracy", WMT).

    For each pair of systems, how sure people and the metric are that the first is better: the
    p-value of a paired permutation test over items. The measure is 1 minus the mean difference of
    these p-values. Resamples use the normal approximation of the permutation test.
    """

    name = "soft accuracy"
    meaning = "how alike people and the metric are sure which of two systems is better"
    scales = True
    few_systems = 8

    def sums(self, human: np.ndarray, metric: np.ndarray) -> np.ndarray:
        """Of each pair of systems, the sums of differences and of their squares."""
        columns = []
        for first, second in combinations(range(len(human)), 2):
            by_people = human[first] - human[second]
            judged = ~np.isnan(by_people)
            for difference in (by_people, metric[first] - metric[second]):
                difference = np.where(judged, difference, 0.0)
                columns += [difference, difference**2]
        return np.stack(columns, axis=1)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The measure with the normal approximation."""
        from scipy.special import ndtr

        pairs = np.asarray(sums).reshape(*np.shape(sums)[:-1], -1, 2, 2)
        total, squares = pairs[..., 0], pairs[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = np.where(squares > 0, ndtr(-total / np.sqrt(squares)), 1.0)
        return 1 - np.abs(p_values[..., 0] - p_values[..., 1]).mean(axis=-1)

    def value(self, human: np.ndarray, metric: np.ndarray) -> float:
        """The measure with permutations, the same for people and the metric."""
        signs = _exchanges(human.shape[1])
        differences = []
        for first, second in combinations(range(len(human)), 2):
            by_people = human[first] - human[second]
            judged = ~np.isnan(by_people)
            pair = np.stack([by_people, metric[first] - metric[second]])
            pair = np.where(judged, pair, 0.0)
            null = signs @ pair.T
            observed = pair.sum(axis=1)
            p_values = (null >= observed - 1e-9 * np.abs(pair).sum(axis=1)).mean(axis=0)
            differences.append(abs(p_values[0] - p_values[1]))
        return 1 - float(np.mean(differences))


def _exchanges(items: int) -> np.ndarray:
    """Which items are exchanged between two systems, as signs ``[draws, items]``."""
    if items <= FEW_ITEMS:
        return 1.0 - 2.0 * (np.arange(2**items)[:, None] >> np.arange(items) & 1)
    return np.random.default_rng(0).choice([-1.0, 1.0], (PERMUTATIONS, items))


MEASURES: tuple[Measure, ...] = (
    PairwiseAccuracy(),
    KendallTau(),
    PearsonCorrelation(),
    SoftPairwiseAccuracy(),
)
