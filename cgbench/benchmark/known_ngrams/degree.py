"""The compositional degree of sentences, computed from files of known n-grams and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError, argument
from cgbench.text.columns import read_text
from cgbench.text.normalisation import Normalisation, normaliser
from cgbench.text.streams import shown

if TYPE_CHECKING:
    from cgbench.benchmark.known_ngrams.known import KnownNgrams


def known_ngrams_of(train: Path, min_count: int, normalisation: Normalisation) -> KnownNgrams:
    """The known n-grams of a text.

    :param train: as :func:`~cgbench.text.columns.read_text` reads it.
    :raises InputError: the file is missing, empty or not UTF-8.
    """
    from cgbench.benchmark.known_ngrams.known import KnownNgrams

    change = normaliser(normalisation, normalisation.languages[1])
    known = KnownNgrams.learn(
        train if normalisation.is_identity else map(change, read_text(train)), min_count=min_count
    )
    if not len(known.words):
        raise InputError(
            f"{shown(train)}: the corpus is empty, or no word in it occurs {min_count} times ({argument('min_count')})"
        )
    return known


def degrees(known: KnownNgrams, lines: Iterable[str], normalisation: Normalisation) -> Iterator[dict[str, Any]]:
    """The ``pieces``, ``length`` in words, ``degree`` and ``cover`` of each line."""
    change = normaliser(normalisation, normalisation.languages[1])
    for line in lines:
        yield degree_of(known.cover(change(line)))


def degree_of(pieces: list[tuple[str, ...]]) -> dict[str, Any]:
    """The row of :func:`degrees` for one sentence, from the pieces of its cover."""
    length = sum(map(len, pieces))
    return {
        "pieces": len(pieces),
        "length": length,
        "degree": len(pieces) / length if length else 0.0,
        "cover": [" ".join(piece) for piece in pieces],
    }
