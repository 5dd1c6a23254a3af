"""The likelihood of a translation under IBM Model 1 (Brown et al. 1993): how well the words of the
target fit those of the source, whatever their order. A model of words alone cannot fail to compose.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences

ITERATIONS = 5
FLOOR = 1e-6
"""Probability of a target word that training has with no word of the source."""


class Model1(NamedTuple):
    """Probabilities of target words, by source word and target word; and without a source word."""

    translations: dict[tuple[str, str], float]
    null: dict[str, float]

    def likelihood(self, pair: tuple[str, str]) -> float:
        """The mean log-probability of the words of the target."""
        sources = pair[0].split()
        logs = []
        for word in pair[1].split():
            linked = sum(self.translations.get((source, word), 0.0) for source in sources)
            total = (linked + self.null.get(word, 0.0)) / (len(sources) + 1)
            logs.append(np.log(max(total, FLOOR)))
        return float(np.mean(logs)) if logs else float(np.log(FLOOR))


def learn(pairs: Sequence[tuple[str, str]]) -> Model1:
    """Model 1 of a corpus, by expectation maximisation from equal probabilities."""
    text = Bitext.read(pairs)
    met = find_cooccurrences(text, cells=True)
    sizes = text.source.lengths * text.target.lengths
    # Of each cell, the place of its target word in the text.
    within = np.arange(int(sizes.sum())) - np.repeat(met.offsets, sizes)
    starts = np.repeat(text.target.starts, sizes)
    places = starts + within % np.repeat(text.target.lengths, sizes)
    words = len(text.target.ids)
    translations = np.full(len(met.source), 1 / len(text.target.words))
    null = np.full(len(text.target.words), 1 / len(text.target.words))
    for _ in range(ITERATIONS):
        linked = translations[met.cells]
        unlinked = null[text.target.ids]
        totals = np.bincount(places, linked, words) + unlinked
        counts = np.bincount(met.cells, linked / totals[places], len(translations))
        null_counts = np.bincount(text.target.ids, unlinked / totals, len(null))
        translations = counts / np.bincount(met.source, counts)[met.source]
        null = null_counts / null_counts.sum()
    keys = (
        (text.source.words[source], text.target.words[target])
        for source, target in zip(met.source.tolist(), met.target.tolist(), strict=True)
    )
    of_words = dict(zip(keys, translations.tolist(), strict=True))
    return Model1(of_words, dict(zip(text.target.words, null.tolist(), strict=True)))
