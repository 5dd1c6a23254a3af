"""The known n-grams of a build on the side of the degree, and the known words of the other side."""

from collections.abc import Sequence
from pathlib import Path

from cgbench.benchmark.build.react.build_plan import Plan
from cgbench.benchmark.build.react.checks import check_known_words
from cgbench.benchmark.candidates.pool_scan import NGRAMS, WORDS
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams, learn_sides
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.known_from import Named, ngrams_of_pool, words_of_pool
from cgbench.errors import InputError
from cgbench.text.blocks import read_blocks
from cgbench.text.corpus import ParallelText
from cgbench.text.normalisation import SIDES


def learn_known(out: Path, plan: Plan, train: ParallelText, pools: Sequence[ParallelText]) -> None:
    """Write the known n-grams and words into the folder ``out``
    (:mod:`cgbench.benchmark.candidates.pool_scan`).

    :raises InputError: no word occurs often enough, or a result of ``cgbench overlap`` belongs to
        other text.
    """
    filters, known = plan.request.filters, plan.inputs.known
    degree_side, other_side = filters.degree_side, SIDES[filters.degree_side == "source"]
    path, other_path = (getattr(train, side).path for side in (degree_side, other_side))
    word_min_count = filters.word_min_count
    counts = {"min_count": filters.ngram_min_count, "word_min_count": word_min_count}
    # From the training corpus, or from results of cgbench overlap for one side or both.
    if not known:
        ngrams, other_words = learn_sides(path, other_path, **counts)
    else:
        if degree_side in known:
            ngrams = ngrams_of_pool(
                CorpusCounts.load(known[degree_side]), _texts(plan, pools, degree_side), **counts
            )
        else:
            ngrams = KnownNgrams.learn(path, **counts)
        if other_side in known:
            other_words = words_of_pool(
                CorpusCounts.load(known[other_side]),
                _texts(plan, pools, other_side),
                word_min_count,
            )
        else:
            other_words = Vocabulary.learn(other_path, min_count=word_min_count)
    # If a side has no known word, the texts do not fit.
    for side, words in ((degree_side, ngrams.words), (other_side, other_words)):
        if side not in known:
            check_known_words(getattr(train, side).path, len(words), word_min_count)
        elif not len(words):
            raise InputError(
                f"{known[side]}: the words of the pool occur fewer than {word_min_count} times in"
                " that corpus; use a corpus of the same language and tokenisation, or lower"
                " word_min_count"
            )
    ngrams.save(out / NGRAMS)
    other_words.save(out / WORDS)


def _texts(plan: Plan, pools: Sequence[ParallelText], side: str) -> list[Named]:
    """One side of the normalised corpora of the pool, with a name for messages."""
    return [
        (f"the {side} of {planned.spec}", read_blocks(getattr(pool, side).path))
        for planned, pool in zip(plan.pools, pools, strict=True)
    ]
