"""Four cells: matched, and effects by definition."""

import numpy as np
import pytest

from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Ter
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError
from cgbench.studies.validity.cell_effects import MEAN, cell_effects
from cgbench.studies.validity.cells import CELLS, Cells, draw_cells


def candidates(size=900, corpora=2, seed=1):
    """A table whose degree falls and whose uncertainty rises with length."""
    rng = np.random.default_rng(seed)
    length = rng.integers(6, 15, size)
    rank = np.empty(size, np.int64)
    rank[np.argsort(-(length / 5 + rng.normal(size=size)))] = np.arange(1, size + 1)
    return {
        "degree": np.round(length * (0.5 + 0.4 * rng.random(size))) / length,
        "stage": np.where(
            rank <= size // 20, "dropped", np.where(rank <= size // 3, "window", "rest")
        ),
        "rank": rank,
        "pool": rng.integers(0, corpora, size),
        "content": np.arange(size).astype(np.uint64),
        "source_length": length,
        "target_length": length + rng.integers(-1, 2, size),
        "source_rarest": rng.integers(3, 90, size),
    }


def test_cells_are_what_they_say_and_alike_in_everything_else():
    columns = candidates(3_000)
    cells = draw_cells(columns, 40, 1)
    assert cells.rows.shape[0] == 4 and 25 <= cells.rows.shape[1] <= 40
    assert len(np.unique(cells.rows)) == cells.rows.size
    high_degree, low_degree = columns["degree"][cells.rows[:2]], columns["degree"][cells.rows[2:]]
    assert high_degree.min() > low_degree.max()
    assert cells.degrees["high"] == (
        high_degree.min(),
        pytest.approx(high_degree.mean()),
        high_degree.max(),
    )
    uncertain, certain = columns["stage"][cells.rows[::2]], columns["stage"][cells.rows[1::2]]
    assert set(uncertain.ravel()) == {"window"} and set(certain.ravel()) == {"rest"}
    # In each matched set, all four come from one corpus.
    assert (np.ptp(columns["pool"][cells.rows], axis=0) == 0).all()
    assert cells.difference < 0.1
    lengths = columns["target_length"][cells.rows]
    assert np.ptp(lengths.mean(axis=1)) < 0.1 * lengths.std(axis=1).max()
    again = draw_cells(columns, 40, 1)
    assert (again.rows == cells.rows).all() and (
        draw_cells(columns, 40, 2).rows != cells.rows
    ).any()


def test_cells_that_cannot_be_matched_are_refused_with_numbers():
    columns = candidates(corpora=1)
    columns["target_length"] = np.where(columns["degree"] > np.median(columns["degree"]), 5, 20)
    columns["target_length"] += np.arange(900) % 3
    with pytest.raises(
        InputError,
        match="of high degree, high uncertainty.*cells of 25 pairs still differ by .*words",
    ):
        draw_cells(columns, 40, 1)
    with pytest.raises(InputError, match="there are 0 of high degree, high uncertainty"):
        draw_cells(columns | {"degree": np.full(900, 0.5)}, 40, 1)


PAIRS = 40


def outputs(right, random):
    """A system that is right in shares of the pairs of each cell."""
    lines = []
    for share in right:
        count = round(share * PAIRS)
        lines += random.permutation(["a b c d"] * count + ["a b e f"] * (PAIRS - count)).tolist()
    return lines


CELLS_OF_40 = Cells(
    np.arange(4 * PAIRS).reshape(4, PAIRS),
    {"high": (0.8, 0.9, 1), "low": (0.5, 0.6, 0.7)},
    (9,) * 4,
    0.05,
)


def effects(systems, metric=ExactMatch, clusters=None):
    references = [["a b c d"]] * (4 * PAIRS)
    return cell_effects(metric(references), CELLS_OF_40, systems, clusters, samples=200, seed=1)


def test_scores_and_effects_by_definition():
    random = np.random.default_rng(1)
    by_uncertainty = System("u", tuple(outputs((0.2, 0.9, 0.3, 0.9), random) for _ in range(3)))
    result = effects([by_uncertainty])
    (row,) = result.systems
    assert [row.values[cell] for cell in CELLS] == pytest.approx([20, 90, 30, 90])
    assert row.values["degree"] == pytest.approx(5)  # (30 + 90 - 20 - 90) / 2
    assert row.values["uncertainty"] == pytest.approx(65)
    assert row.values["interaction"] == pytest.approx(10)  # 70 at high degree, 60 at low degree
    assert row.values["uncertainty minus degree"] == pytest.approx(60)
    assert all(low < row.values[name] < high for name, (low, high) in row.intervals.items())
    assert row.hardest == "uncertainty" and result.card.startswith(
        "Uncertainty makes the test set hard"
    )
    assert "40 pairs in each cell; high degree 0.90 (0.80 to 1.00), low degree 0.60" in result.card
    # Of error rates, more is worse.
    assert effects([by_uncertainty], Ter).systems[0].values["uncertainty"] > 20


@pytest.mark.parametrize(
    ("shares", "hardest"),
    [
        ((0.2, 0.3, 0.9, 0.9), "degree"),
        ((0.2, 0.5, 0.5, 0.9), "both"),
        ((0.5, 0.5, 0.55, 0.5), "unknown"),
    ],
)
def test_which_of_the_two_is_hard(shares, hardest):
    random = np.random.default_rng(2)
    systems = [System(name, (outputs(shares, random),)) for name in "xyz"]
    result = effects(systems)
    assert [row.system for row in result.systems] == ["x", "y", "z", MEAN]
    assert [row.hardest for row in result.systems[:3]] == [hardest] * 3
    mean = result.systems[-1]
    assert mean.runs == 3 and mean.values["degree"] == pytest.approx(
        result.systems[0].values["degree"]
    )
    assert result.as_dict()["systems"][MEAN]["hardest"] == mean.hardest


def test_clusters_widen_intervals():
    random = np.random.default_rng(3)
    lines = [line for line in random.choice(["a b c d", "a b e f"], PAIRS) for _ in range(4)]
    labels = np.arange(4 * PAIRS) // 4
    alone, together = (
        effects([System("x", (lines,))], clusters=clusters).systems[0].intervals["degree"]
        for clusters in (None, Clusters(("source",), (labels,)))
    )
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0])
