"""``concur()``: do benchmarks rank systems alike?

Kendall's tau-b of every two benchmarks, over the systems they share, with three measures of chance:

- over systems: a jackknife that leaves out one system at a time, by Fisher's transformation and Student's t. A tau of 1
  has the interval that one reversed pair of neighbours would have, because the jackknife sees no variance there;
- over seeds and examples, for these systems: the standard deviation of tau over scores drawn again with their standard
  errors, which are taken as independent;
- the ceiling: the mean tau that equal rankings reach with these errors. The scores of each benchmark are shrunk to the
  variance that errors leave, put into one order, and drawn again.

``tests/unit/benchmark/validity/test_concur.py`` measures coverage, and that equal rankings reach the ceiling.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, partial, shown
from cgbench.benchmark.metrics.intervals import student_quantile
from cgbench.benchmark.metrics.significance import SEED, holm
from cgbench.benchmark.validity.concur_request import ConcurRequest
from cgbench.benchmark.validity.concur_sources import Scores, published_benchmarks, read_results, sizes_of
from cgbench.errors import InputError, argument
from cgbench.requests import accepts
from cgbench.tables import fixed, p_text, render
from cgbench.text.inputs import is_path

FEWEST = 5  # systems that two benchmarks share
SAMPLES = 1000  # of scores with their errors
ORDERS = math.factorial(8)  # so p is exact for up to eight systems with ties


@dataclass(frozen=True)
class Concurrence:
    """Two benchmarks on the same ``systems``.

    :param over_systems: 95 % interval of ``tau`` over other systems; ``over_chance``: over other seeds (and examples),
        for these systems; ``ceiling``: the mean tau of equal rankings; None where the chance of a score is unknown.
    :param p: the probability of such a tau, positive or negative, for a random order; ``p_holm``: of all pairs.
    :param given_size: partial tau given model size, over the ``sized`` systems whose size is known.
    """

    first: str
    second: str
    systems: tuple[str, ...]
    tau: float
    over_systems: Interval
    over_chance: Interval
    ceiling: float | None
    p: float
    p_holm: float | None = None
    given_size: float | None = None
    sized: int = 0


@dataclass(frozen=True)
class Concur:
    """Every two ``benchmarks`` that share enough systems."""

    benchmarks: tuple[str, ...]
    pairs: tuple[Concurrence, ...]

    def matrix(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows: tau, and the number of systems in brackets; columns are numbers of rows."""
        cells = {(one.first, one.second): f"{one.tau:.2f} ({len(one.systems)})" for one in self.pairs}
        cells |= {pair[::-1]: cell for pair, cell in cells.items()}
        rows = [
            [f"{number} {name}", *(cells.get((name, other), "") for other in self.benchmarks)]
            for number, name in enumerate(self.benchmarks, 1)
        ]
        return ["", *map(str, range(1, len(rows) + 1))], rows

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of all pairs, the most systems first."""
        head = ["benchmarks", "systems", "tau", "other systems", "other seeds", "ceiling", "p", "Holm", "given size"]
        rows = [
            [
                f"{one.first}, {one.second}", str(len(one.systems)), f"{one.tau:.2f}", _ends(one.over_systems),
                _ends(one.over_chance), fixed(one.ceiling, 2), p_text(one.p), p_text(one.p_holm),
                "" if one.given_size is None else f"{shown(one.given_size, None)} ({one.sized})",
            ]
            for one in sorted(self.pairs, key=lambda one: -len(one.systems))
        ]  # fmt: skip
        return head, rows

    def report(self, form: str = "text") -> str:
        """As text, or as JSON."""
        if form not in ("text", "json"):
            raise InputError(f"{argument('form', form)}: it must be text or json")
        if form == "json":
            return json.dumps(asdict(self), ensure_ascii=False, indent=1)
        return "\n\n".join(["Kendall's tau-b (systems)\n" + render(*self.matrix()), render(*self.table())])


def _ends(ends: Interval) -> str:
    return "" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


@accepts(ConcurRequest)
def concur(request: ConcurRequest) -> Concur:
    """Compare how benchmarks rank the systems that they share.

    :raises InputError: a file is not a result, or no two benchmarks share enough systems.
    """
    given = request.results if request.results is not None else ()
    words = [str(one) for one in ([given] if is_path(given) else given)]
    if bool(words) == request.published:
        raise InputError(f"give results of cgbench score, or {argument('published')}")
    found = published_benchmarks() if request.published else read_results(words)
    pairs = []
    for number, (first, second) in enumerate(itertools.combinations(found, 2)):
        shared = [one for one in first.systems if one in second.systems]
        if len(shared) >= FEWEST and (pair := compare(first.of(shared), second.of(shared), [SEED, number])):
            pairs.append(pair)
    if not pairs:
        raise InputError(f"no two of {len(found)} benchmarks share {FEWEST} systems: name each system alike in all")
    adjusted = holm([one.p for one in pairs])
    pairs = [replace(one, p_holm=p) for one, p in zip(pairs, adjusted, strict=True)]
    names = {name for one in pairs for name in (one.first, one.second)}
    return Concur(tuple(one.name for one in found if one.name in names), tuple(pairs))


def compare(first: Scores, second: Scores, seed: Sequence[int]) -> Concurrence | None:
    """Two benchmarks with the same systems; None if one of them ties all systems."""
    tau = kendall(first.values, second.values)
    if math.isnan(tau):
        return None
    rng = np.random.default_rng(seed)
    over_chance = ceiling = None
    if not np.isnan([first.errors, second.errors]).any():
        drawn = _drawn(rng, first, second)
        half = student_quantile(math.inf) * float(np.nanstd(drawn, ddof=1))
        over_chance = max(-1.0, tau - half), min(1.0, tau + half)
        ceiling = float(np.nanmean(_drawn(rng, _in_order(first), _in_order(second))))
    sizes = sizes_of(first.systems)
    given_size = _given_size(first.of([*sizes]), second.of([*sizes]), [*sizes.values()])
    return Concurrence(
        *(first.name, second.name, first.systems, tau),
        over_systems(first.values, second.values),
        over_chance,
        ceiling,
        p=chance_of(first.values, second.values, rng),
        given_size=given_size,
        sized=len(sizes) if given_size is not None else 0,
    )


def _given_size(first: Scores, second: Scores, sizes: Sequence[float]) -> float | None:
    size = np.array(sizes)
    taus = kendall(first.values, size), kendall(second.values, size), kendall(first.values, second.values)
    return None if len(size) < FEWEST or any(map(math.isnan, taus)) else partial(*taus)


def _signs(values: np.ndarray) -> np.ndarray:
    """Which of two systems is better, ``[..., systems, systems]``."""
    return np.sign(values[..., :, None] - values[..., None, :])


def kendall(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b; NaN if all systems are tied. For few systems it is ten times as fast as that of scipy."""
    one, other = _signs(first), _signs(second)
    ties = np.abs(one).sum() * np.abs(other).sum()
    return float((one * other).sum() / math.sqrt(ties)) if ties else math.nan


def over_systems(first: np.ndarray, second: np.ndarray) -> Interval:
    """The 95 % interval of tau over systems; None if a single system breaks all ties."""
    n, tau = len(first), kendall(first, second)
    left = np.array([kendall(np.delete(first, one), np.delete(second, one)) for one in range(n)])
    equal = abs(tau) > 1 - 1e-12
    if equal:  # as if one pair of neighbours were reversed
        left = np.where(np.arange(n) < 2, 1.0, 1 - 4 / ((n - 1) * (n - 2)))
    if np.isnan(left).any():
        return None
    changed = 1 - 4 / (n * (n - 1)) if equal else abs(tau)
    error = math.sqrt((n - 1) / n * float(((left - left.mean()) ** 2).sum())) / (1 - changed**2)
    middle, half = math.atanh(changed), student_quantile(n - 1) * error
    low, high = math.tanh(middle - half), 1.0 if equal else math.tanh(middle + half)
    return (low, high) if tau >= 0 else (-high, -low)


def _drawn(rng: np.random.Generator, *sides: Scores) -> np.ndarray:
    """tau of :data:`SAMPLES` draws of all scores with their errors."""
    drawn = [rng.normal(one.values, one.errors, (SAMPLES, len(one.values))) for one in sides]
    return np.array([kendall(*both) for both in zip(*drawn, strict=True)])


def _in_order(side: Scores) -> Scores:
    """The scores from the lowest up, shrunk to the variance that errors leave: rankings made equal."""
    order, middle = np.argsort(side.values, kind="stable"), side.values.mean()
    kept = math.sqrt(max(0.0, 1 - (side.errors**2).mean() / side.values.var(ddof=1)))
    return replace(side, values=middle + kept * (side.values[order] - middle), errors=side.errors[order])


def chance_of(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> float:
    """Two-sided p-value of a random order: exact without ties or for at most eight systems, else by random orders."""
    from scipy.stats import kendalltau, permutation_test

    n = len(first)
    if len(np.unique(first)) == len(np.unique(second)) == n:
        return float(kendalltau(first, second, method="exact").pvalue)
    other = _signs(second)
    return float(
        permutation_test(
            (first,), lambda orders, axis: np.abs((_signs(orders) * other).sum((-2, -1))), alternative="greater",
            permutation_type="pairings", n_resamples=ORDERS, vectorized=True, batch=1 + 10**6 // n**2, random_state=rng,
        ).pvalue
    )  # fmt: skip
