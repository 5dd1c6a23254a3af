"""Lexicons from counts: the Simple rule and pointwise mutual information (Akyürek and Andreas,
2021, section 4).

Counts are numbers of sentence pairs. Where the paper differs from the authors' code, this is the
code.
"""

from dataclasses import dataclass

import numpy as np

from cgbench.errors import InputError
from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
from cgbench.settings import option

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
MOST_PAIRS = 20_000_000  # maximum entries of a lexicon


@dataclass(frozen=True)
class SimpleSettings:
    """Settings of :func:`simple`."""

    epsilon: int = option(
        3,
        "Maximum number of source words that suffice for a target word; a target word with more is"
        " left out (paper: 3)",
        least=1,
    )


def simple(text: Bitext, settings: SimpleSettings) -> Entries:
    """The Simple rule (section 4.2, equations 15 to 20).

    A source word is sufficient for a target word that occurs in all its sentence pairs, and
    necessary for one that never occurs without it. A sufficient word translates to the target word
    unless another word alone is sufficient and necessary (equation 19: unless any other is).

    :returns: source ids, target ids, and numbers of pairs with both; 1 more where a word translates
        to itself.
    """
    met = find_cooccurrences(text)
    sufficient = met.sentences == text.source.sentences[met.source]
    source, target, value = (
        met.source[sufficient],
        met.target[sufficient],
        met.sentences[sufficient],
    )
    winner = value == text.target.sentences[target]
    explained_by = np.bincount(target)[target]
    winners = np.bincount(target, winner)[target]
    keep = (explained_by <= settings.epsilon) & (winner | (winners != 1))
    source, target, value = source[keep], target[keep], value[keep]
    sources, targets = np.array(text.source.words, object), np.array(text.target.words, object)
    return source, target, value + (sources[source] == targets[target])


@dataclass(frozen=True)
class PMISettings:
    """Settings of :func:`pmi`."""

    all_pairs: bool = option(
        False,
        "Whether pairs of words that never co-occur are also listed, as in the authors' files (with"
        " values near zero)",
    )


def pmi(text: Bitext, settings: PMISettings) -> Entries:
    """Pointwise mutual information of all co-occurring words (section 4.1, equation 13).

    :returns: source ids, target ids, and 100 times the softmax of the information over all target
        words.
    """
    met = find_cooccurrences(text)
    tiny = 1e-7
    rows, columns = len(text.source.words), len(text.target.words)
    # exp(pmi), up to constants of a row, which the softmax cancels
    weight = met.sentences / (text.target.sentences[met.target] + tiny)
    least = tiny / (text.target.sentences + tiny)  # of words that do not co-occur
    total = np.bincount(met.source, weight - least[met.target], rows) + least.sum()
    if not settings.all_pairs:
        return met.source, met.target, 100 * weight / total[met.source]
    if rows * columns > MOST_PAIRS:
        raise InputError(
            f"all_pairs: {rows:,} x {columns:,} words have too many entries; leave it out"
        )
    value = np.tile(least, (rows, 1))
    value[met.source, met.target] = weight
    return (
        np.repeat(np.arange(rows), columns),
        np.tile(np.arange(columns), rows),
        (100 * value / total[:, None]).ravel(),
    )
