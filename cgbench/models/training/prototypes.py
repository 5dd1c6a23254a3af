"""Prototypes of source words: centroids of a word's states over the training data (Yin et al.,
2022).

As in the authors' code, all states of a word from one pass over the training data in evaluation
mode are clustered. Special tokens, punctuation and rare words have no prototypes.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from string import punctuation
from typing import Any

import numpy as np
import torch

from cgbench.models.config.common import ModelConfig
from cgbench.models.config.proto_transformer import ProtoTransformerConfig
from cgbench.models.special_ids import SPECIALS
from cgbench.models.teacher_forcing import ranges_within
from cgbench.models.text.bpe import END_OF_WORD
from cgbench.models.training.training_data import Data

STARTS = 10  # of k-means
MEMORY = 1 << 30  # maximum bytes of states in memory; more states need more passes over the text


def prototypes_are_due(model: Any, config: ModelConfig, epochs: int) -> bool:
    """Whether a model of ``config`` needs prototypes after this number of epochs, and has none
    yet.
    """
    return (
        isinstance(config, ProtoTransformerConfig)
        and not model.has_prototypes
        and epochs >= config.prototype_epochs
    )


@torch.no_grad()
def make_prototypes(
    model: Any,
    data: Data,
    words: Sequence[str],
    seed: int,
    device: str,
    autocast: AbstractContextManager[Any],
) -> int:
    """Cluster the states of source words and set the model's centroids; return the number of words
    with centroids.

    The same model, text and seed give the same centroids, for any ``MEMORY``. The model is left in
    training mode; torch's generators are not used.

    :param words: the source vocabulary.
    :param autocast: context for the matrix products.
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
        # As many words at once as have states that fit into memory.
        for first, last in ranges_within(counts[chosen].tolist(), MEMORY // (4 * config.width)):
            group = np.arange(first, last)
            ends = np.cumsum(counts[chosen[group]])
            filled = dict(
                zip(chosen[group].tolist(), (ends - counts[chosen[group]]).tolist(), strict=True)
            )
            states = torch.empty(int(ends[-1]), config.width)
            for batch in batches:
                with autocast:
                    ids, word_states = model.word_states(data.source.take(batch, device))
                _store(states, filled, ids.cpu().numpy(), word_states.float().cpu())
            for index, word, end in zip(
                group.tolist(), chosen[group].tolist(), ends.tolist(), strict=True
            ):
                centroids[index] = cluster(
                    states[end - counts[word] : end].numpy(),
                    config.prototypes,
                    np.random.Generator(np.random.PCG64([seed, word])),
                )
        model.set_prototypes(torch.from_numpy(chosen).to(device), centroids.to(device))
    finally:
        model.train()
    return len(chosen)


def cluster(points: np.ndarray, k: int, random: np.random.Generator) -> torch.Tensor:
    """Return the centroids [k, width] of points [n, width]: k-means from random points, the best of
    ten starts.

    If a cluster loses all its points, another's centroid is repeated. Deterministic for the same
    points, generator and number of BLAS threads.
    """
    from scipy.cluster.vq import kmeans

    if k == 1:
        return torch.from_numpy(points.mean(0, keepdims=True))
    starts = [
        points[random.choice(len(points), min(k, len(points)), replace=False)]
        for _ in range(STARTS)
    ]
    centroids, _ = min((kmeans(points, start) for start in starts), key=itemgetter(1))
    return torch.from_numpy(np.resize(centroids, (k, points.shape[1])))


def clustered_words(words: Sequence[str], counts: np.ndarray, least: int) -> np.ndarray:
    """Return the ids of words to cluster: at least ``least`` occurrences, no special tokens, no
    punctuation.
    """
    marks = set(punctuation)
    plain = np.array([word.removesuffix(END_OF_WORD) not in marks for word in words])
    plain[: len(SPECIALS)] = False
    return np.flatnonzero(plain & (counts >= least))


def _store(
    states: torch.Tensor, filled: dict[int, int], ids: np.ndarray, word_states: torch.Tensor
) -> None:
    """Store the states of a batch by word, in text order; ``filled``: the next free row of each
    word.
    """
    order = np.argsort(ids, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(ids[order], prepend=-1))[1:]):
        if (row := filled.get(int(ids[rows[0]]))) is not None:
            states[row : row + len(rows)] = word_states[torch.from_numpy(rows)]
            filled[int(ids[rows[0]])] = row + len(rows)
