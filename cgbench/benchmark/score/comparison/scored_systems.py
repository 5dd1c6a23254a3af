"""Everything that a report needs: the results of all systems, their signature, and the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.measure.metrics.bins import title_of
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.score.comparison.comparison import (
    Comparison,
    TestName,
    compare_statistics,
)
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.requirements import (
    CheckedRequirement,
    Requirement,
    check_by_people,
    check_requirement,
)
from cgbench.benchmark.score.comparison.results import Pair, Score, SubsetScores, SystemScores
from cgbench.records import Record

if TYPE_CHECKING:
    from cgbench.benchmark.measure.metrics.published import PublishedScore
    from cgbench.benchmark.score.comparison.drop import Drop
    from cgbench.benchmark.score.comparison.prediction_powered import HumanMean


class ScoredSystems(Record):
    """Everything a report needs: the results, their signature, and the options."""

    metric: Metric
    results: tuple[SystemScores, ...]
    signature: Signature
    baseline: str | None
    test: TestName | None
    by: str | None
    more: tuple[dict[str, Any], ...]
    """Further results of each system (CTER: ``by_type``, ``errors``, ``human``)."""
    published: tuple[PublishedScore, ...] = ()
    control: int | None = None
    """Number of examples in the control set, if there is one."""
    drops: Mapping[str, dict[str, Drop]] = field(default_factory=dict)
    """The drop of each system from the control set to the test set, by score."""
    generation: Mapping[str, list[Mapping[str, Any] | None]] = field(default_factory=dict)
    """How the runs of a system were generated, if recorded."""
    people: tuple[HumanMean, ...] = ()
    """Mean human judgements, estimated with the scores."""
    sampling: Sampling = field(default_factory=Sampling)
    """The clusters, the design and the examples that count."""
    require: tuple[Requirement, ...] = ()
    """What systems must be shown to be."""

    @cached_property
    def requirements(self) -> tuple[CheckedRequirement, ...]:
        """Whether the comparison shows what is required; by human judgements, if there are any."""
        by_people = {mean.system: mean for mean in self.people if mean.against is not None}
        baseline = self.baseline or ""
        return tuple(
            check_by_people(requirement, by_people[requirement.system])
            if requirement.system in by_people
            else check_requirement(requirement, self.metric, self.results, baseline, self.sampling)
            for requirement in self.require
        )

    @property
    def by_title(self) -> str:
        """The feature of the bins in words; empty without bins."""
        return title_of(self.by) if self.by else ""

    @property
    def star_test(self) -> str | None:
        """The test that decides about stars."""
        figures = [
            estimate for result in self.results for estimate in result.whole.figures.values()
        ]
        tests: list[Score | Pair] = [
            *figures,
            *(pair for estimate in figures for pair in estimate.pairs),
        ]
        by_rule = any(test.p_calibrated is not None for test in tests)
        return CALIBRATED if by_rule else self.test

    def on(
        self, sets: Sequence[np.ndarray] | None, comparison: Comparison
    ) -> list[list[SubsetScores]]:
        """The scores on other sets of examples (None: all), as of
        :func:`~cgbench.benchmark.score.comparison.comparison.compare_statistics`."""
        statistics = {result.system: result.statistics for result in self.results}
        return compare_statistics(self.metric, self.sampling, statistics, comparison, sets)

    @property
    def clusters(self) -> str:
        """The clusters, and how many independent examples the test set is worth; empty where there
        are none.
        """
        clusters, name = self.sampling.clusters, self.metric.figures[0]
        effects_of_systems = [result.whole.figures[name].design_effect for result in self.results]
        effects = sorted(effect for effect in effects_of_systems if effect)
        if clusters is None or not effects:
            return ""
        low, high = f"{effects[0]:.1f}", f"{effects[-1]:.1f}"
        n = self.results[0].whole.examples
        return (
            f"clusters: {clusters.description()}; design effect"
            f" {low if low == high else f'{low} to {high}'}: {n:,} examples count as"
            f" {n / effects[-1]:,.0f} independent ones"
        )


def describe(scored: ScoredSystems, result: SystemScores) -> str:
    """The metric's description of the scores of a system with one run; empty for an estimate."""
    if scored.sampling.design is not None:
        return ""
    metric, rows = scored.metric, scored.sampling.counted(np.arange(scored.metric.n))
    return metric.describe(metric.collect(result.statistics[0], rows).sum(axis=0))
