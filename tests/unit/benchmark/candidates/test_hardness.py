"""A test set that is no harder than its control set is told; one that is harder is not."""

import random

import numpy as np
import pytest
from sacrebleu import corpus_chrf

from cgbench.benchmark.candidates.hardness import chrf_gap, chrf_statistics, no_harder
from cgbench.benchmark.release.at_a_glance import how_hard

WORDS = ["dog", "cat", "bird", "house", "sees", "likes", "finds", "calls", "green", "small", "two"]


def translations(pairs, share_right, seed):
    """References, and hypotheses of which each word is right with this chance."""
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randrange(4, 15))) for _ in range(pairs)]
    hypotheses = [
        " ".join(
            word if draw.random() < share_right else draw.choice(WORDS) for word in line.split()
        )
        for line in references
    ]
    return hypotheses, references


def test_the_gap_is_that_of_sacrebleu():
    test, control = translations(50, 0.3, 1), translations(80, 0.6, 2)
    gap = chrf_gap(chrf_statistics(*test), chrf_statistics(*control), 1)
    scores = [corpus_chrf(lines, [references]).score for lines, references in (test, control)]
    assert gap["points"] == pytest.approx(scores[1] - scores[0])
    assert gap["low"] < gap["points"] < gap["high"]
    assert no_harder({"harder_by": gap}) is None


def test_the_interval_holds_its_level():
    """Of sets that are equally hard, about 95% of the intervals contain 0."""
    covered = [
        gap["low"] <= 0 <= gap["high"]
        for seed in range(100)
        for gap in [
            chrf_gap(
                chrf_statistics(*translations(60, 0.4, 2 * seed)),
                chrf_statistics(*translations(60, 0.4, 2 * seed + 1)),
                seed,
            )
        ]
    ]
    assert 88 <= np.sum(covered) <= 100


def test_what_is_no_harder_is_told_where_the_answer_stands():
    scores = {"chrf": 10.2, "pairs": 275}
    quality = {"test": scores, "control": {**scores, "chrf": 10.4}}
    quality["harder_by"] = {"points": 0.2, "low": -0.9, "high": 1.3}
    assert how_hard(quality) == (
        "chrF of the ensemble: 10.2 on the test set, 10.4 on the control set; the test set is not"
        " shown to be harder than its control set: chrF of the ensemble differs by 0.2 points (95%"
        " interval -0.9 to 1.3)"
    )
    assert "not shown" not in how_hard(
        {**quality, "harder_by": {**quality["harder_by"], "low": 0.1}}
    )
    assert no_harder(None) is None and no_harder({"test": scores}) is None
