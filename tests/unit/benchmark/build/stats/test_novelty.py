"""Novel n-grams: the automaton against sets of tuples."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from twins import words_of

from cgbench.benchmark.build.stats.novelty import Novelty, novel_ngrams, novel_tag_ngrams
from cgbench.text.blocks import join_blocks


def ngrams_of(lines, order):
    """Every n-gram of the lines with its occurrences: the definition."""
    sentences = [words_of(line) for line in lines]
    return Counter(
        tuple(words[i : i + order]) for words in sentences for i in range(len(words) - order + 1)
    )


def novelty_by_sets(train, test, order):
    seen, counts = set(ngrams_of(train, order)), ngrams_of(test, order)
    novel = {ngram: count for ngram, count in counts.items() if ngram not in seen}
    return Novelty(len(counts), len(novel), sum(counts.values()), sum(novel.values()))


def test_case_is_kept_and_a_no_break_space_is_part_of_a_word():
    assert novel_ngrams(join_blocks(["the cat"]), ["The cat"], [1])[1].novel == 1
    assert novel_ngrams(join_blocks(["a b"]), ["a\u00a0b", "a\tb"], [1, 2])[2] == Novelty(
        1, 0, 1, 0
    )


def test_an_order_that_no_sentence_has():
    found = novel_ngrams(join_blocks(["a b c"]), ["a b"], [3])[3]
    assert found == Novelty(0, 0, 0, 0)
    assert found.share is None
    assert found.as_dict()["share"] is None


def test_training_text_in_several_blocks():
    train = [f"w{i} w{i + 1}" for i in range(500)]
    assert len(list(join_blocks(train, 64))) > 50
    found = novel_ngrams(join_blocks(train, 64), [f"w{i} w{i + 1} w{i}" for i in range(600)], [2])[
        2
    ]
    assert found == novelty_by_sets(train, [f"w{i} w{i + 1} w{i}" for i in range(600)], 2)


lines = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "dd", "a" * 20, "é"]), max_size=7).map(" ".join),
    max_size=6,
)


@settings(deadline=None, max_examples=200)
@given(lines, lines, st.integers(1, 5))
def test_words_as_the_definition_has_it(train, test, longest):
    found = novel_ngrams(join_blocks(train), [*test, "a b"], range(1, longest + 1))
    for order, figures in found.items():
        assert figures == novelty_by_sets(train, [*test, "a b"], order)


@settings(deadline=None, max_examples=100)
@given(lines, lines, st.integers(1, 4))
def test_tags_as_the_definition_has_it(train, test, longest):
    found = novel_tag_ngrams(
        map(str.split, train), list(map(str.split, test)), range(1, longest + 1)
    )
    for order, figures in found.items():
        assert figures == novelty_by_sets(train, test, order)
