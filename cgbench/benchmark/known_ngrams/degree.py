"""The compositional degree of sentences, computed from files of known n-grams and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError, argument
from cgbench.text.columns import read_text
from cgbench.text.normalisation import Normalisation, normaliser
from cgbench.text.plain_text import words_of
from cgbench.text.streams import shown

if TYPE_CHECKING:
    from cgbench.benchmark.known_ngrams.known import KnownNgrams


def known_ngrams_of(
    train: Path | None, phrases: Path | None, min_count: int, normalisation: Normalisation
) -> KnownNgrams:
    """The known n-grams of the text ``train``; or the ``phrases`` (one per line) with the words of ``train``.

    :param train: a text as :func:`~cgbench.text.columns.read_text` reads it. It may be None with ``phrases``: then the
        words of the phrases are the known ones.
    :raises InputError: a file is missing, empty or not UTF-8.
    """
    from cgbench.benchmark.known_ngrams.known import KnownNgrams
    from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary

    change = normaliser(normalisation, normalisation.languages[1])

    def learn(kind: Any, text: Path) -> Any:
        lines = text if normalisation.is_identity else map(change, read_text(text))
        return kind.learn(lines, min_count=min_count)

    if phrases:
        known = KnownNgrams.from_phrases(read_phrases(phrases, change), learn(Vocabulary, train) if train else None)
    else:
        assert train is not None
        known = learn(KnownNgrams, train)
    if not len(known.words):
        raise InputError(
            f"{shown(train or phrases or '')}: the corpus is empty, or no word in it occurs {min_count} times "
            f"({argument('min_count')})"
        )
    return known


def read_phrases(path: Path, change: Callable[[str], str]) -> list[str]:
    """The phrases of a list (one per line, or per row of ``TABLE:COLUMN``), normalised by ``change`` like the text."""
    phrases = [phrase for phrase in map(change, read_text(path)) if words_of(phrase)]
    if not phrases:
        raise InputError(f"{path}: the list has no phrases")
    return phrases


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
