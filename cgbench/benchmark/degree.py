"""The compositional degree of given sentences: what ``cgbench degree`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgbench.errors import InputError
from cgbench.text.formats import COMPRESSED, form, read_lines
from cgbench.text.normalisation import Normalisation, normaliser

if TYPE_CHECKING:
    from cgbench.benchmark.known_ngrams import KnownNgrams


def known_ngrams_of(train: Path, phrases: Path | None, min_count: int, normalisation: Normalisation) -> KnownNgrams:
    """What the text ``train`` makes known: its n-grams, or the given ``phrases`` (a phrase a line) and its words.

    :raises InputError: a file is missing, empty or not UTF-8.
    """
    from cgbench.benchmark.known_ngrams import KnownNgrams, Vocabulary

    if form(train) != "plain":
        raise InputError(f"{train}: plain text of one language is needed, a sentence a line")
    plain = normalisation.is_identity and train.suffix not in COMPRESSED
    change = normaliser(normalisation, normalisation.languages[1])
    lines = map(change, read_lines(train))
    if phrases:
        words = (
            Vocabulary.learn(train, min_count=min_count)
            if plain
            else Vocabulary.learn_lines(lines, min_count=min_count)
        )
        known = KnownNgrams.from_phrases(read_phrases(phrases, change), words)
    elif plain:
        known = KnownNgrams.learn(train, min_count=min_count)
    else:
        known = KnownNgrams.learn_lines(lines, min_count=min_count)
    if not len(known.words):
        raise InputError(f"{train}: the corpus is empty, or none of its words occurs {min_count} times (--min-count)")
    return known


def read_phrases(path: Path, change: Callable[[str], str]) -> list[str]:
    """The phrases of a list, one a line, normalised by ``change`` as the text is.

    :raises InputError: there is none, or the file is missing or not UTF-8.
    """
    phrases = [phrase for phrase in map(change, read_lines(path)) if phrase.strip()]
    if not phrases:
        raise InputError(f"{path}: there is no phrase in it")
    return phrases


def degrees(known: KnownNgrams, lines: Iterable[str], normalisation: Normalisation) -> Iterator[dict[str, Any]]:
    """Of each line: the number of ``pieces``, its ``length`` in words, its ``degree`` and the ``cover``."""
    change = normaliser(normalisation, normalisation.languages[1])
    for line in lines:
        pieces = known.cover(change(line))
        length = sum(map(len, pieces))
        yield {
            "pieces": len(pieces),
            "length": length,
            "degree": len(pieces) / length if length else 0.0,
            "cover": [" ".join(piece) for piece in pieces],
        }
