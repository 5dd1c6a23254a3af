"""The significance tests of ``--paired``, a class each; :data:`TESTS` registers them.

A test gets systems on the same examples and pairs of them, and gives p-values. Everything else,
intervals, Holm's correction and marks, is the same for all tests. To add one, write a subclass of
:class:`PairedTest` and add it to :data:`TESTS`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.significance import (
    SAMPLES,
    SEVERAL_RUNS,
    bootstrap_p,
    calibrated_test,
    mcnemar_p,
    randomization_of_pairs,
)
from cgbench.benchmark.score.comparison.variance import DrawnScores
from cgbench.benchmark.score.comparison.variance_components import FEWEST_UNITS, Contrasts

CALIBRATED: Final = "calibrated"

SystemPair = tuple[int, int]
"""Two systems by their numbers; differences are the first minus the second."""
PValues = list[float | None]
"""A p-value for each score of the metric; None if there is no test of it."""
Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class ComparedSystems:
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

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """What the signature says about the test, for systems with these numbers of runs."""
        return {"paired": self.name}


class Bootstrap(PairedTest):
    """The paired bootstrap: by sacrebleu's rule for its metrics, two-sided for others."""

    name = "bootstrap"

    def decides(self, metric: Metric) -> bool:
        """sacrebleu's rule rejects too often."""
        return not metric.as_sacrebleu

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From the scores of both systems on the same samples."""
        if systems.drawn.count < FEWEST_UNITS:
            return {}
        samples, rule = systems.drawn.samples, systems.metric.as_sacrebleu
        assert samples is not None  # clusters and designs refuse this test
        p_values = {}
        for first, second in pairs:
            first_values, second_values = systems.drawn.values[first], systems.drawn.values[second]
            differences = (first_values.mean(axis=0) - second_values.mean(axis=0)).tolist()
            p_values[first, second] = [
                bootstrap_p(
                    samples[first][:, 0, score],
                    samples[second][:, 0, score],
                    difference,
                    as_sacrebleu=rule,
                )
                for score, difference in enumerate(differences)
            ]
        return p_values

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """Nothing for sacrebleu's rule, as in sacrebleu's own signature."""
        return {} if metric.as_sacrebleu else {"paired": "two-sided"}


class Randomization(PairedTest):
    """Approximate randomisation (Riezler and Maxwell 2005)."""

    name = "randomization"

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From swapped examples."""
        if systems.drawn.count < FEWEST_UNITS:
            return {}
        p_values = randomization_of_pairs(
            systems.drawn.units,
            pairs,
            systems.metric.compute,
            systems.count(self.name),
            systems.seed,
            tests=len(pairs) * systems.sets,
        )
        return dict(zip(pairs, p_values, strict=True))

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """The number of samples, as in sacrebleu."""
        return {"ar": samples or SAMPLES[self.name]}


class McNemar(PairedTest):
    """McNemar's exact test, for examples that are right or wrong."""

    name = "mcnemar"

    def suits(self, metric: Metric) -> str:
        """It needs a binary metric."""
        is_binary = metric.outcomes(np.zeros((metric.n, 2)), np.arange(metric.n)) is not None
        problem = f"needs examples that are right or wrong; {metric.name} is not binary"
        return "" if is_binary else problem

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """From the examples on which the systems differ."""
        metric, drawn = systems.metric, systems.drawn
        outcomes = [metric.outcomes(runs[0], drawn.rows) or {} for runs in drawn.statistics]
        return {
            (first, second): [
                mcnemar_p(outcomes[first][score], outcomes[second][score])
                if len(outcomes[first].get(score, ())) >= FEWEST_UNITS
                else None
                for score in metric.figures
            ]
            for first, second in pairs
        }

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """That it is the exact test."""
        return {"mcnemar": "exact"}


class Calibrated(PairedTest):
    """Approximate randomisation for single runs of independent examples, else Student's t with
    variance components.
    """

    name = CALIBRATED
    of_single_runs = False

    def p_values(
        self, systems: ComparedSystems, pairs: Sequence[SystemPair]
    ) -> dict[SystemPair, PValues]:
        """Each pair by the test for its numbers of runs."""
        is_clustered = not systems.sampling.independent
        single: list[SystemPair] = []
        several: list[SystemPair] = []
        for pair in pairs:
            test = calibrated_test(systems.runs(pair), is_clustered)
            (several if test == SEVERAL_RUNS else single).append(pair)
        p_values = systems.component_p_values(several)
        if single:
            p_values |= Randomization().p_values(systems, single)
        return p_values

    def signature(
        self, metric: Metric, runs: Sequence[int], sampling: Sampling, samples: int | None
    ) -> dict[str, Any]:
        """Which of the two tests it is; both if two systems have a single run."""
        if calibrated_test(runs, not sampling.independent) != SEVERAL_RUNS:
            return Randomization().signature(metric, runs, sampling, samples)
        items: dict[str, Any] = {"paired": "components"}
        if sampling.independent and sum(count == 1 for count in runs) > 1:
            items |= Randomization().signature(metric, runs, sampling, samples)
        return items


TESTS: dict[str, PairedTest] = {
    test.name: test for test in (Calibrated(), Bootstrap(), Randomization(), McNemar())
}
"""The tests by the name that ``--paired`` gives them."""
