"""The test that decides about stars, beside sacrebleu's rule; and sacrebleu's figures of many sums
at once.
"""

import random
import re
import warnings

import numpy as np
import pytest

from cgbench import evaluate
from cgbench.benchmark.measure.metrics.registry import metric_class
from cgbench.benchmark.score.comparison.significance import calibrated_test

WORDS = ["the", "a", "dog", "cat", "saw", "red", "runs", "we", "it", "is"]


def texts(seed, n=60, noise=0.3):
    rng = random.Random(seed)
    references = [rng.choices(WORDS, k=rng.randrange(3, 12)) for _ in range(n)]
    said = [
        [rng.choice(WORDS) if rng.random() < noise else word for word in line]
        for line in references
    ]
    return [" ".join(line) for line in references], [" ".join(line) for line in said]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bleu", {}),
        ("bleu", {"smooth_method": "none"}),
        ("bleu", {"smooth_method": "floor"}),
        ("bleu", {"smooth_method": "add-k"}),
        ("bleu", {"max_ngram_order": 2}),
        ("bleu", {"effective_order": True}),
        ("chrf", {}),
        ("chrf", {"word_order": 2}),
        ("chrf", {"eps_smoothing": True}),
        ("ter", {}),
    ],
)
def test_many_sums_are_scored_as_sacrebleu_scores_each(kind, options):
    references, said = texts(1)
    metric = metric_class(kind)([[one] for one in references], **options)
    statistics = metric.statistics(said)
    rng = np.random.default_rng(1)
    rows = np.concatenate(
        [
            rng.integers(3, size=(200, 60)) @ statistics,
            statistics,
            np.zeros((1, statistics.shape[1])),
        ]
    )
    slow = [metric._metric._compute_score_from_stats(row).score for row in rows.tolist()]
    before = rows.copy()
    assert metric.compute(rows)[:, 0].tolist() == slow
    assert np.array_equal(rows, before)  # sacrebleu smooths in place; ours is a copy


def test_which_test_is_calibrated():
    assert calibrated_test([1, 1]) == "randomization"
    assert calibrated_test([1, 3]) == calibrated_test([3, 3]) == "variance components"


def p_values(one):
    return one.p_value, one.p_holm


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_the_calibrated_test_is_that_of_its_name():
    references, ours = texts(1)
    theirs = texts(1, noise=0.35)[1]
    for systems, test in (
        ({"a": ours, "b": theirs}, "randomization"),
        ({"a": [ours, theirs], "b": theirs}, "calibrated"),
    ):
        found = [
            evaluate(
                "chrf", systems, references, paired=paired, comparison={"samples": 200, **options}
            )
            for paired, options in (
                ("calibrated", {}),
                (True, {}),
                (test, {}),
                (None, {"all_pairs": True}),
            )
        ]
        first, same, named, pairs = (
            evaluation.results[1].whole.figures["score"] for evaluation in found
        )
        assert p_values(first) == p_values(same) == p_values(named) == p_values(pairs.pairs[0])
        assert first.p_value is not None
        assert first.p_calibrated is None


@pytest.mark.parametrize(("seed", "differ"), [(3, False), (5, True)])
@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_both_are_there_where_sacrebleus_rule_is_asked_for_and_a_line_says_where_they_disagree(
    seed, differ
):
    references, ours = texts(1, n=40)
    rng = random.Random(seed)
    said = [
        " ".join(rng.choice(WORDS) if rng.random() < 0.3 else word for word in line.split())
        for line in references
    ]
    systems = {"a": ours, "b": said}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = evaluate("bleu", systems, references, paired="bootstrap")
    one = found.results[1].whole.figures["score"]
    alone = (
        evaluate("bleu", systems, references, paired="randomization")
        .results[1]
        .whole.figures["score"]
    )
    assert one.p_calibrated == alone.p_value
    assert one.p_star == one.p_calibrated_holm
    assert ((one.p_holm < 0.05) != (one.p_star < 0.05)) == differ
    assert any("the tests disagree" in str(line.message) for line in seen) == differ
    assert "p (calibrated)" in found.report("markdown")
    every = evaluate(
        "bleu", systems, references, paired="bootstrap", comparison={"all_pairs": True}
    )
    (pair,) = every.results[1].whole.figures["score"].pairs
    assert (pair.p_holm, pair.p_star) == (one.p_holm, one.p_star)


def stars_of(found):
    """The stars in the printed table of systems, by system."""
    text = found.report("markdown").replace("\\", "")  # stars are escaped there
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    return {
        row[0]: re.search(r"[-+][0-9.]+(\**)", "  ".join(row))[1]
        for row in rows
        if row[0] in ("b", "c", "d")
    }


@pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
def test_stars_in_text_are_by_the_calibrated_test():
    references, first = texts(1)
    systems = {
        "a": first,
        "b": texts(1, noise=0.38)[1],
        "c": texts(1, noise=0.42)[1],
        "d": texts(1, noise=0.9)[1],
    }
    by_rule, calibrated = (
        evaluate("bleu", systems, references, paired=test) for test in ("bootstrap", "calibrated")
    )
    assert stars_of(by_rule) == stars_of(calibrated) == {"b": "", "c": "*", "d": "**"}
    assert (
        by_rule.results[2].whole.figures["score"].p_holm
        < 0.02
        < by_rule.results[2].whole.figures["score"].p_star
    )
    for found in (by_rule, calibrated):
        stars = "* p < 0.05, ** p < 0.01 (calibrated, p adjusted by Holm's method, intervals not)"
        assert stars in str(found)
    assert "p < 0.05" not in str(evaluate("bleu", systems, references))
