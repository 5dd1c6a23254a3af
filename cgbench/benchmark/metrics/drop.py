"""What a system loses from a control set to the test set, with an interval from a joint bootstrap.

Both sets are resampled, apart from each other, for they share no example; the resamples are the same for all systems,
and a run (a training seed) is the same model on both, so that its two figures stay together. DBCA reports such a loss
as a ratio (Moisio et al. 2023), which is here beside the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cgbench.benchmark.metrics.comparison import Comparison, SystemScores
from cgbench.benchmark.metrics.contrast import Contrasts
from cgbench.benchmark.metrics.intervals import FEWEST, OfRuns, difference_interval
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.significance import holm, resampled_runs
from cgbench.benchmark.metrics.systems import System
from cgbench.benchmark.metrics.variance import (
    ExampleCovariance,
    covariance_of_clusters,
    covariance_of_samples,
    independent,
)
from cgbench.errors import InputError

CONTROL_DRAWS = 2  # with a comparison's seed, the generator of the control set's resamples


@dataclass(frozen=True)
class ControlSet:
    """The metric of the control set, and what the systems said to it, in the order of those of the test set."""

    metric: Metric
    systems: tuple[System, ...]


@dataclass(frozen=True)
class Drop:
    """How much worse a figure is on the test set than on the control set, in percent points; means over runs.

    ``value`` is above 0 where the test set is harder, whatever way the metric goes; ``runs`` has that of each run, and
    the interval is of 95 %. ``ratio`` is the figure of the test set over that of the control set. ``difference`` is
    from the drop of the baseline, with its 95 % interval and p-value (:mod:`cgbench.benchmark.metrics.contrast`). None:
    not asked for, or not defined.
    """

    control: float | None
    value: float | None = None
    runs: tuple[float, ...] = ()
    stdev: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ratio: float | None = None
    difference: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


def drops(
    metric: Metric, results: Sequence[SystemScores], control: ControlSet, comparison: Comparison, baseline: str | None
) -> dict[str, dict[str, Drop]]:
    """The drop of every figure of every system, by its name.

    :param results: of the test set, as :func:`~cgbench.benchmark.metrics.comparison.evaluate` gives them.
    :param baseline: the system that differences are from; None for no differences.
    :raises InputError: a system has not as many runs on both sets.
    """
    for result, easy_system in zip(results, control.systems, strict=True):
        if result.runs != len(easy_system.runs):
            raise InputError(
                f"{result.system}: {result.runs} runs on the test set and {len(easy_system.runs)} on the control set; "
                "give as many files, in the same order: a run is the same model on both"
            )
    found = iter(control.metric.all_statistics([run for system in control.systems for run in system.runs]))
    statistics = [np.stack([next(found) for _ in system.runs]) for system in control.systems]
    test = _Set(metric, [result.statistics for result in results], comparison, [comparison.seed])
    easy = _Set(control.metric, statistics, comparison, [comparison.seed, CONTROL_DRAWS])
    sign = -1.0 if metric.lower_is_better else 1.0
    names = [result.system for result in results]
    base = None if baseline is None else names.index(baseline)
    runs = [sign * (a - b) for a, b in zip(easy.values, test.values, strict=True)]  # [runs, figures] each
    table: list[dict[str, Drop]] = []
    for number in range(len(results)):
        row = {}
        for figure, name in enumerate(metric.figures):
            ours, theirs = test.values[number][:, figure], easy.values[number][:, figure]
            one = _drop(ours, theirs, sign)
            better, worse = (own.of(number, figure) for own in ((easy, test) if sign > 0 else (test, easy)))
            if one.value is not None and better and worse:
                bounds = difference_interval(better, worse, top=metric.top, bottom=metric.bottom)
                if bounds:
                    one = replace(one, ci_low=bounds[0], ci_high=bounds[1])
            row[name] = one
        table.append(row)
    if base is not None and test.covariance and easy.covariance:
        lost = Contrasts(runs, independent(test.covariance, easy.covariance), shared_seeds=comparison.shared_seeds)
        table = _against(table, base, lost, metric.figures)
    return dict(zip(names, table, strict=True))


class _Set:
    """Every system on one of the two sets: figures of runs ``[runs, figures]``, and the same on resamples."""

    def __init__(
        self, metric: Metric, statistics: Sequence[np.ndarray], comparison: Comparison, seed: Sequence[int]
    ) -> None:
        rows = metric.counted(np.arange(metric.n))
        units = [np.stack([metric.collect(run, rows) for run in system]) for system in statistics]
        self.units = units[0].shape[1]
        self.values = [metric.compute(system.sum(axis=1)) for system in units]
        self.covariance: ExampleCovariance | None = None
        if metric.clusters:
            self.covariance = covariance_of_clusters(metric, statistics, rows, metric.clusters)
        elif self.units > 1 and (samples := comparison.count("bootstrap")) >= FEWEST:
            drawn = resampled_runs(units, metric.compute, samples, seed)
            self.covariance = covariance_of_samples(drawn, self.units)

    def of(self, system: int, figure: int) -> OfRuns | None:
        """One figure of one system, as intervals are made from it."""
        if self.covariance is None:
            return None
        starts = np.cumsum([0, *map(len, self.values)])
        runs = slice(starts[system], starts[system + 1])
        return self.covariance.of_runs(figure, runs), self.values[system][:, figure]


def _drop(test: np.ndarray, control: np.ndarray, sign: float) -> Drop:
    """The drop of one figure from its values in every run."""
    hard, easy = float(test.mean()), float(control.mean())
    if np.isnan(hard) or np.isnan(easy):
        return Drop(None if np.isnan(easy) else easy)
    runs = sign * (control - test)
    spread = float(runs.std(ddof=1)) if len(runs) > 1 else None
    return Drop(easy, float(runs.mean()), tuple(runs.tolist()), spread, ratio=hard / easy if easy else None)


def _against(
    table: Sequence[dict[str, Drop]], base: int, lost: Contrasts, figures: Sequence[str]
) -> list[dict[str, Drop]]:
    """The drops with their differences from that of the system ``base``, p-values adjusted over the systems."""
    rows = [dict(row) for row in table]
    compared = {number: lost.of(number, base) for number in range(len(rows)) if number != base}
    for figure, name in enumerate(figures):
        p_values: list[float | None] = []
        for number, row in enumerate(rows):
            p = None
            if number != base and row[name].value is not None and rows[base][name].value is not None:
                one = compared[number]
                low, high = one.interval()
                p, *bounds = (
                    None if np.isnan(value[figure]) else float(value[figure]) for value in (one.p_value(), low, high)
                )
                row[name] = replace(
                    row[name], difference=float(one.value[figure]), p_value=p, difference_low=bounds[0],
                    difference_high=bounds[1],
                )  # fmt: skip
            p_values.append(p)
        for row, p_holm in zip(rows, holm(p_values), strict=True):
            row[name] = replace(row[name], p_holm=p_holm)
    return rows
