"""Sampled questions of the Mathematics Dataset, answered once more from their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_recipes import lenient

from cgbench.data_recipes import mathematics
from cgbench.data_recipes.mathematics import (
    LEVELS,
    MODULES,
    PLACES,
    Number,
    arrange,
    generate_splits,
    read_questions,
)
from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError

SMALL = {**dict.fromkeys(LEVELS[:3], 3_000), **dict.fromkeys(LEVELS[3:], 500)}


def value(text):
    """A number as digits and a power of ten, exactly."""
    whole, _, part = text.partition(".")
    return int(whole + part) * 10 ** (40 - len(part))


def test_answers_are_right():
    signs = ("+", "plus", "Add", "Sum", "Put", "Total")
    for module in MODULES:
        for level in LEVELS:
            for question, answer in module.pairs(level, 300, 5):
                words = question.replace("?", "").rstrip(".").replace("+", " + ").split()
                if module.name == "place_value":
                    place = next(i for i, p in enumerate(PLACES) if f"the {p} digit" in question)
                    assert answer == words[-1][-1 - place]
                    continue
                first, second = (value(word) for word in words if word.strip("-.")[:1].isdigit())
                if any(sign in question for sign in signs):
                    assert value(answer) == first + second, question
                elif "less than" in question or "Subtract" in question:
                    assert value(answer) == second - first, question
                elif "between" in question:
                    assert value(answer) == abs(first - second), question
                else:
                    assert value(answer) == first - second, question


@given(st.integers(-(10**20), 10**20), st.integers(0, 20))
def test_numbers_are_written_without_needless_zeros(digits, shift):
    text = str(Number(digits, shift))
    assert value(text) == digits * 10 ** (40 - shift)
    assert not text.startswith(("-.", ".", "00")) and not (
        "." in text and text.endswith(("0", "."))
    )


def test_levels_are_as_hard_as_they_say():
    module = MODULES[1]
    assert [module.entropies(level) for level in LEVELS] == [
        (3, 3 + 7 / 3),
        (3 + 7 / 3, 3 + 14 / 3),
        (3 + 14 / 3, 10),
        (8, 8),
        (12, 12),
    ]
    numbers = [
        int(question.split()[-1][:-1]) for question, _ in module.pairs("interpolate", 500, 1)
    ]
    assert max(numbers) <= 10**8 + 1 and 0.4e8 < sum(numbers) / 500 < 0.6e8


def test_splits_of_questions_share_none_and_are_the_same_every_time():
    for module in MODULES:
        splits = generate_splits(module, SMALL, 100)
        questions = [question for pairs in splits.values() for question, _ in pairs]
        assert len(set(questions)) == len(questions)
        assert [len(splits[f"iid-{level}"]) for level in ("easy", "medium", "hard")] == [100] * 3
        assert generate_splits(module, SMALL, 100) == splits


def test_a_question_stays_where_it_first_occurs():
    pairs = [(str(number), "") for number in range(9)]
    levels = {level: pairs[: 3 + number] for number, level in enumerate(LEVELS)}
    splits = arrange(levels, 1)
    assert (
        sorted(
            splits["train"] + [splits[f"iid-{level}"][0] for level in ("easy", "medium", "hard")]
        )
        == pairs[:5]
    )
    assert splits["interpolate"] == [pairs[5]] and splits["extrapolate"] == [pairs[6]]


def test_released_questions_are_read_by_twos(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("q1\na1\nq2\na2\n")
    assert list(read_questions(path)) == [("q1", "a1"), ("q2", "a2")]
    path.write_text("q1\na1\nq2\n")
    with pytest.raises(InputError, match="line 3: a question without an answer"):
        list(read_questions(path))


def test_released_files_are_preferred(tmp_path, monkeypatch):
    monkeypatch.setattr(mathematics, "HELD_OUT", 1)
    recipe = lenient("mathematics")
    for source in recipe.sources:
        if source.archive:
            path = tmp_path / "downloads" / "mathematics" / source.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{source.name} {number}\n{number}\n" for number in range(3)))
    record = get(recipe, tmp_path / "m", offline=True).record
    assert {split["origin"] for split in record["splits"].values()} == {"released"}
    assert (
        record["splits"]["add_or_sub/train"]["rows"] == 6
        and record["splits"]["place_value/iid-hard"]["rows"] == 1
    )
    extrapolate = (tmp_path / "m" / "place_value" / "extrapolate.src").read_text()
    assert extrapolate.startswith("extrapolate.numbers__place_value_big.txt 0\n")


def test_mathematics_offline_is_generated_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(mathematics, "LEVEL_ROWS", SMALL)
    monkeypatch.setattr(mathematics, "HELD_OUT", 100)
    record = get(find_recipe("mathematics"), tmp_path / "m", offline=True).record
    assert {split["origin"] for split in record["splits"].values()} == {"generated"} and not record[
        "missing"
    ]
    assert any("generated with seed 1" in note for note in record["notes"])
