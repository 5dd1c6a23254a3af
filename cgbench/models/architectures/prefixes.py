"""Target prefixes, each with the source encoded for it: which tokens they are, as index arithmetic on lengths.

Dangle and R-Dangle encode the source of a sentence anew for prefixes y_0..y_p of its target. The encoding that has seen
y_0..y_p serves the positions p..e-1 (an *interval*), until the next one begins at e. All prefixes of a batch are one
more ragged batch, and all indices come from the lengths, without a loop over sentences or positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cgbench.models.parts.ragged import GatherLayout, Layout, ranges


@dataclass(frozen=True)
class Prefixes:
    """S prefixes of the targets of a batch, in the order of the positions that they predict.

    :param source: layout of the sources; ``target``: of the targets.
    :param source_of: the source of each target, [targets].
    :param sequence: the target of each prefix, [S].
    :param first: row of y_0 of each prefix in the table of target vectors, [S].
    :param newest: the last position that each encoding sees, p, [S]; ``end``: the first that it does not serve, e, [S].
    """

    source: Layout
    target: Layout
    source_of: np.ndarray
    sequence: np.ndarray
    first: np.ndarray
    newest: np.ndarray
    end: np.ndarray

    @classmethod
    def at_intervals(cls, source: Layout, target: Layout, interval: int) -> Prefixes:
        """Encode anew at the positions 0, interval, 2 interval, ... of every target (2023, section 3.1)."""
        counts = np.maximum(-(-target.lengths // interval), 1)
        sequence = np.repeat(np.arange(len(target)), counts)
        number = ranges(np.zeros_like(counts), counts)
        newest = number * interval
        end = np.minimum(newest + interval, target.lengths[sequence])
        return cls(source, target, np.arange(len(target)), sequence, target.starts[sequence], newest, end)

    @classmethod
    def whole(cls, source: Layout, source_of: np.ndarray, length: int) -> Prefixes:
        """Take one prefix of ``length`` tokens for each hypothesis, to predict the token after it.

        :param source_of: the source of each hypothesis, [S].
        """
        count = len(source_of)
        target, end = Layout(np.full(count, length), source.device), np.full(count, length)
        return cls(source, target, source_of, np.arange(count), target.starts, end - 1, end)

    def __len__(self) -> int:
        return len(self.sequence)

    @cached_property
    def sentence(self) -> np.ndarray:
        """The source of each prefix, [S]."""
        return self.source_of[self.sequence]

    # Prefixes y_0..y_p.

    @cached_property
    def lengths(self) -> np.ndarray:
        """How many tokens each encoding sees, p + 1, [S]."""
        return self.newest + 1

    @cached_property
    def tokens(self) -> np.ndarray:
        """The row of each token of all prefixes in the table of target vectors."""
        return ranges(self.first, self.lengths)

    @cached_property
    def positions_from_end(self) -> np.ndarray:
        """How many tokens of its prefix come after each token of all prefixes."""
        return np.repeat(self.newest, self.lengths) - ranges(np.zeros_like(self.lengths), self.lengths)

    def with_own_rows(self) -> Prefixes:
        """Return the same for a table that has a row of its own for each token of each prefix."""
        return replace(self, first=np.cumsum(self.lengths) - self.lengths)

    # What encoders read.

    def mixed(self, sources: int, targets: int, ends: int = 1) -> GatherLayout:
        """Return what the mixed layers read, [source; y_0..y_p, END], a sequence of two parts for each prefix.

        The tokens are gathered from a table of ``sources`` source vectors, ``targets`` target vectors and ``ends``
        vectors END: one, or one for each prefix.
        """
        end = sources + targets + (np.arange(len(self)) if ends > 1 else np.zeros(len(self), np.int64))
        parts = np.stack((self.encodings.lengths, self.lengths + 1), 1)
        return GatherLayout(
            Layout(parts, self.source.device, right=True),
            self._mixed_rows(self.source.starts[self.sentence], sources + self.first, end),
        )

    def _mixed_rows(self, source: np.ndarray, target: np.ndarray, end: np.ndarray) -> np.ndarray:
        starts = np.stack((source, target, end), 1)
        lengths = np.stack((self.encodings.lengths, self.lengths, np.ones(len(self), np.int64)), 1)
        return ranges(starts.ravel(), lengths.ravel())

    @cached_property
    def encodings(self) -> Layout:
        """The layout of the encodings: the source of each prefix."""
        return Layout(self.source.lengths[self.sentence], self.source.device)

    # What the decoder reads.

    @cached_property
    def read(self) -> GatherLayout:
        """What the decoder reads for each prefix, y_0..y_{e-1}, gathered from target vectors."""
        return self._read(right=False)

    @cached_property
    def read_last(self) -> GatherLayout:
        """The same, of which :attr:`served` can be the ends."""
        return self._read(right=True)

    def _read(self, right: bool) -> GatherLayout:
        return GatherLayout(Layout(self.end, self.source.device, right), ranges(self.first, self.end))

    @property
    def served(self) -> np.ndarray:
        """How many positions each encoding serves, e - p, as parts of a layout, [S, 1]."""
        return (self.end - self.newest)[:, None]
