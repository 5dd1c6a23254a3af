"""Beam and greedy search with one model or an ensemble.

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

from cgbench.models.ragged import Ragged
from cgbench.models.text import BOS, EOS, PAD

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
    :return: for each sentence up to ``beam`` hypotheses, best first.
    """
    if beam < 1:
        raise ValueError(f"beam is {beam}; it must be at least 1")
    device, count = source.ids.device, len(source.layout)
    limit = _limits(source, max_length_ratio, max_length_extra)
    stepper = _Stepper(members, source)
    finished: list[list[Hypothesis]] = [[] for _ in range(count)]
    alive = torch.arange(count, device=device)  # sentences still searched, [N]
    scores = torch.zeros(count, 1, dtype=torch.float64, device=device)  # cumulative, [N, hypotheses]
    history = torch.full((count, 1, 1), EOS, device=device)  # [N, hypotheses, consumed tokens]
    last = int(limit.max()) if count else -1
    for step in range(last + 1):
        p = stepper.step(history[:, :, -1].flatten())
        _forbid(p, step, limit[alive].repeat_interleave(history.shape[1]))
        best, parent, token = _continuations(p, scores, 2 * beam)
        ends = token == EOS
        # Only what ends among the best B counts: a worse ending may yet be beaten by what goes on.
        done = ends & (torch.arange(2 * beam, device=device) < beam) & best.isfinite()
        row, column = done.nonzero(as_tuple=True)
        paths = history[row, parent[row, column], 1:].cpu().numpy()
        for i, path, log_prob in zip(alive[row].tolist(), paths, best[row, column].tolist(), strict=True):
            if len(finished[i]) < beam:
                tokens = np.append(path, EOS).astype(np.int32)
                finished[i].append(Hypothesis(tokens, log_prob / len(tokens) ** length_penalty, log_prob))
        going = torch.tensor([len(finished[i]) < beam for i in alive.tolist()], device=device) & (limit[alive] > step)
        if not bool(going.any()):
            break
        # The best B that do not end, in order: a stable sort puts them first. At most one a hypothesis ends, B of 2B.
        kept = ends.byte().sort(dim=1, stable=True).indices[going, :beam]
        scores, parent, token = best[going].gather(1, kept), parent[going].gather(1, kept), token[going].gather(1, kept)
        width = history.shape[1]
        row = going.nonzero()  # [N', 1]: for each hypothesis of a sentence that goes on, where it was
        history = torch.cat([history[row, parent], token[:, :, None]], 2)
        stepper.keep((row * width + parent).flatten())
        alive = alive[going]
    return [sorted(found, key=lambda h: -h.score) for found in finished]


@torch.inference_mode()
def greedy_search(
    members: Sequence[nn.Module],
    source: Ragged,
    *,
    max_length_ratio: float = 1.2,
    max_length_extra: int = 10,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """Take the most probable token at every step; arguments and result as for :func:`beam_search` with a beam of 1."""
    limit = _limits(source, max_length_ratio, max_length_extra)
    stepper = _Stepper(members, source)
    tokens: list[list[int]] = [[] for _ in range(len(source.layout))]
    log_probs = [0.0] * len(source.layout)
    alive = torch.arange(len(source.layout), device=source.ids.device)
    previous = torch.full_like(alive, EOS)
    step = 0
    while len(alive):
        p = stepper.step(previous)
        _forbid(p, step, limit[alive])
        best, previous = p.max(1)
        for i, token, log_prob in zip(
            alive.tolist(), previous.tolist(), best.clamp_min(LEAST).log().tolist(), strict=True
        ):
            tokens[i].append(token)
            log_probs[i] += log_prob
        going = (previous != EOS).nonzero()[:, 0]
        if len(going) < len(alive):
            stepper.keep(going)
        alive, previous = alive[going], previous[going]
        step += 1
    return [
        [Hypothesis(np.array(path, np.int32), log_prob / len(path) ** length_penalty, log_prob)]
        for path, log_prob in zip(tokens, log_probs, strict=True)
    ]


class _Stepper:
    """The members side by side, one row a hypothesis."""

    def __init__(self, members: Sequence[nn.Module], source: Ragged):
        self._members: list[Any] = list(members)
        if not self._members:
            raise ValueError("no model to search with")
        self._states = [model.start(model.encode(source)) for model in self._members]

    def step(self, tokens: Tensor) -> Tensor:
        """Consume one id a row ``[R]`` and return the mean probabilities of the next, float32 ``[R, vocabulary]``."""
        total: Tensor | None = None
        for model, state in zip(self._members, self._states, strict=True):
            p = torch.softmax(model.step(tokens, state), 1, dtype=torch.float32)
            total = p if total is None else total.add_(p)
        assert total is not None
        return total if len(self._members) == 1 else total.div_(len(self._members))

    def keep(self, index: Tensor) -> None:
        """Keep the rows ``index``, in that order."""
        for state in self._states:
            state.reorder(index)


def _limits(source: Ragged, ratio: float, extra: int) -> Tensor:
    """The most tokens before the end token, for each sentence."""
    longest = np.floor(source.layout.lengths * ratio + extra).astype(np.int64)
    return torch.from_numpy(np.maximum(longest, 1)).to(source.ids.device)


def _forbid(p: Tensor, step: int, limit: Tensor) -> None:
    """Mark by -1, in place, what may not come next: an end at once, anything but an end at the limit."""
    p[:, [BOS, PAD]] = -1
    if step == 0:
        p[:, EOS] = -1
    over = limit <= step
    if bool(over.any()):
        end = p[over, EOS]
        p[over] = -1
        p[over, EOS] = end


def _continuations(p: Tensor, scores: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best ``count`` continuations of each sentence: cumulative scores, hypotheses and tokens, each ``[N, count]``.

    :param p: probabilities ``[N x hypotheses, vocabulary]``, -1 where forbidden; ``scores``: ``[N, hypotheses]``.
    """
    # No sentence takes more than `count` from one hypothesis, and within one the order of probabilities is that of
    # scores: logarithms are needed of those few alone.
    value, token = _largest(p, count)
    log_p = value.double().clamp_min(LEAST).log().masked_fill(value < 0, -math.inf)
    total = (scores.reshape(-1, 1) + log_p).view(len(scores), -1)
    if total.shape[1] < count:
        total = torch.nn.functional.pad(total, (0, count - total.shape[1]), value=-math.inf)
    best, place = total.topk(count, dim=1)
    place = place.clamp_(max=value.shape[1] * scores.shape[1] - 1)
    return best, place // value.shape[1], token.view(len(scores), -1).gather(1, place)


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
