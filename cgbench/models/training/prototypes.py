"""Prototypes of source words: centroids of the states that a word has across the training text (Yin et al., 2022).

What is clustered follows the authors' code: every word but the specials and marks of punctuation that occurs often
enough, all its states in one pass over the training text, in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from string import punctuation
from typing import Any

import numpy as np
import torch

from cgbench.models.config.architectures import ProtoTransformerConfig
from cgbench.models.config.common import ModelConfig
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.bpe import END_OF_WORD
from cgbench.models.training.data import Data
from cgbench.models.training.k_means import k_means

MEMORY = 1 << 30  # bytes of states that are held at once; more of them take more passes over the text


def prototypes_are_due(model: Any, config: ModelConfig, epochs: int) -> bool:
    """Whether a model of ``config`` wants its prototypes after so many epochs of training, and has none yet."""
    return isinstance(config, ProtoTransformerConfig) and not model.has_prototypes and epochs >= config.prototype_epochs


@torch.no_grad()
def make_prototypes(
    model: Any, data: Data, words: Sequence[str], seed: int, device: str, autocast: AbstractContextManager[Any]
) -> int:
    """Cluster the states of source words and give the model their centroids; return how many words have some.

    The same model, text and seed give the same centroids, however much is held at once. The model is left in
    training mode; torch's random numbers are not drawn on.

    :param words: the source dictionary.
    :param autocast: in which products are made.
    """
    config: ProtoTransformerConfig = model.config
    batches = data.in_order()
    counts = np.zeros(len(words), np.int64)
    for batch in batches:
        counts += np.bincount(data.source.take(batch).ids.numpy(), minlength=len(words))
    chosen = clustered_words(words, counts, config.prototype_min_count)
    centroids = torch.zeros(len(chosen), config.prototypes, config.width)
    model.eval()
    try:
        for group in _groups(chosen, counts, MEMORY // (4 * config.width)):
            ends = np.cumsum(counts[chosen[group]])
            filled = dict(zip(chosen[group].tolist(), (ends - counts[chosen[group]]).tolist(), strict=True))
            states = torch.empty(int(ends[-1]), config.width)
            for batch in batches:
                with autocast:
                    ids, found = model.word_states(data.source.take(batch, device))
                _store(states, filled, ids.cpu().numpy(), found.float().cpu())
            for number, word, end in zip(group.tolist(), chosen[group].tolist(), ends.tolist(), strict=True):
                centroids[number] = k_means(
                    states[end - counts[word] : end],
                    config.prototypes,
                    np.random.Generator(np.random.PCG64([seed, word])),
                )
        model.set_prototypes(torch.from_numpy(chosen).to(device), centroids.to(device))
    finally:
        model.train()
    return len(chosen)


def clustered_words(words: Sequence[str], counts: np.ndarray, least: int) -> np.ndarray:
    """Return the ids of the words that are clustered: neither specials nor marks, at least ``least`` times there."""
    marks = set(punctuation)
    plain = np.array([word.removesuffix(END_OF_WORD) not in marks for word in words])
    plain[: len(SPECIALS)] = False
    return np.flatnonzero(plain & (counts >= least))


def _groups(chosen: np.ndarray, counts: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Part words into groups of at most ``most`` states, or one word; yields their places in ``chosen``."""
    first, total = 0, 0
    for place, count in enumerate(counts[chosen].tolist()):
        if place > first and total + count > most:
            yield np.arange(first, place)
            first, total = place, 0
        total += count
    if len(chosen):
        yield np.arange(first, len(chosen))


def _store(states: torch.Tensor, filled: dict[int, int], ids: np.ndarray, found: torch.Tensor) -> None:
    """Put the states of a batch where those of their words go, in the order of the text; ``filled``: the next place."""
    order = np.argsort(ids, kind="stable")
    firsts = np.flatnonzero(np.diff(ids[order], prepend=-1))
    for rows in np.split(order, firsts[1:]):
        if (place := filled.get(int(ids[rows[0]]))) is not None:
            states[place : place + len(rows)] = found[torch.from_numpy(rows)]
            filled[int(ids[rows[0]])] = place + len(rows)
