"""What makes a test set hard, degree or uncertainty: scores in four matched cells, and effects with
intervals.

The effect of degree is the mean score of the two cells of low degree minus that of the two cells of
high degree; the effect of uncertainty is defined in the same way. The interaction is how much more
uncertainty costs at high degree than at low degree. Intervals resample matched sets of four pairs
as a whole, since matched pairs are not independent (Abadie and Spiess 2022, "Robust Post-Matching
Inference"); with clusters they leave out one cluster of pairs at a time.

Two or three seeds show little of the variance of one effect between seeds. What seeds change in the
cells, beyond a change of all four alike, is assumed to vary as much for each effect, so all effects
of a system together estimate it, with three times the degrees of freedom (a two-way analysis of
variance of seeds and cells). ``lab/validity.py`` measures the coverage.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, with_interval
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import statistics_of
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.variance import DrawnScores, ExampleCovariance
from cgbench.benchmark.score.comparison.variance_components import contrast
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.studies.validity.cells import CELLS, Cells
from cgbench.tables import render

EFFECTS = {
    "degree": (-0.5, -0.5, 0.5, 0.5),
    "uncertainty": (-0.5, 0.5, -0.5, 0.5),
    "interaction": (-1.0, 1.0, 1.0, -1.0),
    "uncertainty minus degree": (0.0, 1.0, -1.0, 0.0),
}
"""Each effect as a sum of the scores of :data:`CELLS`, in points lost."""
MEAN = "mean of systems"


@dataclass(frozen=True)
class CellScores:
    """The scores of a system in the cells and the effects, by name, each with its 95% interval;
    ``runs``: its seeds, or the number of systems of their mean."""

    system: str
    runs: int
    values: dict[str, float]
    intervals: dict[str, Interval]

    @property
    def hardest(self) -> str:
        """What makes the set hard: ``degree``, ``uncertainty``, ``both``, or ``unknown``."""
        low, high = (
            {name: ends[side] for name, ends in self.intervals.items() if ends} for side in (0, 1)
        )
        more = "uncertainty minus degree"
        costly = [name for name in ("degree", "uncertainty") if low.get(name, 0.0) > 0]
        if "uncertainty" in costly and low.get(more, 0.0) > 0:
            return "uncertainty"
        if "degree" in costly and high.get(more, 0.0) < 0:
            return "degree"
        return "both" if len(costly) == 2 else "unknown"

    def shown(self, name: str) -> str:
        """A value with its interval."""
        return with_interval(self.values[name], self.intervals[name], 1)


@dataclass(frozen=True)
class CellEffects:
    """The four cells, and the scores of all systems in them; of several systems, the last row is
    their mean.
    """

    metric: str
    signature: str
    cells: Cells
    systems: tuple[CellScores, ...]

    @property
    def card(self) -> str:
        """The headline, for the card of the test set."""
        row = self.systems[-1]
        headline = {
            "uncertainty": "Uncertainty makes the test set hard, more than degree",
            "degree": "Degree makes the test set hard, more than uncertainty",
            "both": "Degree and uncertainty make the test set hard, and neither clearly more",
            "unknown": (
                "The four cells do not show whether degree or uncertainty makes the test set hard"
            ),
        }[row.hardest]
        whose = f"mean of {row.runs} systems" if row.system == MEAN else row.system
        return (
            f"{headline}: high uncertainty costs {row.shown('uncertainty')} points of"
            f" {self.metric}, high degree {row.shown('degree')}, the interaction is"
            f" {row.shown('interaction')} ({whose}; {self.cells.description()})."
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        rows = {row.system: {**asdict(row), "hardest": row.hardest} for row in self.systems}
        for row in rows.values():
            del row["system"]
        facts = {
            "pairs": self.cells.rows.shape[1],
            "available": self.cells.available,
            "degrees": self.cells.degrees,
        }
        return {
            "metric": self.metric,
            "signature": self.signature,
            "card": self.card,
            **facts,
            "systems": rows,
        }

    def report(self) -> str:
        """The headline, and a table with one column per system."""
        rows = [[name, *(row.shown(name) for row in self.systems)] for name in (*CELLS, *EFFECTS)]
        table = render(("", *(row.system for row in self.systems)), rows)
        return (
            f"{self.card}\n\n{self.metric} in four cells, and points lost"
            f" ({self.signature})\n{table}"
        )


class _Cellwise:
    """The scores of the cells and the effects, from statistics with one block of columns per cell.

    Examples are the ``pairs`` of the first cell, then those of the second, ...; a unit is a matched
    set of four.
    """

    def __init__(self, metric: Metric, pairs: int) -> None:
        self.metric, self.pairs = metric, pairs
        effects = np.array(list(EFFECTS.values())) * (-1 if metric.lower_is_better else 1)
        self.combine = np.concatenate([np.eye(len(CELLS)), effects]).T

    def collect(self, statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The statistics of all examples, ``[pairs, cells * k]``."""
        return statistics.reshape(len(CELLS), self.pairs, -1).swapaxes(0, 1).reshape(self.pairs, -1)

    def collect_clusters(
        self, statistics: np.ndarray, rows: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        """The sums by cluster, ``[clusters, cells * k]``."""
        n, k = statistics.shape
        by_cell = np.zeros((n, len(CELLS), k))
        by_cell[np.arange(n), np.arange(n) // self.pairs] = statistics
        return np.stack(
            [np.bincount(labels, column) for column in by_cell.reshape(n, -1).T], axis=1
        )

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """``[m, cells * k]`` to ``[m, cells + effects]``."""
        scores = self.metric.compute(sums.reshape(len(sums) * len(CELLS), -1))[:, 0]
        return np.asarray(scores.reshape(len(sums), len(CELLS)) @ self.combine)


def cell_effects(
    metric: Metric,
    cells: Cells,
    systems: Sequence[System],
    clusters: Clusters | None,
    *,
    samples: int,
    seed: int,
) -> CellEffects:
    """Score systems in the cells.

    :param metric: its examples, and the outputs of the systems, are the pairs of the first cell,
        then the second, ...
    """
    statistics = statistics_of(metric, (system.runs for system in systems))
    scorer, sampling = _Cellwise(metric, cells.rows.shape[1]), Sampling(clusters)
    drawn = DrawnScores(scorer, sampling, statistics, np.arange(metric.n), samples, seed)
    values, covariance, names, rows = (
        np.concatenate(drawn.values),
        drawn.covariance,
        (*CELLS, *EFFECTS),
        [],
    )
    # Each system, and the mean of several: its runs are the means of the systems.
    groups = [
        (system.name, np.eye(len(values))[drawn.runs_of(at)]) for at, system in enumerate(systems)
    ]
    if len(systems) > 1:
        groups.append((MEAN, np.stack([weights.mean(axis=0) for _, weights in groups])))
    for name, weights in groups:
        of_runs = weights @ values
        seed_variance = math.nan if name == MEAN else _seed_variance(of_runs[:, : len(CELLS)])
        intervals: dict[str, Interval] = dict.fromkeys(names)
        for figure, label in enumerate(names):
            if covariance is None:
                continue
            part = covariance.select(partial(_of_group, figure=figure, weights=weights))
            if label in CELLS:
                intervals[label] = score_interval(
                    part, of_runs[:, figure], metric.top, metric.bottom
                )
            else:
                coefficients = np.array(EFFECTS[label])
                between = float(coefficients @ coefficients) * seed_variance
                intervals[label] = _effect_interval(part, of_runs[:, figure], between)
        means = dict(zip(names, of_runs.mean(axis=0).tolist(), strict=True))
        rows.append(CellScores(name, len(of_runs), means, intervals))
    return CellEffects(metric.name, str(metric.signature()), cells, tuple(rows))


def _of_group(block: np.ndarray, figure: int, weights: np.ndarray) -> np.ndarray:
    """The covariance of a figure between the runs of a group."""
    return np.asarray(weights @ block[figure] @ weights.T)


def _seed_variance(cells: np.ndarray) -> float:
    """The variance between seeds of the score of a cell, beyond what a seed changes in all cells.

    :param cells: the scores of each seed in the cells, ``[seeds, 4]``.
    :returns: NaN for one seed.
    """
    seeds, columns = cells.shape
    if seeds == 1:
        return math.nan
    by_seed, by_cell = cells.mean(axis=1, keepdims=True), cells.mean(axis=0, keepdims=True)
    residuals = cells - by_seed - by_cell + cells.mean()
    return float((residuals**2).sum()) / ((seeds - 1) * (columns - 1))


def _effect_interval(covariance: ExampleCovariance, runs: np.ndarray, between: float) -> Interval:
    """The interval of the mean of runs, as of a difference from runs without an effect.

    :param between: the variance of the effect between seeds, from all effects; NaN: from this one.
    """
    count = len(runs)
    padded = covariance.select(lambda block: np.pad(block, (0, count)))
    difference = contrast(runs, np.zeros(count), padded, shared_seeds=True)
    if not math.isnan(between):
        degrees = (count - 1) * (len(CELLS) - 1)
        difference = replace(
            difference, seeds=np.array(between / count), of_seeds=np.array(float(degrees))
        )
    low, high = difference.interval()
    if not np.isnan(low):
        return float(low), float(high)
    # Seeds agree by chance: the variance of the pairs remains, if there is any.
    ends = score_interval(covariance, runs, bottom=None)
    return ends if ends and ends[1] > ends[0] else None
