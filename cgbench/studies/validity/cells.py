"""Four cells of candidates: high and low degree by high and low uncertainty, alike in everything
else that is matched.

The test set is selected by degree and by uncertainty, so a drop from the control set does not show
which of the two is hard. High uncertainty is the window that the test set is drawn from, low
uncertainty as many of the least uncertain candidates; high and low degree are the highest and the
lowest third of these two groups. All cells are matched to one template, a sample of their union
(Silber et al. 2014, "Template Matching for Auditing Hospital Cost and Quality"), in corpus, length
and word frequency (:mod:`cgbench.benchmark.candidates.matching`). Cells become smaller until they
are balanced.

Candidates are the highest degrees of the pool, so low degrees are low among candidates only:
effects of degree are those of the range that the result names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.matching import (
    BALANCED,
    SHOWN,
    balance,
    covariates_of,
    match,
    scaled_covariates,
    worst,
)
from cgbench.benchmark.candidates.selection import seeded_hash
from cgbench.errors import InputError, argument

CELLS = tuple(
    f"{degree} degree, {uncertainty} uncertainty"
    for degree in ("high", "low")
    for uncertainty in ("high", "low")
)
FEWEST = 25  # pairs in each cell
_SMALLER = 0.9  # the factor between two sizes that are tried


@dataclass(frozen=True)
class Cells:
    """The candidates of the four cells.

    ``rows`` int64 ``[4, pairs]``, in the order of :data:`CELLS`; each column is a matched set.
    ``degrees``: the lowest, the mean and the highest degree of ``high`` and of ``low`` degree.
    ``available``: the candidates of each cell before matching. ``difference``: the largest
    standardised difference between two cells.
    """

    rows: np.ndarray
    degrees: dict[str, tuple[float, float, float]]
    available: tuple[int, ...]
    difference: float

    def description(self) -> str:
        """Sizes, degrees and balance in a line."""
        spans = [
            f"{name} degree {mean:.2f} ({least:.2f} to {most:.2f})"
            for name, (least, mean, most) in self.degrees.items()
        ]
        return (
            f"{self.rows.shape[1]} pairs in each cell; {', '.join(spans)}; cells differ by at most "
            f"{self.difference:.3f} standard deviations in length and word frequency"
        )


def draw_cells(columns: Mapping[str, Any], most: int, seed: int) -> Cells:
    """Draw at most ``most`` pairs for each cell; fewer if more cannot be matched.

    :param columns: of the candidates, by name: ``degree``, ``stage``, ``rank``, ``content``,
        ``pool`` and covariates of :func:`~cgbench.benchmark.candidates.matching.covariates_of`.
    :raises InputError: fewer than :data:`FEWEST` pairs in each cell can be matched.
    """
    pools = _cell_members(columns)
    sizes = [len(members) for members in pools]
    # Smaller and smaller samples, until the cells are balanced.
    difference, name = np.inf, ""
    size = min(most, *sizes)
    while size >= FEWEST:
        if (rows := _matched(columns, pools, size, seed)) is not None:
            difference, name = _difference(columns, rows)
            if difference < BALANCED:
                return Cells(rows, _degrees(columns, rows), tuple(sizes), difference)
        size = int(size * _SMALLER)
    counts = ", ".join(f"{size:,} of {cell}" for size, cell in zip(sizes, CELLS, strict=True))
    reason = (
        f"a cell, or its part from one corpus, has fewer than the {FEWEST} pairs of the smallest"
        " sample"
    )
    if name:
        reason = (
            f"cells of {FEWEST} pairs still differ by {difference:.2f} standard deviations"
            f" ({SHOWN[name]})"
        )
    raise InputError(
        f"{argument('cells')}: the cells cannot be matched: there are {counts}; {reason}. Build"
        " with more candidates, or from a larger pool"
    )


def _cell_members(columns: Mapping[str, Any]) -> list[np.ndarray]:
    """The candidates of each cell before matching."""
    stage, degree, rank = (np.asarray(columns[name]) for name in ("stage", "degree", "rank"))
    uncertain = np.flatnonzero(np.isin(stage, ("window", "selected")))
    rest = np.flatnonzero(stage == "rest")
    certain = rest[np.argsort(-rank[rest], kind="stable")[: len(uncertain)]]
    ordered = np.sort(degree[np.concatenate([uncertain, certain])])
    lower, upper = (
        ordered[(len(ordered) - 1) // 3],
        ordered[len(ordered) - 1 - (len(ordered) - 1) // 3],
    )
    return [
        members[of_degree[members]]
        for of_degree in ((degree >= upper) & (degree > lower), degree <= lower)
        for members in (uncertain, certain)
    ]


def _matched(
    columns: Mapping[str, Any], pools: list[np.ndarray], size: int, seed: int
) -> np.ndarray | None:
    """``size`` pairs of each cell, matched to the same template; None if a corpus has too few pairs
    in a cell.
    """
    union, corpus = np.concatenate(pools), np.asarray(columns["pool"])
    tie = seeded_hash(np.asarray(columns["content"])[union], seed, "cells")
    template = union[np.argsort(tie, kind="stable")[:size]]
    rows = np.empty((len(pools), size), np.int64)
    for cell, members in enumerate(pools):
        points, member_points = scaled_covariates(
            _covariates(columns, template), _covariates(columns, members)
        )
        for pool in np.unique(corpus[template]):
            of_template, of_members = (
                np.flatnonzero(corpus[those] == pool) for those in (template, members)
            )
            if len(of_members) < len(of_template):
                return None
            rows[cell, of_template] = members[
                of_members[match(points[of_template], member_points[of_members])]
            ]
    return rows


def _covariates(columns: Mapping[str, Any], rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[rows] for name, values in covariates_of(columns).items()}


def _difference(columns: Mapping[str, Any], rows: np.ndarray) -> tuple[float, str]:
    """The largest standardised difference between two cells, and its covariate."""
    sets = [_covariates(columns, cell) for cell in rows]
    return max(worst(balance(first, second)) for first, second in combinations(sets, 2))


def _degrees(columns: Mapping[str, Any], rows: np.ndarray) -> dict[str, tuple[float, float, float]]:
    degree = np.asarray(columns["degree"])
    halves = {"high": degree[rows[:2]], "low": degree[rows[2:]]}
    return {
        name: (float(half.min()), float(half.mean()), float(half.max()))
        for name, half in halves.items()
    }
