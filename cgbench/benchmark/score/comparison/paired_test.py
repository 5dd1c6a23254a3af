"""What a significance test is: it gets systems on the same examples and pairs of them, and gives
p-values.

Everything else, intervals, Holm's correction and marks, is the same for all tests. The tests are in
``paired_tests.py``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.significance import SAMPLES
from cgbench.benchmark.score.comparison.variance import DrawnScores
from cgbench.benchmark.score.comparison.variance_components import Contrasts
from cgbench.records import Record

SystemPair = tuple[int, int]
"""Two systems by their numbers; differences are the first minus the second."""
PValues = list[float | None]
"""A p-value for each score of the metric; None if there is no test of it."""
Interval = tuple[float | None, float | None]


class ComparedSystems(Record):
    """Systems on the same examples, as tests use them.

    ``drawn``: the scores of all runs and their samples; ``samples``: the requested number, None for
    the default of the test; ``sets``: how many such sets of examples p-values are adjusted for
    together.
    """

    metric: Metric
    sampling: Sampling
    drawn: DrawnScores
    samples: int | None = None
    seed: int = 0
    shared_seeds: bool = False
    sets: int = 1

    def count(self, test: str) -> int:
        """The number of samples of a test."""
        return self.samples or SAMPLES[test]

    def runs(self, pair: SystemPair) -> list[int]:
        """The numbers of runs of both systems."""
        return [len(self.drawn.values[system]) for system in pair]

    @cached_property
    def contrasts(self) -> Contrasts | None:
        """All differences with their variances; None if all examples are of one cluster."""
        if self.drawn.covariance is None:
            return None
        return Contrasts(self.drawn.values, self.drawn.covariance, shared_seeds=self.shared_seeds)

    def intervals(self, pairs: Sequence[SystemPair]) -> dict[SystemPair, list[Interval]]:
        """The 95% intervals of the differences in each score."""
        intervals = {}
        for group in self._with_same_runs(pairs):
            if self.contrasts is not None:
                lows, highs = self.contrasts.of_pairs(group).interval()
                for column, pair in enumerate(group):
                    ends = zip(lows[:, column].tolist(), highs[:, column].tolist(), strict=True)
                    intervals[pair] = [(_or_none(low), _or_none(high)) for low, high in ends]
        return intervals

    def component_p_values(self, pairs: Sequence[SystemPair]) -> dict[SystemPair, PValues]:
        """p-values by Student's t with variance components (:mod:`.variance_components`)."""
        p_values = {}
        for group in self._with_same_runs(pairs):
            if self.contrasts is not None:
                p_of_pairs = self.contrasts.of_pairs(group).p_value().T
                for pair, p_of_scores in zip(group, p_of_pairs.tolist(), strict=True):
                    p_values[pair] = list(map(_or_none, p_of_scores))
        return p_values

    def _with_same_runs(self, pairs: Sequence[SystemPair]) -> list[list[SystemPair]]:
        """The pairs, grouped by their numbers of runs."""
        groups: dict[tuple[int, ...], list[SystemPair]] = {}
        for pair in pairs:
            groups.setdefault(tuple(self.runs(pair)), []).append(pair)
        return list(groups.values())


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


class PairedTest(ABC):
    """A test of differences between systems.

    ``name``: that of ``--paired``. ``of_single_runs``: it compares one run with one run and ignores
    the variance between seeds.
    """

    name: ClassVar[str]
    of_single_runs: ClassVar[bool] = True

    def suits(self, metric: Metric) -> str:
        """Why the test cannot be used with a metric; empty if it can."""
        return ""

    def decides(self, metric: Metric) -> bool:
        """Whether its p-values decide about stars; if not, those of the calibrated test do."""
        return True

    @abstractmethod
    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> Mapping[SystemPair, PValues]:
        """Two-sided p-values of each score of each pair; pairs without a test may be missing."""

    def in_words(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> str:
        """The test as a paper names it; arguments as of :meth:`signature`."""
        return f"the test {self.name}"

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """What the signature says about the test, for systems with these numbers of runs."""
        return {"paired": self.name}
