"""Where noise is not rare, references are dropped by the plain measure, and the estimate of noise
is near the truth.
"""

import numpy as np
import pytest

from cgbench.benchmark.candidates.noise_share import choose_cut, noise_text, with_cut
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


def likelihoods(side, losses, lengths):
    """The mean and total of a side, for one token per word."""
    return {f"{side}pe_stu": losses.tolist(), f"{side}log_prob": (-losses * lengths).tolist()}


def candidates(share):
    """Good pairs are unlikelier by degree; misaligned ones have a high degree."""
    draw = np.random.default_rng(3)
    degree = np.sort(draw.random(N))
    values = draw.normal(1.5 + degree, 0.4)
    noisy = draw.choice(N, round(share * N), replace=False, p=degree**2 / (degree**2).sum())
    values[noisy] = draw.normal(SHUFFLED_PAIRS, 1.0, len(noisy))
    columns = {
        "rmi": draw.random(N).tolist(),
        "degree": degree.tolist(),
        "target_length": (lengths := draw.integers(6, 30, N)).tolist(),
        "source_length": lengths.tolist(),
        **likelihoods("", np.ones(N), lengths),
        **likelihoods("reference_", values, lengths),
        "content": np.arange(N, dtype=np.uint64),
    }
    return columns, np.isin(np.arange(N), noisy)


NO_NOISE = {
    "copies": 0.0,
    "copies_beyond_shuffled": 0.0,
    "scrambled": 0.0,
    "similar": None,
}


def quality(shuffled=SHUFFLED_PAIRS, warnings=(), **measures):
    measured = {"shuffled": shuffled, "noise": NO_NOISE | measures}
    return {"candidates": measured, "warnings": list(warnings)}


@pytest.mark.parametrize("share", [0, 0.01, 0.05, 0.2, 0.4])
def test_the_estimate_chooses_the_cut(share):
    columns, noise = candidates(share)
    chosen = choose_cut(columns, CONFIG, quality())
    assert chosen["share"] == pytest.approx(share, abs=0.02)
    assert chosen["part"] >= chosen["share"] and chosen["cut"] == (
        "reference_pe_stu" if share > 0.1 else BY
    )
    text = noise_text(chosen, CONFIG, N)
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


def test_cut_references_are_short_against_the_source_and_the_hypothesis():
    columns, _ = candidates(0)
    rows = np.random.default_rng(5).choice(N, 400, replace=False)
    words = np.array(columns["target_length"], float)
    losses = np.array(columns["reference_pe_stu"])
    words[rows] = np.ceil(words[rows] / 2)
    columns |= {"target_length": words.tolist(), **likelihoods("reference_", losses, words)}
    chosen = choose_cut(columns, CONFIG, quality())
    assert chosen["kinds"]["cut"] == pytest.approx(0.1, abs=0.002)
    # translations that vary in both directions are not cut
    words = np.array(columns["source_length"], float)
    words[rows[:200]] = np.ceil(words[rows[:200]] / 2)
    words[rows[200:]] *= 2
    columns |= {"target_length": words.tolist(), **likelihoods("reference_", losses, words)}
    assert choose_cut(columns, CONFIG, quality())["kinds"]["cut"] == pytest.approx(0, abs=0.01)
    # nor is a source longer than usual, if the hypothesis is as short as the reference
    columns["target_length"] = (np.array(columns["source_length"]) / 2).tolist()
    assert choose_cut(columns, CONFIG, quality())["kinds"]["cut"] == 0


def test_kinds_are_added_and_no_pair_counts_twice():
    columns, noise = candidates(0.1)
    losses = np.array(columns["reference_pe_stu"])
    losses[np.flatnonzero(~noise)[:200]] = 4.5  # 5% have references of similar sources
    columns |= likelihoods("reference_", losses, np.array(columns["target_length"]))
    beyond = {"shuffled_beyond_similar": 0.95, "held_out_beyond_similar": 0.0}
    of_similar = {"similar": 4.49, "copies_beyond_similar": 0.0, **beyond}
    chosen = choose_cut(columns, CONFIG, quality(**of_similar))
    kinds = chosen["kinds"]
    assert kinds["misaligned"] == pytest.approx(0.1, abs=0.02)
    assert kinds["similar"] == pytest.approx(0.1, abs=0.03)  # half is beyond, so it is doubled
    assert chosen["share"] == pytest.approx(sum(kinds.values()))
    # a tenth are copies, of which half are as unlikely as shuffled pairs: not misaligned
    of_copies = {"copies": 0.1, "copies_beyond_shuffled": 0.05}
    kinds = choose_cut(columns, CONFIG, quality(**of_copies))["kinds"]
    assert (kinds["copies"], kinds["misaligned"]) == (0.1, pytest.approx(0.0, abs=0.02))
    # what is not seen is named, and is no number
    unseen = choose_cut(columns, CONFIG, quality(scrambled=None))
    assert unseen["kinds"]["scrambled"] is None and unseen["kinds"]["similar"] is None
    text = noise_text(unseen, CONFIG, N)
    assert "not seen: references of similar sources, scrambled sources, wrong words and" in text


def test_how_much_is_dropped_follows_the_noise():
    auto = CONFIG | {"drop_reference": "auto"}
    dropped = {}
    for share in (0, 0.01, 0.2):
        columns, _ = candidates(share)
        noise = choose_cut(columns, auto, quality())
        used = with_cut(auto, noise)
        dropped[share] = selection_sizes(used, N)["drop_reference"]
        advice = "set drop_reference=0." in noise_text(noise, auto, N)
        assert advice == (share == 0.2)
    assert dropped[0] == 40 and 100 < dropped[0.01] < 150 and dropped[0.2] == 200
    assert selection_sizes(auto, N)["drop_reference"] == 200  # without an estimate: 1/20
    fixed = with_cut(CONFIG, choose_cut(candidates(0)[0], CONFIG, quality()))
    assert selection_sizes(fixed, N)["drop_reference"] == N // 5
    assert with_cut(auto, None) == auto


def test_without_an_estimate_the_requested_cut_stays():
    columns, _ = candidates(0.2)
    assert choose_cut(columns, CONFIG, None) is None
    assert choose_cut(columns, CONFIG, quality(shuffled=None)) is None
    assert choose_cut(columns, CONFIG, quality(warnings=["unigram"])) is None
    assert choose_cut(columns, CONFIG | {"drop_reference": 0}, quality()) is None
    assert choose_cut(columns, CONFIG | {"drop_by": "rmi"}, quality())["cut"] == "rmi"
