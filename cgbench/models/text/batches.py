"""Batches of rows of similar length with a token budget.

As in fairseq, the number of rows times the longest side in a batch is at most ``max_tokens``. The
content and order of batches depend only on the seed and the epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from cgbench.models.parts.ragged import Ragged


@dataclass(frozen=True)
class Rows:
    """Sequences of ids in two flat arrays: row i is ``ids[offsets[i] : offsets[i + 1]]``, </s>
    last.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def pack(cls, sequences: Sequence[np.ndarray]) -> Rows:
        """Concatenate sequences."""
        lengths = np.fromiter((len(sequence) for sequence in sequences), np.int64, len(sequences))
        ids = np.concatenate(sequences) if sequences else np.zeros(0, np.int32)
        return cls(ids.astype(np.int32, copy=False), np.concatenate(([0], np.cumsum(lengths))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of ids per row, with </s>."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray, device: torch.device | str = "cpu") -> Ragged:
        """Return rows as a batch."""
        ids = np.concatenate([self.ids[self.offsets[row] : self.offsets[row + 1]] for row in rows])
        return Ragged.of(ids, self.lengths[rows], device)


def make_batches(
    source: np.ndarray,
    target: np.ndarray,
    rows: np.ndarray,
    max_tokens: int,
    order: tuple[int, int] | None = None,
) -> list[np.ndarray]:
    """Split ``rows`` into batches; a row longer than ``max_tokens`` is its own batch.

    :param source: lengths of all sources; ``target``: of all targets.
    :param order: (seed, epoch) for shuffling; None: batches by increasing length.
    """
    random = None if order is None else np.random.Generator(np.random.PCG64(list(order)))
    if random is not None:
        rows = random.permutation(rows)  # shuffles rows of equal lengths
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
