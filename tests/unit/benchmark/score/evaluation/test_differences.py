"""Where systems differ: what was planted is found, what is chance is not, and the tests are those
of the books.
"""

import json
import math
import random

import numpy as np
import pytest

from cgbench import evaluate
from cgbench.benchmark.score.comparison.significance import false_discovery, sign_test
from cgbench.errors import InputError

WORDS = [f"w{number}" for number in range(40)]
pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")


def planted(noise=0.0, n=120):
    """References, and two systems that spoil words alike, but that the second never gets ``rare``
    right.
    """
    rng = random.Random(1)
    references = [
        [*rng.choices(WORDS, k=8), *(["the", "rare"] if row % 3 == 0 else [])] for row in range(n)
    ]

    def say(words, bad):
        return " ".join("xx" if word == bad or rng.random() < noise else word for word in words)

    good = [say(line, None) for line in references]
    return [" ".join(line) for line in references], good, [say(line, "rare") for line in references]


def test_the_tests_of_the_books():
    assert sign_test(8, 2) == pytest.approx(2 * sum(math.comb(10, one) for one in range(3)) / 2**10)
    assert sign_test(5, 5) == sign_test(0, 0) == 1.0
    # the example of Benjamini and Hochberg (1995), section 3.2: the first four are below 0.05
    p_values = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
    adjusted = false_discovery([*p_values, None])
    assert sum(q is not None and q < 0.05 for q in adjusted) == 4
    assert adjusted[3] == pytest.approx(0.0095 * 15 / 4)
    assert adjusted[-1] is None
    assert adjusted[:-1] == sorted(adjusted[:-1])


def test_words_on_which_seeds_fail_are_no_differences_of_systems():
    """Two equal systems whose seeds each fail on their own tenth of the words."""
    draw, words = np.random.default_rng(2), [f"w{number}" for number in range(60)]
    references = [" ".join(draw.choice(words, 8)) for _ in range(200)]

    def seed():
        lost = set(draw.choice(words, 6, replace=False))
        return [
            " ".join("?" if word in lost else word for word in line.split()) for line in references
        ]

    systems = {"one": [seed(), seed()], "two": [seed(), seed()]}
    single = {name: runs[0] for name, runs in systems.items()}
    assert len(evaluate("chrf", single, references, differences=True).differences[0].ngrams) > 5
    assert evaluate("chrf", systems, references, differences=True).differences[0].ngrams == ()
    # What every seed of one system has wrong is found.
    better = {
        "one": [references] * 3,
        "two": [[line.replace("w7", "?") for line in references]] * 3,
    }
    better["two"][0] = better["two"][0][:150] + references[150:]
    (found,) = evaluate("chrf", better, references, differences=True).differences
    assert {row.what for row in found.ngrams} == {"w7"}


def test_clusters_are_the_units_of_the_sign_test(tmp_path):
    """One document of ten has a word that one system never gets right: ten examples, but one
    unit.
    """
    references = [f"rare w{row}" if row < 10 else f"w{row % 5} w{row}" for row in range(100)]
    systems = {"one": references, "two": [line.replace("rare", "?") for line in references]}
    table = tmp_path / "documents.tsv"
    table.write_text("document\n" + "".join(f"{row // 10}\n" for row in range(100)))
    options = {"differences": True, "samples": 100}
    (alone,) = evaluate("chrf", systems, references, **options).differences
    options |= {"cluster": ("document",), "table": str(table)}
    (together,) = evaluate("chrf", systems, references, **options).differences
    assert [row.what for row in alone.ngrams] == ["rare"] and together.ngrams == ()


def test_what_was_planted_is_found_and_nothing_else():
    references, good, bad = planted(noise=0.1)
    train = ["the dog"] * 50 + ["rare"] + [word for word in WORDS for _ in range(20)]
    systems = {"bad": bad, "good": good}
    found = evaluate("chrf", systems, references, differences=True, train=train, samples=500)
    (one,) = found.differences
    assert (one.system, one.against) == ("good", "bad")
    assert {"rare", "the rare"} <= {row.what for row in one.ngrams}
    assert all("rare" in row.what for row in one.ngrams)
    assert all(row.ours > row.theirs and row.q_value < 0.05 for row in one.ngrams)
    assert (
        len(one.shown) == 1 and one.shown[0] is one.ngrams[0]
    )  # the others hold it, or are part of it
    groups = {row.what: row for row in one.words}
    assert set(groups) == {"0", "1", "10-99"}
    assert groups["1"].q_value < 0.05 < groups["10-99"].q_value
    assert groups["1"].theirs == 0.0
    assert one.examples[0].ours > one.examples[0].theirs
    row = one.examples[0].row - 1
    assert one.examples[0].texts == (good[row], bad[row])
    assert "n-grams differ in these outputs (false discovery rate 0.05)" in found.report()
    # of several seeds: the better system's best, the other's worst, so that the texts are never
    # alike
    runs = {"bad": [bad, good], "good": [good, bad, good]}
    (one,) = evaluate("chrf", runs, references, differences=True, samples=200).differences
    assert one.examples and all(example.texts[0] != example.texts[1] for example in one.examples)
    values = json.loads(found.report("json"))
    assert values[0]["differences"] is None
    assert values[1]["differences"]["ngrams"][0]["q_value"] < 0.05


def test_equal_systems_differ_in_nothing():
    references, good, _ = planted(noise=0.2)
    rng = random.Random(7)
    other = [
        " ".join("xx" if rng.random() < 0.2 else word for word in line.split())
        for line in references
    ]
    (one,) = evaluate("exact", {"a": good, "b": other}, references, differences=True).differences
    assert one.tested > 40 and one.ngrams == ()


def test_kinds_are_the_bins_that_were_asked_for():
    references, good, bad = planted()
    kinds = ["rare" if row % 3 == 0 else "other" for row in range(len(good))]
    systems = {"a": bad, "b": good}
    (one,) = evaluate(
        "exact", systems, references, by=kinds, differences=True, samples=200
    ).differences
    rows = {row.what: (row.ours, row.theirs, row.q_value < 0.05) for row in one.kinds}
    assert rows == {"rare": (100.0, 0.0, True), "other": (100.0, 100.0, False)}


def test_seeds_count_as_their_mean():
    references, good, bad = planted(noise=0.1)
    runs = {"a": [bad, bad], "b": [good, planted(noise=0.15)[1]]}
    (one,) = evaluate(
        "chrf", runs, references, differences=True, train=["rare"], samples=100
    ).differences
    assert "rare" in {row.what for row in one.ngrams}
    assert {row.what for row in one.words} == {"0", "1"}


def test_one_system_differs_from_nothing():
    with pytest.raises(InputError, match="differences compares systems"):
        evaluate("exact", ["a b"], ["a b"], breakdown={"differences": True})
