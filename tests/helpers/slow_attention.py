"""Attention of one sequence by its definition, for twins of whole architectures."""

from slow_dangle import attend as attend_slowly


def memory_of(cross, states):
    """Keys and values that a cross-attention makes of states [length, width]."""
    return cross.project_memory(states).chunk(2, -1)


def consult_slowly(layer, y, keys, values):
    """The cross-attention sublayer of a decoder layer, for given keys and values."""
    cross = layer.cross
    query = cross.project_query(layer.before(layer.cross_norm, y))
    return layer.after(
        layer.cross_norm, y, cross.project_out(attend_slowly(query, keys, values, cross.heads))
    )
