"""``degree()``: the compositional degree of sentences, as ``cgbench degree`` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cgbench.argument_types import Folder, Text
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.text.columns import read_text
from cgbench.text.inputs import as_column, is_path, local_path
from cgbench.text.normalisation import Normalisation, TextOptions, normaliser
from cgbench.text.streams import shown

if TYPE_CHECKING:
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams


class DegreeRequest(Request):
    """What :func:`degree` is asked for."""

    texts: Text = option(
        help="Sentences to measure",
    )
    train: Text | None = option(
        "--train",
        default=None,
        help="Training text, one sentence per line, or TABLE:COLUMN",
        group="Input",
    )
    _: KW_ONLY
    known_from: Folder | None = option(
        "--known-from",
        default=None,
        help="Take known n-grams from an `overlap --out` folder",
        group="Input",
    )
    min_count: int = option(
        "--min-count",
        default=3,
        help="Minimum count for an n-gram to be known",
        least=1,
        group="Input",
    )
    text: TextOptions = option(default=TextOptions(), help="How text is normalised (TextOptions)")


@accepts(DegreeRequest)
def degree(request: DegreeRequest) -> list[dict[str, Any]]:
    """The compositional degree of each sentence, as ``cgbench degree`` prints it.

    The degree is the smallest number of known n-grams that cover the sentence, over its length in
    words (Zheng and Lapata 2023, section 4).

    :returns: one dictionary per sentence: ``pieces``, ``length`` (words), ``degree`` and ``cover``
        (a list of pieces).
    :raises InputError: a text cannot be read or has no known words, or arguments do not fit
        together.
    """
    return list(degree_rows(request))


def degree_rows(request: DegreeRequest) -> Iterator[dict[str, Any]]:
    """:func:`degree` row by row; a file is read lazily."""
    lines = (
        read_text(local_path(request.texts))
        if is_path(request.texts)
        else as_column(request.texts, "texts").values
    )
    train, known_from, min_count = request.train, request.known_from, request.min_count
    if (train is None) == (known_from is None):
        raise InputError(
            f"known n-grams are needed: give {argument('train')}, or {argument('known_from')}"
            " instead"
        )
    change = normaliser(request.text.normalisation, request.text.language)
    if known_from is not None:
        from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts, check_words_alike
        from cgbench.benchmark.measure.overlap.known_from import ngrams_of_lines

        counted = CorpusCounts.load(local_path(known_from))
        check_words_alike(counted.folder, counted.units, request.text.normalisation.settings)
        lines = list(map(change, lines))
        return map(_row, ngrams_of_lines(counted, lines, min_count).cover(lines))
    known = known_ngrams_of(train, min_count, request.text.normalisation)
    return (_row(known.cover(change(line))) for line in lines)


def known_ngrams_of(train: Any, min_count: int, normalisation: Normalisation) -> KnownNgrams:
    """The known n-grams of a file or a list of sentences.

    :raises InputError: the file is missing or not UTF-8, or no word occurs often enough.
    """
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams

    change, name = normaliser(normalisation, normalisation.languages[1]), argument("train")
    if is_path(train):
        path = local_path(train)
        name, text = (
            shown(path),
            (path if normalisation.is_identity else map(change, read_text(path))),
        )
    else:
        text = map(change, as_column(train, "train").values)
    known = KnownNgrams.learn(text, min_count=min_count)
    if not len(known.words):
        raise InputError(
            f"{name}: the corpus is empty, or no word in it occurs {min_count} times"
            f" ({argument('min_count')})"
        )
    return known


def _row(pieces: list[tuple[str, ...]]) -> dict[str, Any]:
    """The row of a sentence, from the pieces of its cover."""
    length = sum(map(len, pieces))
    return {
        "pieces": len(pieces),
        "length": length,
        "degree": len(pieces) / length if length else 0.0,
        "cover": [" ".join(piece) for piece in pieces],
    }
