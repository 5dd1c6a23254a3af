"""Padded tables for tests: what a model says of them, as tables again."""

from cgbench.models.parts.ragged import PAD, Ragged


def logits_of(model, source, target):
    """Logits [rows, length, vocabulary] for padded ids; zeros at padding."""
    flat = model(Ragged.unpad(source), Ragged.unpad(target))
    result = flat.new_zeros(*target.shape, flat.shape[-1])
    result[target != PAD] = flat
    return result


def state_of(model, source, copies=1):
    """The state before the first step."""
    return model.start(model.encode(Ragged.unpad(source)), copies)
