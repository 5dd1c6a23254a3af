"""SCAN from its grammar: against an interpreter that reads a command word by word, and against the
released files.
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from shared_data import SHARED, needs

from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.data_recipes.scan import commands, cutoff_splits, read_tasks, rule_splits
from cgbench.data_recipes.writer import check_same
from cgbench.errors import InputError
from cgbench.models.lexicons.lexicon import Lexicon


def interpret(command):
    """The slow, obvious twin: the rules of the paper's supplement, one a line."""
    for word in (" and ", " after "):
        if word in command:
            first, second = map(interpret, command.split(word))
            return first + second if word == " and " else second + first
    words = command.split()
    if words[-1] in ("twice", "thrice"):
        return interpret(" ".join(words[:-1])) * (2 if words[-1] == "twice" else 3)
    act = [] if words[0] == "turn" else [f"I_{words[0].upper()}"]
    if len(words) == 1:
        return act
    turn = [f"I_TURN_{words[-1].upper()}"]
    return {"opposite": turn * 2 + act, "around": (turn + act) * 4}.get(words[1], turn + act)


def test_the_grammar_has_the_commands_and_meanings_of_the_paper():
    found = commands()
    assert len(found) == 20_910
    assert all(interpret(command) == actions.split() for command, actions in found.items())
    assert (
        found["jump opposite left after walk around left"]
        == "I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT"
        " I_TURN_LEFT I_JUMP"
    )


def test_splits_by_rule_keep_what_they_hold_out():
    splits = {name: (train, test) for name, train, test in rule_splits(list(commands().items()))}
    train, test = splits["template_jump_around_right"]
    assert all("jump around right" in command for command, _ in test)
    assert not any(
        "jump around right" in command or "turn around right" in command for command, _ in train
    )
    train, test = splits["addprim_turn_left"]
    assert Counter(train)["turn left", "I_TURN_LEFT"] == 2_189 and len(set(train)) == 19_702
    assert ("turn left and walk", "I_TURN_LEFT I_WALK") in test and (
        "turn left",
        "I_TURN_LEFT",
    ) not in test
    # Also a part of the split, such as its last fifth, is like the rest.
    assert 200 < sum(row == ("jump", "I_JUMP") for row in splits["addprim_jump"][0][-2_934:]) < 400
    for number, verb in enumerate(("look", "walk", "run")):
        before, after = (
            {command for command, _ in splits[f"filler_num{n}"][0]} for n in (number, number + 1)
        )
        assert before < after and all(
            f"{verb} around right" in command for command in after - before
        )
    for name, (train, test) in splits.items():
        assert not set(train) & set(test), name


def test_the_cutoff_of_the_paper():
    rows = list(commands().items())
    splits = {cutoff: parts for cutoff, *parts in cutoff_splits(rows)}
    assert [len(part) for part in splits[26]] == [16_458, 1_828, 2_624]
    for cutoff, (train, valid, test) in splits.items():
        assert sorted(train + valid + test) == sorted(rows)
        assert max(len(actions.split()) for _, actions in train + valid) <= cutoff
        assert min(len(actions.split()) for _, actions in test) > cutoff


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("IN: jump OUT: I_WALK", "row 2: 'jump' is 'I_WALK'; the grammar gives 'I_JUMP'"),
        ("IN: fly OUT: I_FLY", "row 2: .*the grammar has no such command"),
        ("jump", "row 2 is not of the form"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, message):
    path = tmp_path / "tasks.txt"
    path.write_text(f"IN: walk OUT: I_WALK\n{row}\n")
    with pytest.raises(InputError, match=message):
        read_tasks(path)


def test_a_split_that_breaks_its_rule_is_named():
    rows = list(commands().items())[:3]
    with pytest.raises(InputError, match="s/test, row 2 .* does not belong in this split"):
        check_same("s/test", rows, rows[::2])
    with pytest.raises(InputError, match=r"s/test lacks 'walk twice'"):
        check_same("s/test", rows[::2], rows)
    check_same("s/test", rows[::-1], rows)


def test_archives_as_they_are_published(tmp_path):
    """The order of tasks.txt decides; MCD counts its rows."""
    rows = list(commands().items())
    Random(1).shuffle(rows)
    recipe = find_recipe("scan")
    # the real files have known sums, these have not
    unknown = replace(
        recipe, sources=tuple(replace(source, hashes=()) for source in recipe.sources)
    )
    folder = tmp_path / "downloads" / "scan"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "SCAN.zip", "w") as archive:
        archive.writestr("SCAN-c4b7/tasks.txt", lines(rows))
        archive.writestr(
            "SCAN-c4b7/simple_split/size_variations/tasks_train_simple_p1.txt", lines(rows[:209])
        )
        archive.writestr(
            "SCAN-c4b7/simple_split/size_variations/tasks_test_simple_p1.txt", lines(rows[209:])
        )
    with tarfile.open(folder / "scan-splits.tar.gz", "w:gz") as archive:
        data = json.dumps({"trainIdxs": [2, 0], "devIdxs": [], "testIdxs": [20_909]}).encode()
        item = tarfile.TarInfo("scan-splits/mcd2.json")
        item.size = len(data)
        archive.addfile(item, io.BytesIO(data))
    record = get(unknown, tmp_path / "scan", offline=True).record
    read = {name: (tmp_path / "scan" / name).read_text().splitlines() for name in record["files"]}
    assert read["all.src"] == [command for command, _ in rows]
    assert read["mcd2/train.src"] == [rows[2][0], rows[0][0]] and read["mcd2/test.tgt"] == [
        rows[20_909][1]
    ]
    assert len(read["simple_p1/train.src"]) == 209 and "simple/train.src" not in read
    assert record["splits"]["length-26/valid"]["origin"] == "released" and record["notes"] == list(
        recipe.notes
    )
    assert len(record["missing_files"]) == 10
    assert {"mcd1/train", "simple/test"} <= set(record["missing"])
    assert not list(tmp_path.glob(".scan.*"))


def lines(rows):
    return "".join(f"IN: {command} OUT: {actions}\n" for command, actions in rows)


@needs("scan/tasks.txt.gz")
def test_generated_and_released_commands_agree():
    assert sorted(read_tasks(SHARED / "scan" / "tasks.txt.gz")) == sorted(commands().items())


@needs("scan/tasks_train_simple.txt.gz")
def test_a_mirror_gives_the_released_splits(tmp_path):
    record = get(find_recipe("scan"), tmp_path / "scan", mirror=str(SHARED)).record
    assert record["splits"]["length/train"]["origin"] == "released"
    assert record["splits"]["template_right/train"]["origin"] == "generated"
    assert "mcd1/train" in record["missing"] and "simple/test" not in record["missing"]
    assert not record["missing_files"]
    for name in record["files"]:
        if name.startswith("lexicons/"):
            assert (tmp_path / "scan" / name).read_bytes() == (SHARED / "scan" / name).read_bytes()
    # the authors' file has the fault of their Figure 2; it is read as it is
    given = Lexicon.load(
        tmp_path / "scan" / "lexicons" / "template_around_right" / "intersect.align.o.json"
    ).entries
    assert (
        given["around"] == {"I_TURN_LEFT": 4_785}
        and given["turn"] == {"I_TURN_LEFT": 2_238}
        and "left" not in given
    )
    with gzip.open(SHARED / "scan" / "tasks_test_length.txt.gz", "rt") as file:
        released = [line.strip().removeprefix("IN: ").split(" OUT: ") for line in file]
    for side, column in zip(("src", "tgt"), zip(*released, strict=True), strict=True):
        assert (tmp_path / "scan" / "length" / f"test.{side}").read_text().splitlines() == list(
            column
        )
    # the templates keep the order of tasks.txt, so a rule over it gives the released files
    # themselves
    rows = read_tasks(SHARED / "scan" / "tasks.txt.gz")
    _, train, test = next(
        split for split in rule_splits(rows) if split[0] == "template_around_right"
    )
    for part, ours in (("train", train), ("test", test)):
        assert ours == read_tasks(SHARED / "scan" / f"tasks_{part}_template_around_right.txt.gz")
