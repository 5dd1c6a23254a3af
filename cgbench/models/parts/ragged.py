"""Ragged batches: sequences of different lengths without padding, except in attention.

A batch of N tokens is one flat tensor [N, width], so linear maps, norms and dropout, which are
nearly all of the work, compute no padding. Attention needs rectangles: a :class:`Layout` sorts
sequences of similar length into buckets, each a padded grid, and gathers tokens into the grids and
back. All indices are computed from the lengths on the host, without waiting for a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.models.special_ids import EOS


@dataclass(frozen=True)
class Bucket:
    """Sequences of similar length as one grid.

    :param rows: the sequences, [R].
    :param widths: columns of each part, which begins at the same column in every sequence.
    :param mask: 0 at tokens and -inf at padding, float32 [R, 1, 1, columns]; None without padding.
    """

    rows: np.ndarray
    widths: tuple[int, ...]
    mask: Tensor | None

    @property
    def columns(self) -> int:
        """Number of columns: the length of a row of the grid."""
        return sum(self.widths)


class Layout:
    """The division of N concatenated tokens into sequences.

    :param lengths: of each sequence, [S]; or of each sequence's parts, [S, parts], such as a source
        and a target prefix, which are separate in the grids.
    :param right: whether the parts end (instead of begin) at the same column of a grid.
    :param like: a layout of the same number of sequences whose buckets to use, so that grids match
        row by row.
    """

    def __init__(
        self,
        lengths: np.ndarray | Sequence[int],
        device: torch.device | str = "cpu",
        right: bool = False,
        like: Layout | None = None,
    ) -> None:
        lengths = np.asarray(lengths, np.int64)
        self.parts = lengths[:, None] if lengths.ndim == 1 else lengths
        self.lengths = self.parts.sum(1)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.device = torch.device(device)
        self.right, self.like = right, like

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        """Number of tokens, N."""
        return int(self.lengths.sum())

    @cached_property
    def positions(self) -> Tensor:
        """The position of each token in its sequence, from 0, [N]."""
        return self._tensor(np.arange(self.tokens) - np.repeat(self.starts, self.lengths))

    @cached_property
    def sequence(self) -> Tensor:
        """The sequence of each token, [N]."""
        return self._tensor(np.repeat(np.arange(len(self)), self.lengths))

    @cached_property
    def last(self) -> Tensor:
        """The last token of each sequence, [S]."""
        return self._tensor(self.starts + self.lengths - 1)

    @property
    def gathered(self) -> Layout:
        """The layout of the result of :meth:`gather`."""
        return self

    def gather(self, x: Tensor) -> Tensor:
        """Return the tokens [N, C]; a :class:`GatherLayout` selects them from a table."""
        return x

    def ends(self, counts: np.ndarray) -> GatherLayout:
        """Return the layout of the last tokens of each part, in grids that match this layout's row
        by row.

        :param counts: number of tokens of each part of each sequence, [S, parts]; needs a layout
            with ``right``.
        """
        firsts = self.starts[:, None] + np.cumsum(self.parts, 1) - counts
        layout = Layout(counts, self.device, right=True, like=self)
        return GatherLayout(layout, join_ranges(firsts.ravel(), counts.ravel()))

    @cached_property
    def buckets(self) -> list[Bucket]:
        """The sequences, sorted by length and split where the length grows."""
        return self._grids[0]

    def to_grids(self, x: Tensor) -> list[Tensor]:
        """Split flat tokens [N, C] into one grid [R, columns, C] per bucket; padding is finite."""
        buckets, index, _ = self._grids
        return _cut(x if index is None else x.index_select(0, index), buckets)

    def from_grids(self, grids: Sequence[Tensor]) -> Tensor:
        """Undo :meth:`to_grids`: [R, columns, C] per bucket to [N, C]."""
        _, _, inverse = self._grids
        flat = [grid.flatten(0, 1) for grid in grids]
        x = torch.cat(flat) if len(flat) > 1 else flat[0]
        return x if inverse is None else x.index_select(0, inverse)

    @cached_property
    def _grids(self) -> tuple[list[Bucket], Tensor | None, Tensor | None]:
        """The buckets; the token of each cell of their grids; the cell of each token (None for an
        identity).
        """
        buckets, indices, reals = [], [], []
        for rows in self._rows():
            index, real = grid_index(self.starts[rows], self.parts[rows], self.right)
            widths = tuple(int(width) for width in self.parts[rows].max(0, initial=0))
            buckets.append(Bucket(rows, widths, self.mask(real)))
            indices.append(index.ravel())
            reals.append(real.ravel())
        index, real = np.concatenate(indices), np.concatenate(reals)
        if _is_range(index, self.tokens):
            return buckets, None, None
        inverse = np.empty(self.tokens, np.int64)
        inverse[index[real]] = np.flatnonzero(real)
        return buckets, self._tensor(index), self._tensor(inverse)

    def _rows(self) -> list[np.ndarray]:
        if self.like is not None:
            return [bucket.rows for bucket in self.like.buckets]
        # On a GPU some padding is cheaper than many small kernels.
        growth = 1.25 if self.device.type == "cpu" else 2.0
        order = np.argsort(self.lengths, kind="stable")
        lengths, cuts, first = self.lengths[order], [], 0
        while first < len(lengths):
            longest = max(lengths[first] * growth, lengths[first] + 4)
            first = int(np.searchsorted(lengths, longest, side="right"))
            cuts.append(first)
        return [np.sort(rows) for rows in np.split(order, cuts[:-1])]

    def mask(self, real: np.ndarray) -> Tensor | None:
        """Turn a boolean table, [R, columns], into a mask of 0 and -inf, [R, 1, 1, columns]; None
        if all are true.
        """
        if real.all():
            return None
        return to_device(
            np.where(real, np.float32(0), np.float32(-math.inf))[:, None, None, :], self.device
        )

    def _tensor(self, values: np.ndarray) -> Tensor:
        return to_device(values, self.device)


class GatherLayout(Layout):
    """A layout whose tokens index a table: token i is row ``rows[i]``.

    Layers take the table [U, C] instead of the tokens, and compute everything that depends only on
    the token once per row.
    """

    def __init__(self, gathered: Layout, rows: np.ndarray) -> None:
        super().__init__(gathered.parts, gathered.device, gathered.right, gathered)
        self._gathered, self.rows = gathered, rows

    @property
    def gathered(self) -> Layout:
        """See :class:`Layout`."""
        return self._gathered

    def gather(self, x: Tensor) -> Tensor:
        """See :class:`Layout`; of a table [U, C]."""
        return x.index_select(0, self._index)

    def ends(self, counts: np.ndarray) -> GatherLayout:
        """See :class:`Layout`; from the same table."""
        ends = self._gathered.ends(counts)
        return GatherLayout(ends._gathered, self.rows[ends.rows])

    @cached_property
    def _grids(self) -> tuple[list[Bucket], Tensor | None, Tensor | None]:
        return self._gathered._grids

    def to_grids(self, x: Tensor) -> list[Tensor]:
        """See :class:`Layout`; of a table [U, C]."""
        return _cut(x.index_select(0, self._places), self.buckets)

    @cached_property
    def _index(self) -> Tensor:
        return self._tensor(self.rows)

    @cached_property
    def _places(self) -> Tensor:
        """The row of the table at each cell of the grids."""
        index = self._grids[1]
        return self._index if index is None else self._index.index_select(0, index)


def to_device(values: np.ndarray, device: torch.device | str) -> Tensor:
    """Copy values to a device; a GPU reads only pinned memory without making the host wait."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def join_ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the ranges start, ..., start + length - 1 of all pairs of ``starts`` and ``lengths``
    [R].
    """
    return np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def grid_index(
    starts: np.ndarray, part_lengths: np.ndarray, right: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the token of each cell of a padded grid, and whether it is a token, both [R, columns].

    :param starts: first token of each row, [R]; ``part_lengths``: lengths of each row's parts, [R,
        parts].
    :param right: whether padding comes before a part instead of after it.
    """
    indices, reals = [], []
    offset = starts.copy()
    for lengths in part_lengths.T:
        width = lengths.max(initial=0)
        column = np.arange(width) - (width - lengths[:, None] if right else 0)
        real = (column >= 0) & (column < lengths[:, None])
        indices.append(np.where(real, offset[:, None] + column, starts[:, None]))
        reals.append(real)
        offset = offset + lengths
    return np.concatenate(indices, 1), np.concatenate(reals, 1)


def _is_range(index: np.ndarray, length: int) -> bool:
    return len(index) == length and bool((index == np.arange(length)).all())


def _cut(x: Tensor, buckets: Sequence[Bucket]) -> list[Tensor]:
    """Split the concatenated cells of all grids into one grid [R, columns, C] per bucket."""
    return _as_grids(x, [(len(bucket.rows), bucket.columns) for bucket in buckets])


def _as_grids(x: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    cells = x.split([rows * columns for rows, columns in shapes]) if len(shapes) > 1 else (x,)
    return [grid.view(*shape, *x.shape[1:]) for grid, shape in zip(cells, shapes, strict=True)]


class Pairing:
    """Assigns each sequence of a layout the sequence of a memory that it attends to.

    :param which: the memory's sequence of each sequence, [S] (default: the same number).
    """

    def __init__(self, layout: Layout, memory: Layout, which: np.ndarray | None = None) -> None:
        self.layout, self.memory = layout, memory
        self.which = np.arange(len(layout)) if which is None else np.asarray(which, np.int64)
        sequences = [self.which[bucket.rows] for bucket in layout.buckets]
        tables = [grid_index(memory.starts[rows], memory.lengths[rows, None]) for rows in sequences]
        self.masks = [layout.mask(real) for _, real in tables]
        self._shapes = [index.shape for index, _ in tables]
        index = np.concatenate([index.ravel() for index, _ in tables])
        self._index = None if _is_range(index, memory.tokens) else layout._tensor(index)

    def grids(self, x: Tensor) -> list[Tensor]:
        """Return the memory [M, C] as one grid [R, columns, C] per bucket of the layout."""
        return _as_grids(x if self._index is None else x.index_select(0, self._index), self._shapes)


@dataclass(frozen=True)
class Ragged:
    """Concatenated ids [N] of sequences, and their layout."""

    ids: Tensor
    layout: Layout

    @classmethod
    def pack(cls, sequences: Sequence[Any], device: torch.device | str = "cpu") -> Ragged:
        """Concatenate sequences of ids (arrays or lists)."""
        arrays = [np.asarray(sequence, np.int64) for sequence in sequences]
        return cls.of(np.concatenate(arrays), np.array([len(array) for array in arrays]), device)

    @classmethod
    def of(cls, ids: np.ndarray, lengths: np.ndarray, device: torch.device | str = "cpu") -> Ragged:
        """Make a batch from concatenated ids."""
        return cls(to_device(ids.astype(np.int64, copy=False), device), Layout(lengths, device))

    def preceded(self, token: int) -> Ragged:
        """Return the sequences with ``token`` before each."""
        lengths = self.layout.lengths + 1
        moved = np.arange(self.layout.tokens) + np.repeat(
            np.arange(1, len(lengths) + 1), self.layout.lengths
        )
        ids = self.ids.new_full((int(lengths.sum()),), token)
        ids[self.layout._tensor(moved)] = self.ids
        return Ragged(ids, Layout(lengths, self.layout.device))

    def without_ends(self) -> Ragged:
        """Return the sequences without their last tokens, except for sequences of one token."""
        lengths = np.maximum(self.layout.lengths - 1, 1)
        tokens = join_ranges(self.layout.starts, lengths)
        return Ragged(self.ids[self.layout._tensor(tokens)], Layout(lengths, self.layout.device))

    def shifted(self) -> Ragged:
        """Return the decoder's input for these sequences: </s>, then all ids except the last."""
        ids = self.ids.roll(1)
        ids[self.layout._tensor(self.layout.starts)] = EOS
        return Ragged(ids, self.layout)
