"""What tells noise of several kinds from good pairs: the same kind of noise, made from the
candidates.

Some references are exchanged for that of the most similar other source, and some sources are
scrambled. Half of the noise that is made so is beyond its own median, in the measure that shows
that kind; so is half of such noise among the candidates. Clean pairs tell whether the measure shows
the kind at all: of pairs held out from training, hardly any may be beyond that median.
:mod:`.noise_share` makes estimates of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cgbench.text.nearest import NearestSources
from cgbench.text.plain_text import words_of
from cgbench.text.profile import is_unspaced

NOISE = "noise"
"""The key of these measures in the quality of the ensemble."""
NO_LOSSES = np.zeros(0)
SAMPLED = 500  # maximum number of candidates that noise is made from, evenly spaced
TRAINING = 50_000  # maximum number of training sources whose word pairs are known, evenly spaced
CLEAN = 50  # of 50 training sources, one is a clean one, whose word pairs are not known
SEEN = 1 / 40
"""A kind of noise is seen if at most this share of clean pairs is beyond the median of the kind."""


def evenly(count: int, most: int) -> list[int]:
    """At most ``most`` of ``count`` positions, evenly spaced."""
    taken = min(most, count)
    return [index * count // taken for index in range(taken)]


def with_similar_references(
    sources: Sequence[str], references: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Some sources, each with the reference of the most similar of the others: pairs that an
    aligner may confuse with translations.
    """
    rows = evenly(len(sources), min(SAMPLED, len(sources) // 2))
    others = sorted({*range(len(sources))} - {*rows})
    neighbours = NearestSources(sources[row] for row in others).nearest(
        [sources[row] for row in rows]
    )
    pairs = [
        (sources[row], references[others[neighbour.row]])
        for row, neighbour in zip(rows, neighbours, strict=True)
        if neighbour.row >= 0
    ]
    return [source for source, _ in pairs], [reference for _, reference in pairs]


@dataclass(frozen=True)
class ScrambledSources:
    """Sources whose words are in no order that training knows.

    ``beyond``: bool ``[candidates]``: more word pairs are new than in half of the scrambled
    sources. ``per_beyond``: scrambled sources over those of them that are beyond. ``clean``: the
    share of clean sources that are beyond.
    """

    beyond: np.ndarray
    per_beyond: float
    clean: float

    @property
    def seen(self) -> bool:
        """Whether the word pairs show the kind."""
        return self.clean <= SEEN and self.per_beyond < 4


def scrambled_sources(training: Sequence[str], sources: Sequence[str]) -> ScrambledSources:
    """Compare the word pairs of sources with those of training sources, at most :data:`TRAINING`.

    Languages without blanks use pairs of characters.
    """
    solid = is_unspaced(sources)

    def units(line: str) -> list[str]:
        return [letter for letter in line if not letter.isspace()] if solid else words_of(line)

    lines = [units(line) for line in training]
    known = {
        pair
        for index, line in enumerate(lines)
        if index % CLEAN
        for pair in pairwise(["", *line, ""])
    }

    def new_pairs(lines: Sequence[Sequence[str]]) -> np.ndarray:
        """The share of the word pairs of each line that are new."""
        shares = []
        for line in lines:
            pairs = list(pairwise(["", *line, ""]))
            shares.append(sum(pair not in known for pair in pairs) / len(pairs))
        return np.array(shares)

    of_candidates = [units(source) for source in sources]
    draw = np.random.default_rng(0)
    scrambled = new_pairs(
        [
            draw.permutation(np.array(of_candidates[row], object)).tolist()
            for row in evenly(len(sources), SAMPLED)
        ]
    )
    middle = float(np.median(scrambled))
    beyond = float((scrambled > middle).mean())
    return ScrambledSources(
        new_pairs(of_candidates) > middle,
        1 / beyond if beyond else float("inf"),
        float((new_pairs(lines[::CLEAN]) > middle).mean()),
    )


@dataclass(frozen=True)
class UnlikelyPairs:
    """Losses, -log P per token, of pairs that do not belong together, and of clean pairs.

    ``shuffled``: sources with the references of any others; ``similar``: with those of similar
    ones; ``held_out``: pairs that no member was trained on; empty if there are none.
    """

    shuffled: np.ndarray
    similar: np.ndarray
    held_out: np.ndarray

    @property
    def median(self) -> float:
        """Of the shuffled pairs."""
        return float(np.median(self.shuffled))

    def measures(
        self,
        losses: np.ndarray,
        sources: Sequence[str],
        references: Sequence[str],
        scrambled: ScrambledSources,
    ) -> dict[str, Any]:
        """The measures of the candidates, for the quality of the ensemble.

        :param losses: of the candidates, ``[N]``, with their texts.
        """
        middle = self.median
        similar = float(np.median(self.similar)) if len(self.similar) else np.inf
        held_out = float((self.held_out > similar).mean()) if len(self.held_out) else None
        sees_similar = held_out is not None and held_out <= SEEN and similar < middle
        copies = np.array(
            [source == target for source, target in zip(sources, references, strict=True)]
        )
        fits = losses <= (similar if sees_similar else middle)
        is_scrambled = scrambled.beyond & fits & ~copies
        measures: dict[str, Any] = {
            "copies": float(copies.mean()),
            "copies_beyond_shuffled": float((copies & (losses > middle)).mean()),
            "scrambled": None,
            "similar": None,
        }
        if scrambled.seen:
            share = float(is_scrambled.mean()) - scrambled.clean
            measures["scrambled"] = min(1.0, max(0.0, share * scrambled.per_beyond))
        if sees_similar:
            measures |= {
                "similar": similar,
                "held_out_beyond_similar": held_out,
                "shuffled_beyond_similar": float((self.shuffled > similar).mean()),
                "copies_beyond_similar": float((copies & (losses > similar)).mean()),
            }
        return measures
