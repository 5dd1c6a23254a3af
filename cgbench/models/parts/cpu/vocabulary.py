"""The mean distribution of an ensemble and its largest values, as compiled loops.

torch passes over a table of the vocabulary three times for each member, and its ``topk`` sorts
parts of each row: twice as long (docs/lab/performance.md).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.engines.compiled import inlined, kernel, sums_in_lanes
from cgbench.models.uncertainty_kernels import exponential

LANES = 512
_f = np.float32


def mean_softmax(logits: Iterable[Tensor], members: int) -> Tensor:
    """See :func:`cgbench.models.parts.vocabulary.mean_softmax`."""
    mean = torch.empty(0)
    for member, table in enumerate(logits):
        table = table.float().contiguous()
        if member == 0:
            mean = torch.zeros_like(table)
            scratch = np.empty(max(LANES, table.shape[1]), np.float32)
        _add_softmax(table.numpy(), _f(1 / members), mean.numpy(), scratch)
    return mean


def largest(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """See :func:`cgbench.models.parts.vocabulary.largest`."""
    values, columns = x.new_empty(len(x), count), torch.empty(len(x), count, dtype=torch.int64)
    lanes, order = np.empty(LANES, np.float32), np.empty(count, np.int64)
    _largest(x.numpy(), lanes, order, values.numpy(), columns.numpy())
    return values, columns


@sums_in_lanes
def _add_softmax(logits: Any, share: Any, mean: Any, scratch: Any) -> None:
    """Add ``share`` times the softmax of each row to ``mean``, [rows, vocabulary].

    :param scratch: float32 [at least LANES and vocabulary].
    """
    rows, width = logits.shape
    for row in range(rows):
        logit, p = logits[row], mean[row]
        _largest_of_lanes(logit, scratch)
        top = scratch[0]
        for lane in range(LANES):
            top = scratch[lane] if scratch[lane] > top else top
        for word in range(width):
            scratch[word] = exponential(logit[word] - top)
        total = _f(0)
        for word in range(width):
            total += scratch[word]
        scale = share / total
        for word in range(width):
            p[word] += scale * scratch[word]


@kernel
def _largest(x: Any, lanes: Any, order: Any, values: Any, columns: Any) -> None:
    """Write the largest values of each row and their columns, in falling order.

    They are in the lanes whose own largest values are the largest, so few values are compared.

    :param x: float32 [rows, vocabulary].
    :param lanes: float32 [LANES], ``order``: int64 [count], scratch.
    :param values: float32 [rows, count] output; ``columns``: int64, the same.
    """
    rows, width = x.shape
    for row in range(rows):
        values_here, columns_here = values[row], columns[row]
        # The best lanes.
        _largest_of_lanes(x[row], lanes)
        filled = 0
        for lane in range(min(LANES, width)):
            filled = _insert(lanes[lane], lane, filled, values_here, columns_here)
        chosen = filled
        for i in range(chosen):
            order[i] = columns_here[i]
        # The best of their values.
        filled = 0
        for i in range(chosen):
            for column in range(order[i], width, LANES):
                filled = _insert(x[row, column], column, filled, values_here, columns_here)


@inlined
def _insert(value: Any, column: Any, filled: Any, values: Any, columns: Any) -> Any:
    """Insert a value into the first ``filled`` of ``values``, in falling order, if it is larger or
    there is space; the new number.
    """
    if filled < len(values) or value > values[filled - 1]:
        filled = min(filled + 1, len(values))
        at = filled - 1
        while at > 0 and values[at - 1] < value:
            values[at], columns[at] = values[at - 1], columns[at - 1]
            at -= 1
        values[at], columns[at] = value, column
    return filled


@inlined
def _largest_of_lanes(row: Any, lanes: Any) -> None:
    """Fill ``lanes`` [LANES] with the largest of every LANES-th value of ``row``."""
    for lane in range(LANES):
        lanes[lane] = row[0]
    for at in range(0, len(row), LANES):
        block = row[at : at + LANES]
        for lane in range(len(block)):
            lanes[lane] = block[lane] if block[lane] > lanes[lane] else lanes[lane]
