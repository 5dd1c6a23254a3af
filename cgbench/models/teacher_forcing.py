"""Uncertainty measures of given hypotheses, with all members in memory.

On a CPU one pass over the logits of all members computes every measure
(``uncertainty_kernels.py``). On other devices, and with infinite logits,
:class:`~cgbench.models.uncertainty.RunningMeasures`, the reference implementation, processes one
member after another.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.config.measures import SEQUENCE_MEASURES
from cgbench.models.search import not_finite
from cgbench.models.special_ids import EOS
from cgbench.models.text.batches import Rows, make_batches
from cgbench.models.uncertainty import RunningMeasures, derive_sequences, derive_tokens

TABLE = 1 << 23  # logits of all members: 32 MB, to stay in the cache
ROWS = (
    128  # minimum rows of a product; with fewer, reading the weights takes longer than the product
)
MOST = 1 << 27  # maximum logits of all members: half a gigabyte
CACHED = 1 << 20  # numbers in each table of running sums that fit into a CPU's cache

Logits = Callable[[slice, Tensor | None], Tensor]
"""From a range of tokens to a member's logits ``[tokens, vocabulary]``, optionally in a given
buffer.
"""


def score_hypotheses(
    members: Sequence[nn.Module],
    sources: Sequence[np.ndarray],
    hypotheses: Sequence[np.ndarray],
    *,
    batch_tokens: int = 1024,
    device: torch.device | str = "cpu",
    done: Callable[[int], object] | None = None,
) -> dict[str, np.ndarray]:
    """Teacher-force hypotheses through every member and compute all measures of each.

    Batches depend only on the two lists, so results are deterministic; ``batch_tokens`` changes
    only rounding.

    :param members: models as in :mod:`cgbench.models.architectures.transformer` (``encode``,
        ``decode``, ``project``), in evaluation mode, on ``device``.
    :param sources: N arrays of source ids with the end token.
    :param hypotheses: N arrays of target ids with the end token.
    :param batch_tokens: maximum tokens on either side of a batch, with padding.
    :param done: called with the number of sentences of every finished batch.
    :returns: the names of :data:`~cgbench.models.config.measures.SEQUENCE_MEASURES`, each a float64
        array ``[N]``.
    """
    if len(sources) != len(hypotheses):
        raise ValueError(f"{len(sources)} sources and {len(hypotheses)} hypotheses")
    for i, hypothesis in enumerate(hypotheses):
        if not len(hypothesis) or hypothesis[-1] != EOS:
            raise ValueError(f"hypothesis {i} does not end with the end token ({EOS})")
    source_rows, target_rows = Rows.pack(sources), Rows.pack(hypotheses)
    batches = make_batches(
        source_rows.lengths, target_rows.lengths, np.arange(len(sources)), batch_tokens
    )
    result = {name: np.empty(len(sources)) for name in SEQUENCE_MEASURES}
    models: list[Any] = list(members)

    def logits_of(model: Any, states: Any) -> Logits:
        return lambda tokens, _: model.project(states[tokens])

    with torch.inference_mode():
        for batch in batches:
            source, target = source_rows.take(batch, device), target_rows.take(batch, device)
            lengths, shifted = target.layout.lengths.tolist(), target.shifted()
            states = [model.decode(model.encode(source), shifted) for model in models]
            vocabulary_size = models[0].project(states[0][:1]).shape[1]
            logits = list(map(logits_of, models, states))
            for name, value in measure_members(
                logits, target.ids, lengths, vocabulary_size, batch_tokens
            ).items():
                result[name][batch] = value
            if done:
                done(len(batch))
    if any(np.isnan(result[name]).any() for name in ("pe_stu", "total_entropy") if name in result):
        raise not_finite()
    return result


def measure_members(
    members: Sequence[Logits],
    tokens: Tensor,
    lengths: Sequence[int],
    vocabulary_size: int,
    at_once: int,
) -> dict[str, np.ndarray]:
    """All sequence measures of hypotheses, from functions that return the members' logits.

    :param tokens: ``[T]`` ids of the hypotheses, concatenated; on the device of the logits.
    :param lengths: of the N hypotheses, each at least 1 (sum T).
    :param at_once: number of tokens whose logits are in memory simultaneously.
    :returns: the names of :data:`~cgbench.models.config.measures.SEQUENCE_MEASURES`, each a float64
        array ``[N]``.
    """
    if tokens.device.type == "cpu" and len(lengths):
        if (measures := _in_one_pass(members, tokens, lengths, vocabulary_size)) is not None:
            return measures
        at_once = min(at_once, max(1, CACHED // vocabulary_size))
    result = {name: np.empty(len(lengths)) for name in SEQUENCE_MEASURES}
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    for first, last in ranges_within(lengths, at_once):
        group = slice(int(starts[first]), int(starts[last]))
        sums = RunningMeasures(tokens[group], list(lengths[first:last]))
        for logits in members:
            sums.add(logits(group, None))
        for name, value in sums.sequences().items():
            result[name][first:last] = value
    return result


def _in_one_pass(
    members: Sequence[Logits], tokens: Tensor, lengths: Sequence[int], vocabulary_size: int
) -> dict[str, np.ndarray] | None:
    """Implement :func:`measure_members` in one pass; None if a number is not finite or has double
    precision.
    """
    from cgbench.models import uncertainty_kernels as kernels

    count, total = len(members), len(tokens)
    width = count * vocabulary_size
    rows = min(total, MOST // width, max(ROWS, TABLE // width)) or 1
    # The logits of all members at some rows; the tokens; inputs and outputs of the kernel.
    table = torch.empty(count, rows, vocabulary_size)
    ids = tokens.numpy().astype(np.int64, copy=False)
    begins = np.zeros(total, bool)
    begins[np.cumsum(lengths) - lengths] = True
    chosen, result = np.empty((count, total)), np.empty((len(kernels.MEASURED), total))
    prefix, lanes = np.zeros(count), np.empty((kernels.LANES, kernels.TILE), np.float32)
    scratch = np.empty((2, count), np.float32)
    for low in range(0, total, rows):
        block = slice(low, min(low + rows, total))
        for member_table, logits in zip(table, members, strict=True):
            out = member_table[: block.stop - low]
            computed = logits(block, out)
            if computed.dtype == torch.float64:
                return None
            if computed is not out:
                out.copy_(computed)
        log_probs, measured = (
            np.empty((count, block.stop - low)),
            np.empty((len(result), block.stop - low)),
        )
        kernels.measure_tokens(
            table.numpy(), ids[block], begins[block], prefix, lanes, scratch, log_probs, measured
        )
        if not (np.isfinite(measured).all() and np.isfinite(log_probs).all()):
            return None
        chosen[:, block], result[:, block] = log_probs, measured
    values = derive_tokens(dict(zip(kernels.MEASURED, result, strict=True)))
    return derive_sequences(values, chosen, np.asarray(lengths))


def ranges_within(lengths: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Split lengths (at least 1) into ranges whose sum is at most ``most``, or that have one longer
    element.
    """
    first = total = 0
    for i, length in enumerate(lengths):
        if total and total + length > most:
            yield first, i
            first, total = i, 0
        total += length
    if total:
        yield first, len(lengths)
