"""The drop of a system's score from a control set to the test set, with a confidence interval from
a joint bootstrap.

The two sets share no example and are resampled independently; all systems share the resamples. A
run (a training seed) is the same model on both sets, so its two scores stay paired. DBCA reports
the drop as a ratio (Moisio et al. 2023), which is also given.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison, SystemRuns, statistics_of
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.intervals import FEWEST, difference_interval
from cgbench.benchmark.score.comparison.results import SystemScores, Tested
from cgbench.benchmark.score.comparison.significance import holm
from cgbench.benchmark.score.comparison.variance import DrawnScores, independent
from cgbench.benchmark.score.comparison.variance_components import Contrasts
from cgbench.records import Record

CONTROL_DRAWS = 2  # added to the seed for the resamples of the control set


class ControlSet(Record):
    """The metric of the control set, its examples, and the outputs on it, in the order of systems
    of the test set.
    """

    metric: Metric
    sampling: Sampling
    systems: Sequence[SystemRuns]


class Drop(Tested):
    """How much worse a score is on the test set than on the control set, in percentage points;
    means over runs.

    ``value`` is above 0 if the test set is harder, for any metric; ``runs`` has the values of the
    runs. ``ci_low``, ``ci_high``: 95% confidence interval. ``ratio``: score on the test set divided
    by that on the control set. ``difference``: from the drop of the baseline, with its 95% interval
    and p-value (:mod:`.variance_components`). None: not requested, or not defined.
    """

    control: float | None
    value: float | None = None
    runs: tuple[float, ...] = ()
    stdev: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ratio: float | None = None


def drops(
    metric: Metric,
    sampling: Sampling,
    results: Sequence[SystemScores],
    control: ControlSet,
    comparison: Comparison,
    baseline: str | None,
) -> dict[str, dict[str, Drop]]:
    """The drops of all scores, by system and score.

    :param results: of the test set, from :func:`.comparison.compare`.
    :param control: with as many runs of each system as on the test set.
    :param baseline: system to compare drops with; None for no comparison.
    """
    # Both sets with their own samples of examples.
    statistics = statistics_of(control.metric, (system.runs for system in control.systems))
    test = _drawn(
        metric, sampling, [result.statistics for result in results], comparison, [comparison.seed]
    )
    easy = _drawn(
        control.metric, control.sampling, statistics, comparison, [comparison.seed, CONTROL_DRAWS]
    )
    sign = -1.0 if metric.lower_is_better else 1.0
    names = [result.system for result in results]
    base = None if baseline is None else names.index(baseline)
    runs = [
        sign * (a - b) for a, b in zip(easy.values, test.values, strict=True)
    ]  # [runs, figures] each
    # The drop of every system and score, with its interval.
    table: list[dict[str, Drop]] = []
    for index in range(len(results)):
        row = {}
        for figure, name in enumerate(metric.figures):
            test_values, control_values = (
                test.values[index][:, figure],
                easy.values[index][:, figure],
            )
            drop = _drop(test_values, control_values, sign)
            better, worse = (
                drawn.of(index, figure) for drawn in ((easy, test) if sign > 0 else (test, easy))
            )
            if drop.value is not None and better and worse:
                bounds = difference_interval(better, worse, top=metric.top, bottom=metric.bottom)
                if bounds:
                    drop = replace(drop, ci_low=bounds[0], ci_high=bounds[1])
            row[name] = drop
        table.append(row)
    if base is not None and test.covariance and easy.covariance:
        lost = Contrasts(
            runs,
            independent(test.covariance, easy.covariance),
            shared_seeds=comparison.shared_seeds,
        )
        _against(table, base, lost, metric.figures)
    return dict(zip(names, table, strict=True))


def _drawn(
    metric: Metric,
    sampling: Sampling,
    statistics: Sequence[np.ndarray],
    comparison: Comparison,
    seed: Sequence[int],
) -> DrawnScores:
    """All systems on one of the two sets; without variances if an interval needs more samples."""
    samples = comparison.count("bootstrap")
    enough = samples if sampling.clusters or samples >= FEWEST else None
    return DrawnScores(metric, sampling, statistics, np.arange(metric.n), enough, seed)


def _drop(test: np.ndarray, control: np.ndarray, sign: float) -> Drop:
    """The drop of a score from its values in all runs."""
    hard, easy = float(test.mean()), float(control.mean())
    if np.isnan(hard) or np.isnan(easy):
        return Drop(None if np.isnan(easy) else easy)
    runs = sign * (control - test)
    spread = float(runs.std(ddof=1)) if len(runs) > 1 else None
    return Drop(
        easy, float(runs.mean()), tuple(runs.tolist()), spread, ratio=hard / easy if easy else None
    )


def _against(
    table: Sequence[dict[str, Drop]], base: int, lost: Contrasts, figures: Sequence[str]
) -> None:
    """Add differences from the drop of the system ``base``, with p-values adjusted over systems."""
    for index, row in enumerate(table):
        if index == base:
            continue
        contrast = lost.of(index, base)
        columns = contrast.value, contrast.p_value(), *contrast.interval()
        for figure, name in enumerate(figures):
            if row[name].value is not None and table[base][name].value is not None:
                numbers = (float(column[figure]) for column in columns)
                difference, p, low, high = (
                    None if np.isnan(number) else number for number in numbers
                )
                row[name] = replace(
                    row[name],
                    difference=difference,
                    p_value=p,
                    difference_low=low,
                    difference_high=high,
                )
    for name in figures:
        for row, p_holm in zip(table, holm([row[name].p_value for row in table]), strict=True):
            row[name] = replace(row[name], p_holm=p_holm)
