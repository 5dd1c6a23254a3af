"""Score systems: every figure with its runs, interval, difference and p-value, in all and in bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cgbench.benchmark.metrics.base import Estimate, Metric
from cgbench.benchmark.metrics.buckets import Bin
from cgbench.benchmark.metrics.significance import (
    SAMPLES,
    SEED,
    bootstrap,
    bootstrap_p,
    holm,
    interval,
    mcnemar_p,
    randomization_p,
)
from cgbench.errors import InputError

TESTS = ("bootstrap", "randomization", "mcnemar")


@dataclass(frozen=True)
class Comparison:
    """What is asked for beside the figures. ``samples``: None takes the usual number of the test."""

    paired: str | None = None
    baseline: str | None = None
    samples: int | None = None
    seed: int = SEED
    confidence: bool = False

    def count(self, kind: str) -> int:
        """The number of samples of a kind of resampling."""
        return self.samples or SAMPLES[kind]


@dataclass(frozen=True)
class System:
    """A system and what it said: a list of hypotheses a run (a training seed)."""

    name: str
    runs: tuple[Sequence[str], ...]


@dataclass(frozen=True)
class Part:
    """Figures over some of the examples: by name, and over how many examples and units."""

    examples: int
    units: int
    figures: dict[str, Estimate]


@dataclass(frozen=True)
class Result:
    """One system's figures; ``bins`` by label. ``statistics`` float64 ``[runs, n, k]``."""

    system: str
    runs: int
    whole: Part
    bins: tuple[tuple[Bin, Part], ...] = ()
    statistics: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)


def evaluate(
    metric: Metric, systems: Sequence[System], comparison: Comparison, bins: Sequence[Bin] = ()
) -> list[Result]:
    """Score every system. In bins there is always an interval; a test compares each bin with the baseline's.

    p-values are adjusted by Holm's method: in all over the systems, in bins over bins and systems, by figure.

    :raises InputError: the baseline is unknown, or the test does not fit the metric or the number of runs.
    """
    baseline = _baseline(systems, comparison)
    if comparison.paired:
        _check_test(metric, systems, comparison)
    found = iter(metric.all_statistics([run for system in systems for run in system.runs]))
    statistics = [np.stack([next(found) for _ in system.runs]) for system in systems]
    confidence = comparison.confidence or bool(comparison.paired)
    rule = as_sacrebleu(metric, systems)
    wholes = _Slice(metric, statistics, np.arange(metric.n), comparison, confidence, rule).parts(baseline)
    binned = [_Slice(metric, statistics, one.rows, comparison, True, rule).parts(baseline) for one in bins]
    wholes = _adjust([wholes])[0]
    binned = _adjust(binned)
    return [
        Result(
            system.name,
            len(system.runs),
            wholes[number],
            tuple((one, parts[number]) for one, parts in zip(bins, binned, strict=True)),
            statistics[number],
        )
        for number, system in enumerate(systems)
    ]


def as_sacrebleu(metric: Metric, systems: Sequence[System]) -> bool:
    """Whether p-values of the bootstrap are by sacrebleu's rule: for its own metrics, of single runs."""
    return metric.as_sacrebleu and all(len(system.runs) == 1 for system in systems)


def _baseline(systems: Sequence[System], comparison: Comparison) -> int | None:
    names = [system.name for system in systems]
    if comparison.baseline is not None and comparison.baseline not in names:
        raise InputError(f"--baseline {comparison.baseline}: no such system; there is {', '.join(names)}")
    if comparison.baseline is None and (not comparison.paired or len(systems) < 2):
        if comparison.paired:
            raise InputError(f"--paired {comparison.paired} compares systems; give a second --hyp")
        return None
    return names.index(comparison.baseline) if comparison.baseline is not None else 0


def _check_test(metric: Metric, systems: Sequence[System], comparison: Comparison) -> None:
    runs = {system.name: len(system.runs) for system in systems}
    told = ", ".join(f"{name} {count}" for name, count in runs.items())
    if comparison.paired == "mcnemar":
        if metric.outcomes(np.zeros((metric.n, 2)), np.arange(metric.n)) is None:
            raise InputError(f"--paired mcnemar needs examples that are right or wrong; {metric.name} has degrees")
        if max(runs.values()) > 1:
            raise InputError(f"--paired mcnemar compares one run with one run (runs: {told}); use --paired bootstrap")
    if comparison.paired == "randomization" and len(set(runs.values())) > 1:
        raise InputError(f"--paired randomization needs as many runs of each system (runs: {told}); use bootstrap")


class _Slice:
    """Every system over the same examples: statistics of units, figures of runs, and the bootstrap's samples.

    ``rows`` int64: the examples; ``samples``: None where there is nothing to resample, or nobody asked;
    ``sacrebleu_p``: the rule of the bootstrap's p-values.
    """

    def __init__(
        self,
        metric: Metric,
        statistics: Sequence[np.ndarray],
        rows: np.ndarray,
        comparison: Comparison,
        confidence: bool,
        sacrebleu_p: bool,
    ) -> None:
        self.sacrebleu_p = sacrebleu_p
        self.metric, self.comparison, self.rows = metric, comparison, rows
        self.statistics = statistics
        self.units = [np.stack([metric.collect(run, rows) for run in system]) for system in statistics]
        self.values = [metric.compute(system.sum(axis=1)) for system in self.units]  # [runs, figures] each
        self.samples: list[np.ndarray] | None = None
        if confidence and self.count > 1:  # a single unit is the same in every sample
            self.samples = bootstrap(self.units, metric.compute, comparison.count("bootstrap"), comparison.seed)

    @property
    def count(self) -> int:
        """The number of units."""
        return self.units[0].shape[1]

    def parts(self, baseline: int | None) -> list[Part]:
        """The figures of every system."""
        return [
            Part(len(self.rows), self.count, self._figures(number, None if number == baseline else baseline))
            for number in range(len(self.values))
        ]

    def _figures(self, number: int, baseline: int | None) -> dict[str, Estimate]:
        """One system's figures, against the system ``baseline`` if there is one."""
        tested: Sequence[float | None] = [None] * len(self.metric.figures)
        if baseline is not None and self.comparison.paired and self.count > 1:
            tested = self._p_values(number, baseline)
        figures = {}
        for figure, name in enumerate(self.metric.figures):
            estimate = _estimate(self.values[number][:, figure])
            if self.samples is not None and (bounds := interval(self.samples[number][:, figure])):
                mean = float(self.samples[number][:, figure].mean())
                estimate = replace(estimate, ci_low=bounds[0], ci_high=bounds[1], ci_mean=mean)
            if baseline is not None and estimate.value is not None:
                difference = estimate.value - float(self.values[baseline][:, figure].mean())
                estimate = replace(estimate, difference=difference, p_value=tested[figure])
            figures[name] = estimate
        return figures

    def _p_values(self, number: int, baseline: int) -> list[float | None]:
        """The p-value of each figure's difference, by the test that is asked for."""
        metric, comparison = self.metric, self.comparison
        if comparison.paired == "randomization":
            samples = comparison.count("randomization")
            return randomization_p(self.units[number], self.units[baseline], metric.compute, samples, comparison.seed)
        if comparison.paired == "mcnemar":
            ours, theirs = (metric.outcomes(self.statistics[one][0], self.rows) or {} for one in (number, baseline))
            return [mcnemar_p(ours[name], theirs[name]) if name in ours else None for name in metric.figures]
        assert self.samples is not None
        ours_values, their_values = self.values[number], self.values[baseline]
        differences = ours_values.mean(axis=0) - their_values.mean(axis=0)
        pairs = zip(self.samples[number].T, self.samples[baseline].T, differences.tolist(), strict=True)
        return [
            bootstrap_p(sample, other, difference, as_sacrebleu=self.sacrebleu_p) for sample, other, difference in pairs
        ]


def _estimate(values: np.ndarray) -> Estimate:
    mean = float(values.mean())
    if math.isnan(mean):
        return Estimate(None)
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    return Estimate(mean, tuple(values.tolist()), spread)


def _adjust(groups: Sequence[list[Part]]) -> list[list[Part]]:
    """Holm's correction over all parts of ``groups``, figure by figure."""
    flat = [part for parts in groups for part in parts]
    for name in flat[0].figures if flat else ():
        adjusted = holm([part.figures[name].p_value for part in flat])
        flat = [
            replace(part, figures={**part.figures, name: replace(part.figures[name], p_holm=p)})
            for part, p in zip(flat, adjusted, strict=True)
        ]
    places = iter(flat)
    return [[next(places) for _ in parts] for parts in groups]
