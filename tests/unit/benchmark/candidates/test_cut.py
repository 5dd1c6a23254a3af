"""The best rows of blocks that come one after another are those of all rows sorted."""

import numpy as np
import pytest

from cgbench.benchmark.candidates.cut import COLUMNS, BestRows, Bounds
from cgbench.text.hashes import mix


def block(draw, first, size):
    """Rows of a scan with few different degrees, so that many tie; contents differ."""
    rows = {name: np.zeros(size, np.int64) for name in COLUMNS}
    rows["line"] = np.arange(first, first + size)
    rows["target_length"] = draw.integers(1, 9, size)
    rows["degree"] = draw.integers(1, 5, size) / 4
    rows["content"] = draw.permutation(np.arange(first, first + size)).astype(np.uint64)
    return rows


@pytest.mark.parametrize("sizes", [[40], [40, 40], [5] * 30, [100, 1, 1], [1, 1, 100]])
@pytest.mark.parametrize("limit", [1, 10, 200])
def test_the_best_rows_are_those_of_all_rows_sorted(sizes, limit):
    draw = np.random.default_rng(sum(sizes) + limit)
    starts = np.cumsum([0, *sizes])
    blocks = [block(draw, first, size) for first, size in zip(starts, sizes, strict=False)]
    best = BestRows(limit, Bounds(min_length=2), seed=3)
    for rows in blocks:
        best.add(dict(rows))
    every = {name: np.concatenate([rows[name] for rows in blocks]) for name in COLUMNS}
    every = {name: values[every["target_length"] >= 2] for name, values in every.items()}
    ties = mix(every["content"] ^ mix(np.array([3], np.uint64)))
    expected = every["line"][np.lexsort([ties, -every["degree"]])].tolist()
    lines = best.rows()["line"].tolist()
    assert lines[:limit] == expected[:limit]
    assert lines == expected[: len(lines)]
    assert best.has_more == (len(lines) < len(expected))
