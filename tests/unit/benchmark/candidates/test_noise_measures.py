"""Noise that is made from the candidates shows how much of it there is among them."""

import numpy as np
import pytest

from cgbench.benchmark.candidates.noise_measures import (
    SEEN,
    UnlikelyPairs,
    evenly,
    scrambled_sources,
    with_similar_references,
)
from cgbench.data_recipes.demo.corpus import DemoCorpus
from cgbench.data_recipes.demo.grammar import RandomDraw


@pytest.fixture(scope="module")
def corpus():
    """The demo's training text, and pairs with new combinations of known words."""
    demo = DemoCorpus(RandomDraw(4), 4_000)
    return [source for source, _ in demo.train], [demo.new_combination() for _ in range(600)]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_scrambled_sources_are_counted(corpus, share):
    training, pairs = corpus
    draw = np.random.default_rng(1)
    sources = [source for source, _ in pairs]
    for row in range(round(share * len(sources))):
        sources[row] = " ".join(draw.permutation(sources[row].split()))
    scrambled = scrambled_sources(training, sources)
    assert scrambled.seen and scrambled.clean <= SEEN
    found = scrambled.beyond.mean() * scrambled.per_beyond
    assert found == pytest.approx(share, abs=0.06)


def test_a_training_text_of_other_words_sees_no_order(corpus):
    _, pairs = corpus
    sources = [source for source, _ in pairs]
    assert not scrambled_sources([f"w{row} v{row}" for row in range(500)], sources).seen
    assert not scrambled_sources(["x"], sources).seen


def test_languages_without_blanks_use_characters():
    training = ["我们在海边的房子里看书", "他们在山上的学校里写字"] * 60
    draw = np.random.default_rng(2)
    mixed = ["".join(draw.permutation(list(line))) for line in training[:30]]
    scrambled = scrambled_sources(training, [*training[30:], *mixed])
    assert scrambled.beyond[-30:].mean() > 0.2 and not scrambled.beyond[:-30].any()


def test_similar_sources_lend_their_references():
    sources = ["a red dog", "a red cow", "two big cats", "two big hens", "none"]
    references = [f"target {row}" for row in range(5)]
    lines, others = with_similar_references(sources, references)
    assert dict(zip(lines, others, strict=True)) == {
        "a red dog": "target 1",
        "two big cats": "target 3",
    }
    assert with_similar_references(["a"], ["b"]) == ([], [])
    assert evenly(5, 2) == [0, 2] and evenly(1, 3) == [0]


def test_clean_pairs_tell_whether_a_kind_is_seen():
    scrambled = scrambled_sources(["a b c"] * 100, ["a b c"] * 4)
    texts = ["one", "two", "three", "four"], ["eins", "two", "drei", "vier"]
    losses = np.array([1.0, 9.0, 5.0, 1.0])
    shuffled, similar = np.array([7.0, 8.0, 9.0]), np.array([3.0, 4.0, 5.0])
    clean = UnlikelyPairs(shuffled, similar, np.full(100, 1.0))
    measures = clean.measures(losses, *texts, scrambled)
    assert (measures["similar"], measures["shuffled_beyond_similar"]) == (4.0, 1.0)
    assert (measures["copies"], measures["copies_beyond_shuffled"]) == (0.25, 0.25)
    for held_out in (np.full(100, 4.5), np.zeros(0)):  # as unlikely as similar pairs, or none
        unseen = UnlikelyPairs(shuffled, similar, held_out)
        assert unseen.measures(losses, *texts, scrambled)["similar"] is None
