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
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, partial, shown
from cgbench.benchmark.metrics.intervals import student_quantile
from cgbench.benchmark.metrics.significance import holm
from cgbench.benchmark.validity.concur_request import ConcurRequest
from cgbench.benchmark.validity.concur_sources import (
    Scores,
    published_benchmarks,
    read_pairs,
    read_results,
    read_sizes,
)
from cgbench.benchmark.validity.ranking import kendall
from cgbench.errors import InputError, argument
from cgbench.requests import accepts
from cgbench.tables import fixed, p_text, render
from cgbench.text.inputs import as_path, is_path

EXACT = 8
"""Systems up to which all orders are counted if there are ties."""
DRAWS = 20_000  # random orders for more systems with ties


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

    def cell(self, first: str, second: str) -> Concurrence | None:
        """A pair, in either order."""
        return next((one for one in self.pairs if {one.first, one.second} == {first, second}), None)

    def matrix(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows: tau, and the number of systems in brackets; columns are numbers of rows."""
        rows = []
        for number, name in enumerate(self.benchmarks, 1):
            found = [self.cell(name, other) if other != name else None for other in self.benchmarks]
            rows.append([f"{number} {name}", *(f"{one.tau:.2f} ({len(one.systems)})" if one else "" for one in found)])
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

    def plot(self) -> Any:
        """Draw tau of every pair with its interval over systems, as a figure of matplotlib."""
        from cgbench.plots import PointPanel, Points, draw_points

        ends = [one.over_systems or (one.tau, one.tau) for one in self.pairs]
        points = Points("tau, 95 % over systems", [one.tau for one in self.pairs], *zip(*ends, strict=True))
        labels = [f"{one.first}, {one.second} ({len(one.systems)})" for one in self.pairs]
        return draw_points([PointPanel(labels, [points], value_name="Kendall's tau-b", down=True)])


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
    named = read_pairs(as_path(request.identities) if request.identities else None)
    found = published_benchmarks() if request.published else read_results(words, named)
    if request.benchmarks:
        found = [one for one in found if one.name.startswith(request.benchmarks)]
    every = sorted({system for one in found for system in one.systems})
    sizes = read_sizes(as_path(request.sizes) if request.sizes else None, every)
    pairs = []
    for number, (first, second) in enumerate(itertools.combinations(found, 2)):
        shared = [one for one in first.systems if one in second.systems]
        sides = first.of(shared), second.of(shared)
        if len(shared) >= request.least and (pair := compare(*sides, request.samples, [request.seed, number])):
            pairs.append(_with_size(pair, *sides, sizes, request.least))
    if not pairs:
        raise InputError(
            f"no two of {len(found)} benchmarks share {request.least} systems; systems with other names need "
            f"{argument('identities')}"
        )
    adjusted = holm([one.p for one in pairs])
    pairs = [replace(one, p_holm=p) for one, p in zip(pairs, adjusted, strict=True)]
    names = {name for one in pairs for name in (one.first, one.second)}
    return Concur(tuple(one.name for one in found if one.name in names), tuple(pairs))


def compare(first: Scores, second: Scores, samples: int, seed: Sequence[int]) -> Concurrence | None:
    """Two benchmarks with the same systems; None if one of them ties all systems."""
    signs = _signs(first.values), _signs(second.values)
    tau = kendall(first.values, second.values)
    if math.isnan(tau):
        return None
    rng = np.random.default_rng(seed)
    over_chance = ceiling = None
    if not np.isnan([first.errors, second.errors]).any():
        drawn = _tau(
            *(_signs(rng.normal(one.values, one.errors, (samples, len(one.values)))) for one in (first, second))
        )
        half = student_quantile(math.inf) * float(np.nanstd(drawn, ddof=1))
        over_chance = max(-1.0, tau - half), min(1.0, tau + half)
        ceiling = _ceiling(first, second, samples, rng)
    return Concurrence(
        *(first.name, second.name, first.systems, tau, over_systems(*signs), over_chance, ceiling),
        p=chance_of(*signs, rng),
    )


def _with_size(pair: Concurrence, first: Scores, second: Scores, sizes: dict[str, float], least: int) -> Concurrence:
    known = [one for one in pair.systems if one in sizes]
    if len(known) < least:
        return pair
    values = [first.of(known).values, second.of(known).values, np.array([sizes[one] for one in known])]
    taus = [kendall(values[a], values[b]) for a, b in ((0, 2), (1, 2), (0, 1))]
    found = None if any(map(math.isnan, taus)) else partial(*taus)
    return replace(pair, given_size=found, sized=len(known) if found is not None else 0)


def _signs(values: np.ndarray) -> np.ndarray:
    """Which of two systems is better, ``[..., systems, systems]``."""
    return np.sign(values[..., :, None] - values[..., None, :])


def _tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """tau-b from signs; NaN if all systems are tied."""
    ties = np.abs(first).sum((-2, -1)) * np.abs(second).sum((-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((first * second).sum((-2, -1)) / np.sqrt(ties))


def over_systems(first: np.ndarray, second: np.ndarray) -> Interval:
    """The interval of tau over systems, from the signs of both benchmarks; None if one system breaks all ties."""
    n, tau = len(first), float(_tau(first, second))
    rows = np.array([np.delete(np.arange(n), one) for one in range(n)])
    left = _tau(*(one[rows[:, :, None], rows[:, None, :]] for one in (first, second)))
    if abs(tau) > 1 - 1e-12:  # as if one pair of neighbours were reversed
        changed = 1 - 4 / (n * (n - 1))
        left = np.where(np.arange(n) < 2, 1.0, 1 - 4 / ((n - 1) * (n - 2)))
    else:
        changed = abs(tau)
    if np.isnan(left).any():
        return None
    error = math.sqrt((n - 1) / n * float(((left - left.mean()) ** 2).sum())) / (1 - changed**2)
    middle, half = math.atanh(changed), student_quantile(n - 1) * error
    low, high = math.tanh(middle - half), 1.0 if abs(tau) > 1 - 1e-12 else math.tanh(middle + half)
    return (low, high) if tau >= 0 else (-high, -low)


def _ceiling(first: Scores, second: Scores, samples: int, rng: np.random.Generator) -> float:
    drawn = []
    for one in (first, second):
        order, middle = np.argsort(one.values, kind="stable"), one.values.mean()
        kept = math.sqrt(max(0.0, 1 - (one.errors**2).mean() / one.values.var(ddof=1)))
        truth = middle + kept * (one.values[order] - middle)
        drawn.append(_signs(rng.normal(truth, one.errors[order], (samples, len(order)))))
    return float(np.nanmean(_tau(*drawn)))


def chance_of(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> float:
    """Two-sided p-value of a random order: exact without ties or for few systems, else by random orders."""
    n = len(first)
    upper = np.triu_indices(n, 1)
    if first[upper].all() and second[upper].all():
        from scipy.stats import kendalltau

        return float(kendalltau(first.sum(1), second.sum(1), method="exact").pvalue)
    if n <= EXACT:
        orders = np.array(list(itertools.permutations(range(n))))
    else:
        orders = rng.permuted(np.tile(np.arange(n), (DRAWS, 1)), axis=1)
    sums = np.abs((first[upper] * second[orders[:, upper[0]], orders[:, upper[1]]]).sum(1))
    extreme = int((sums >= abs(float((first[upper] * second[upper]).sum()))).sum())
    return extreme / len(orders) if n <= EXACT else (extreme + 1) / (len(orders) + 1)
