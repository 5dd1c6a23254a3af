"""The sums that divergences are made of, and what an example changes in them: compiled.

A *state* has a row an element: its count in training and in the test set, and these to the powers alpha and 1 - alpha.
*Totals* are, of atoms and then of compounds, the counts of training, those of the test set, and ``sum train^alpha
test^(1-alpha)``. An example changes the rows of its own elements alone, so what it would do costs as much as it holds,
not as much as there are elements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cgbench.compiled import part


class ElementCounts(NamedTuple):
    """Rows of examples (:class:`~cgbench.benchmark.divergence.occurrences.Occurrences`), and what has been counted.

    ``state`` float64 ``[elements, 4]`` and ``totals`` float64 ``[3]`` as above; ``tables`` float64 ``[2, n]``: powers
    of whole numbers, by side; ``alpha`` of these elements.
    """

    starts: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    state: np.ndarray
    totals: np.ndarray
    tables: np.ndarray
    alpha: float


@part
def power(value: float, exponent: float, table: np.ndarray) -> float:
    """``value ** exponent``; whole numbers below the table's length are looked up."""
    whole = int(value)
    if whole == value and whole < len(table):
        return float(table[whole])
    return float(value**exponent)


@part
def divergence_of(train: float, test: float, product: float, alpha: float) -> float:
    """1 less the Chernoff coefficient; 1 where a side is empty."""
    if train <= 0.0 or test <= 0.0:
        return 1.0
    return float(1.0 - product / (train**alpha * test ** (1.0 - alpha)))


@part
def change(counts: ElementCounts, example: int, side: int) -> float:
    """The divergence there would be with an example more in a side."""
    grown, more = 0.0, 0.0
    exponent = counts.alpha if side == 0 else 1.0 - counts.alpha
    state, table = counts.state, counts.tables[side]
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], counts.weights[entry]
        grown += weight
        other = state[element, 3 - side]
        if other > 0.0:
            more += (power(state[element, side] + weight, exponent, table) - state[element, 2 + side]) * other
    train, test = counts.totals[0], counts.totals[1]
    if side == 0:
        train += grown
    else:
        test += grown
    return divergence_of(train, test, counts.totals[2] + more, counts.alpha)


@part
def change_sides(counts: ElementCounts, example: int, side: int) -> float:
    """The divergence there would be with an example of one side in the other.

    :param side: the one that it is in.
    """
    sign = 1.0 if side == 1 else -1.0  # what training gains, and the test set loses
    grown, more = 0.0, 0.0
    state = counts.state
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], sign * counts.weights[entry]
        grown += weight
        train = power(state[element, 0] + weight, counts.alpha, counts.tables[0])
        test = power(state[element, 1] - weight, 1.0 - counts.alpha, counts.tables[1])
        more += train * test - state[element, 2] * state[element, 3]
    totals = counts.totals
    return divergence_of(totals[0] + grown, totals[1] - grown, totals[2] + more, counts.alpha)


@part
def move(counts: ElementCounts, example: int, side: int, sign: float) -> int:
    """Put an example into a side (``sign`` 1.0) or take it out (-1.0).

    :returns: by how many elements of the test set more training then lacks.
    """
    exponent = counts.alpha if side == 0 else 1.0 - counts.alpha
    state, table, totals = counts.state, counts.tables[side], counts.totals
    lone = 0
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], counts.weights[entry]
        before = state[element, 0] == 0.0 and state[element, 1] > 0.0
        old = state[element, 2 + side]
        count = state[element, side] + sign * weight
        new = power(count, exponent, table)
        state[element, side] = count
        state[element, 2 + side] = new
        totals[side] += sign * weight
        totals[2] += (new - old) * state[element, 3 - side]
        after = state[element, 0] == 0.0 and state[element, 1] > 0.0
        lone += int(after) - int(before)
    return lone


@part
def score_of(atom: float, compound: float, goal: np.ndarray) -> float:
    """What is maximised, in steps of 1e-9, so that sums in another order cannot tell two examples apart.

    How near the compound divergence is to a target, less a weight for each bit that the atom divergence is above a
    limit, or away from it. With an infinite weight the limit is a bound: what is above it is worse than whatever is
    not, and of two that are above it the nearer is better.

    :param goal: target, limit, weight, and 1.0 for a limit that is to be met exactly, else 0.0.
    """
    excess = atom - goal[1]
    if goal[3] > 0.0:
        excess = abs(excess)
    elif excess < 0.0:
        excess = 0.0
    if goal[2] == np.inf:
        above = np.rint(excess * 1e9)
        return float(-2e9 - above if above > 0.0 else np.rint(-abs(compound - goal[0]) * 1e9))
    return float(np.rint((-abs(compound - goal[0]) - goal[2] * excess) * 1e9))


@part
def now(counts: ElementCounts) -> float:
    """The divergence as it is."""
    return divergence_of(counts.totals[0], counts.totals[1], counts.totals[2], counts.alpha)


@part
def refresh(counts: ElementCounts) -> None:
    """The sum again, from the counts: what rounding has left in it goes."""
    total = 0.0
    for element in range(len(counts.state)):
        total += counts.state[element, 2] * counts.state[element, 3]
    counts.totals[2] = total
