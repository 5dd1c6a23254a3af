"""Divergences of random splits: against all splits of a small corpus, and the same for any number
of threads.
"""

import itertools
import json

import numpy as np
import pytest
from twins_split import chernoff

from cgbench.benchmark.measure.divergence import measure
from cgbench.benchmark.measure.divergence.chance import Chance
from cgbench.benchmark.measure.divergence.elements import element_type, elements_of
from cgbench.benchmark.measure.divergence.measure import divergences, text_divergences

LINES = ["a b c", "a c b", "b b a", "c d", "d c a b", "a b", "b c d", "a d"]


def every_split(train, test, fixed):
    """Bigram divergence of every split of LINES with these sizes; the lines ``fixed`` stay in
    training.
    """
    rows = [list(zip(line.split(), line.split()[1:], strict=False)) for line in LINES]
    names = sorted({one for row in rows for one in row})
    free = [row for row in range(len(LINES)) if row not in fixed]
    found = []
    for tests in itertools.combinations(free, test):
        rest = [row for row in free if row not in tests]
        for trains in itertools.combinations(rest, train):
            counts = [
                [sum(rows[row].count(name) for row in side) for name in names]
                for side in ((*trains, *fixed), tests)
            ]
            found.append(1 - chernoff(*counts, 0.1))
    return np.array(found)


@pytest.mark.parametrize(
    ("train", "test", "fixed"), [(5, 3, ()), (3, 2, (0, 4)), (0, 3, (0, 1, 2))]
)
def test_random_splits_are_drawn_from_all_splits_of_these_sizes(train, test, fixed):
    kind = element_type("words:2", "count")
    found = elements_of(kind, [("text", LINES)])
    order = [row for row in range(len(LINES)) if row not in fixed]
    is_train = np.isin(np.arange(len(LINES)), [*fixed, *order[test : test + train]])
    is_test = np.isin(np.arange(len(LINES)), order[:test])
    kept = np.isin(np.arange(len(LINES)), fixed) if fixed else None
    result = divergences(found, is_train, is_test, kind, fixed=kept, splits=4000, seed=3)
    chance, measured = result.compound_chance, result.compound
    exact = every_split(train, test, fixed)
    assert chance.mean == pytest.approx(exact.mean(), abs=4 * exact.std() / 4000**0.5)
    assert chance.sd == pytest.approx(exact.std(), rel=0.08)
    assert chance.z == pytest.approx((measured - chance.mean) / chance.sd)


def test_the_same_for_any_number_of_threads_and_another_for_another_seed(monkeypatch):
    texts, kind = (("train", LINES[:5]), ("test", LINES[5:])), element_type("words:2,3")
    first = text_divergences(*texts, kind, splits=50)
    monkeypatch.setattr(measure, "usable_cores", lambda: 1)
    assert text_divergences(*texts, kind, splits=50) == first
    found, train = elements_of(kind, texts), np.arange(len(LINES)) < 5
    again, other = (
        divergences(found, train, ~train, kind, splits=50, seed=seed) for seed in (1, 2)
    )
    assert again == first and other.compound_chance != first.compound_chance


def test_no_z_if_random_splits_do_not_differ():
    texts = ("train", ["a b", "a b"]), ("test", ["a b"])
    chance = text_divergences(*texts, element_type("words:2"), splits=5).compound_chance
    assert chance.z is None and str(chance) == "0.0000 ± 0.0000"
    assert str(Chance(0.25, 0.125, 2.0, 200)) == "0.2500 ± 0.1250 (z +2.0)"
    assert str(Chance(0.25, 0.125, -0.01, 200)).endswith("(z +0.0)")


def test_stats_shows_them(run, tmp_path):
    for name, lines in (("train", LINES[:5] * 2), ("test", LINES[5:])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    words = [
        "stats",
        "--train",
        tmp_path / "train",
        "--test",
        tmp_path / "test",
        "--divergence",
        "words",
    ]
    chance = json.loads(run(*words, "--format", "json", "--set", "random_splits=20").stdout)[
        "divergence"
    ]["atom_chance"]
    assert chance["splits"] == 20
    assert (
        f"{chance['mean']:.4f} ± {chance['sd']:.4f}"
        in run(*words, "--set", "random_splits=20").stdout
    )
    table = run(*words, "--set", "random_splits=20", "--format", "tsv").stdout
    cells = [line.split("\t") for line in table.splitlines()]
    assert float(dict(zip(*cells[-2:], strict=True))["random atom sd"]) == chance["sd"]
    without = json.loads(run(*words, "--format", "json", "--set", "random_splits=0").stdout)
    assert without["divergence"]["atom_chance"] is None
    refused = run(*words, "--set", "random_splits=1", status=2).stderr
    assert "--set random_splits=1: a standard deviation needs at least 2" in refused
