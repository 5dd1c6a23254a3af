"""Build two sets example by example, the best of a few at a time; then exchange examples while that helps: compiled."""

from __future__ import annotations

import numpy as np

from cgbench.benchmark.splits.state_kernels import ElementCounts, change, change_sides, move, now, refresh, score_of
from cgbench.compiled import kernel, part

REFRESHED = 20_000  # steps between two fresh sums
MOVED = 5  # steps between two tries to move an example from set to set (the code of Moisio et al. 2023: 20, or 1)


@part
def draw(random: np.ndarray, below: int) -> int:
    """A number from 0 to ``below``, itself not, by SplitMix64, whose state is ``random`` uint64 ``[1]``."""
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
    """Move the best of some random examples of one side into the other, if that helps."""
    row, size = members[side], sizes[side]
    best, best_place = score_of(now(atoms), now(compounds), goal), -1
    for number in range(min(candidates, size)):
        place = number + draw(random, size - number)
        row[number], row[place] = row[place], row[number]
        example = row[number]
        score = score_of(change_sides(atoms, example, side), change_sides(compounds, example, side), goal)
        if score > best or (best_place >= 0 and score == best and example < row[best_place]):
            best, best_place = score, number
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
    wanted: np.ndarray,
    sizes: np.ndarray,
    pool: np.ndarray,
    left: int,
    random: np.ndarray,
    candidates: int,
    side_of: np.ndarray,
    members: np.ndarray,
    steps: int,
) -> int:
    """Add ``steps`` examples, or as many as are wanted, each the best of ``candidates`` that are drawn of what is left.

    What was best early may not be so later (Keysers et al. 2020 remove examples for that): every few steps an example
    of each set may change sides, the best of half as many, where that helps.

    :param goal: see :func:`~cgbench.benchmark.splits.state_kernels.score_of`.
    :param wanted: the sizes of training and test set, int64 ``[2]``; ``sizes``: those so far.
    :param pool: the examples, those that are ``left`` in the first places.
    :param side_of: int8 ``[examples]``: 0 training, 1 test set; written.
    :param members: the examples of each set in the first places, int64 ``[2, examples]``; written. Without any place,
        ``[2, 0]``, none changes sides.
    :returns: how many examples are left.
    """
    for step in range(steps):
        # The set that lags behind what is wanted of it, training first.
        side = 0 if sizes[0] * wanted[1] <= sizes[1] * wanted[0] else 1
        if sizes[side] >= wanted[side]:
            side = 1 - side
        best, best_place = -np.inf, -1
        for number in range(min(candidates, left)):
            place = number + draw(random, left - number)
            pool[number], pool[place] = pool[place], pool[number]
            example = pool[number]
            score = score_of(change(atoms, example, side), change(compounds, example, side), goal)
            if score > best or (score == best and example < pool[best_place]):
                best, best_place = score, number
        example = pool[best_place]
        left -= 1
        pool[best_place], pool[left] = pool[left], pool[best_place]
        side_of[example] = side
        move(atoms, example, side, 1.0)
        move(compounds, example, side, 1.0)
        if members.shape[1]:
            members[side, sizes[side]] = example
        sizes[side] += 1
        if members.shape[1] and (sizes[0] + sizes[1]) % MOVED == 0:
            for source in range(2):
                if sizes[source] > 1 and sizes[1 - source] < wanted[1 - source]:
                    move_best(atoms, compounds, goal, sizes, random, max(1, candidates // 2), side_of, members, source)
        if step % REFRESHED == REFRESHED - 1:
            refresh(atoms)
            refresh(compounds)
    return left


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
) -> int:
    """Exchange a random example of training with one of the test set, ``tries`` times; what does not help is undone.

    :param covered: an exchange may not raise the number of atoms that the test set alone has.
    :param train: the examples of training, ``test`` those of the test set; both are changed.
    :returns: how many exchanges were kept.
    """
    kept = 0
    best = score_of(now(atoms), now(compounds), goal)
    for _ in range(tries):
        first, second = draw(random, len(train)), draw(random, len(test))
        one, other = train[first], test[second]
        atom_sum, compound_sum = atoms.totals[2], compounds.totals[2]
        lone = move(atoms, one, 0, -1.0) + move(atoms, other, 1, -1.0)
        lone += move(atoms, one, 1, 1.0) + move(atoms, other, 0, 1.0)
        if not (covered and lone > 0):
            move(compounds, one, 0, -1.0)
            move(compounds, other, 1, -1.0)
            move(compounds, one, 1, 1.0)
            move(compounds, other, 0, 1.0)
            score = score_of(now(atoms), now(compounds), goal)
            if score > best:
                best, kept = score, kept + 1
                train[first], test[second] = other, one
                continue
            move(compounds, one, 1, -1.0)
            move(compounds, other, 0, -1.0)
            move(compounds, one, 0, 1.0)
            move(compounds, other, 1, 1.0)
            compounds.totals[2] = compound_sum
        move(atoms, one, 1, -1.0)
        move(atoms, other, 0, -1.0)
        move(atoms, one, 0, 1.0)
        move(atoms, other, 1, 1.0)
        atoms.totals[2] = atom_sum
    refresh(atoms)
    refresh(compounds)
    return kept
