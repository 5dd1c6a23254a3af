"""Attention of one sequence written out, head by head and place by place, for twins of whole architectures."""

import math

import torch


def attend_slowly(query, keys, values, heads):
    """Vectors [queries, width] mixed from ``values`` [length, width] by softmax(q·k / sqrt(d_head)) of each head."""
    head = query.shape[1] // heads
    result = torch.zeros_like(query)
    for h in range(heads):
        columns = slice(h * head, (h + 1) * head)
        for i in range(len(query)):
            logits = torch.stack([query[i, columns] @ key[columns] for key in keys]) / math.sqrt(head)
            for weight, value in zip(logits.softmax(0), values, strict=True):
                result[i, columns] += weight * value[columns]
    return result


def memory_of(cross, states):
    """Keys and values that a cross-attention makes of states [length, width]."""
    return cross.project_memory(states).chunk(2, -1)


def consult_slowly(layer, y, keys, values):
    """The cross-attention sublayer of a decoder layer, for given keys and values."""
    cross = layer.cross
    query = cross.project_query(layer.before(layer.cross_norm, y))
    return layer.after(layer.cross_norm, y, cross.project_out(attend_slowly(query, keys, values, cross.heads)))
