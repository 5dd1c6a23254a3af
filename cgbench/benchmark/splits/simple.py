"""Splits that look at no divergence: at random, by length, by template."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.splits.request import SplitConfig
from cgbench.benchmark.splits.search import REST, TEST, TRAIN
from cgbench.errors import InputError, argument


def _sides(order: np.ndarray, train: int, test: int) -> np.ndarray:
    """Training from the front of an order, the test set from its end."""
    side_of = np.full(len(order), REST, np.int8)
    side_of[order[:train]] = TRAIN
    side_of[order[len(order) - test :]] = TEST
    return side_of


def _shuffled(examples: int, seed: int) -> np.ndarray:
    return np.random.default_rng(np.random.SeedSequence([seed, 0])).permutation(examples)


def at_random(examples: int, config: SplitConfig) -> np.ndarray:
    """int8 ``[examples]``: 0 training, 1 test set, -1 neither."""
    return _sides(_shuffled(examples, config.seed), *config.sizes(examples))


def by_length(lengths: np.ndarray, config: SplitConfig) -> np.ndarray:
    """The longest examples test, the shortest train; of equal ones chance decides.

    :param lengths: words of each example.
    """
    order = _shuffled(len(lengths), config.seed)
    return _sides(order[np.argsort(lengths[order], kind="stable")], *config.sizes(len(lengths)))


def by_template(templates: Sequence[str], config: SplitConfig) -> np.ndarray:
    """No template of the test set is in training (Finegan-Dollak et al. 2018: the query split).

    Whole templates, in a random order, fill the test set as far as they fit; the others train.

    :raises InputError: there is one template, or none of them fits into the test set.
    """
    names: dict[str, int] = {}
    numbers = np.array([names.setdefault(name, len(names)) for name in templates])
    train, test = config.sizes(len(numbers))
    counts = np.bincount(numbers)
    if len(counts) < 2:
        raise InputError(f"{argument('method', 'template')}: every example has the same template")
    held, room = np.zeros(len(counts), bool), test
    for number in _shuffled(len(counts), config.seed):
        if counts[number] <= room:
            held[number], room = True, room - counts[number]
    if not held.any():
        raise InputError(
            f"{argument('test_size')}: {test:,} examples are fewer than the rarest template has, {counts.min():,}"
        )
    is_test = held[numbers]
    order = _shuffled(len(numbers), config.seed)
    side_of = np.where(is_test, np.int8(TEST), np.int8(REST))
    side_of[order[~is_test[order]][:train]] = TRAIN
    return side_of
