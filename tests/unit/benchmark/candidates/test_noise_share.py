"""Where noise is not rare, references are dropped by the plain measure, and the estimate of noise
is near the truth.
"""

import numpy as np
import pytest

from cgbench.benchmark.candidates.noise_share import choose_cut, noise_text
from cgbench.benchmark.candidates.selection import select_rows, selection_sizes

N = 4_000
BY = "reference_pe_stu_given_degree"
CONFIG = {
    "uncertainty": "rmi",
    "drop": 0,
    "window": 20,
    "select": 1,
    "seed": 1,
    "drop_reference": "1/5",
    "drop_by": BY,
    "degree_side": "target",
}
SHUFFLED_PAIRS = 6.0  # the median of -log P per token


def candidates(share):
    """Good pairs are unlikelier by degree; misaligned ones have a high degree."""
    draw = np.random.default_rng(3)
    degree = np.sort(draw.random(N))
    values = draw.normal(1.5 + degree, 0.4)
    noisy = draw.choice(N, round(share * N), replace=False, p=degree**2 / (degree**2).sum())
    values[noisy] = draw.normal(SHUFFLED_PAIRS, 1.0, len(noisy))
    columns = {
        "reference_pe_stu": values.tolist(),
        "rmi": draw.random(N).tolist(),
        "degree": degree.tolist(),
        "target_length": draw.integers(6, 30, N).tolist(),
        "content": np.arange(N, dtype=np.uint64),
    }
    return columns, np.isin(np.arange(N), noisy)


def quality(shuffled=SHUFFLED_PAIRS, warnings=()):
    return {"candidates": {"shuffled": shuffled}, "warnings": list(warnings)}


@pytest.mark.parametrize("share", [0, 0.01, 0.05, 0.2, 0.4])
def test_the_estimate_chooses_the_cut(share):
    columns, noise = candidates(share)
    chosen = choose_cut(columns, CONFIG, quality())
    assert chosen["share"] == pytest.approx(share, abs=0.02)
    assert chosen["part"] >= chosen["share"] and chosen["cut"] == (
        "reference_pe_stu" if share > 0.1 else BY
    )
    text = noise_text(chosen, CONFIG)
    assert ("more than 12.5%, so references are dropped by reference_pe_stu, not" in text) == (
        share > 0.1
    )
    if share == 0.2:  # where the cut given degree keeps the noise of the highest degrees
        removed = {}
        for by in (BY, chosen["cut"]):
            used = CONFIG | {"drop_by": by}
            dropped = (
                np.array(select_rows(columns, used, selection_sizes(used, N))[1])
                == "dropped_reference"
            )
            removed[by] = dropped[noise].mean()
        assert removed[chosen["cut"]] > 0.97 and removed[BY] < 0.9


def test_without_an_estimate_the_requested_cut_stays():
    columns, _ = candidates(0.2)
    assert choose_cut(columns, CONFIG, None) is None
    assert choose_cut(columns, CONFIG, quality(shuffled=None)) is None
    assert choose_cut(columns, CONFIG, quality(warnings=["unigram"])) is None
    assert choose_cut(columns, CONFIG | {"drop_reference": 0}, quality()) is None
    assert choose_cut(columns, CONFIG | {"drop_by": "rmi"}, quality())["cut"] == "rmi"
