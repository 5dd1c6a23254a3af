"""Chernoff coefficients: published figures, bounds, the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twins_split import chernoff

from cgbench.benchmark.measure.divergence.elements import element_type
from cgbench.benchmark.measure.divergence.measure import divergence, text_divergences

counts = st.integers(1, 8).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 9), min_size=size, max_size=size)] * 2)
)


def between(train, test, alpha):
    return divergence(np.array(train), np.array(test), alpha)


def test_the_figures_of_the_europarl_splits_document():
    # GenBench CBT, task europarl_dbca_splits: doc.md
    # to the rounding: processors differ in the last bit of a power
    assert between([[2, 4, 10]], [[1, 2, 5]], 0.5) == pytest.approx(0.0, abs=1e-15)
    assert between([[2, 0, 6]], [[0, 5, 5]], 0.1) == pytest.approx(0.4793101280037947, abs=1e-15)


@given(counts, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
def test_the_definition(both, alpha):
    found = 1 - between(*both, alpha)
    assert found == pytest.approx(chernoff(*both, alpha), abs=1e-12)
    assert 0 <= found <= 1


def test_sides_are_not_alike_at_alpha_0_1():
    # What is in the test set alone costs more than what is in training alone.
    assert between([1, 1], [1, 0], 0.1) < between([1, 0], [1, 1], 0.1)


def test_an_empty_side_has_nothing_in_common():
    assert between([0, 0], [1, 2], 0.5) == 1.0


def test_texts_have_the_papers_alphas_and_training_comes_first():
    kind = element_type("words", "count", "divergence")
    found = text_divergences(("train", ["a b", "a b", "c d"]), ("test", ["a b", "e f"]), kind)
    assert found.atom == pytest.approx(1 - 2 * (1 / 3) ** 0.5 * (1 / 4) ** 0.5)
    assert found.compound == pytest.approx(1 - (2 / 3) ** 0.1 * (1 / 2) ** 0.9)
    assert (found.atoms, found.compounds, found.novel_compounds, set(found.lone_atoms)) == (
        4,
        2,
        1,
        {"e", "f"},
    )
