"""Which examples count, which of them depend on each other, and how they were drawn: values that
are passed along.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.records import Record


class Clusters(Record):
    """Clusters of examples by one or two criteria (``names``): ``labels`` int64 ``[n]`` for each.

    ``rows``: the examples that count, if not all.
    """

    names: tuple[str, ...]
    labels: tuple[np.ndarray, ...]
    rows: np.ndarray | None = None

    def of_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """The labels of some examples, numbered from 0; for two criteria, also those of their
        intersection.
        """
        ways = [np.unique(labels[rows], return_inverse=True)[1] for labels in self.labels]
        if len(ways) == 2:
            ways.append(np.unique(ways[0] * (ways[1].max() + 1) + ways[1], return_inverse=True)[1])
        return ways

    @property
    def counts(self) -> dict[str, int]:
        """The number of clusters by name."""
        rows = slice(None) if self.rows is None else self.rows
        return {
            name: len(np.unique(labels[rows]))
            for name, labels in zip(self.names, self.labels, strict=True)
        }

    def signature(self) -> str:
        """``document(40)``, for signatures."""
        return "+".join(f"{name}({count})" for name, count in self.counts.items())

    def description(self) -> str:
        """``40 by document``, for sentences."""
        return " and ".join(f"{count:,} by {name}" for name, count in self.counts.items())


class Design(Record):
    """How the examples were drawn from a population of ``pairs``: ``window``, ``candidates`` or
    ``pool``.

    ``inclusion`` float64 ``[n]``: the probability of each example; ``strata`` int64 ``[n]``, from
    0; ``units`` int64 ``[n]``, from 0: what was drawn as a whole, an example or a document;
    ``sizes`` int64 ``[strata]``: units of the population.
    """

    population: str
    pairs: int
    inclusion: np.ndarray
    strata: np.ndarray
    units: np.ndarray
    sizes: np.ndarray

    @cached_property
    def weights(self) -> np.ndarray:
        """The pairs of the population that each example stands for."""
        return np.asarray(1 / self.inclusion)

    @cached_property
    def stratum_of_unit(self) -> np.ndarray:
        """The stratum of each drawn unit."""
        return np.asarray(self.strata[np.unique(self.units, return_index=True)[1]])

    @cached_property
    def drawn(self) -> np.ndarray:
        """The units drawn from each stratum."""
        return np.bincount(self.stratum_of_unit, minlength=len(self.sizes))

    @property
    def unsampled(self) -> np.ndarray:
        """The share of each stratum that was not drawn: the finite population correction."""
        return 1 - self.drawn / self.sizes

    def description(self) -> str:
        """``3,000 candidates, from 150 of them in 10 strata``."""
        strata = f" in {len(self.sizes)} strata" if len(self.sizes) > 1 else ""
        name = {
            "pool": "pairs of the pool",
            "candidates": "candidates",
            "window": "candidates in the window",
        }
        return (
            f"{self.pairs:,} {name[self.population]}, from {len(self.inclusion):,} of them{strata}"
        )


class Sampling(Record):
    """What intervals and tests must know about the examples, besides their statistics.

    ``clusters``: examples that are not independent; ``design``: how they were drawn from a
    population, to estimate the score on it; ``rows`` int64, ascending: the examples that count,
    None for all. ``jackknife``: leave out one example at a time, without clusters and design, where
    a bootstrap resample could be without the few examples that a score needs.
    """

    clusters: Clusters | None = None
    design: Design | None = None
    rows: np.ndarray | None = None
    jackknife: bool = False

    @classmethod
    def of(
        cls, metric: Metric, clusters: Clusters | None = None, design: Design | None = None
    ) -> Sampling:
        """The examples that count for a metric."""
        rows = metric.counted(np.arange(metric.n))
        return cls(clusters, design, None if len(rows) == metric.n else rows)

    @property
    def independent(self) -> bool:
        """Whether examples are independent and drawn alike, so that tests may exchange them."""
        return self.clusters is None and self.design is None

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Those of ``rows`` that count."""
        return rows if self.rows is None else rows[np.isin(rows, self.rows)]
