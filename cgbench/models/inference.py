"""What translating and scoring share: batches of sentences of like length, padding, a fixed number of threads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

PAD, END = 1, 2  # as in every dictionary of the project: 0 <s>, 1 <pad>, 2 </s>, 3 <unk>


def length_batches(first: Sequence[int], second: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Group sentences so that little is padded: indices sorted by length, cut wherever the budget is spent.

    A function of its arguments alone. Sentences are sorted by ``first``, then ``second``, then index.

    :param first: the length that decides most of the cost; ``second``: the other side's (or the same again).
    :param batch_tokens: the most tokens of a batch, padding included, on either side; a sentence longer than that is a
        batch of its own.
    """
    batches: list[list[int]] = []
    longest = 0
    for i in sorted(range(len(first)), key=lambda i: (first[i], second[i], i)):
        longest = max(longest, first[i], second[i])
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = max(first[i], second[i])
        batches[-1].append(i)
    return batches


def pad(rows: Sequence[np.ndarray]) -> Tensor:
    """Stack ids of unequal length into int64 ``[rows, longest]``, padded on the right."""
    table = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


@contextlib.contextmanager
def cpu_threads(count: int = 1) -> Iterator[None]:
    """Run with ``count`` threads, then with as many as before.

    How a sum is split among threads decides its last bits, and with them, now and then, a translation.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
