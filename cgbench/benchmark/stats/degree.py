"""``degree()``: the compositional degree of sentences, as ``cgbench degree`` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cgbench.argument_types import Folder, Text
from cgbench.benchmark.known_ngrams.degree import degree_of, degrees, known_ngrams_of
from cgbench.errors import InputError, argument
from cgbench.requests import KW_ONLY, accepts, option, request
from cgbench.text.columns import read_text
from cgbench.text.inputs import as_column, is_path, local_path
from cgbench.text.normalisation import Normalisation, TextOptions, normaliser

if TYPE_CHECKING:
    from cgbench.benchmark.overlap.known_of_test import KnownOfTest


@request
class DegreeRequest(TextOptions):
    """What :func:`degree` is asked for."""

    texts: Text = option(help="Sentences to measure", python_only=True)
    train: Text | None = option(
        default=None, help="Training text, one sentence per line, or TABLE:COLUMN", group="Input"
    )
    _: KW_ONLY
    known_from: Folder | None = option(
        default=None, help="Take known n-grams from an `overlap --out` folder", group="Input"
    )
    min_count: int = option(default=3, help="Minimum count for an n-gram to be known", least=1, group="Input")


@accepts(DegreeRequest)
def degree(request: DegreeRequest) -> list[dict[str, Any]]:
    """The compositional degree of each sentence, as ``cgbench degree`` prints it.

    The degree is the smallest number of known n-grams that cover the sentence, over its length in words (Zheng and
    Lapata 2023, section 4).

    :returns: one dictionary per sentence: ``pieces``, ``length`` (words), ``degree`` and ``cover`` (a list of pieces).
    :raises InputError: a text cannot be read or has no known words, or arguments do not fit together.
    """
    return list(degree_rows(request))


def degree_rows(request: DegreeRequest) -> Iterator[dict[str, Any]]:
    """:func:`degree` row by row; a file is read lazily."""
    lines = read_text(local_path(request.texts)) if is_path(request.texts) else as_column(request.texts, "texts").values
    train, known_from, min_count = request.train, request.known_from, request.min_count
    if (train is None) == (known_from is None):
        raise InputError(f"known n-grams are needed: give {argument('train')}, or {argument('known_from')} instead")
    normalisation = request.normalisation
    if known_from is not None:
        from cgbench.benchmark.overlap.known_of_test import KnownOfTest

        return degrees_from(KnownOfTest.load(local_path(known_from)), lines, min_count, normalisation)
    assert train is not None
    if is_path(train):
        return degrees(known_ngrams_of(local_path(train), min_count, normalisation), lines, normalisation)
    from cgbench.benchmark.known_ngrams.known import KnownNgrams

    change = normaliser(normalisation, request.language)
    known = KnownNgrams.learn(map(change, as_column(train, "train").values), min_count=min_count)
    if not len(known.words):
        raise InputError(f"{argument('train')}: no word in it occurs {min_count} times; lower min_count")
    return degrees(known, lines, normalisation)


def degrees_from(
    known: KnownOfTest, lines: Iterable[str], min_count: int, normalisation: Normalisation
) -> Iterator[dict[str, Any]]:
    """Degrees against the corpus of a ``cgbench overlap`` result, for lines of its test text."""
    from cgbench.benchmark.overlap.known_of_test import check_words_alike

    check_words_alike(known.folder, known.units, normalisation.settings)
    change = normaliser(normalisation, normalisation.languages[1])
    yield from map(degree_of, known.covers(list(map(change, lines)), min_count))
