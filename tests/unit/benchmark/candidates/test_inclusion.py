"""Inclusion probabilities, against every order of the documents and against the draw itself over
many seeds.
"""

import itertools
import math

import numpy as np
import pytest
from few import few

from cgbench.benchmark.candidates.documents import hash_documents
from cgbench.benchmark.candidates.inclusion import document_inclusion, inclusion_of
from cgbench.benchmark.candidates.selection import STAGES, select


def over_all_orders(sizes, count):
    """How often each document is drawn, over every order of the documents."""
    found = np.zeros(len(sizes))
    for order in itertools.permutations(range(len(sizes))):
        pairs = 0
        for document in order:
            if pairs >= count:
                break
            found[document] += 1
            pairs += sizes[document]
    return found / math.factorial(len(sizes))


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ((1, 1, 1), 2),
        ((5, 1, 1, 1), 3),
        ((1, 2, 3, 4, 5, 6), 9),
        ((7, 7, 2, 2, 2), 8),
        ((3,), 1),
        ((2, 9, 1), 12),
    ],
)
def test_the_probability_of_a_document_is_that_over_all_orders(sizes, count):
    found = document_inclusion(np.array(sizes), count)
    np.testing.assert_allclose(found, over_all_orders(sizes, count), atol=1e-12)


def test_many_documents_give_the_same_for_a_finer_quadrature(monkeypatch):
    sizes = np.random.default_rng(1).geometric(0.2, 400)
    found = document_inclusion(sizes, 300)
    monkeypatch.setattr("cgbench.benchmark.candidates.inclusion._NODES", 160)
    np.testing.assert_allclose(found, document_inclusion(sizes, 300), atol=1e-13)
    # The number of pairs is at least the one wanted, and exceeds it by less than a document.
    assert 300 <= (found * sizes).sum() < 300 + sizes.max()


@pytest.mark.parametrize("trials", few([300, 3000], 300))
@pytest.mark.parametrize("by", ["pair", "document"])
def test_the_draw_has_these_probabilities_over_seeds_given_the_window(by, trials):
    names = ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + [f"d{number}" for number in range(11)]
    uncertainty = np.repeat(
        [3.0, 2.0, 1.0], [2, 12, 6]
    )  # ties reach over both borders of the window
    documents = hash_documents(names)
    inside, drawn, expected = np.zeros(20), np.zeros(20), np.zeros(20)
    for seed in range(trials):
        _, stages = select(
            uncertainty,
            np.arange(20, dtype=np.uint64),
            drop=1,
            window=10,
            count=4,
            seed=seed,
            documents=documents if by == "document" else None,
        )
        stage = [STAGES[number] for number in stages]
        columns = {"stage": stage, "document": names}
        inside += np.isin(stage, ("window", "selected"))
        drawn[stages == STAGES.index("selected")] += 1
        expected += inclusion_of(columns, {"draw_by": by}, 4)
    assert (
        inside.min() < trials / 4 < inside.max()
    )  # a tie is inside for some seeds and outside for others
    error = np.sqrt(expected * (1 - expected / trials)) + 1e-9
    assert np.abs((drawn - expected) / error).max() < 4.5
    if by == "pair":
        np.testing.assert_allclose(expected, 0.4 * inside)
