"""Padded tables for tests: what a model says of them, as tables again."""

import numpy as np

from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.special_ids import PAD


def unpad(ids):
    """Ids [rows, length] without their padding, on whichever side that is."""
    real = ids != PAD
    return Ragged(ids[real], Layout(real.sum(1).numpy(), ids.device))


def logits_of(model, source, target):
    """Logits [rows, length, vocabulary] for padded ids; zeros at padding."""
    flat = model(unpad(source), unpad(target))
    result = flat.new_zeros(*target.shape, flat.shape[-1])
    result[target != PAD] = flat
    return result


def state_of(model, source, beam=1):
    """The state before the first step, from padded ids or a batch, with ``beam`` adjacent rows for
    each sentence.
    """
    source = source if isinstance(source, Ragged) else unpad(source)
    state = model.start(model.encode(source))
    state.reorder(np.repeat(np.arange(len(source.layout)), beam))
    return state
