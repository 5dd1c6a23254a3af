"""Index arithmetic for target prefixes and their source encodings.

Dangle and R-Dangle re-encode the source for prefixes y_0..y_p of the target. The encoding with
y_0..y_p serves the positions p..e-1 (an *interval*); the next one starts at e. All prefixes of a
batch form another ragged batch, whose indices are computed from the lengths, without a loop over
sentences or positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cgbench.models.parts.ragged import GatherLayout, Layout, join_ranges


@dataclass(frozen=True)
class Prefixes:
    """S prefixes of the targets of a batch, in the order of the positions that they serve.

    :param source: layout of the sources; ``target``: of the targets.
    :param source_of: the source of each target, [targets].
    :param sequence: the target of each prefix, [S].
    :param first: row of y_0 of each prefix in the table of target vectors, [S].
    :param newest: the last position of each prefix, p, [S]; ``end``: the first position it does not
        serve, e, [S].
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
        """Prefixes at the positions 0, interval, 2 interval, ... of every target (2023, section
        3.1).
        """
        counts = np.maximum(-(-target.lengths // interval), 1)
        sequence = np.repeat(np.arange(len(target)), counts)
        newest = join_ranges(np.zeros_like(counts), counts) * interval
        end = np.minimum(newest + interval, target.lengths[sequence])
        return cls(
            source, target, np.arange(len(target)), sequence, target.starts[sequence], newest, end
        )

    @classmethod
    def whole(cls, source: Layout, source_of: np.ndarray, length: int) -> Prefixes:
        """One prefix of ``length`` tokens per hypothesis, to predict the next token.

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
        """Length of each prefix, p + 1, [S]."""
        return self.newest + 1

    @cached_property
    def tokens(self) -> np.ndarray:
        """The row of each token of all prefixes in the table of target vectors."""
        return join_ranges(self.first, self.lengths)

    @cached_property
    def positions_from_end(self) -> np.ndarray:
        """Distance of each token of all prefixes from the end of its prefix."""
        return np.repeat(self.newest, self.lengths) - join_ranges(
            np.zeros_like(self.lengths), self.lengths
        )

    def with_own_rows(self) -> Prefixes:
        """Return the same prefixes for a table with a separate row for each token of each
        prefix.
        """
        return replace(self, first=np.cumsum(self.lengths) - self.lengths)

    # Encoder input

    def mixed(self, sources: int, targets: int, ends: int = 1) -> GatherLayout:
        """Return the input of the mixed layers, [source; y_0..y_p, END]: one sequence of two parts
        per prefix.

        The tokens index a table of ``sources`` source vectors, ``targets`` target vectors and
        ``ends`` vectors END, one or one per prefix.
        """
        end = (
            sources
            + targets
            + (np.arange(len(self)) if ends > 1 else np.zeros(len(self), np.int64))
        )
        starts = np.stack((self.source.starts[self.sentence], sources + self.first, end), 1)
        lengths = np.stack((self.encodings.lengths, self.lengths, np.ones(len(self), np.int64)), 1)
        layout = Layout(
            np.stack((lengths[:, 0], self.lengths + 1), 1), self.source.device, right=True
        )
        return GatherLayout(layout, join_ranges(starts.ravel(), lengths.ravel()))

    @cached_property
    def encodings(self) -> Layout:
        """The layout of the encodings: the source of each prefix."""
        return Layout(self.source.lengths[self.sentence], self.source.device)

    # Decoder input

    @cached_property
    def read(self) -> GatherLayout:
        """The decoder's input for each prefix, y_0..y_{e-1}, as indices into target vectors."""
        return self._read(right=False)

    @cached_property
    def read_last(self) -> GatherLayout:
        """As :attr:`read`, aligned so that :attr:`served` are the ends."""
        return self._read(right=True)

    def _read(self, right: bool) -> GatherLayout:
        return GatherLayout(
            Layout(self.end, self.source.device, right), join_ranges(self.first, self.end)
        )

    @property
    def served(self) -> np.ndarray:
        """Number of positions that each encoding serves, e - p, as parts of a layout, [S, 1]."""
        return (self.end - self.newest)[:, None]
