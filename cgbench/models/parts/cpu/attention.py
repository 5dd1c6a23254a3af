"""The attention of search, from a new position of each hypothesis to stored ones, as a compiled
loop.

torch multiplies all hypotheses of a sentence by all columns that they store, hides the wrong ones,
and takes further operations for relative positions, masks and copies. Here a hypothesis reads only
its own columns (docs/lab/performance.md).
"""

import math
from typing import Any

import numpy as np
from torch import Tensor

from cgbench.engines.compiled import sums_in_lanes
from cgbench.models.uncertainty_kernels import exponential

_f = np.float32
NO_TABLE = np.empty((0, 0), np.float32)
NO_DISTANCES = np.empty(0, np.int64)


def attend_stored(
    queries: Tensor,
    stored: tuple[Tensor, Tensor],
    length: int,
    mask: Tensor | None,
    table: Tensor | None,
    by_key: bool,
    distances: Tensor | None,
) -> Tensor:
    """Return what each hypothesis reads, float32 [hypotheses, width].

    :param queries: [hypotheses, at least width], the queries first; each row of the keys belongs to
        the same number of adjacent hypotheses.
    :param stored: keys and values, each [rows, heads, at least ``length``, d_head].
    :param mask: 0 and -inf, [rows, 1, 1 or hypotheses per row, length].
    :param table: vectors of relative positions, with ``by_key`` as in :class:`.DistanceTable`;
        ``distances``: from each column to the new position, [length].
    """
    keys, values = stored
    rows, heads, _, head_width = keys.shape
    result = queries.new_empty(len(queries), heads * head_width)
    _attend(
        queries.contiguous().numpy(),
        keys.contiguous().numpy(),
        values.contiguous().numpy(),
        np.zeros((rows, 1, length), np.float32) if mask is None else mask[:, 0].numpy(),
        NO_TABLE if table is None else table.detach().numpy(),
        by_key,
        NO_DISTANCES if distances is None else distances.numpy(),
        np.empty(length, np.int64),
        np.empty(length, np.float32),
        result.numpy(),
    )
    return result


# Elements are read by all their indices: a view of a row would count its references at each step.
@sums_in_lanes
def _attend(
    queries: Any,
    keys: Any,
    values: Any,
    masks: Any,
    table: Any,
    by_key: bool,
    distances: Any,
    columns: Any,
    weights: Any,
    result: Any,
) -> None:
    """See :func:`attend_stored`; ``columns`` and ``weights`` are scratch, [length]."""
    rows, heads, _, head_width = keys.shape
    sharing, limit = len(queries) // rows, len(table) // 2
    scale = _f(1 / math.sqrt(head_width))
    for hypothesis in range(rows * sharing):
        row = hypothesis // sharing
        masked = hypothesis % sharing % masks.shape[1]
        # The columns of this hypothesis.
        count = 0
        for column in range(masks.shape[2]):
            if masks[row, masked, column] == 0:
                columns[count] = column
                count += 1
        for head in range(heads):
            first = head * head_width
            # Logits, with what the distance adds.
            top = _f(-np.inf)
            for i in range(count):
                column, logit = columns[i], _f(0)
                if len(table) == 0:
                    for j in range(head_width):
                        logit += queries[hypothesis, first + j] * keys[row, head, column, j]
                else:
                    entry = min(distances[column], limit) + limit
                    if by_key:
                        for j in range(head_width):
                            query, key = queries[hypothesis, first + j], keys[row, head, column, j]
                            logit += query * key + (query + key) * table[entry, j]
                    else:
                        for j in range(head_width):
                            query, key = queries[hypothesis, first + j], keys[row, head, column, j]
                            logit += query * (key + table[entry, j])
                weights[i] = logit * scale
                top = max(top, weights[i])
            # Softmax.
            for i in range(count):
                weights[i] = exponential(weights[i] - top)
            total = _f(0)
            for i in range(count):
                total += weights[i]
            for i in range(count):
                weights[i] /= total
            # The mean of the values.
            for j in range(head_width):
                result[hypothesis, first + j] = _f(0)
            for i in range(count):
                column, weight = columns[i], weights[i]
                for j in range(head_width):
                    result[hypothesis, first + j] += weight * values[row, head, column, j]
