"""Assign examples to training and test set: by divergence, at random, by length.

Splits by divergence are grown example by example, then improved by exchanges. MCD (Keysers et al.
2020) and DBCA (Moisio et al. 2023) grow both sets from nothing, each step with the best of some
random examples; DBCA also moves examples between the sets while they grow. TMCD (Shaw et al. 2021)
starts from a random split whose training set has every atom, and exchanges examples. Here all of
them can continue with exchanges. The effect of a step is computed from the elements of the examples
concerned (:mod:`cgbench.benchmark.build.splits.search_kernels`).
"""

from collections.abc import Callable

import numpy as np

from cgbench.benchmark.build.splits.request import SplitConfig
from cgbench.benchmark.build.splits.search_kernels import ElementCounts, exchange, grow
from cgbench.benchmark.measure.divergence.elements import Elements
from cgbench.benchmark.measure.divergence.measure import ATOM_ALPHA, COMPOUND_ALPHA, divergence
from cgbench.benchmark.measure.divergence.occurrences import Occurrences
from cgbench.errors import InputError, argument

TRAIN, TEST, REST = 0, 1, -1
TABLE = 4096  # precomputed powers of whole numbers
STEPS = 20_000  # per call of a kernel, between two updates of the progress bar
Progress = Callable[[int], object]


def counts_of(elements: Occurrences, alpha: float, side_of: np.ndarray) -> ElementCounts:
    """The counts of a split; ``side_of``: the side of each example, int8 ``[examples]``."""
    tables = np.stack([np.arange(TABLE, dtype=np.float64) ** power for power in (alpha, 1 - alpha)])
    train, test = (elements.counts(side_of == side) for side in (TRAIN, TEST))
    state = np.stack([train, test, train**alpha, test ** (1 - alpha)], axis=1)
    totals = np.array([train.sum(), test.sum(), (state[:, 2] * state[:, 3]).sum()])
    return ElementCounts(
        elements.starts,
        elements.ids,
        elements.weights,
        np.ascontiguousarray(state),
        totals,
        tables,
        alpha,
    )


def generator(seed: int, use: int) -> np.ndarray:
    """The state of a kernel's generator, uint64 ``[1]``."""
    return np.random.SeedSequence([seed, use]).generate_state(1, np.uint64)


def search(
    elements: Elements,
    config: SplitConfig,
    fixed: np.ndarray | None = None,
    progress: Progress = lambda _: None,
) -> np.ndarray:
    """Split examples by the divergence of their elements.

    :param fixed: the examples of a fixed training set (bool ``[examples]``); the test set is chosen
        from the others.
    :param progress: is called with the number of finished steps.
    :returns: int8 ``[examples]``: 0 training, 1 test set, -1 neither.
    :raises InputError: training cannot have every atom (``tmcd``).
    """
    # Sizes, and a random order.
    in_train = np.zeros(elements.examples, bool) if fixed is None else fixed
    pool = np.flatnonzero(~in_train)
    train, test = config.sizes(len(pool), fixed=fixed is not None)
    order = _shuffled(pool, config.seed)
    side_of = np.full(elements.examples, REST, np.int8)
    side_of[in_train] = TRAIN
    goal = np.array(config.goal)
    # A first assignment: training covers every atom (tmcd), or both sets grow by the divergence
    # (dbca, mcd).
    if config.method == "tmcd":
        if fixed is None:
            side_of[_cover(elements.atoms, order, train)] = TRAIN
        atoms, compounds = _both(elements, side_of)
        free = order[side_of[order] == REST]
        if fixed is not None:  # leave out examples with an atom that training lacks
            lone = atoms.state[elements.atoms.ids, 0] == 0
            free = free[
                np.bincount(elements.atoms.rows, lone, minlength=elements.examples)[free] == 0
            ]
        missing = train - int((side_of[order] == TRAIN).sum()) if fixed is None else 0
        if len(free) < missing + test:
            raise InputError(
                f"{argument('test_size')}: only {len(free):,} examples have no atom that training"
                f" lacks, but {test:,} are needed"
            )
        side_of[free[:missing]], side_of[free[missing : missing + test]] = TRAIN, TEST
        atoms, compounds = _both(elements, side_of)
    else:
        atoms, compounds = _both(elements, side_of)
        targets, sizes = np.array([train, test]), np.zeros(2, np.int64)
        moving = (
            config.method == "dbca" and fixed is None
        )  # mcd exchanges afterwards, and does not gain from moves
        members = np.zeros((2, len(pool) if moving else 0), np.int64)
        waiting, remaining, random = order.copy(), len(order), generator(config.seed, 1)
        total = train + test
        while (done := int(sizes.sum())) < total:
            steps = min(STEPS, total - done)
            sets = targets, sizes, waiting, remaining
            remaining = grow(
                atoms, compounds, goal, *sets, random, config.candidates, side_of, members, steps
            )
            progress(steps)
    # Exchanges between the sets.
    if config.tries and fixed is None:
        train_rows, test_rows = np.flatnonzero(side_of == TRAIN), np.flatnonzero(side_of == TEST)
        random, tries = generator(config.seed, 2), config.tries * (train + test)
        sizes_of = [min(STEPS, tries - begin) for begin in range(0, tries, STEPS)]

        def try_some(goal: np.ndarray, steps: int) -> None:
            exchange(
                atoms,
                compounds,
                goal,
                config.method == "tmcd",
                train_rows,
                test_rows,
                random,
                steps,
            )

        for steps in sizes_of:
            try_some(goal, steps)
            progress(steps)
        if config.bounded and _atoms_above(atoms, config.atom_limit):
            nearest = train_rows.copy(), test_rows.copy()
            for steps in sizes_of:
                try_some(np.array([goal[0], goal[1], np.inf, 0.0]), steps)
                if not _atoms_above(atoms, config.atom_limit):
                    break
            else:  # the bound cannot be reached: undo the attempt
                train_rows, test_rows = nearest
        side_of[train_rows], side_of[test_rows] = TRAIN, TEST
    return side_of


def _both(elements: Elements, side_of: np.ndarray) -> tuple[ElementCounts, ElementCounts]:
    return counts_of(elements.atoms, ATOM_ALPHA, side_of), counts_of(
        elements.compounds, COMPOUND_ALPHA, side_of
    )


def _atoms_above(atoms: ElementCounts, limit: float) -> bool:
    """Whether the atom divergence is above a limit, computed as for the output, not as in the
    kernels.
    """
    return divergence(atoms.state[:, 0], atoms.state[:, 1], ATOM_ALPHA) > limit


def _cover(atoms: Occurrences, order: np.ndarray, most: int) -> np.ndarray:
    """The first example of ``order`` for each atom."""
    rank = np.full(atoms.examples, -1, np.int64)
    rank[order] = np.arange(len(order))
    rows = atoms.rows
    first = np.full(len(atoms.names), len(order), np.int64)
    np.minimum.at(first, atoms.ids, np.where(rank[rows] >= 0, rank[rows], len(order)))
    chosen = np.unique(first[first < len(order)])
    if len(chosen) > most:
        raise InputError(
            f"{argument('train_size')}: {most:,} training examples cannot have every atom, which"
            f" takes {len(chosen):,} here; raise it, or use another method"
        )
    return order[chosen]


def _shuffled(examples: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(np.random.SeedSequence([seed, 0])).permutation(examples)


def in_order(lengths: np.ndarray, config: SplitConfig) -> np.ndarray:
    """Training from the start of a random order, the test set from its end; by length, the shortest
    examples first.

    :param lengths: words of each example.
    :returns: int8 ``[examples]``: 0 training, 1 test set, -1 neither.
    """
    order = _shuffled(np.arange(len(lengths)), config.seed)
    if config.method == "length":
        order = order[np.argsort(lengths[order], kind="stable")]
    train, test = config.sizes(len(order))
    side_of = np.full(len(order), REST, np.int8)
    side_of[order[:train]] = TRAIN
    side_of[order[len(order) - test :]] = TEST
    return side_of
