"""Beam search with one model or an ensemble; a beam of 1 is greedy search.

An ensemble's distribution is the mean of its members' *probabilities* (Malinin and Gales, 2021,
"product of expectations"; as in fairseq), not of their log-probabilities. The search follows
fairseq. Each step considers the best 2B continuations of a sentence: those among the best B that
end become hypotheses, and the best B that do not end continue. A sentence is finished when it has B
hypotheses or reaches its length limit, where only the end token is allowed. The score of a
hypothesis is its log-probability divided by length^penalty, counting the end token.

Unlike in fairseq, the length limit depends on the sentence's own source length, not on the longest
in its batch, so a translation does not depend on its batch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.parts.cpu import fast_form
from cgbench.models.parts.ragged import Ragged, to_device
from cgbench.models.parts.vocabulary import largest, mean_softmax
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.special_ids import BOS, EOS, PAD

# The smallest normal float32 keeps the logarithm finite if the softmax of a forced end token
# underflows.
LEAST = torch.finfo(torch.float32).tiny
ROWS = 128  # hypotheses whose probabilities stay in a CPU's cache


@dataclass(frozen=True)
class Translation:
    """A hypothesis of a sentence.

    :param text: empty until ``tokens`` are decoded.
    :param tokens: int32 target ids with the end token.
    :param log_prob: log-probability under the ensemble; ``score``: the same, normalised by length.
    :param cut: whether it reached the length limit.
    """

    text: str
    tokens: np.ndarray
    log_prob: float
    score: float
    cut: bool = False

    @property
    def scores(self) -> dict[str, Any]:
        """Text and scores, for JSON."""
        return {"hypothesis": self.text, "score": self.score, "log_prob": self.log_prob}


@torch.inference_mode()
def beam_search(
    members: Sequence[nn.Module],
    source: Ragged,
    settings: SearchSettings = DEFAULT_SEARCH,
) -> list[list[Translation]]:
    """Search for the best translations of a batch.

    ``<s>`` and ``<pad>`` are never produced; ``<unk>`` may be.

    :param members: one or more models in evaluation mode.
    :returns: up to ``settings.beam`` hypotheses of each sentence, best first.
    """
    count, beam = len(source.layout), settings.beam
    limit = limits_of(members, source.layout.lengths, settings)
    models: list[Any] = list(members)
    if not models:
        raise ValueError("no model to search with")
    states = [model.start(model.encode(source)) for model in models]
    finished: list[list[Translation]] = [[] for _ in range(count)]
    # Hypotheses are stored on the host; a step transfers data from the device only once.
    alive = np.arange(count)  # unfinished sentences, [N]
    scores = np.zeros((count, 1))  # cumulative, [N, hypotheses]
    history = np.full((count, 1, 1), EOS)  # [N, hypotheses, consumed tokens]
    for step in range(int(limit.max(initial=-1)) + 1):
        last = to_device(history[:, :, -1].ravel(), source.ids.device)
        limits = np.repeat(limit[alive], history.shape[1])
        p, words = _next_words(models, states, last, step, limits, 2 * beam)
        best, parent, token = _continuations(p, words, scores, 2 * beam)
        ends = token == EOS
        # Only the best B may end: unfinished hypotheses may still beat a worse one.
        done = ends & (np.arange(2 * beam) < beam) & np.isfinite(best)
        for row, column in zip(*done.nonzero(), strict=True):
            hypotheses, log_prob = finished[alive[row]], float(best[row, column])
            if len(hypotheses) < beam:
                tokens = np.append(history[row, parent[row, column], 1:], EOS).astype(np.int32)
                score = settings.score(log_prob, len(tokens))
                is_cut = bool(limit[alive[row]] <= step)
                hypotheses.append(Translation("", tokens, log_prob, score, is_cut))
        going = np.array([len(finished[i]) < beam for i in alive]) & (limit[alive] > step)
        if not going.any():
            break
        # A stable sort puts those that do not end first. At most one per hypothesis ends, so B of
        # 2B remain.
        columns = ends.argsort(axis=1, kind="stable")[going, :beam]
        scores, parent, token = (
            np.take_along_axis(x[going], columns, 1) for x in (best, parent, token)
        )
        width = history.shape[1]
        row = np.flatnonzero(going)[:, None]  # previous rows of the unfinished sentences
        history = np.concatenate((history[row, parent], token[:, :, None]), 2)
        for state in states:
            state.reorder((row * width + parent).ravel())
        alive = alive[going]
    if not all(finished):
        raise not_finite()
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) for hypotheses in finished]


def not_finite() -> InputError:
    """The error for models whose finite weights are so large that no probability is."""
    return InputError(
        "a model gives probabilities that are no numbers: its weights are finite but far too large."
        " Its training failed, or its file was changed; train it again"
    )


def _next_words(
    models: Sequence[Any],
    states: Sequence[Any],
    tokens: Tensor,
    step: int,
    limit: np.ndarray,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Consume one token per hypothesis ``[R]``; the best words that may follow.

    :param limit: of each hypothesis, ``[R]``; ``count``: of words, at most.
    :returns: mean probabilities, float32 ``[R, words]``, -1 where forbidden, and the words' ids.
    """
    logits = [_step(model, tokens, state) for model, state in zip(models, states, strict=True)]
    at_a_time = ROWS if fast_form(tokens) else len(tokens)
    best = []
    for first in range(0, len(tokens), at_a_time):
        rows = slice(first, first + at_a_time)
        p = mean_softmax((logits_of(rows) for logits_of in logits), len(models))
        _forbid(p, step, limit[rows])
        best.append(largest(p, min(count, p.shape[1])))
    values, words = zip(*best, strict=True)
    return torch.cat(values), torch.cat(words)


def _step(model: Any, tokens: Tensor, state: Any) -> Callable[[slice], Tensor]:
    """Consume one token per hypothesis ``[R]``; a function from some of these to the logits of the
    next, ``[rows, vocabulary]``.
    """
    if _steps_by_states(type(model)):
        decoded = model.step_states(tokens, state)
        return lambda rows: cast("Tensor", model.project(decoded[rows]))
    logits = model.step(tokens, state)
    return lambda rows: cast("Tensor", logits[rows])


def _steps_by_states(kind: type) -> bool:
    """Whether a model's step is ``step_states`` and ``project``: not if a class that extends such a
    model has another ``step``.
    """
    for base in kind.__mro__:
        if "step_states" in vars(base):
            return True
        if "step" in vars(base):
            return False
    return False


def limits_of(
    members: Sequence[nn.Module], lengths: np.ndarray, settings: SearchSettings
) -> np.ndarray:
    """As :meth:`.SearchSettings.limits`, and within every member's positions (:func:`longest`)."""
    limit, most = settings.limits(lengths), longest(members, "target")
    return limit if most is None else np.minimum(limit, most - 1)


def longest(members: Sequence[nn.Module], side: str) -> int | None:
    """Maximum tokens of a ``source`` or ``target``, with the end token, within every member's
    positions; None: any.
    """
    limits = [getattr(model, f"longest_{side}", None) for model in members]
    return min((most for most in limits if most is not None), default=None)


def _forbid(p: Tensor, step: int, limit: np.ndarray) -> None:
    """Set forbidden probabilities to -1, in place: an end token at once, any other token at the
    limit.
    """
    for token in (BOS, PAD, *([EOS] if step == 0 else [])):
        p[:, token] = -1
    if (limit <= step).any():
        over = to_device(np.flatnonzero(limit <= step), p.device)
        end = p[over, EOS]
        p[over] = -1
        p[over, EOS] = end


def _continuations(
    p: Tensor, words: Tensor, scores: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best ``count`` continuations of each sentence: cumulative scores, hypotheses and tokens,
    each ``[N, count]``.

    :param p: probabilities of the best words of each hypothesis, -1 where forbidden, ``[N x
        hypotheses, at most count]``, and these ``words``; ``scores``: ``[N, hypotheses]``.
    """
    log_p = p.double().clamp_min(LEAST).log().masked_fill(p < 0, -math.inf)
    # Ids are exact in float64; a single tensor means a single transfer from the GPU.
    log_p, token = torch.stack((log_p, words.double())).cpu().numpy()
    choices = log_p.shape[1]
    total = (scores.reshape(-1, 1) + log_p).reshape(len(scores), -1)
    missing = max(0, count - total.shape[1])
    index = np.argsort(-total, axis=1, kind="stable")[:, :count]
    index = np.pad(index, ((0, 0), (0, missing)))
    best = np.take_along_axis(total, index, 1)
    best[:, count - missing :] = -math.inf
    return (
        best,
        index // choices,
        np.take_along_axis(token.reshape(len(scores), -1).astype(np.int64), index, 1),
    )
