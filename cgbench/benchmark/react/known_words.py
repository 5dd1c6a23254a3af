"""The known n-grams of a build on the side of the degree, and the known words of the other side."""

from __future__ import annotations

from pathlib import Path

from cgbench.benchmark.candidates.scan import NGRAMS, WORDS
from cgbench.benchmark.known_ngrams.known import learn_sides
from cgbench.benchmark.react.checks import check_known_words
from cgbench.benchmark.react.request import FilterOptions
from cgbench.text.corpus import ParallelText


def learn_known(out: Path, filters: FilterOptions, train: ParallelText) -> None:
    """Write the known n-grams and words into the folder ``out`` (:mod:`cgbench.benchmark.candidates.scan`).

    :raises InputError: no word occurs often enough.
    """
    sides = (train.source.path, train.target.path)
    first, second = sides if filters.degree_side == "source" else sides[::-1]
    least = filters.word_min_count
    ngrams, other_words = learn_sides(first, second, min_count=filters.ngram_min_count, word_min_count=least)
    check_known_words(first, len(ngrams.words), least)
    check_known_words(second, len(other_words), least)
    ngrams.save(out / NGRAMS)
    other_words.save(out / WORDS)
