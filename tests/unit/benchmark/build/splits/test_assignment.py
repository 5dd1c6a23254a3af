"""The search: equal to its slow twin, and near what was asked for."""

import numpy as np
import pytest
from twins_split import Draws, exchanged, grown, score

from cgbench.benchmark.build.splits.assignment import generator, in_order, search
from cgbench.benchmark.build.splits.request import SplitConfig
from cgbench.benchmark.measure.divergence.elements import element_type, elements_of
from cgbench.benchmark.measure.divergence.measure import divergences
from cgbench.data_recipes.scan import commands
from cgbench.errors import InputError


def lines(count, seed=0, words="abcdefgh"):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(list(words), random.integers(2, 7))) for _ in range(count)]


def elements(text, given="words", weights="specific"):
    return elements_of(element_type(given, weights), [("text", text)])


def rows(found):
    dicts = [{} for _ in range(found.examples)]
    for row, number, weight in zip(found.rows, found.ids, found.weights, strict=True):
        dicts[row][int(number)] = float(weight)
    return dicts


def twin(found, config, fixed=None):
    given = np.zeros(found.examples, bool) if fixed is None else fixed
    pool = np.flatnonzero(~given)
    order = (
        np.random.default_rng(np.random.SeedSequence([config.seed, 0])).permutation(pool).tolist()
    )
    both = rows(found.atoms), rows(found.compounds)
    wanted = config.sizes(len(pool), fixed=fixed is not None)
    begun = Draws(generator(config.seed, 1)[0])
    moving = config.method == "dbca" and fixed is None
    known = np.flatnonzero(given).tolist()
    sides = grown(both, order, begun, config.goal, wanted, config.candidates, known, moving=moving)
    if fixed is None:
        drawn, tries = Draws(generator(config.seed, 2)[0]), config.tries * sum(wanted)
        sets = [sorted(one for one, side in sides.items() if side == which) for which in (0, 1)]
        sides = exchanged(both, sides, drawn, config.goal, tries, False, sets)
        if config.bounded:
            bound = (*config.goal[:2], np.inf, 0.0)
            within = exchanged(both, sides, drawn, bound, tries, False, sets)
            above = [score(both, one, bound) <= -2_000_000_000 for one in (sides, within)]
            sides = within if above == [True, False] else sides
    expected = np.full(found.examples, -1, np.int8)
    for example, side in sides.items():
        expected[example] = side
    return expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("words", {"method": "mcd"}),
        ("words:2,3", {"method": "mcd", "divergence": 0.5, "exchanges": 3}),
        ("words:2,3", {"method": "mcd", "atom_divergence": 0.01, "exchanges": 1}),
        ("words", {"method": "dbca", "divergence": 0.3, "candidates": 5}),
        ("words", {"method": "dbca", "train_size": 0.5, "test_size": 9, "exchanges": 2}),
    ],
)
def test_equal_to_the_slow_twin(given, options, seed):
    found = elements(lines(40, seed), given)
    config = SplitConfig(**{"exchanges": 2, "seed": seed, **options})
    np.testing.assert_array_equal(search(found, config), twin(found, config))


def test_equal_to_the_slow_twin_for_a_given_training_set():
    found = elements(lines(50))
    fixed = np.arange(50) < 20
    config = SplitConfig(method="dbca", divergence=0.4, test_size=10)
    side_of = search(found, config, fixed)
    np.testing.assert_array_equal(side_of, twin(found, config, fixed))
    assert (side_of[:20] == 0).all() and (side_of == 1).sum() == 10


@pytest.mark.parametrize("target", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("method", ["mcd", "dbca"])
def test_the_divergence_that_was_asked_for(method, target):
    found = elements(lines(600), "words:2,3")
    side_of = search(
        found, SplitConfig(method=method, divergence=target, train_size=0.4, test_size=0.2)
    )
    measured = divergences(found, side_of == 0, side_of == 1, element_type("words:2,3"))
    assert measured.compound == pytest.approx(target, abs=0.01)
    assert measured.atom <= (0.02 if method == "mcd" else 0.021)


@pytest.mark.parametrize(("method", "seed"), [("mcd", 4), ("mcd", 5), ("tmcd", 2), ("tmcd", 5)])
def test_an_atom_divergence_that_is_a_bound_is_kept_to_the_last_digit(method, seed):
    """Of these the search for the highest compound divergence alone ends between 0.0201 and
    0.0206.
    """
    found = elements(lines(300), "words:2,3")
    options = {"atom_divergence": 0.02, "train_size": 0.4, "test_size": 0.2, "exchanges": 2}
    side_of = search(found, SplitConfig(method=method, seed=seed, **options))
    measured = divergences(found, side_of == 0, side_of == 1, element_type("words:2,3"))
    assert measured.atom <= 0.02
    assert measured.compound > (
        0.83 if method == "mcd" else 0.45
    )  # was 0.87 and 0.46 to 0.49 above the bound


def test_a_bound_out_of_reach_costs_no_compound_divergence():
    """Twenty examples of a few words each cannot be split that evenly: what is tried for the bound
    is undone.
    """
    found = elements(lines(20))
    config = SplitConfig(method="mcd", atom_divergence=0.001)
    side_of = search(found, config)
    assert divergences(found, side_of == 0, side_of == 1, element_type("words")).atom > 0.001
    np.testing.assert_array_equal(side_of, twin(found, config))


def test_dbca_gives_up_what_was_best_early():
    """On 800 commands of SCAN, 554 and 144 of them chosen, the mean over seeds is -0.86; -0.94 if
    none changes sides, and -0.87 by the code of Moisio et al. 2023, which moves one of each set
    every 20 steps."""
    text = np.random.default_rng(1).permutation(list(commands()))[:800].tolist()
    found = elements(text, weights="count")
    scores = []
    for seed in range(1, 9):
        config = SplitConfig(method="dbca", train_size=554, test_size=144, seed=seed)
        side_of = search(found, config)
        assert ((side_of == 0).sum(), (side_of == 1).sum()) == (554, 144)
        measured = divergences(found, side_of == 0, side_of == 1, element_type("words", "count"))
        scores.append(measured.compound - 1 - measured.atom)
    assert np.mean(scores) > -0.9


def test_in_tmcd_training_has_every_atom():
    text = [*lines(200), "x a", "y b", "z c"]  # atoms of one example each
    found = elements(text)
    side_of = search(found, SplitConfig(method="tmcd"))
    assert (side_of[-3:] == 0).all()
    assert divergences(found, side_of == 0, side_of == 1, element_type("words")).lone_atoms == ()
    with pytest.raises(InputError, match="cannot have every atom, which takes 4"):
        search(
            elements(["a b", "c d", "e f", "g h"]),
            SplitConfig(method="tmcd", train_size=2, test_size=2),
        )


def test_length():
    lengths = np.array([5, 1, 3, 9, 2])
    side_of = in_order(lengths, SplitConfig(method="length", train_size=0.6, test_size=0.4))
    assert side_of.tolist() == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "mdc"}, "did you mean mcd"),
        ({"method": "random", "divergence": 0.5}, "needs"),
        ({"train_size": 2.5}, "whole number"),
        ({"train_size": 90, "test_size": 20}, "110 examples, but the corpus has 100"),
        ({"test_size": 0.001}, "would be empty"),
        ({"train_size": 0.9, "test_size": 0.3}, "more than 1"),
    ],
)
def test_settings_and_sizes_that_do_not_fit(options, said):
    with pytest.raises(InputError, match=said):
        config = SplitConfig(**options)
        config.check()
        config.sizes(100)
