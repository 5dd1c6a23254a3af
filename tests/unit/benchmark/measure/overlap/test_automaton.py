"""The automaton against a Counter of all n-grams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins_overlap import count_ngrams, ends_of, figures

from cgbench.benchmark.measure.overlap import automaton_kernels as kernels
from cgbench.benchmark.measure.overlap.automaton import Automaton
from cgbench.errors import InputError

SENTENCES = st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=8)
ORDERS = [1, 2, 3, 5]


def with_each_word(test):
    """Words 0 to 2, each there; 3 is one of the corpus alone."""
    return [*([word for word in sentence if word < 3] for sentence in test), [2], [0], [1]]


def flat(sentences):
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    return ids, np.array([len(sentence) for sentence in sentences], np.int32)


def read(automaton, parts, most):
    """Each part for itself, then merged, the last first."""
    found = []
    for part in parts:
        found.append(automaton.no_matches(most))
        automaton.read(*flat(part), found[-1])
    total = automaton.no_matches(most)
    for matches in reversed(found):
        states = np.flatnonzero(matches.any(1))
        kernels.merge_matches(total, states, matches[states])
    return total


@settings(max_examples=80, deadline=None)
@given(SENTENCES, st.lists(SENTENCES, max_size=3), st.integers(1, 4))
def test_as_counted(test, parts, min_count):
    test = with_each_word(test)
    automaton = Automaton.build(*flat(test), 3)
    matches = read(automaton, parts, 4)
    counts = count_ngrams([sentence for part in parts for sentence in part])
    ids, lengths = flat(test)
    ends, stranger = automaton.ends(ids, lengths, automaton.known(matches, min_count))
    assert stranger == -1
    assert ends.tolist() == [end for words in test for end in ends_of(words, counts, min_count)]

    size = len(test)
    found = {"known": np.zeros((size, len(ORDERS)), np.int32)}
    for name in ("pieces", "covered", "longest", "longest_end"):
        found[name] = np.zeros(size, np.int32)
    kernels.measure_overlap(ends, lengths, np.array(ORDERS, np.int32), *found.values())
    for i, words in enumerate(test):
        assert {name: values[i].tolist() for name, values in found.items()} == figures(
            words, counts, min_count, ORDERS
        )


def test_by_eye():
    # a b a, c b; the corpus is c b a: ba is new to the first sentence's begin, aba is not in it
    automaton = Automaton.build(*flat([[0, 1, 0], [2, 1]]), 3)
    matches = automaton.no_matches(1)
    assert automaton.read(*flat([[2, 1, 0, 7]]), matches) == 3
    ends, _ = automaton.ends(*flat([[0, 1, 0], [2, 1]]), automaton.known(matches, 1))
    assert ends.tolist() == [1, 1, 2, 1, 2]


def test_a_sentence_of_another_text():
    automaton = Automaton.build(*flat([[0, 1, 0], [2, 1]]), 3)
    known = automaton.known(automaton.no_matches(1), 1)
    assert automaton.ends(*flat([[1, 0], [2]]), known)[1] == -1
    assert automaton.ends(*flat([[1, 0], [2, 1, 0]]), known)[1] == 1
    assert automaton.ends(*flat([[3]]), known)[1] == 0


def test_counts_that_were_not_kept():
    automaton = Automaton.build(*flat([[0]]), 1)
    with pytest.raises(InputError, match="counts are known up to 2; min_count is 3"):
        automaton.known(automaton.no_matches(2), 3)


def test_saved_and_damaged(tmp_path):
    automaton = Automaton.build(*flat([[0, 1, 0], [2, 1]]), 3)
    automaton.save(tmp_path)
    again = Automaton.load(tmp_path)
    for name in ("firsts", "table", "links", "lens", "pairs"):
        assert np.array_equal(getattr(automaton, name), getattr(again, name))
        kept = np.load(tmp_path / f"automaton.{name}.npy")
        for wrong in (kept[:-1], kept + np.array(99, kept.dtype), kept.astype(np.float64)):
            if name == "firsts" and len(wrong) < len(kept):
                continue  # is for check_words to see
            if name == "pairs" and wrong.dtype == kept.dtype:
                # any bits will do for the loops; that they are the right ones, digests say
                continue
            np.save(tmp_path / f"automaton.{name}.npy", wrong)
            with pytest.raises(InputError, match="invalid n-grams of the test text|is needed"):
                Automaton.load(tmp_path)
        (tmp_path / f"automaton.{name}.npy").write_bytes(b"no array")
        with pytest.raises(InputError, match="not a complete array file"):
            Automaton.load(tmp_path)
        np.save(tmp_path / f"automaton.{name}.npy", kept)
    with pytest.raises(InputError, match="words do not match the test text"):
        again.check_words(2, tmp_path)
