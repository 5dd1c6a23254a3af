"""The nearest source: edit distance against a table, candidates against a dense computation, ties
and empty texts.
"""

import random

import numpy as np
import pytest

from cgbench.text.nearest import BEST, NearestSources, edit_distances


def by_table(first, second):
    row = list(range(len(second) + 1))
    for place, word in enumerate(first, 1):
        above, row = row, [place]
        for column, other in enumerate(second, 1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (word != other)))
    return row[-1]


@pytest.mark.parametrize("seed", range(20))
def test_edit_distance(seed):
    draw = random.Random(seed)
    texts = [[draw.randrange(4) for _ in range(draw.randrange(9))] for _ in range(30)]
    for sentence in (*texts[:5], list(range(80))):
        assert edit_distances(sentence, texts) == [by_table(sentence, text) for text in texts]


def dense(sources, line):
    """The row and the similarity of the nearest source, from the whole matrix."""
    first = {}
    for row, source in enumerate(sources):
        if source.split():
            first.setdefault(" ".join(source.split()), row)
    texts, words = (
        [text.split() for text in first],
        sorted({word for text in first for word in text.split()}),
    )
    counts = np.array([[text.count(word) for word in words] for text in texts])
    idf = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    weights = counts * idf
    query = np.array([line.split().count(word) for word in words]) * idf
    cosines = (weights @ query / np.linalg.norm(weights, axis=1)).round(6)
    shared = (counts @ (query > 0)) > 0
    if not shared.any():
        return -1, 0.0
    least = np.sort(cosines[shared])[::-1][:BEST][-1]
    order = np.lexsort((range(len(texts)), -cosines))
    candidates = [place for place in order if shared[place] and cosines[place] >= least]
    best = min(candidates, key=lambda place: by_table(line.split(), texts[place]))
    longer = max(len(line.split()), len(texts[best]))
    return list(first.values())[best], 1 - by_table(line.split(), texts[best]) / longer


@pytest.mark.parametrize("seed", range(5))
def test_same_as_a_dense_matrix(seed, monkeypatch):
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(30)]
    line = lambda: " ".join(draw.choices(words, k=draw.randrange(12)))  # noqa: E731
    sources, lines = [line() for _ in range(200)], [line() + " new" for _ in range(20)]
    expected = [dense(sources, text) for text in lines]
    assert NearestSources(sources).nearest(lines) == expected
    monkeypatch.setattr("cgbench.text.nearest.PRODUCT", 400)  # blocks of two sentences
    assert NearestSources(sources).nearest(lines) == expected


def test_the_order_of_words_decides_between_equal_cosines():
    index = NearestSources(
        ["", "walk and jump twice", "jump twice and walk", "jump twice and walk"]
    )
    lines = ["jump twice and walk", "jump twice and run", "", "new"]
    assert index.nearest(lines) == [(2, 1), (2, 0.75), (-1, 0), (-1, 0)]


def test_empty_corpus():
    assert NearestSources([]).nearest(["a"]) == [(-1, 0)]
