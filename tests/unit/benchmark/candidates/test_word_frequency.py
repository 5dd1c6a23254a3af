"""How frequent the words of sentences are in a training text."""

import math

import numpy as np
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from cgbench.benchmark.candidates.matching import covariates_of, word_frequency
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.lists(st.sampled_from("abcdé"), max_size=5), min_size=1, max_size=6))
def test_words_are_counted_in_training(words):
    training = ["a a a b", "b c", "a é"]
    counts = {"a": 4, "b": 2}  # rarer words are not known
    lines = [" ".join(line) for line in words]
    rarest = [min((counts.get(word, 0) for word in line), default=0) for line in words]
    means = [twins.covariates(line, line, [counts, counts])[2] if line else 0.0 for line in lines]
    for vocabulary in (
        Vocabulary.learn(training, min_count=2),
        KnownNgrams.learn(training, min_count=2).words,
    ):
        found = word_frequency(vocabulary, lines)
        assert found.rarest.tolist() == rarest and found.log_count.tolist() == means


def test_logarithms_of_counts_by_whole_numbers():
    counts = np.array([0, 1, 2, 3, 1024, 10**12, 3])
    found = covariates_of({"source_rarest": counts})["source_rarest"]
    assert (
        found[:3].tolist() == [0.0, 0.0, pytest.approx(math.log(2), abs=1e-15)]
        and found[3] == found[6]
    )
    for count, value in zip(counts[1:].tolist(), found[1:].tolist(), strict=True):
        assert math.log(count) - 0.011 < value <= math.log(count) + 1e-12
