"""Items: which sentences are drawn, what is changed in them, and which part they share."""

import json
import random

import pytest

from cgbench.errors import InputError
from cgbench.studies.consistency.items import Tokens, read_items
from cgbench.studies.consistency.make import make_items
from cgbench.text.columns import read_column

TEXT = [
    "The dog sleeps.",
    "I saw the dog, didn't I?",
    "the dog eats",
    "A cat sleeps.",
    "He likes my cat.",
    "The dog sleeps.",
    "He likes Tom.",
    "Tom sleeps.",
    "The big dog barks .",
    "a small dog barks .",
]


def shared_text(row):
    """The words that the sentences of the item share, and in the place of the others a bar."""
    words = [
        word if place in row.shared else "|"
        for place, word in enumerate(Tokens.of(row.source).words)
    ]
    return " ".join(words).strip("| ") if row.piece == row.item else " ".join(words)


def test_contexts_are_distinct_sentences_with_the_piece_whatever_its_case(tmp_path):
    text = [*TEXT, "", "the dog " + "and so " * 20]  # 42 words are too many
    made = make_items(
        text, ["the dog", "tom", "a whale", "a small dog", "?!"], out=tmp_path / "out.tsv"
    )
    assert {(row.piece, row.source, shared_text(row)) for row in made.rows} == {
        ("the dog", "The dog sleeps.", "the dog"),
        ("the dog", "I saw the dog, didn't I?", "the dog"),
        ("the dog", "the dog eats", "the dog"),
        ("tom", "He likes Tom.", "tom"),
        ("tom", "Tom sleeps.", "tom"),
    }
    assert len(made.rows) == 5
    assert (
        made.left_out == ["a whale", "a small dog"]
        and "2 pieces with too few contexts left out" in made.report()
    )
    assert read_items(tmp_path / "out.tsv") == made.rows
    assert read_column(f"{tmp_path / 'out.tsv'}:source").values == [row.source for row in made.rows]


def test_a_draw_depends_on_the_sentences_and_not_on_their_order(tmp_path):
    text = [f"w{number} the dog barks" for number in range(200)]
    drawn = []
    for seed in range(3):
        rows = make_items(
            random.Random(seed).sample(text, 200), ["the dog"], out=tmp_path / "a.tsv", contexts=7
        ).rows
        drawn.append([row.source for row in rows])
    assert drawn[0] == drawn[1] == drawn[2] and len(set(drawn[0])) == 7
    other = make_items(
        text, ["dog"], out=tmp_path / "b.tsv", contexts=7
    ).rows  # another draw for another piece
    assert {row.source for row in other} != set(drawn[0])


def test_a_swap_is_a_piece_of_the_same_surroundings(tmp_path):
    # Tom and "my cat" both occur between "likes" and "."; "Tom" and "A cat" between the beginning
    # and "sleeps".
    made = make_items(
        TEXT, ["Tom", "my cat", "a cat", "the dog"], out=tmp_path / "out.tsv", swap=True
    )
    found = {}
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        assert (first.item, first.piece) == (
            second.item,
            second.piece,
        ) and first.item != first.piece
        assert shared_text(first).replace("| |", "|") == shared_text(second).replace("| |", "|")
        found.setdefault(first.source, set()).add(second.source)
    assert found["He likes my cat."] == {"He likes Tom."}
    assert found["He likes Tom."] == {"He likes my cat."}
    assert found["A cat sleeps."] <= {"Tom sleeps.", "The dog sleeps."}
    assert found["Tom sleeps."] <= {"A cat sleeps.", "The dog sleeps."}
    assert len({row.item for row in made.rows}) == len(made.rows) / 2
    assert "I saw the dog, didn't I?" not in found  # nothing else occurs between "saw" and ","


def test_swaps_are_looked_for_in_more_sentences_than_are_drawn(tmp_path):
    text = [f"w{number} a v{number}" for number in range(40)] + [
        "x a y",
        "x b y",
        "z a y",
        "z b y",
        "u a y",
        "u b y",
    ]
    rows = make_items(text, ["a", "b"], out=tmp_path / "out.tsv", swap=True, contexts=2).rows
    assert [row.item for row in rows] == ["a:1", "a:1", "a:2", "a:2", "b:1", "b:1", "b:2", "b:2"]


def test_every_swap_fits_by_a_slow_definition(tmp_path):
    draw = random.Random(3)
    text = [" ".join(draw.choices("abcdefgh", k=draw.randint(3, 8))) for _ in range(300)]
    pieces = ["a", "b c", "d", "e f"]
    near = {}
    for line in text:
        words = ["<s>", *line.split(), "</s>"]
        for piece in pieces:
            size = len(piece.split())
            for at in range(1, len(words) - size):
                if words[at : at + size] == piece.split():
                    near.setdefault((words[at - 1], words[at + size]), set()).add(piece)
    made = make_items(text, pieces, out=tmp_path / "out.tsv", swap=True, contexts=50)
    assert len(made.rows) > 40
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        sizes = [len(row.source.split()) - len(row.shared) for row in (first, second)]
        words, changed = (["<s>", *row.source.split(), "</s>"] for row in (first, second))
        at = next(place for place in range(len(words)) if place not in first.shared) + 1
        assert words[:at] + words[at + sizes[0] :] == changed[:at] + changed[at + sizes[1] :]
        new = " ".join(changed[at : at + sizes[1]])
        assert first.piece == " ".join(words[at : at + sizes[0]]) != new
        assert {new, first.piece} <= near[words[at - 1], words[at + sizes[0]]]


def test_a_synonym_takes_the_place_and_the_capital_of_a_word(tmp_path):
    table = tmp_path / "synonyms.tsv"
    table.write_text("big\tlarge\nthe dog\tthe hound\n")
    given = {"pieces": f"{table}:1", "synonyms": f"{table}:2"}
    made = make_items(TEXT, out=tmp_path / "out.tsv", **given)
    found = {
        first.source: second.source
        for first, second in zip(made.rows[::2], made.rows[1::2], strict=True)
    }
    assert found["The big dog barks ."] == "The large dog barks ."
    assert found["The dog sleeps."] == "The hound sleeps."
    assert found["I saw the dog, didn't I?"] == "I saw the hound, didn't I?"
    # Where the synonym would be found before its place, or nothing else is in the sentence, there
    # is no item.
    made = make_items(["large and big", "big and large", "Big"], out=tmp_path / "few.tsv", **given)
    assert [row.source for row in made.rows] == ["big and large", "large and large"]
    with pytest.raises(InputError, match="no item can be made"):
        make_items(["Big", "so big"], ["big"], out=tmp_path / "few.tsv", synonyms=[""])


def test_a_second_sentence_follows_without_mark_and_capital(tmp_path):
    # Tom is a name, which has a capital within sentences.
    text = [
        "Tom sees Tom.",
        "Tom hears Tom !",
        "Tom is Tom",
        "What he says is what he says.",
        "He is he .",
        "What?",
    ]
    made = make_items([*text, "", *text], out=tmp_path / "out.tsv", conjunction=", and ")
    assert len(made.rows) == 6
    seconds = []
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        assert shared_text(first) == shared_text(second) == " ".join(Tokens.of(first.piece).words)
        assert first.piece == first.source.rstrip(" .?!") and second.source.startswith(
            first.piece + ", and "
        )
        seconds.append(second.source.partition(", and ")[2])
    assert {first.source for first in made.rows[::2]} | {
        one[0].upper() + one[1:] for one in seconds
    } == set(text)
    assert {one.split()[0] for one in seconds} == {"Tom", "he", "what?"}
    assert (
        make_items(sorted(text), out=tmp_path / "out.tsv", conjunction=", and ").rows == made.rows
    )
    with pytest.raises(InputError, match="no item can be made"):  # nothing but marks is no piece
        make_items([".", "..", "...", "...."], out=tmp_path / "out.tsv", conjunction=", and ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give either pieces or conjunction"),
        ({"pieces": ["a"], "conjunction": ", and "}, "give either pieces or conjunction"),
        (
            {"conjunction": ", and ", "swap": True},
            "swap or synonyms, not both, can be given with pieces",
        ),
        (
            {"conjunction": ", and ", "synonyms": ["a"]},
            "swap or synonyms, not both, can be given with pieces",
        ),
        (
            {"pieces": ["a"], "synonyms": ["b"], "swap": True},
            "swap or synonyms, not both, can be given with pieces",
        ),
        (
            {"pieces": ["a", "b"], "synonyms": ["c"]},
            "synonyms: 1 synonyms of 2 pieces; give one for each",
        ),
        ({"pieces": ["the dog"], "out": "probe"}, "out probe: give a name that ends in .tsv"),
        ({"pieces": ["the dog"], "out": "none/probe.tsv"}, "there is no folder none"),
        ({"pieces": ["whale"]}, "no item can be made from this text"),
        ({"pieces": ["dog"], "contexts": 1}, "contexts=1: it must be a whole number, at least 2"),
    ],
)
def test_wrong_options_give_one_line(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        make_items(TEXT, **{"out": tmp_path / "out.tsv", **given})


def test_the_commands_make_and_score(run, tmp_path):
    text, pieces, out = tmp_path / "mono.en", tmp_path / "pieces.txt", tmp_path / "out.tsv"
    text.write_text("".join(f"{line}\n" for line in TEXT))
    pieces.write_text("the dog\nTom\n")
    for _ in range(2):  # the same command replaces its result
        printed = run("consistency", "make", text, "--pieces", pieces, "--out", out).stdout
        assert printed.startswith("2 items of 2 pieces, 5 sentences\ntranslate ")
    hypotheses, table = tmp_path / "system.de", tmp_path / "rows.tsv"
    hypotheses.write_text(
        "".join(f"{' '.join(Tokens.of(row.source).words)}\n" for row in read_items(out))
    )
    printed = run(
        "consistency", "score", out, "--hyp", f"copy={hypotheses}", "--per-example", table
    ).stdout
    assert printed.startswith("consistency|items:2|clusters:piece(2)|characters:1+2")
    head, *rows = (line.split("\t") for line in table.read_text().splitlines())
    assert head == ["row", "system", "run", "score"]
    assert [row[:3] for row in rows] == [[str(row), "copy", "1"] for row in range(1, 6)]
    systems = ("--hyp", f"copy={hypotheses}", "--hyp", f"same={hypotheses}")
    required = run("consistency", "score", out, *systems, "--require", "same=better", status=1)
    assert "not shown: same is better than copy" in required.stderr


CONTEXTS = ("x sleeps", "we see x", "x eats now", "give x water", "no x here")
PIECES = ("dog", "cat", "cow", "hen", "fox", "owl")


def test_rows_and_requirements_are_of_the_scores(run, tmp_path):
    rows = [(piece, context.replace("x", piece)) for piece in PIECES for context in CONTEXTS]
    rows.append(("ewe", "an ewe"))  # alone, so it has no score
    items, table = tmp_path / "items.tsv", tmp_path / "rows.tsv"
    lines = ["piece\tsource", *map("\t".join, rows)]
    items.write_text("".join(f"{line}\n" for line in lines))
    outputs = {
        "alike": [source.upper() for _, source in rows],
        "apart": [chr(0x4E00 + 2 * row) + chr(0x4E01 + 2 * row) for row in range(len(rows))],
    }
    command = ["consistency", "score", items, "--per-example", table]
    for name, texts in outputs.items():
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
        command += ["--hyp", f"{name}={tmp_path / name}"]
    done = run(*command, "--baseline", "apart", "--require", "alike=better", "--format", "json")
    by_system = {row["system"]: row for row in json.loads(done.stdout)}
    examples = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    for name in outputs:
        *scores, alone = [score for _, system, _, score in examples if system == name]
        assert len(scores) == 30 and alone == ""
        mean = sum(map(float, scores)) / 30
        assert mean == pytest.approx(by_system[name]["value"])
    (checked,) = by_system["alike"]["requirements"]
    assert checked["state"] == "shown"
    failed = run(*command, "--baseline", "alike", "--require", "apart=better", status=1)
    assert "refuted: apart is better than alike" in failed.stderr
