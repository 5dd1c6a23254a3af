"""The kinds of noise that ``lab/noise`` plants: each changes what its name says, and nothing
else.
"""

import random
import sys
from pathlib import Path

import pytest

from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary

SOURCE = "zwei männer kaufen nicht das rote auto"
TARGET = "two men do not buy the red car"


@pytest.fixture
def planting(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[5] / "lab" / "noise"))
    import planting

    yield planting
    sys.modules.pop("planting", None)


def planted(planting, kind, monkeypatch):
    monkeypatch.setattr(planting, "FUNCTION_WORDS", 4)
    pairs = [
        (SOURCE, TARGET),
        ("er schläft jetzt", "he sleeps now"),
        ("a b c d e f g h", "i j k l m n o p"),
    ]
    words = Vocabulary.learn(
        [target for _, target in pairs] * 3 + ["the do two not"] * 9, min_count=3
    )
    text = planting.Text(pairs, [["a pair beside it"], [], []], words)
    return planting.KINDS[kind](0, text, random.Random(1))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("misaligned neighbour", (SOURCE, "a pair beside it")),
        ("misaligned, same length", (SOURCE, "i j k l m n o p")),
        ("target cut by half", (SOURCE, "two men do not")),
        ("target cut by 30%", (SOURCE, "two men do not buy the")),
        ("negation flipped", (SOURCE, "two men do buy the red car")),
    ],
)
def test_by_hand(planting, monkeypatch, kind, expected):
    assert planted(planting, kind, monkeypatch) == expected


@pytest.mark.parametrize("kind", ["wrong number", "wrong content word"])
def test_one_word_is_another(planting, monkeypatch, kind):
    source, target = planted(planting, kind, monkeypatch)
    changed = [
        (old, new) for old, new in zip(TARGET.split(), target.split(), strict=True) if old != new
    ]
    assert source == SOURCE and len(changed) == 1
    old, new = changed[0]
    if kind == "wrong number":
        assert old == "two" and new in planting.NUMBERS
    else:
        assert old in ("men", "buy", "red", "car") and new.isalpha()


def test_other_kinds(planting, monkeypatch):
    source, target = planted(planting, "gloss added", monkeypatch)
    words = target.split()
    first, second = (place for place, word in enumerate(words) if word == ",")
    assert source == SOURCE and 2 <= second - first - 1 <= 4
    assert " ".join(words[:first] + words[second + 1 :]) == TARGET
    for side, kind in enumerate(("source misordered", "target misordered")):
        pair = planted(planting, kind, monkeypatch)
        assert pair[side] != (SOURCE, TARGET)[side] and pair[1 - side] == (SOURCE, TARGET)[1 - side]
        assert sorted(pair[side].split()) == sorted((SOURCE, TARGET)[side].split())


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("he can &apos;t come", "he can come"),
        ("he won &apos;t come", "he will come"),
        ("he doesn &apos;t come", "he does come"),
        ("he is coming", "he is not coming"),
        ("he came", None),
    ],
)
def test_negations(planting, target, expected):
    text = planting.Text([("x", target)], [[]], Vocabulary.learn([target], min_count=1))
    assert planting.negation(0, text, random.Random(1)) == (
        None if expected is None else ("x", expected)
    )
