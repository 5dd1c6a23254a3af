"""GECA: against a slow twin, by hand, and on the data sets of the papers."""

import random
from collections import Counter

import pytest
import twins_lexicon as twins
from shared_data import SHARED, needs, scan_pairs

from cgbench.data_recipes import geca
from cgbench.data_recipes.colors import colours_of
from cgbench.data_recipes.geca import Alphabet, Settings, TemplateTable, augment, count_shared
from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, read_pairs

EVERYTHING = {"samples": 0}


def copies(seed, pairs=10):
    """Sentences of a few letters as their own targets: much that can be exchanged."""
    draw = random.Random(seed)
    return [
        (text, text)
        for text in (" ".join(draw.choices("abcdef", k=draw.randint(2, 4))) for _ in range(pairs))
    ]


CASES = [{"size": 1}, {"size": 2}, {"size": 3}, {"size": 1, "max_length": 9}]


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("seed", [12, 13, 29])
def test_all_new_pairs_are_those_of_the_twin(seed, settings):
    pairs = copies(seed)
    made = augment(pairs, Settings(**settings, **EVERYTHING))
    assert len(set(made.pairs)) == len(made.pairs)
    assert set(made.pairs) == twins.geca(pairs, **settings)
    fits = twins.templates(pairs, **settings)
    assert made.templates == len(fits)
    assert made.shared == sum(len(tuples) > 1 for tuples in fits.values())
    assert made.tuples == len(set().union(*fits.values()))


def test_the_cases_differ():
    results = [
        frozenset(augment(copies(12), Settings(**case, **EVERYTHING)).pairs) for case in CASES
    ]
    assert len(set(results)) == len(CASES) and all(results)


@pytest.mark.parametrize("seed", [1, 8, 16])
def test_how_often_each_tuple_would_be_drawn(seed):
    pairs = copies(seed, pairs=16)
    alphabet = Alphabet()
    text = [(alphabet.encode(source), alphabet.encode(target)) for source, target in pairs]
    table = TemplateTable(text, alphabet, Settings(size=1))

    def words(text):
        names = {hole: number for number, hole in enumerate(alphabet.holes)} | {
            alphabet.border: "##"
        }
        return tuple(names[sign] if sign in names else alphabet.decode(sign) for sign in text)

    expected = twins.candidates(twins.templates(pairs, size=1))
    assert any(len(set(drawn.values())) > 1 for drawn in expected.values())
    for number, template in enumerate(table.templates):
        chosen, ends = table.candidates(number)
        times = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
        found = {
            tuple(map(words, table.tuples[one])): n for one, n in zip(chosen, times, strict=True)
        }
        assert found == expected[words(template)]


def test_by_hand():
    """jump is known alone; walk and its action stand where jump and its action do, in the pairs of
    one word.
    """
    pairs = [("jump", "JUMP"), ("walk", "WALK"), ("walk twice", "WALK WALK"), ("run", "RUN")]
    made = augment(pairs, Settings(size=1, **EVERYTHING))
    assert set(made.pairs) == {("jump twice", "JUMP JUMP"), ("run twice", "RUN RUN")}


def test_both_sides_of_a_new_pair_are_new():
    pairs = [
        ("jump", "JUMP"),
        ("walk", "WALK"),
        ("walk twice", "WALK WALK"),
        ("run", "RUN"),
        ("leap", "JUMP JUMP"),
    ]
    assert set(augment(pairs, Settings(size=1, **EVERYTHING)).pairs) == {("run twice", "RUN RUN")}
    pairs[-1] = ("jump  twice", "HOP")
    assert set(augment(pairs, Settings(size=1, **EVERYTHING)).pairs) == {("run twice", "RUN RUN")}


def test_samples_are_seeded():
    pairs = copies(8, pairs=16)
    everything = augment(pairs, Settings(size=2, **EVERYTHING)).pairs
    first, again, other = (
        augment(pairs, Settings(size=2, samples=7, seed=seed)).pairs for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(first) == 7 and {*first, *other} < set(everything)
    # two tuples per template give only some of all pairs
    assert (
        len(first) < len(augment(pairs, Settings(size=2, samples=10_000)).pairs) < len(everything)
    )


def test_tuples_are_drawn_by_how_often_they_are_seen(monkeypatch):
    """left and up fit `x .`, `y .` and `z .`, down fits `x .` alone: up goes into `go . twice`
    three times as often.
    """
    monkeypatch.setattr(geca, "VARIANTS", 1)
    pairs = [("go left twice", "G L L"), ("x down", "D")]
    pairs += [(f"{word} {way}", f"{way[0].upper()}") for word in "xyz" for way in ("left", "up")]
    template = ("go", 0, "twice", "##", "G", 1, 1)
    drawn = twins.candidates(twins.templates(pairs, size=1))[template]
    assert drawn == {(("up",), ("U",)): 3, (("down",), ("D",)): 1}
    found = Counter(
        pair[0]
        for seed in range(600)
        for pair in augment(pairs, Settings(size=1, samples=10_000, seed=seed)).pairs
        if pair[0].startswith("go")
    )
    assert set(found) == {"go up twice", "go down twice"} and found.total() == 600
    assert found["go up twice"] / 600 == pytest.approx(0.75, abs=0.05)


def test_overlap():
    made = [("jump twice", "JUMP JUMP"), ("run twice", "RUN RUN")]
    test = [
        ("jump  twice", "JUMP JUMP "),
        ("run twice", "RUN"),
        ("jump twice", "JUMP JUMP"),
        ("hop", "HOP"),
    ]
    share = count_shared(made, test)
    assert (share.rows, share.pairs, share.sources) == (4, 2, 3)


def test_no_pairs():
    with pytest.raises(InputError, match="no training pairs"):
        augment([])


@needs("colors/train.tsv", "colors/test.tsv")
@pytest.mark.parametrize(("size", "pairs"), [(1, 50), (2, 59), (4, 226)])
def test_colors(size, pairs):
    train, test = (
        list(read_pairs(CorpusSpec((SHARED / f"colors/{name}.tsv",)))) for name in ("train", "test")
    )
    made = augment(train, Settings(size=size, **EVERYTHING))
    assert len(made.pairs) == pairs
    if size == 1:
        assert (made.templates, made.tuples, count_shared(made.pairs, test).pairs) == (198, 60, 1)
        assert ("zup fep", "YELLOW YELLOW YELLOW") in made.pairs
        assert all(colours_of(source) == target for source, target in made.pairs)


@needs(
    "scan/tasks_train_template_around_right.txt.gz", "scan/tasks_test_template_around_right.txt.gz"
)
@pytest.mark.slow
def test_scan_around_right():
    """All pairs that can be made are right, and many are test items."""
    train, test = (scan_pairs(f"tasks_{part}_template_around_right") for part in ("train", "test"))
    made = augment(train, Settings(size=1, max_length=40, **EVERYTHING))
    share = count_shared(made.pairs, test)
    assert (len(made.pairs), share.pairs, share.sources) == (2372, 1936, 1936)
    assert set(made.pairs) <= set(scan_pairs("tasks"))
