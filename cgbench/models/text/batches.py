"""Batches with a budget of tokens: rows of similar length, so that little of a batch is padding.

As in fairseq, a batch holds as many rows as fit into ``max_tokens`` when every row is as long as the longest side of
any of them. Which rows meet, and in which order batches come, depends on the seed and the epoch alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from cgbench.models.parts.ragged import Ragged


@dataclass(frozen=True)
class Rows:
    """Many sequences of ids in two flat arrays: row i is ``ids[offsets[i] : offsets[i + 1]]``, </s> last."""

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def pack(cls, sequences: Sequence[np.ndarray]) -> Rows:
        """Join separate sequences."""
        lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
        ids = np.concatenate(sequences) if sequences else np.zeros(0, np.int32)
        return cls(ids.astype(np.int32, copy=False), np.concatenate(([0], np.cumsum(lengths))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of ids per row, </s> included."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray, device: torch.device | str = "cpu") -> Ragged:
        """Return the chosen rows as a batch."""
        ids = np.concatenate([self.ids[self.offsets[row] : self.offsets[row + 1]] for row in rows])
        return Ragged.of(ids, self.lengths[rows], device)


def fits(source: np.ndarray, target: np.ndarray, max_length: int) -> np.ndarray:
    """Return which pairs have no side longer than ``max_length``, by their lengths."""
    return np.maximum(source, target) <= max_length


def make_batches(
    source: np.ndarray, target: np.ndarray, rows: np.ndarray, max_tokens: int, order: tuple[int, int] | None = None
) -> list[np.ndarray]:
    """Cut ``rows`` into batches; a row longer than ``max_tokens`` is a batch of its own.

    :param source: lengths of all sources; ``target``: of all targets.
    :param order: (seed, epoch) to shuffle by; None for batches from short to long.
    """
    random = None if order is None else np.random.Generator(np.random.PCG64(list(order)))
    if random is not None:
        rows = random.permutation(rows)  # decides which rows of equal lengths meet
    rows = rows[np.lexsort((target[rows], source[rows]))]
    longest = np.maximum(source, target)[rows].tolist()
    cuts, first, width = [], 0, 0
    for position, length in enumerate(longest):
        if position > first and max(width, length) * (position - first + 1) > max_tokens:
            cuts.append(position)
            first, width = position, 0
        width = max(width, length)
    batches = np.split(rows, cuts) if len(rows) else []
    return [batches[i] for i in random.permutation(len(batches))] if random is not None else batches


def count_tokens(batches: Iterable[np.ndarray], lengths: np.ndarray) -> int:
    """Number of real tokens in batches."""
    return int(sum(lengths[batch].sum() for batch in batches))
