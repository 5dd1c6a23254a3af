"""N-grams that one system gets right more often, counted by hand."""

from collections import Counter

from cgbench.benchmark.metrics.ngram_leads import Lead, leads, ngrams_of, reference_counts, right_counts


def words(*lines):
    return [line.split() for line in lines]


def test_ngrams():
    assert ngrams_of(["a", "b", "a"]) == {("a",): 2, ("b",): 1, ("a", "b"): 1, ("b", "a"): 1, ("a", "b", "a"): 1}
    assert max(map(len, ngrams_of(["a", "b", "c", "d", "e", "f"]))) == 4


def test_right_counts_are_clipped_and_means_of_runs():
    references = reference_counts([words("the cat", "the the dog"), words("a bird")])
    assert references[0]["the",] == 2 and references[0]["cat",] == 1  # of several references, the greatest count
    found = right_counts(references, [words("the the the", "a bird"), words("cat", "x")])
    assert found["the",] == 1.0 and found["the", "the"] == 0.5 and found["cat",] == 0.5
    assert found["a", "bird"] == 0.5 and ("x",) not in found


def test_the_order_of_leads():
    ours = {("a",): 20.0, ("b",): 3.0, ("c",): 40.0, ("d",): 1.0, ("e",): 5.0}
    theirs = {("a",): 5.0, ("c",): 10.0, ("d",): 1.0, ("e",): 6.0}
    found = leads(ours, theirs, Counter({("c",): 50, ("a",): 21, ("b",): 3}), 5)
    # (40 - 10) / sqrt(50) = 4.2, (20 - 5) / sqrt(25) = 3, 3 / sqrt(3) = 1.7
    assert found == [Lead("c", 40.0, 10.0, 50), Lead("a", 20.0, 5.0, 21), Lead("b", 3.0, 0.0, 3)]
    assert leads(theirs, ours, Counter(), 5) == [Lead("e", 6.0, 5.0, 0)]
