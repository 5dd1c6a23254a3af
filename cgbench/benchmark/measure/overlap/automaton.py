"""An index of all n-grams of a test text, of any length; its size depends only on the test text.

It is a suffix automaton (Blumer et al. 1985, "The smallest automaton recognizing the subwords of a
text"), with at most two states per word. While a corpus is read, the automaton is at each word in
the state of the longest n-gram of the test text that ends there. The k longest such matches of each
state are kept. They determine whether an n-gram occurs 1, 2, ... or k times. So counts are exact,
n-grams may have any length, and parts of a corpus can be merged in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.known_ngrams.saved import read_array
from cgbench.errors import InputError
from cgbench.machine import check_memory

ARRAYS: dict[str, tuple[str, int | None]] = {
    "firsts": ("int32", None),
    "table": ("uint64", 2),
    "links": ("int32", None),
    "lens": ("int32", None),
    "pairs": ("uint64", None),
}
"""Type and columns of each array."""
BITS = 16  # of the set of pairs, per word of the test text
BYTES_A_WORD = 450  # maximum memory per word of a test text while its automaton is built
REMEDY = "it is damaged; make it again"


@dataclass(frozen=True, eq=False)
class Automaton:
    """The n-grams of a test text; its arrays are those of ``automaton_kernels.py``."""

    firsts: np.ndarray
    table: np.ndarray
    links: np.ndarray
    lens: np.ndarray
    pairs: np.ndarray

    @classmethod
    def build(cls, ids: np.ndarray, lengths: np.ndarray, words: int) -> Automaton:
        """:param ids: int32 ``[words of all sentences]`` below ``words``; ``lengths`` int32
        ``[sentences]``.
        :raises InputError: the text is too long for the numbers of states.
        """
        from cgbench.benchmark.measure.overlap import automaton_kernels as kernels

        length = len(ids)
        if 3 * length > 2**31 - 8:
            raise InputError(f"a test text of {length:,} words is too long; use a part of it")
        check_memory(
            f"the n-grams of a test text of {length:,} words",
            BYTES_A_WORD * length,
            "use a part of it",
        )
        firsts = np.full(words, -1, np.int32)
        heads = np.full(2 * length + 2, -1, np.int32)
        links, lens = np.zeros(2 * length + 2, np.int32), np.zeros(2 * length + 2, np.int32)
        edges = np.empty((3 * length + 2, 3), np.int32)
        building = _table(3 * length)
        states, filled = kernels.build_automaton(
            ids, lengths, firsts, building, heads, edges, links, lens
        )
        table = _table(filled)
        kernels.enter_edges(building, edges[:filled], table)
        pairs = np.zeros(1 << max(0, (BITS * length // 64).bit_length()), np.uint64)
        kernels.enter_pairs(ids, lengths, pairs)
        return cls(firsts, table, links[:states].copy(), lens[:states].copy(), pairs)

    def __len__(self) -> int:
        return len(self.links)

    def no_matches(self, most: int) -> np.ndarray:
        """The initial matches, int32 ``[states, most]``: enough to tell counts up to ``most``."""
        return np.zeros((len(self), most), np.int32)

    def read(self, ids: np.ndarray, lengths: np.ndarray, matches: np.ndarray) -> int:
        """Read sentences of a corpus in the ids of the test text; all other ids are unknown words.

        :param matches: of :meth:`no_matches`; updated.
        :returns: the number of words that are also in the test text.
        """
        from cgbench.benchmark.measure.overlap.automaton_kernels import walk

        noted = np.zeros(len(self.firsts), np.uint8)
        return int(
            walk(ids, lengths, self.firsts, self.table, self._nodes, self.pairs, matches, noted)
        )

    def known(self, matches: np.ndarray, min_count: int) -> np.ndarray:
        """The longest n-gram that ends in each state and occurs ``min_count`` times, in words,
        int32 ``[states]``.
        """
        if not 1 <= min_count <= matches.shape[1]:
            raise InputError(f"counts are known up to {matches.shape[1]}; min_count is {min_count}")
        return self._settle(matches, min_count)[0]

    def count_words(self, matches: np.ndarray) -> np.ndarray:
        """The count of each word of the test text, int64 ``[words]``, up to the highest count in
        ``matches``.
        """
        _, linked = self._settle(matches, 1)
        occurrences = np.count_nonzero(matches[self.firsts], axis=1)
        return np.minimum(linked[self.firsts].astype(np.int64) + occurrences, matches.shape[1])

    def _settle(self, matches: np.ndarray, min_count: int) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`known`, and the number of matches of the states that are linked to each."""
        from cgbench.benchmark.measure.overlap.automaton_kernels import settle

        order = np.argsort(self.lens, kind="stable")
        known, linked = np.zeros(len(self), np.int32), np.zeros(len(self), np.int32)
        settle(order, self.links, self.lens, matches, min_count, linked, known)
        return known, linked

    def ends(
        self, ids: np.ndarray, lengths: np.ndarray, known: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """The length of the longest known n-gram that ends at each word of sentences of the test
        text.

        :param known: of :meth:`known`.
        :returns: int32 ``[words of all sentences]``; the first sentence that is not in the test
            text, -1 if all are.
        """
        from cgbench.benchmark.measure.overlap.automaton_kernels import find_ends

        ends = np.zeros(len(ids), np.int32)
        unknown = find_ends(ids, lengths, self.firsts, self.table, self._nodes, known, ends)
        return ends, int(unknown)

    @cached_property
    def _nodes(self) -> np.ndarray:
        """The data of each state for a walk (``automaton_kernels.py``), int32 ``[states, 4]``."""
        from cgbench.benchmark.measure.overlap.automaton_kernels import FREE

        entries = self.table[self.table[:, 0] != FREE]
        states, words = (
            (entries[:, 0] >> np.uint64(32)).astype(np.int64),
            entries[:, 0].astype(np.uint32).astype(np.int32),
        )
        nodes = np.zeros((len(self), 4), np.int32)
        nodes[:, 0] = -1
        nodes[states, 0], nodes[states, 1] = words, entries[:, 1]  # the last of several edges
        branching = np.bincount(states, minlength=len(self)) > 1
        nodes[:, 2], nodes[:, 3] = self.links, np.where(branching, ~self.lens, self.lens)
        return nodes

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder."""
        for name in ARRAYS:
            np.save(folder / f"automaton.{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> Automaton:
        """Read the arrays from a folder."""
        automaton = cls(
            *(
                read_array(folder / f"automaton.{name}.npy", *ARRAYS[name], REMEDY)
                for name in ARRAYS
            )
        )
        automaton._check(folder)
        return automaton

    def check_words(self, words: int, folder: Path) -> None:
        """Check the number of different words in the test text."""
        if len(self.firsts) != words:
            raise InputError(f"{folder}: the words do not match the test text; {REMEDY}")

    def _check(self, folder: Path) -> None:
        """Check the bounds that the compiled loops rely on."""
        from cgbench.benchmark.measure.overlap.automaton_kernels import FREE

        states, slots = len(self.links), len(self.table)
        good = all(length > 0 and length & (length - 1) == 0 for length in (len(self.pairs), slots))
        good = good and len(self.lens) == states > 0
        if good:
            entries = self.table[self.table[:, 0] != FREE]
            good = len(entries) < slots and bool(np.all(entries[:, 1] < states))
            good = good and bool(np.all((self.firsts > 0) & (self.firsts < states)))
            inner = self.links[1:]
            good = good and bool(np.all((inner >= 0) & (inner < states))) and self.lens[0] == 0
            # Links lead to shorter lengths, so following them ends at 0.
            good = good and bool(np.all(self.lens[inner] < self.lens[1:]))
        if not good:
            raise InputError(f"{folder}: invalid n-grams of the test text; {REMEDY}")


def _table(entries: int) -> np.ndarray:
    """An empty table for ``entries``, at most half full."""
    from cgbench.benchmark.measure.overlap.automaton_kernels import FREE

    return np.full((1 << max(4, (2 * entries).bit_length()), 2), FREE, np.uint64)
