"""Measures of uncertainty of given hypotheses, from members that are in memory together.

On a CPU the logits of all members for some tokens lie side by side, and one pass over them makes every measure
(``uncertainty_kernels.py``); elsewhere, and where a logit is infinite, members go one after another through
:class:`~cgbench.models.uncertainty.RunningMeasures`, which is also what defines the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.special_ids import EOS
from cgbench.models.text.batches import Rows, make_batches
from cgbench.models.uncertainty import SEQUENCE_MEASURES, RunningMeasures, derive_sequences, derive_tokens

TABLE = 1 << 23  # logits of all members together: 32 MB, which stay near the processor
ROWS = 128  # of a product with the last layer's weights: with fewer, reading the weights takes longer than the product
MOST = 1 << 27  # logits of all members together at most: half a gigabyte
CACHED = 1 << 20  # numbers in each table of running sums that is at home in a CPU's cache

Logits = Callable[[slice, Tensor | None], Tensor]
"""From a range of tokens to a member's logits ``[tokens, vocabulary]``; they may be written into what is given."""


def score_hypotheses(
    members: Sequence[nn.Module],
    sources: Sequence[np.ndarray],
    hypotheses: Sequence[np.ndarray],
    *,
    batch_tokens: int = 1024,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] | None = None,
) -> dict[str, np.ndarray]:
    """Teacher-force given hypotheses through every member and compute all measures of each.

    The forward passes are in the members' own precision (float32). The batches are a function of the two lists
    alone, so the same call gives the same bytes; another ``batch_tokens`` changes no more than rounding.

    :param members: models as in :mod:`cgbench.models.architectures.transformer` (``encode``, ``decode``, ``project``),
        in evaluation mode, on ``device``.
    :param sources: N arrays of source ids, each with its end token.
    :param hypotheses: N arrays of target ids, each with its end token.
    :param batch_tokens: the most tokens on either side of a batch, padding included.
    :param done: called with the number of sentences of every finished batch.
    :returns: the names of :data:`~cgbench.models.uncertainty.SEQUENCE_MEASURES`, each a float64 array ``[N]`` in the
        order given.
    """
    if len(sources) != len(hypotheses):
        raise ValueError(f"{len(sources)} sources and {len(hypotheses)} hypotheses")
    for i, hypothesis in enumerate(hypotheses):
        if not len(hypothesis) or hypothesis[-1] != EOS:
            raise ValueError(f"hypothesis {i} does not end with the end token ({EOS})")
    source_rows, target_rows = Rows.pack(sources), Rows.pack(hypotheses)
    batches = make_batches(source_rows.lengths, target_rows.lengths, np.arange(len(sources)), batch_tokens)
    result = {name: np.empty(len(sources)) for name in SEQUENCE_MEASURES}
    models: list[Any] = list(members)

    def logits_of(model: Any, states: Any) -> Logits:
        return lambda part, _: model.project(states[part])

    with torch.inference_mode():
        for batch in batches:
            source, target = source_rows.take(batch, device), target_rows.take(batch, device)
            lengths, shifted = target.layout.lengths.tolist(), target.shifted()
            states = [model.decode(model.encode(source), shifted) for model in models]
            size = models[0].project(states[0][:1]).shape[1]
            logits = [logits_of(*one) for one in zip(models, states, strict=True)]
            for name, value in measure_members(logits, target.ids, lengths, size, batch_tokens).items():
                result[name][batch] = value
            if done:
                done(len(batch))
    return result


def measure_members(
    members: Sequence[Logits], tokens: Tensor, lengths: Sequence[int], size: int, at_once: int
) -> dict[str, np.ndarray]:
    """Every sequence measure of hypotheses, from what gives their members' logits.

    :param tokens: ``[T]`` ids of the hypotheses, one after another without padding; on the device of the logits.
    :param lengths: of the N hypotheses, each at least 1 (sum T).
    :param size: of the vocabulary.
    :param at_once: tokens whose logits are in a device's memory at once.
    :returns: the names of :data:`~cgbench.models.uncertainty.SEQUENCE_MEASURES`, each a float64 array ``[N]``.
    """
    if tokens.device.type == "cpu" and len(lengths):
        found = _side_by_side(members, tokens, lengths, size)
        if found is not None:
            return found
        at_once = min(at_once, max(1, CACHED // size))
    result = {name: np.empty(len(lengths)) for name in SEQUENCE_MEASURES}
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    for first, last in _groups(lengths, at_once):
        part = slice(int(starts[first]), int(starts[last]))
        sums = RunningMeasures(tokens[part], list(lengths[first:last]))
        for logits in members:
            sums.add(logits(part, None))
        for name, value in sums.sequences().items():
            result[name][first:last] = value
    return result


def _side_by_side(
    members: Sequence[Logits], tokens: Tensor, lengths: Sequence[int], size: int
) -> dict[str, np.ndarray] | None:
    """What :func:`measure_members` returns; None where a number is infinite or NaN, or Numba is not there."""
    kernels = _kernels()
    if kernels is None:
        return None
    count, total = len(members), len(tokens)
    rows = min(total, MOST // (count * size), max(ROWS, TABLE // (count * size))) or 1
    table = torch.empty(count, rows, size)
    ids = tokens.numpy().astype(np.int64, copy=False)
    begins = np.zeros(total, bool)
    begins[np.cumsum(lengths) - lengths] = True
    chosen, result = np.empty((count, total)), np.empty((len(kernels.MEASURED), total))
    prefix, lanes = np.zeros(count), np.empty((kernels.LANES, kernels.TILE), np.float32)
    scratch = np.empty((2, count), np.float32)
    for low in range(0, total, rows):
        part = slice(low, min(low + rows, total))
        for place, logits in zip(table, members, strict=True):
            out = place[: part.stop - low]
            made = logits(part, out)
            if made.dtype == torch.float64:
                return None
            if made is not out:
                out.copy_(made)
        given, measured = np.empty((count, part.stop - low)), np.empty((len(result), part.stop - low))
        kernels.measure_tokens(table.numpy(), ids[part], begins[part], prefix, lanes, scratch, given, measured)
        if not (np.isfinite(measured).all() and np.isfinite(given).all()):
            return None
        chosen[:, part], result[:, part] = given, measured
    values = derive_tokens(dict(zip(kernels.MEASURED, result, strict=True)))
    return derive_sequences(values, chosen, np.asarray(lengths))


@functools.cache
def _kernels() -> ModuleType | None:
    try:
        from cgbench.models import uncertainty_kernels
    except ImportError:  # a machine for training alone may be without Numba
        return None
    return uncertainty_kernels


def _groups(lengths: Sequence[int], tokens: int) -> Iterator[tuple[int, int]]:
    """Cut neighbours into ranges of at most ``tokens`` tokens, or of one sentence where that has more."""
    first = total = 0
    for i, length in enumerate(lengths):
        if total and total + length > tokens:
            yield first, i
            first, total = i, 0
        total += length
    if total:
        yield first, len(lengths)
