"""The arrays that the compiled loops over known n-grams share, by name.

Numba takes a named tuple as one argument. A loop unpacks it once, at its top.
"""

from typing import NamedTuple

import numpy as np


class Runs(NamedTuple):
    """A training text as distinct runs of words (``trie_kernels.collapse``), int32 arrays."""

    text: np.ndarray
    """The runs, each ended by LINE_END; repeated runs first."""
    weights: np.ndarray
    """The count of the run, for the places of repeated runs."""
    ends: np.ndarray
    """The place of the run's LINE_END, for the same places."""


class Tails(NamedTuple):
    """Words that must follow a node, by rising slot of the node: int32 arrays."""

    nodes: np.ndarray
    """Slots of the nodes with a tail."""
    starts: np.ndarray
    """Where the tail begins in ``text``."""
    lengths: np.ndarray
    """Words in the tail."""
    text: np.ndarray
    """Word ids."""

    @classmethod
    def none(cls) -> "Tails":
        """No tails."""
        return cls(*(np.zeros(0, np.int32) for _ in cls._fields))


class Tallies(NamedTuple):
    """Counters of ``trie_kernels.grow_trie``: arrays ``[known words]``."""

    counts: np.ndarray
    """int64, zeros between nodes: places of a word in a group, and their weight."""
    free: np.ndarray
    """int32, zeros between nodes: the next position of a child's places, plus one."""
    touched: np.ndarray
    """int32: the words that occur in a group."""

    @classmethod
    def of(cls, words: int) -> "Tallies":
        """Zeros."""
        return cls(np.zeros(words, np.int64), np.zeros(words, np.int32), np.empty(words, np.int32))
