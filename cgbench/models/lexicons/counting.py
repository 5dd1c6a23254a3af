"""Lexicons from counts: the Simple rule and pointwise mutual information (Akyürek and Andreas, 2021, section 4).

Counts are numbers of sentence pairs. ``rules`` selects the authors' code (``coded``) or their paper (``described``)
where these differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cgbench.errors import InputError
from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences
from cgbench.settings import option

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
Rules = Literal["coded", "described"]
MOST_PAIRS = 20_000_000  # maximum entries of a lexicon


@dataclass(frozen=True)
class SimpleSettings:
    """Settings of :func:`simple`."""

    epsilon: int = option(
        3,
        "Maximum number of source words that suffice for a target word; a target word with more is left out (paper: 3)",
        least=1,
    )  # fmt: skip
    rules: Rules = option(
        "coded",
        "Source words to keep when several are also necessary: all sufficient ones of a target word (``coded``), or "
        "only the necessary ones (``described``, equation 19). Only ``coded`` adds 1 to the value of a word that "
        "translates to itself",
    )  # fmt: skip


def simple(text: Bitext, settings: SimpleSettings) -> Entries:
    """The Simple rule (section 4.2, equations 15 to 20).

    A source word is sufficient for a target word that occurs in all its sentence pairs, and necessary for one that
    never occurs without it. A sufficient word translates to the target word unless another word is sufficient and
    necessary.

    :returns: source ids, target ids, and numbers of pairs with both.
    """
    met = find_cooccurrences(text)
    sufficient = met.sentences == text.source.sentences[met.source]
    source, target, value = met.source[sufficient], met.target[sufficient], met.sentences[sufficient]
    winner = value == text.target.sentences[target]
    explained_by = np.bincount(target)[target]
    winners = np.bincount(target, winner)[target]
    loses = ~winner & ((winners == 1) if settings.rules == "coded" else (winners > 0))
    keep = (explained_by <= settings.epsilon) & ~loses
    source, target, value = source[keep], target[keep], value[keep]
    if settings.rules == "coded":
        sources, targets = np.array(text.source.words, object), np.array(text.target.words, object)
        value = value + (sources[source] == targets[target])
    return source, target, value


@dataclass(frozen=True)
class PMISettings:
    """Settings of :func:`pmi`."""

    rules: Rules = option(
        "coded",
        "Value of an entry: 100 softmax(pmi) over all target words (``coded``), or the pmi in nats (``described``, "
        "equation 13)",
    )  # fmt: skip
    all_pairs: bool = option(
        False,
        "Whether pairs of words that never co-occur are also listed, as in the authors' files (with values near zero)",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.all_pairs and self.rules != "coded":
            raise InputError("all_pairs needs rules=coded: words that never co-occur have no mutual information")


def pmi(text: Bitext, settings: PMISettings) -> Entries:
    """Pointwise mutual information of all co-occurring words (section 4.1, equation 13)."""
    met = find_cooccurrences(text)
    if settings.rules == "described":
        expected = text.source.sentences[met.source] * text.target.sentences[met.target]
        return met.source, met.target, np.log(met.sentences * len(text) / expected)
    tiny = 1e-7
    rows, columns = len(text.source.words), len(text.target.words)
    # exp(pmi), up to constants of a row, which the softmax cancels
    weight = met.sentences / (text.target.sentences[met.target] + tiny)
    least = tiny / (text.target.sentences + tiny)  # of words that do not co-occur
    total = np.bincount(met.source, weight - least[met.target], rows) + least.sum()
    if not settings.all_pairs:
        return met.source, met.target, 100 * weight / total[met.source]
    if rows * columns > MOST_PAIRS:
        raise InputError(f"all_pairs: {rows:,} x {columns:,} words have too many entries; leave it out")
    value = np.tile(least, (rows, 1))
    value[met.source, met.target] = weight
    return (
        np.repeat(np.arange(rows), columns),
        np.tile(np.arange(columns), rows),
        (100 * value / total[:, None]).ravel(),
    )
