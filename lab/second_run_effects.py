"""The estimate of the second real run (docs/lab/second-run-design.md): what high degree costs
between sentences whose parts a system knows.

Nothing here reads files, so that ``tests/unit/studies/parts/test_second_run.py`` can try
it on simulated builds with a known effect.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment
from second_run_design import degrees_of_freedom

from cgbench.benchmark.score.comparison.significance import holm

MATCHED = (0, 1, 2)
"""The covariates that pairs are matched in: length, rarest word, likelihood of the reference."""
WITHOUT, LEXICAL = (0, 1), (0, 1, 3)
"""Without the likelihood, and with that of Model 1 instead."""
CALIPER = 0.5
"""Largest difference of a matched pair in each covariate, in standard deviations."""
_FORBIDDEN = 1e4  # more than all distances within the calipers together
_SLICE = 20  # neighbours by length that the mean likelihood is taken over, at least


class Build(NamedTuple):
    """The candidates of a build, one row each.

    ``high``, ``low``: bool, those of high and of low degree; ``cell``: whether the uncertainty is
    high; ``covariates`` float ``[n, 3 or 4]``, in standard deviations: length, rarest word, and the
    likelihood of the reference given length, by the two models and by Model 1.
    """

    high: np.ndarray
    low: np.ndarray
    cell: np.ndarray
    covariates: np.ndarray


class RunEffect(NamedTuple):
    """What high degree costs in one run. ``pairs``: matched; ``lost``: given pairs of high degree
    without a match; ``imbalance``: the largest difference between matched halves, in standard
    deviations.
    """

    effect: float
    pairs: int
    lost: int
    imbalance: float


class Interval(NamedTuple):
    """A mean over pools with its 95% interval; ``p`` of no effect."""

    mean: float
    low: float
    high: float
    p: float


def build_of(
    degree: np.ndarray,
    uncertainty: np.ndarray,
    length: np.ndarray,
    rarest: np.ndarray,
    references: Sequence[np.ndarray],
    usable: np.ndarray,
) -> Build:
    """A build from the columns of its candidates, float ``[n]``.

    :param rarest: the training count of the rarest source word.
    :param references: negative log-likelihoods of the reference per token.
    :param usable: bool, those that are not dropped as noise.
    """
    first, second = np.quantile(degree[usable], [1 / 3, 2 / 3])
    given_length = [reference - _mean_at(length, reference) for reference in references]
    columns = np.stack([length, np.log(rarest), *given_length], axis=1).astype(float)
    covariates = columns / np.maximum(columns[usable].std(axis=0), 1e-12)
    cell = uncertainty > np.median(uncertainty[usable])
    return Build((degree >= second) & usable, (degree <= first) & usable, cell, covariates)


def _mean_at(length: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of the values at each row's length; rare lengths are joined with the next."""
    means = np.zeros(len(values))
    waiting: list[int] = []
    lengths = np.unique(length)
    for value in lengths:
        waiting.append(value)
        rows = np.isin(length, waiting)
        rest = int((length > value).sum())
        if rest and (rows.sum() < _SLICE or rest < _SLICE):
            continue
        means[rows] = values[rows].mean()
        waiting = []
    return means


def match(build: Build, given: np.ndarray, covariates: Sequence[int] = MATCHED) -> np.ndarray:
    """Matched pairs among the given candidates, int ``[pairs, 2]``: high, low.

    Within an uncertainty cell, of all assignments within the calipers the one with the most pairs,
    and of these the one with the smallest sum of squared distances.
    """
    found = [np.zeros((0, 2), np.int64)]
    columns = build.covariates[:, list(covariates)]
    for cell in (False, True):
        inside = given & (build.cell == cell)
        high, low = (np.flatnonzero(inside & side) for side in (build.high, build.low))
        apart = abs(columns[high][:, None] - columns[low][None])
        cost = (apart**2).sum(-1)
        cost[(apart > CALIPER).any(-1)] = _FORBIDDEN
        rows, partners = linear_sum_assignment(cost)
        allowed = cost[rows, partners] < _FORBIDDEN
        found.append(np.stack([high[rows[allowed]], low[partners[allowed]]], axis=1))
    return np.concatenate(found)


def effect_of(
    build: Build,
    given: np.ndarray,
    score: np.ndarray,
    covariates: Sequence[int] = MATCHED,
    pairs: np.ndarray | None = None,
    knowledge: np.ndarray | None = None,
) -> RunEffect:
    """The mean of score(low) - score(high) over matched given pairs, minus what the remaining
    differences of the pairs explain (Abadie and Imbens 2011): the slopes are those of a linear
    regression over all given candidates of high and low degree.

    :param pairs: the result of :func:`match`, if it is known.
    :param knowledge: how well the run knows the parts of each candidate, for the regression.
    """
    pairs = match(build, given, covariates) if pairs is None else pairs
    lost = int((given & build.high).sum()) - len(pairs)
    if not len(pairs):
        return RunEffect(float("nan"), 0, lost, float("nan"))
    high, low = pairs.T
    columns = build.covariates[:, list(covariates)]
    if knowledge is not None:
        columns = np.concatenate([columns, knowledge[:, None]], axis=1)
    apart = (columns[low] - columns[high]).mean(0)
    explained = apart @ slopes(build, given, score, columns)
    effect = float((score[low] - score[high]).mean() - explained)
    return RunEffect(effect, len(pairs), lost, float(abs(apart[: len(covariates)]).max()))


def slopes(build: Build, given: np.ndarray, score: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """What a standard deviation of each covariate is worth at equal degree and uncertainty."""
    rows = given & (build.high | build.low)
    constant = np.stack([np.ones(rows.sum()), build.high[rows], build.cell[rows]], axis=1)
    inputs = np.concatenate([columns[rows], constant], axis=1)
    fit = np.linalg.lstsq(inputs, score[rows], rcond=None)[0]
    return np.asarray(fit[: columns.shape[1]])


def influences(build: Build, given: np.ndarray, score: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """How much each sentence moves the effect of a run, ``[n]``: the variance over sentences is the
    sum of squares. The slopes count as known.
    """
    columns = build.covariates[:, list(MATCHED)]
    rest = score - columns @ slopes(build, given, score, columns)
    moved = np.zeros(len(score))
    for rows, sign in zip(pairs.T, (-1, 1), strict=True):
        moved[rows] += sign * (rest[rows] - rest[rows].mean()) / len(pairs)
    return moved


def curve_of(
    degree: np.ndarray,
    build: Build,
    inside: np.ndarray,
    score: np.ndarray,
    bins: int,
    covariates: Sequence[int] = MATCHED,
) -> np.ndarray:
    """Mean chrF by degree at the mean of the covariates, ``[bins]``: bins of equally many
    candidates, by linear regression; NaN for a bin without candidates.

    :param inside: bool, the candidates that count.
    """
    edges = np.quantile(degree, np.linspace(0, 1, bins + 1)[1:-1])
    columns = np.stack([*build.covariates[:, list(covariates)].T, build.cell], axis=1)
    of_bins = np.eye(bins)[np.searchsorted(edges, degree, side="right")]
    inputs = np.concatenate([of_bins, columns - columns.mean(0)], axis=1)[inside]
    means = np.linalg.lstsq(inputs, score[inside], rcond=None)[0][:bins]
    return np.where(of_bins[inside].any(0), means, np.nan)


def missing_effect(
    build: Build, given: np.ndarray, missing: np.ndarray, chance: np.ndarray
) -> float:
    """How many more pieces are missing at high degree, as a share.

    :param missing: the share of a candidate's pieces that its output lacks.
    :param chance: the share that an output for another candidate contains.
    """
    pairs = match(build, given)
    if not len(pairs):
        return float("nan")
    high, low = (missing[rows].mean() / (1 - chance[rows].mean()) for rows in pairs.T)
    return float(high - low)


def over_pools(effects: np.ndarray) -> Interval:
    """The effect over all pools, from those of single runs.

    :param effects: float ``[pools, directions, systems, seeds]``.
    """
    pools, directions, systems, seeds = effects.shape
    of_pools = effects.mean((1, 2, 3))
    of_runs = effects.mean(0)
    mean, by_pools = float(of_pools.mean()), of_pools.var(ddof=1) / pools
    by_seeds, seed_freedom = np.float64(0.0), 1
    if seeds > 1:
        by_seeds = of_runs.var(-1, ddof=1).mean() / (directions * systems * seeds)
        seed_freedom = directions * systems * (seeds - 1)
    freedom = float(degrees_of_freedom(by_pools, pools - 1, by_seeds, seed_freedom))
    error = float(np.sqrt(by_pools + by_seeds))
    half = float(stats.t.ppf(0.975, freedom)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, freedom)) if error else float(mean == 0)
    return Interval(mean, mean - half, mean + half, p)


def answer(interval: Interval, half_of_the_loss: float) -> str:
    """The answer that the design fixes."""
    yes, no = interval.low > 0, interval.high < half_of_the_loss
    return {
        (True, True): "yes, and less than half",
        (True, False): "yes",
        (False, True): "no",
        (False, False): "undecided",
    }[yes, no]


def differences(effects: Mapping[str, np.ndarray]) -> list[tuple[str, str, Interval, float]]:
    """All pairs of systems: the first's effect minus the second's, and p by Holm's method.

    :param effects: of each system float ``[pools, directions, seeds]``.
    """
    names = list(effects)
    pairs = [(one, two) for at, one in enumerate(names) for two in names[at + 1 :]]
    intervals = [over_pools((effects[one] - effects[two])[:, :, None]) for one, two in pairs]
    corrected = holm([interval.p for interval in intervals])
    return [(*pair, *rest) for pair, *rest in zip(pairs, intervals, corrected, strict=True)]
