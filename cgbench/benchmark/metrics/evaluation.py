"""Score systems: every figure with its runs, interval, difference and p-value, in all and in bins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    everything = np.arange(metric.n)
    wholes = _parts(
        metric, statistics, everything, comparison, baseline, comparison.confidence or bool(comparison.paired)
    )
    binned = [_parts(metric, statistics, one.rows, comparison, baseline, True) for one in bins]
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


def _parts(
    metric: Metric,
    statistics: Sequence[np.ndarray],
    rows: np.ndarray,
    comparison: Comparison,
    baseline: int | None,
    confidence: bool,
) -> list[Part]:
    """The figures of every system over the examples ``rows``."""
    units = [np.stack([metric.collect(run, rows) for run in system]) for system in statistics]
    values = [metric.compute(system.sum(axis=1)) for system in units]  # [runs, figures] each
    samples = None
    if confidence and units[0].shape[1] > 1:  # one unit is the same in every sample
        samples = bootstrap(units, metric.compute, comparison.count("bootstrap"), comparison.seed)
    p_values: Callable[[int], list[float | None]]
    if units[0].shape[1] == 1:

        def p_values(number: int) -> list[float | None]:
            return [None] * len(metric.figures)
    elif comparison.paired == "randomization":
        count = comparison.count("randomization")

        def p_values(number: int) -> list[float | None]:
            return randomization_p(units[number], units[baseline or 0], metric.compute, count, comparison.seed)
    elif comparison.paired == "mcnemar":
        outcomes = [metric.outcomes(system[0], rows) or {} for system in statistics]

        def p_values(number: int) -> list[float | None]:
            ours, theirs = outcomes[number], outcomes[baseline or 0]
            return [mcnemar_p(ours[name], theirs[name]) if name in ours else None for name in metric.figures]
    else:

        def p_values(number: int) -> list[float | None]:
            assert samples is not None and baseline is not None
            differences = values[number].mean(axis=0) - values[baseline].mean(axis=0)
            return [
                bootstrap_p(
                    samples[number][:, figure],
                    samples[baseline][:, figure],
                    float(differences[figure]),
                    as_sacrebleu=metric.as_sacrebleu and len(values[number]) == len(values[baseline]) == 1,
                )
                for figure in range(len(metric.figures))
            ]

    parts = []
    for number, value in enumerate(values):
        compared = baseline is not None and number != baseline
        tested = p_values(number) if compared and comparison.paired else [None] * len(metric.figures)
        figures = {}
        for figure, name in enumerate(metric.figures):
            estimate = _estimate(value[:, figure])
            if samples is not None and (bounds := interval(samples[number][:, figure])):
                mean = float(samples[number][:, figure].mean())
                estimate = replace(estimate, ci_low=bounds[0], ci_high=bounds[1], ci_mean=mean)
            if compared and estimate.value is not None:
                assert baseline is not None
                theirs = float(values[baseline][:, figure].mean())
                estimate = replace(estimate, difference=estimate.value - theirs, p_value=tested[figure])
            figures[name] = estimate
        parts.append(Part(len(rows), units[number].shape[1], figures))
    return parts


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
