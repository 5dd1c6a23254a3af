"""Compiled loops of the search: build two sets example by example, then try exchanges of examples.

A *state* has one row per element: its counts in the training and test set, and these to the powers
alpha and 1 - alpha. *Totals* are, for atoms and then for compounds, the sum of the training counts,
that of the test counts, and ``sum train^alpha test^(1-alpha)``. An example only changes the rows of
its own elements, so the cost of a step depends on the size of the example, not on the number of
elements.
"""

from typing import NamedTuple

import numpy as np

from cgbench.engines.compiled import kernel, part

REFRESHED = 20_000  # steps between two recomputed sums
# steps between two tries to move an example between sets (the code of Moisio et al. 2023: 20, or 1)
MOVED = 5


class ElementCounts(NamedTuple):
    """The examples (:class:`~.divergence.occurrences.Occurrences`) and their counts.

    ``state`` float64 ``[elements, 4]`` and ``totals`` float64 ``[3]`` as above; ``tables`` float64
    ``[2, n]``: powers of whole numbers, by side; ``alpha`` of these elements.
    """

    starts: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    state: np.ndarray
    totals: np.ndarray
    tables: np.ndarray
    alpha: float


@part
def table_power(value: float, exponent: float, table: np.ndarray) -> float:
    """``value ** exponent``; whole numbers below the table's length are looked up."""
    integer = int(value)
    if integer == value and integer < len(table):
        return float(table[integer])
    return float(value**exponent)


@part
def divergence_of(train: float, test: float, product: float, alpha: float) -> float:
    """1 minus the Chernoff coefficient; 1 if a side is empty."""
    if train <= 0.0 or test <= 0.0:
        return 1.0
    return float(1.0 - product / (train**alpha * test ** (1.0 - alpha)))


@part
def change(counts: ElementCounts, example: int, side: int) -> float:
    """The divergence after adding an example to a side."""
    grown, gain = 0.0, 0.0
    exponent = counts.alpha if side == 0 else 1.0 - counts.alpha
    state, table = counts.state, counts.tables[side]
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], counts.weights[entry]
        grown += weight
        opposite = state[element, 3 - side]
        if opposite > 0.0:
            gain += (
                table_power(state[element, side] + weight, exponent, table)
                - state[element, 2 + side]
            ) * opposite
    totals = counts.totals
    return divergence_of(
        totals[0] + grown * (1 - side), totals[1] + grown * side, totals[2] + gain, counts.alpha
    )


@part
def change_sides(counts: ElementCounts, example: int, side: int) -> float:
    """The divergence after moving an example from ``side`` to the other."""
    sign = 1.0 if side == 1 else -1.0  # positive: training gains, and the test set loses
    grown, gain = 0.0, 0.0
    state = counts.state
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], sign * counts.weights[entry]
        grown += weight
        train = table_power(state[element, 0] + weight, counts.alpha, counts.tables[0])
        test = table_power(state[element, 1] - weight, 1.0 - counts.alpha, counts.tables[1])
        gain += train * test - state[element, 2] * state[element, 3]
    totals = counts.totals
    return divergence_of(totals[0] + grown, totals[1] - grown, totals[2] + gain, counts.alpha)


@part
def move(counts: ElementCounts, example: int, side: int, sign: float) -> int:
    """Add an example to a side (``sign`` 1.0) or remove it (-1.0).

    :returns: the change in the number of test elements that training lacks.
    """
    exponent = counts.alpha if side == 0 else 1.0 - counts.alpha
    state, table, totals = counts.state, counts.tables[side], counts.totals
    lone = 0
    for entry in range(counts.starts[example], counts.starts[example + 1]):
        element, weight = counts.ids[entry], counts.weights[entry]
        before = state[element, 0] == 0.0 and state[element, 1] > 0.0
        old = state[element, 2 + side]
        count = state[element, side] + sign * weight
        new = table_power(count, exponent, table)
        state[element, side] = count
        state[element, 2 + side] = new
        totals[side] += sign * weight
        totals[2] += (new - old) * state[element, 3 - side]
        after = state[element, 0] == 0.0 and state[element, 1] > 0.0
        lone += int(after) - int(before)
    return lone


@part
def score_of(atom: float, compound: float, goal: np.ndarray) -> float:
    """The objective, to be maximised, in steps of 1e-9, so that the order of summation does not
    matter.

    It is minus the distance of the compound divergence from a target, minus a weight times the atom
    divergence's excess over a limit or distance from it. With an infinite weight the limit is a
    bound: values above it are worse than all others, and the closer of two of them is better.

    :param goal: target, limit, weight, and 1.0 if the limit is a target, else 0.0.
    """
    excess = abs(atom - goal[1]) if goal[3] > 0.0 else max(0.0, atom - goal[1])
    if goal[2] == np.inf:
        above = np.rint(excess * 1e9)
        return float(-2e9 - above if above > 0.0 else np.rint(-abs(compound - goal[0]) * 1e9))
    return float(np.rint((-abs(compound - goal[0]) - goal[2] * excess) * 1e9))


@part
def now(counts: ElementCounts) -> float:
    """The current divergence."""
    return divergence_of(counts.totals[0], counts.totals[1], counts.totals[2], counts.alpha)


@part
def refresh(counts: ElementCounts) -> None:
    """Recompute the sum from the counts, to remove rounding errors."""
    total = 0.0
    for element in range(len(counts.state)):
        total += counts.state[element, 2] * counts.state[element, 3]
    counts.totals[2] = total


@part
def random_below(random: np.ndarray, below: int) -> int:
    """A number from 0 to ``below - 1``, by SplitMix64, whose state is ``random`` uint64 ``[1]``."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    value = random[0]
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value = value ^ (value >> np.uint64(31))
    return int(((value >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@part
def move_best(
    atoms: ElementCounts,
    compounds: ElementCounts,
    goal: np.ndarray,
    sizes: np.ndarray,
    random: np.ndarray,
    candidates: int,
    side_of: np.ndarray,
    members: np.ndarray,
    side: int,
) -> None:
    """Move the best of some random examples from one side to the other, if that improves the
    objective.
    """
    row, count = members[side], sizes[side]
    best, best_place = score_of(now(atoms), now(compounds), goal), -1
    for index in range(min(candidates, count)):
        drawn = index + random_below(random, count - index)
        row[index], row[drawn] = row[drawn], row[index]
        example = row[index]
        score = score_of(
            change_sides(atoms, example, side), change_sides(compounds, example, side), goal
        )
        if score > best or (best_place >= 0 and score == best and example < row[best_place]):
            best, best_place = score, index
    if best_place < 0:
        return
    example = row[best_place]
    sizes[side] -= 1
    row[best_place] = row[sizes[side]]
    members[1 - side, sizes[1 - side]] = example
    sizes[1 - side] += 1
    side_of[example] = 1 - side
    for counts in (atoms, compounds):
        move(counts, example, side, -1.0)
        move(counts, example, 1 - side, 1.0)


@kernel
def grow(
    atoms: ElementCounts,
    compounds: ElementCounts,
    goal: np.ndarray,
    targets: np.ndarray,
    sizes: np.ndarray,
    pool: np.ndarray,
    remaining: int,
    random: np.ndarray,
    candidates: int,
    side_of: np.ndarray,
    members: np.ndarray,
    steps: int,
) -> int:
    """Add ``steps`` examples, or fewer if the sets are full, each the best of ``candidates`` random
    ones.

    An early choice may turn out bad later (Keysers et al. 2020 remove examples for that). So every
    few steps one example of each set, the best of half as many random ones, may change sides if
    that improves the objective.

    :param goal: see :func:`score_of`.
    :param targets: the sizes of training and test set, int64 ``[2]``; ``sizes``: the current ones.
    :param pool: the examples; the ``remaining`` ones come first.
    :param side_of: int8 ``[examples]``: 0 training, 1 test set; written.
    :param members: the examples of each set come first, int64 ``[2, examples]``; written. With
        ``[2, 0]`` none changes sides.
    :returns: the number of remaining examples.
    """
    for step in range(steps):
        # The set that is further from its size, training first.
        side = 0 if sizes[0] * targets[1] <= sizes[1] * targets[0] else 1
        if sizes[side] >= targets[side]:
            side = 1 - side
        best, best_place = -np.inf, -1
        for index in range(min(candidates, remaining)):
            drawn = index + random_below(random, remaining - index)
            pool[index], pool[drawn] = pool[drawn], pool[index]
            example = pool[index]
            score = score_of(change(atoms, example, side), change(compounds, example, side), goal)
            if score > best or (score == best and example < pool[best_place]):
                best, best_place = score, index
        example = pool[best_place]
        remaining -= 1
        pool[best_place], pool[remaining] = pool[remaining], pool[best_place]
        side_of[example] = side
        move(atoms, example, side, 1.0)
        move(compounds, example, side, 1.0)
        if members.shape[1]:
            members[side, sizes[side]] = example
        sizes[side] += 1
        if members.shape[1] and (sizes[0] + sizes[1]) % MOVED == 0:
            for source in range(2):
                if sizes[source] > 1 and sizes[1 - source] < targets[1 - source]:
                    move_best(
                        atoms,
                        compounds,
                        goal,
                        sizes,
                        random,
                        max(1, candidates // 2),
                        side_of,
                        members,
                        source,
                    )
        if step % REFRESHED == REFRESHED - 1:
            refresh(atoms)
            refresh(compounds)
    return remaining


@part
def swap(counts: ElementCounts, leaving: int, entering: int) -> int:
    """Exchange a training example with a test example; returns the total of :func:`move`."""
    lone = move(counts, leaving, 0, -1.0) + move(counts, entering, 1, -1.0)
    return lone + move(counts, leaving, 1, 1.0) + move(counts, entering, 0, 1.0)


@kernel
def exchange(
    atoms: ElementCounts,
    compounds: ElementCounts,
    goal: np.ndarray,
    covered: bool,
    train: np.ndarray,
    test: np.ndarray,
    random: np.ndarray,
    tries: int,
) -> None:
    """Exchange a random training example with a random test example, ``tries`` times; undo if it
    does not help.

    :param covered: an exchange may not raise the number of atoms that are only in the test set.
    :param train: the training examples, ``test``: the test examples; both are changed.
    """
    best = score_of(now(atoms), now(compounds), goal)
    for _ in range(tries):
        first, second = random_below(random, len(train)), random_below(random, len(test))
        train_example, test_example = train[first], test[second]
        atom_sum, compound_sum = atoms.totals[2], compounds.totals[2]
        if not (swap(atoms, train_example, test_example) > 0 and covered):
            swap(compounds, train_example, test_example)
            score = score_of(now(atoms), now(compounds), goal)
            if score > best:
                best = score
                train[first], test[second] = test_example, train_example
                continue
            swap(compounds, test_example, train_example)
            compounds.totals[2] = compound_sum
        swap(atoms, test_example, train_example)
        atoms.totals[2] = atom_sum
    refresh(atoms)
    refresh(compounds)
