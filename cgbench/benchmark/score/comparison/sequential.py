"""Look at a mean after every value and stop at any time: p-values, intervals and decisions that
stay valid.

A fixed test is calibrated for one look. For looks after every value, bet against the claim that the
mean is m: stake a fraction c of the capital on values above m (Waudby-Smith and Ramdas 2024,
"Estimating means of bounded random variables by betting", J. R. Stat. Soc. B 86: the hedged capital
process)::

    capital  *=  1 - c + c * value / m          for values between 0 and 1

If the claim is true, the capital ever reaches 1/level with probability at most level (Ville's
inequality). The capital here is a mean over six stakes c (:data:`STAKES`), as in their grid Kelly
process, to find small and large differences alike. A second capital bets that values are below m,
and each side has half of the level. The interval after t values holds every m that neither side has
rejected so far.

The claim is about the population that the examples come from, such as the difference of two models
on sentences like these. A claim about the examples of one test set is another one: m is then
replaced by what it leaves for the mean of the remaining examples (their section on sampling without
replacement), so the interval shrinks to the exact mean when all examples are asked. Two equally
good models nearly always differ on a test set, so that claim says nothing about the models.

The logarithm of the capital is convex in m, so a secant through two points where it is too small
never lies above it: between points of the grid, bounds are rounded outwards. ``lab/sequential.py``
measures level and number of examples.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from cgbench.errors import InputError, argument

STAKES = (0.03, 0.06, 0.12, 0.24, 0.48, 0.9)
"""Fractions of the capital; each starts with a share in proportion to its root, since few values
need large bets.
"""
CELLS = 12
"""Cells of a grid of means; within each that the bounds pass there is a finer grid, and within its
cells a third.
"""
BLOCK, LARGEST = 32, 1e8
"""Values whose bets are multiplied before a logarithm is taken, and the largest gain of a bet:
products stay finite.
"""
ROUNDING = 1e-9
"""What rounding may make of a sum, as a share of the number of examples."""

Decision: TypeAlias = Literal["better", "worse", "equivalent", "undecided"]
Claim: TypeAlias = Literal["models", "test-set"]
"""What a result is about: models on examples such as these, or their scores on this test set."""


@dataclass(frozen=True)
class SequentialResult:
    """Results after each value: ``p``, ``low`` and ``high`` float64 ``[n]``, valid at any stop.

    ``p``: that of the claim that the mean is 0, which never rises; ``low``, ``high``: the interval
    of the mean, which never widens. ``decision``: ``better`` (the mean is above 0), ``worse``
    (below 0), ``equivalent`` (within the margin) or ``undecided``; ``decided_after``: the number of
    values that it took, None if undecided. The interval and every decision together are wrong with
    probability at most ``level``. If ``low`` is above ``high``, every mean has been ruled out: the
    order of the values was probably not random.

    ``about``: ``models`` (the population of values) or ``test-set`` (all examples of one test set).
    In the second case, the last ``p`` is NaN once all examples have come: the mean is then known,
    and there is nothing left to test.
    """

    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    decision: Decision
    decided_after: int | None
    level: float
    margin: float
    about: Claim = "models"


def sequential(
    values: Sequence[float] | np.ndarray,
    low: float,
    high: float,
    *,
    level: float = 0.05,
    margin: float = 0.0,
    size: int | None = None,
) -> SequentialResult:
    """Test after every value whether a mean is 0, for example the mean difference of two systems.

    Values must come in random order or be independent draws. Examples that belong together (a
    document) count as one value, their mean, or use :func:`sequential_clusters`. With several
    seeds, a value is the mean over seeds, and the result holds for these seeds. For one mean or a
    share, read the interval; for a threshold, subtract it from values.

    :param values: paired differences in the order in which they came, ``[n]``.
    :param low: the lowest possible value.
    :param high: the highest possible value.
    :param level: the probability that the sequence ever excludes the true mean, or decides wrongly.
    :param margin: means from -margin to margin are equivalent to 0.
    :param size: None for a result about the population of values, such as models on examples like
        these. The number of examples in a test set, from which values are drawn without
        replacement, for a result about the mean of this test set alone, which is exact when all
        values have come. It does not hold for models: equally good ones differ on most test sets.
    :raises InputError: a value is not between ``low`` and ``high``, or an argument is out of its
        range.
    """
    differences = _checked(values, low, high, level, margin, size)
    width, bar = high - low, math.log(2 / level)
    units = (differences - low) / width
    # Bets for and against a mean of 0, and against means outside the margin.
    zero, lowest, highest = ((claim - low) / width for claim in (0.0, -margin, margin))
    above, below = log_capitals(units, zero, size), log_capitals(1 - units, 1 - zero, size)
    p = np.exp(np.minimum(0.0, math.log(2) - np.maximum.accumulate(np.maximum(above, below))))
    outside = np.stack(
        [log_capitals(units, lowest, size), log_capitals(1 - units, 1 - highest, size)]
    )
    within = np.maximum.accumulate(outside, axis=1).min(axis=0) >= bar
    # The interval: exact when all examples are asked.
    bounds = (
        low + width * lower_bounds(units, bar, size),
        high - width * lower_bounds(1 - units, bar, size),
    )
    if len(differences) == size:
        mean = math.fsum(differences) / size
        bounds[0][-1] = bounds[1][-1] = mean
        within[-1] |= abs(mean) <= margin + ROUNDING * width
        p[-1] = math.nan
    # The first decision; of two at the same value, equivalence.
    decision, decided_after = _first(
        {"equivalent": within, "better": above >= bar, "worse": below >= bar}
    )
    about: Claim = "models" if size is None else "test-set"
    return SequentialResult(p, *bounds, decision, decided_after, level, margin, about)


def sequential_clusters(
    values: Sequence[float] | np.ndarray,
    clusters: Sequence[Any] | np.ndarray,
    low: float,
    high: float,
    *,
    sizes: Sequence[int],
    level: float = 0.05,
    margin: float = 0.0,
    about: Claim = "models",
) -> SequentialResult:
    """The same for whole clusters in random order, from a test set whose clusters have these
    ``sizes``.

    A cluster counts by the sum of its values, so the mean is that over examples. Very unequal
    clusters take longer. About models, p-values and decisions without a margin are exact; the
    interval and the margin take the mean size of these clusters for that of all clusters.

    :param clusters: the label of the cluster of each value, ``[n]``.
    :param sizes: the number of examples in every cluster of the test set, ``[clusters]``.
    :param about: ``models``, or ``test-set`` for a result about this test set alone.
    :returns: one entry per cluster, in the order in which they came.
    :raises InputError: as :func:`sequential`, or 0 is not between ``low`` and ``high``.
    """
    _checked(values, low, high, level, margin, None)
    if not low <= 0 <= high:
        raise InputError(
            f"{argument('low', low)}, {argument('high', high)}: sums of clusters need 0 between"
            " them"
        )
    labels = {label: row for row, label in enumerate(dict.fromkeys(clusters))}
    largest, mean_size = max(sizes), math.fsum(sizes) / len(sizes)
    sums = np.bincount([labels[label] for label in clusters], np.asarray(values, np.float64))
    scale = largest / mean_size
    size = len(sizes) if about == "test-set" else None
    result = sequential(sums / largest, low, high, level=level, margin=margin / scale, size=size)
    return replace(result, low=result.low * scale, high=result.high * scale, margin=margin)


def _first(ends: Mapping[Decision, np.ndarray]) -> tuple[Decision, int | None]:
    """The end that is reached first, the earlier in ``ends`` of two at once, and the number of
    values it took.
    """
    after = {name: int(reached.argmax()) + 1 for name, reached in ends.items() if reached.any()}
    decision = min(after, key=after.__getitem__, default=None)
    return ("undecided", None) if decision is None else (decision, after[decision])


def log_capitals(
    values: np.ndarray, mean: np.ndarray | float, size: int | None = None
) -> np.ndarray:
    """The logarithm of the capital after each value, of bets that the mean is above ``mean``.

    :param values: between 0 and 1, ``[..., n]``; ``mean`` ``[..., 1]`` or a number.
    :param size: as in :func:`sequential`.
    :returns: float64 ``[..., n]``; infinite once the values have ruled the mean out.
    """
    n = values.shape[-1]
    if size is None:
        claimed, impossible = np.asarray(mean), np.asarray(mean) < 0
    else:
        # What the claim leaves for the mean of the remaining examples, and whether their sum would
        # have to be negative.
        sums = np.cumsum(values, axis=-1)
        total = size * np.asarray(mean)
        claimed = (total - sums + values) / (size - np.arange(n))
        impossible = total < sums - ROUNDING * size
    claimed = np.maximum(claimed, 0.0) + 0.0  # never -0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(
            np.minimum(values / claimed, LARGEST), nan=1.0
        )  # 0 / 0: there is nothing to bet on
    # Products within blocks, and the logarithms of the products of whole blocks before: one
    # logarithm for all stakes.
    blocks = -(-n // BLOCK)
    padded = np.ones((*ratios.shape[:-1], blocks * BLOCK))
    padded[..., :n] = ratios
    padded = padded.reshape(*ratios.shape[:-1], blocks, BLOCK)
    products = [np.cumprod(1 - stake + stake * padded, axis=-1) for stake in STAKES]
    logs = np.stack([np.log(product[..., -1]) for product in products])
    before = np.cumsum(logs, axis=-1) - logs
    highest = before.max(axis=0)
    starts = np.sqrt(STAKES) / np.sqrt(STAKES).sum()
    weights = [
        start * np.exp(earlier - highest)[..., None]
        for start, earlier in zip(starts, before, strict=True)
    ]
    capitals = sum(weight * product for weight, product in zip(weights, products, strict=True))
    capitals = (np.log(capitals) + highest[..., None]).reshape(*ratios.shape[:-1], -1)[..., :n]
    return np.where(impossible, math.inf, capitals)


def lower_bounds(
    values: np.ndarray,
    bar: float,
    size: int | None = None,
    start: float = 0.0,
    width: float = 1.0,
    levels: int = 3,
) -> np.ndarray:
    """The largest mean that bets have ruled out after each value: where the logarithm of the
    capital reached ``bar``.

    :param values: between 0 and 1, ``[n]``.
    :param start: the lowest mean of a range of ``width``; ``levels`` of grids are laid over it.
    :returns: float64 ``[n]``; never falls, and is at most the exact bound.
    """
    # The last point of a grid that is ruled out after each value, and the bound up to the next
    # point.
    grid = start + width * np.arange(CELLS + 2) / CELLS
    highest = np.maximum.accumulate(log_capitals(values, grid[:, None], size), axis=1)
    cells = np.clip((highest >= bar).sum(axis=0) - 1, 0, CELLS - 1)
    rows = np.arange(len(values))
    nearer, further = highest[cells + 1, rows], highest[cells + 2, rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        secant = grid[cells + 1] - (bar - nearer) / (nearer - further) * width / CELLS
    bounds = np.fmax(grid[cells], np.where(nearer < bar, secant, grid[cells + 1]))
    # A finer grid in each cell that the bound passes, over the values until it leaves the cell.
    for cell in np.unique(cells) if levels > 1 else ():
        inside = np.flatnonzero(cells == cell)
        finer = lower_bounds(
            values[: inside[-1] + 1], bar, size, grid[cell], width / CELLS, levels - 1
        )
        bounds[inside] = finer[inside]
    return np.clip(bounds, 0.0, 1.0)


def _checked(
    values: Sequence[float] | np.ndarray,
    low: float,
    high: float,
    level: float,
    margin: float,
    size: int | None,
) -> np.ndarray:
    """The values as float64 ``[n]``, or an error for the first argument that is out of its
    range.
    """
    try:
        differences = np.asarray(values, np.float64)
        ends = float(low), float(high), float(level), float(margin)
    except (TypeError, ValueError):
        raise InputError(
            "sequential: values, low, high, level and margin must be numbers"
        ) from None
    if not (all(map(math.isfinite, ends)) and low < high):
        raise InputError(
            f"{argument('low', low)}, {argument('high', high)}: low must be below high, both finite"
        )
    if not 0 < level < 1:
        raise InputError(f"{argument('level', level)}: it must be between 0 and 1, such as 0.05")
    if margin < 0:
        raise InputError(f"{argument('margin', margin)}: it must be at least 0")
    if differences.ndim != 1 or not len(differences):
        raise InputError(f"{argument('values')}: give at least one number, in one dimension")
    if len(outside := np.flatnonzero(~((low <= differences) & (differences <= high)))):
        row = int(outside[0])
        raise InputError(
            f"{argument('values')}: value {row + 1} ({differences[row]:g}) is not between {low:g}"
            f" and {high:g}"
        )
    is_whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    if size is not None and (not is_whole or size < len(differences)):
        raise InputError(
            f"{argument('size', size)}: it must be a whole number of at least {len(differences):,},"
            " the values given"
        )
    return differences
