"""Beam search with one model or an ensemble; with a beam of 1 it is greedy search.

An ensemble's distribution at a step is the mean of its members' *probabilities* (Malinin and Gales, 2021, "product of
expectations"; what fairseq does with several checkpoints), not of their log-probabilities. The search is fairseq's: at
each step the best 2B continuations of a sentence are looked at; those among the best B that end are hypotheses, the
best B that do not end go on; a sentence is finished once it has B hypotheses or has reached its length limit, where
only the end token is allowed. A hypothesis' score is its log-probability divided by length^penalty, the end token
counted.

Two things differ. The length limit is a function of the sentence's own source length, not of the longest in its batch,
so a translation does not depend on its neighbours. All state follows its hypothesis at every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import BOS, EOS, PAD

# The smallest normal float32: where a softmax underflows, the logarithm must stay finite for a forced end.
LEAST = torch.finfo(torch.float32).tiny
BLOCK = 64  # probabilities of which the largest is looked at first


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    :param tokens: int32 ids, the end token included.
    :param log_prob: its log-probability under the ensemble; ``score``: the same, normalised by length.
    """

    tokens: np.ndarray
    score: float
    log_prob: float


@torch.inference_mode()
def beam_search(
    members: Sequence[nn.Module],
    source: Ragged,
    *,
    beam: int = 5,
    max_length_ratio: float = 1.2,
    max_length_extra: int = 10,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """Search for the best translations of a batch.

    A hypothesis has at least one token before its end, and at most ``max_length_ratio`` times the source length (end
    token counted, as in fairseq) plus ``max_length_extra``. ``<s>`` and ``<pad>`` are never produced, ``<unk>`` may be.

    :param members: one model or several, in evaluation mode.
    :param source: ids of the sentences.
    :returns: for each sentence up to ``beam`` hypotheses, best first.
    """
    if beam < 1:
        raise ValueError(f"beam is {beam}; it must be at least 1")
    count = len(source.layout)
    limit = limits_of(members, source.layout.lengths, max_length_ratio, max_length_extra)
    stepper = _Stepper(members, source)
    finished: list[list[Hypothesis]] = [[] for _ in range(count)]
    # What is known of hypotheses is kept on the host: a step asks the device for its best continuations, once.
    alive = np.arange(count)  # sentences still searched, [N]
    scores = np.zeros((count, 1))  # cumulative, [N, hypotheses]
    history = np.full((count, 1, 1), EOS)  # [N, hypotheses, consumed tokens]
    for step in range(int(limit.max(initial=-1)) + 1):
        p = stepper.step(history[:, :, -1].ravel())
        _forbid(p, step, np.repeat(limit[alive], history.shape[1]))
        best, parent, token = _continuations(p, scores, 2 * beam)
        ends = token == EOS
        # Only what ends among the best B counts: a worse ending may yet be beaten by what goes on.
        done = ends & (np.arange(2 * beam) < beam) & np.isfinite(best)
        for row, column in zip(*done.nonzero(), strict=True):
            found, log_prob = finished[alive[row]], float(best[row, column])
            if len(found) < beam:
                tokens = np.append(history[row, parent[row, column], 1:], EOS).astype(np.int32)
                found.append(Hypothesis(tokens, log_prob / len(tokens) ** length_penalty, log_prob))
        going = np.array([len(finished[i]) < beam for i in alive]) & (limit[alive] > step)
        if not going.any():
            break
        # The best B that do not end, in order: a stable sort puts them first. At most one per hypothesis ends, B of 2B.
        kept = ends.argsort(axis=1, kind="stable")[going, :beam]
        scores, parent, token = (np.take_along_axis(x[going], kept, 1) for x in (best, parent, token))
        width = history.shape[1]
        row = np.flatnonzero(going)[:, None]  # for each hypothesis of a sentence that goes on, where it was
        history = np.concatenate((history[row, parent], token[:, :, None]), 2)
        stepper.keep((row * width + parent).ravel())
        alive = alive[going]
    return [sorted(found, key=lambda h: -h.score) for found in finished]


class _Stepper:
    """The members side by side, one row per hypothesis."""

    def __init__(self, members: Sequence[nn.Module], source: Ragged) -> None:
        self._members: list[Any] = list(members)
        if not self._members:
            raise ValueError("no model to search with")
        self._states = [model.start(model.encode(source)) for model in self._members]
        self._device = source.ids.device

    def step(self, tokens: np.ndarray) -> Tensor:
        """Consume one token per row ``[R]``; return the mean probabilities of the next, float32 ``[R, vocabulary]``."""
        total: Tensor | None = None
        read = torch.from_numpy(tokens).to(self._device, non_blocking=True)
        for model, state in zip(self._members, self._states, strict=True):
            p = torch.softmax(model.step(read, state), 1, dtype=torch.float32)
            total = p if total is None else total.add_(p)
        assert total is not None
        if len(self._members) > 1:
            total.div_(len(self._members))
        return total

    def keep(self, index: np.ndarray) -> None:
        """Keep the rows ``index``, in that order."""
        for state in self._states:
            state.reorder(index)


def length_limits(lengths: np.ndarray, ratio: float, extra: int) -> np.ndarray:
    """The most tokens before the end token, by the lengths of the sources with their end."""
    return np.maximum(np.floor(lengths * ratio + extra).astype(np.int64), 1)


def limits_of(members: Sequence[nn.Module], lengths: np.ndarray, ratio: float, extra: int) -> np.ndarray:
    """The same, and never more than every member has positions for (:func:`longest`)."""
    limit, most = length_limits(lengths, ratio, extra), longest(members, "target")
    return limit if most is None else np.minimum(limit, most - 1)


def longest(members: Sequence[nn.Module], side: str) -> int | None:
    """The most tokens of a ``source`` or ``target``, end included, that every member has positions for; None: any."""
    found = [getattr(model, f"longest_{side}", None) for model in members]
    return min((most for most in found if most is not None), default=None)


def _forbid(p: Tensor, step: int, limit: np.ndarray) -> None:
    """Mark by -1, in place, what may not come next: an end at once, anything but an end at the limit."""
    p[:, [BOS, PAD]] = -1
    if step == 0:
        p[:, EOS] = -1
    if (limit <= step).any():
        over = torch.from_numpy(np.flatnonzero(limit <= step)).to(p.device, non_blocking=True)
        end = p[over, EOS]
        p[over] = -1
        p[over, EOS] = end


def _continuations(p: Tensor, scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best ``count`` continuations of each sentence: cumulative scores, hypotheses and tokens, each ``[N, count]``.

    :param p: probabilities ``[N x hypotheses, vocabulary]``, -1 where forbidden; ``scores``: ``[N, hypotheses]``.
    """
    # No sentence takes more than `count` from one hypothesis, and within one the order of probabilities is that of
    # scores: logarithms are needed of those few alone.
    value, token = _largest(p, count)
    log_p = value.double().clamp_min(LEAST).log().masked_fill(value < 0, -math.inf)
    # Ids are exact in float64, and one tensor is one wait for a GPU.
    log_p, token = torch.stack((log_p, token.double())).cpu().numpy()
    choices = log_p.shape[1]
    total = (scores.reshape(-1, 1) + log_p).reshape(len(scores), -1)
    missing = max(0, count - total.shape[1])
    place = np.argsort(-total, axis=1, kind="stable")[:, :count]
    place = np.pad(place, ((0, 0), (0, missing)))
    best = np.take_along_axis(total, place, 1)
    best[:, count - missing :] = -math.inf
    return best, place // choices, np.take_along_axis(token.reshape(len(scores), -1).astype(np.int64), place, 1)


def _largest(p: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``p.topk(count)`` along rows ``[R, V]``, or of fewer where V is less."""
    rows, size = p.shape
    if p.is_cuda or size < 4 * BLOCK * count:
        return p.topk(min(count, size), dim=1)
    # topk copies a row with its indices, which takes longer than the softmax. The largest are all found in the blocks
    # with the largest maxima.
    whole = size // BLOCK * BLOCK
    blocks = p[:, :whole].view(rows, -1, BLOCK)
    chosen = blocks.amax(2).topk(count, dim=1).indices
    index = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK)).flatten(1)
    index = torch.cat([index, torch.arange(whole, size).expand(rows, -1)], 1)
    value, place = p.gather(1, index).topk(count, dim=1)
    return value, index.gather(1, place)
