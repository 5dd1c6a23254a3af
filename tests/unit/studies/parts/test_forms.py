"""Probes for atoms of forms, and for CTER's compounds."""

import itertools
import random

import pytest

import cgbench
from cgbench.errors import InputError


def _texts(tmp_path, **sides):
    found = {}
    for name, pairs in sides.items():
        for side, ending in enumerate(("xx", "yy")):
            (tmp_path / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
        found[name] = (tmp_path / f"{name}.xx", tmp_path / f"{name}.yy")
    return found


def _probes_of(found):
    return {piece.text: [found.probes[one][0] for one in piece.probes] for piece in found.pieces}


COMMANDS = [
    "jump",
    "walk",
    "walk twice",
    "turn left",
    "run left",
    "look and walk left",
    "run twice after walk twice",
]


def test_commands_whose_parts_are_in_training(tmp_path):
    texts = _texts(
        tmp_path,
        train=[(line, "x") for line in COMMANDS],
        test=[("jump twice", "JUMP JUMP"), ("look left", "L LOOK")],
        held=[("jump left", "x"), ("look twice", "x")],
        seen=[("walk twice", "x"), ("run left", "x"), ("jump", "x")],
    )
    corpora = [texts["held"], texts["seen"]]
    found = cgbench.parts(
        test=texts["test"],
        train=texts["train"],
        corpora=corpora,
        pieces="scan",
        out=tmp_path / "parts",
        k=1,
    )
    assert (found.side, found.match) == ("source", "exact")
    # "jump left" and "look twice" are new combinations themselves.
    assert _probes_of(found) == {
        "jump": ["jump"],
        "twice": ["walk twice"],
        "look": [],
        "direct": ["run left"],
        "left": ["run left"],
    }
    assert {piece.text: piece.reason for piece in found.pieces if piece.reason} == {
        "look": "absent"
    }
    assert found.manifest["counts"]["rows_probed"] == 1
    places = [(found.pieces[place.piece].text, place.start, place.end) for place in found.rows[1]]
    assert sorted(places) == [("direct", -1, -1), ("left", 1, 2), ("look", 0, 1)]


def test_training_pairs_are_probes_only_if_asked_for(tmp_path):
    texts = _texts(
        tmp_path,
        train=[(line, f"x {line}") for line in COMMANDS],
        test=[("jump twice", "y"), ("fly", "y")],
        pool=[("jump", "x"), ("walk twice after run left", "x l"), ("run twice", "x r")],
    )
    given = {
        "test": texts["test"],
        "train": texts["train"],
        "pieces": "words",
        "k": 9,
        "out": tmp_path / "parts",
    }
    with pytest.raises(
        InputError, match=r"what a system remembers.*give other text \(corpora\), or keep pairs out"
    ):
        cgbench.parts(**given)
    # The training corpus itself was asked for; of another one, only new sources are probes.
    found = cgbench.parts(**given, corpora=texts["train"])
    assert _probes_of(found) == {
        "jump": ["jump"],
        "twice": ["walk twice", "run twice after walk twice"],
        "fly": [],
    }
    assert next(piece for piece in found.pieces if piece.text == "fly").reason == "unknown"
    assert found.manifest["counts"]["trained"] == len(found.probes) == 3
    found = cgbench.parts(**given, corpora=texts["pool"])
    assert _probes_of(found) == {"jump": [], "twice": ["run twice"], "fly": []}
    assert found.manifest["counts"]["trained"] == 0
    assert cgbench.parts(**given, corpora=texts["train"], max_length=2).probes == (
        ("jump", "x jump"),
        ("walk twice", "x walk twice"),
    )


def test_pairs_held_back_are_probes_and_the_rest_is_to_be_trained_on(tmp_path):
    pairs = [(" ".join(words), "t") for words in itertools.product("abcd", "abc", "abc")] * 2
    texts = _texts(tmp_path, train=pairs, test=[("d d", "y")])
    given = {"test": texts["test"], "pieces": "words", "k": 9, "out": tmp_path / "parts"}
    found = cgbench.parts(**given, train=texts["train"], hold_back=30)
    sides = [
        (tmp_path / f"parts/train.{side}").read_text().splitlines() for side in ("source", "target")
    ]
    rest = list(zip(*sides, strict=True))
    # Copies of a source are together on one side.
    held = {pair for pair in pairs if pair not in set(rest)}
    assert rest == [pair for pair in pairs if pair not in held] and len(rest) == 72 - 30
    assert found.probes and set(found.probes) <= held
    assert found.pieces[0].count == sum("d" in source for source, _ in rest)
    again = _texts(tmp_path, train=pairs[::-1])["train"]
    assert cgbench.parts(**given, train=again, hold_back=30).probes == found.probes
    with pytest.raises(InputError, match="72 pairs, and some must remain"):
        cgbench.parts(**given, train=texts["train"], hold_back=72)
    with pytest.raises(InputError, match="hold_back=3 has no effect: probes come from other text"):
        cgbench.parts(**given, train=texts["train"], hold_back=3, corpora=texts["test"])


@pytest.mark.parametrize("seed", range(10))
def test_words_against_the_definition(tmp_path, seed):
    draw = random.Random(seed)

    def lines(size):
        return [
            (" ".join(draw.choices("abcdef", k=draw.randint(1, 4))), str(draw.randint(0, 9)))
            for _ in range(size)
        ]

    texts = {"train": lines(8), "test": lines(3), "pool": lines(25)}
    paths = _texts(tmp_path, **texts)
    k = draw.randint(1, 3)
    found = cgbench.parts(
        test=paths["test"],
        train=paths["train"],
        corpora=paths["pool"],
        pieces="words",
        k=k,
        out=tmp_path / "parts",
    )
    words = {word for source, _ in texts["train"] for word in source.split()}
    pairs = {
        pair
        for source, _ in texts["train"]
        for pair in zip(source.split(), source.split()[1:], strict=False)
    }
    held = [{pair[side] for pair in texts["test"]} for side in (0, 1)]
    fine = {
        source
        for source, target in texts["pool"]
        if source not in held[0]
        and target not in held[1]
        and source not in {source for source, _ in texts["train"]}
        and set(source.split()) <= words
        and set(zip(source.split(), source.split()[1:], strict=False)) <= pairs
    }
    assert {piece.text for piece in found.pieces} == {
        word for source, _ in texts["test"] for word in source.split()
    }
    for piece in found.pieces:
        offers = (
            {source for source in fine if piece.text in source.split()}
            if piece.text in words
            else set()
        )
        probes = [found.probes[one][0] for one in piece.probes]
        assert len(set(probes)) == len(probes) == min(k, len(offers)) and set(probes) <= offers
        assert piece.count == sum(source.split().count(piece.text) for source, _ in texts["train"])


def test_shorter_compounds(tmp_path):
    compounds = [
        "the dog",
        "the small dog",
        "he liked",
        "the small dog he liked",
        "the cat he liked",
    ]
    rows = [
        (f"{word} {compound} .", f"{word} {number}")
        for number, compound in enumerate(compounds)
        for word in "ab"
    ]
    texts = _texts(tmp_path, test=rows)
    (tmp_path / "compounds").write_text(
        "".join(f"{compound}\n" for compound in compounds for _ in "ab")
    )
    given = {"test": texts["test"], "compounds": tmp_path / "compounds", "out": tmp_path / "parts"}
    found = cgbench.parts(**given)
    assert [[found.pieces[place.piece].text for place in row] for row in found.rows[::2]] == [
        ["the", "dog"],
        ["the dog", "small"],
        ["he", "liked"],
        ["the dog", "the small dog", "he liked"],
        ["he liked", "the", "cat"],
    ]
    assert found.match == "compound" and found.manifest["counts"]["rows_probed"] == 2
    piece = next(piece for piece in found.pieces if piece.text == "the small dog")
    assert {found.probes[one] for one in piece.probes} == set(rows[2:4]) and piece.count == 2
    served = [probe for piece in found.pieces for probe in piece.probes]
    assert sorted(served) == list(range(len(found.probes)))  # each is of one compound
    (tmp_path / "compounds").write_text("the dog\n")
    with pytest.raises(InputError, match="has 1 rows and the test set 10: give one per pair"):
        cgbench.parts(**given)
