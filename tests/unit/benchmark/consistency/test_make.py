"""Items: which sentences are drawn, what is changed in them, and which part they share."""

import json
import random
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from cgbench.benchmark.consistency.items import Tokens, read_items
from cgbench.benchmark.consistency.make import make_items
from cgbench.benchmark.release.release import Release
from cgbench.cli import main
from cgbench.errors import InputError
from cgbench.text.normalisation import Normalisation

TEXT = [
    "The dog sleeps.", "I saw the dog, didn't I?", "the dog eats", "A cat sleeps.", "He likes my cat.",
    "The dog sleeps.", "He likes Tom.", "Tom sleeps.", "The big dog barks .", "a small dog barks .",
]  # fmt: skip


def shared_text(row):
    return [row.source[begin:end] for begin, end in row.shared]


def test_contexts_are_distinct_sentences_with_the_piece_whatever_its_case(tmp_path):
    made = make_items(TEXT, ["the dog", "tom", "a whale", "?!"], out=tmp_path / "out")
    assert {(row.piece, row.source, *shared_text(row)) for row in made.rows} == {
        ("the dog", "The dog sleeps.", "The dog"),
        ("the dog", "I saw the dog, didn't I?", "the dog"),
        ("the dog", "the dog eats", "the dog"),
        ("tom", "He likes Tom.", "Tom"),
        ("tom", "Tom sleeps.", "Tom"),
    }
    assert len(made.rows) == 5
    assert made.left_out == {"a whale": 0}
    assert read_items(tmp_path / "out") == made.rows
    assert (tmp_path / "out" / "sentences.txt").read_text().splitlines() == [row.source for row in made.rows]
    assert json.loads((tmp_path / "out" / "made.json").read_text())["left_out"] == {"a whale": 0}


def test_draws_depend_on_sentences_and_seed_alone(tmp_path):
    text = [f"w{number} the dog barks" for number in range(200)]
    drawn = {}
    for name, seed, lines in (("a", 1, text), ("b", 1, random.Random(1).sample(text, len(text))), ("c", 2, text)):
        rows = make_items(lines, ["the dog"], out=tmp_path / name, contexts=7, seed=seed).rows
        drawn[name] = [row.source for row in rows]
    assert drawn["a"] == drawn["b"] != drawn["c"]
    assert len(set(drawn["a"])) == 7


def test_a_swap_is_a_piece_of_the_same_surroundings(tmp_path):
    # Tom and "my cat" both occur between "likes" and "."; "Tom" and "A cat" between the beginning and "sleeps".
    made = make_items(TEXT, ["Tom", "my cat", "a cat", "the dog"], out=tmp_path / "out", change="swap")
    found = {}
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        assert (first.change, second.change, first.item) == ("original", "swap", second.item)
        assert [text.strip() for text in shared_text(first)] == [text.strip() for text in shared_text(second)]
        found.setdefault(first.source, set()).add(second.source)
    assert found["He likes my cat."] == {"He likes Tom."}
    assert found["He likes Tom."] == {"He likes my cat."}
    assert found["A cat sleeps."] <= {"Tom sleeps.", "The dog sleeps."}
    assert found["Tom sleeps."] <= {"A cat sleeps.", "The dog sleeps."}
    assert "I saw the dog, didn't I?" not in found  # nothing else occurs between "saw" and ","


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
    made = make_items(text, pieces, out=tmp_path / "out", change="swap", contexts=50)
    assert len(made.rows) > 40
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        before, after = first.source[: _begin(first, second)].split(), first.source.split()
        after = after[len(before) + len(first.piece.split()) :]
        new = second.source.split()[len(before) : len(second.source.split()) - len(after)]
        assert [*before, *first.piece.split(), *after] == first.source.split()
        assert {" ".join(new), first.piece} <= near[before[-1] if before else "<s>", after[0] if after else "</s>"]


def _begin(first, second):
    """Where the piece begins: the words before it are shared."""
    size = len(first.piece)
    places = [at for at in range(len(first.source)) if first.source[at : at + size] == first.piece]
    spans = set(range(len(first.source))) - {at for begin, end in first.shared for at in range(begin, end)}
    return next(at for at in places if set(range(at, at + size)) == spans)


def test_a_synonym_takes_the_place_and_the_capital_of_a_word(tmp_path):
    table = tmp_path / "synonyms.tsv"
    table.write_text("big\tlarge\nthe dog\tthe hound\n")
    made = make_items(TEXT, out=tmp_path / "out", change="synonym", synonyms=table)
    found = {first.source: second.source for first, second in zip(made.rows[::2], made.rows[1::2], strict=True)}
    assert found["The big dog barks ."] == "The large dog barks ."
    assert found["The dog sleeps."] == "The hound sleeps."
    assert found["I saw the dog, didn't I?"] == "I saw the hound, didn't I?"


def test_pieces_of_a_release_are_those_of_the_covers_of_its_sources(tmp_path, monkeypatch):
    for name, lines in (("train.en", ["the dog", "the dog", "likes Tom .", "likes Tom ."]), ("train.de", ["x"] * 4)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    release = SimpleNamespace(
        manifest={"inputs": {"train": {"files": [{"path": "train.en"}, {"path": "train.de"}], "columns": None}}},
        configuration={"ngram_min_count": 2},
        normalisation=Normalisation(),
        is_split=False,
        input_path=lambda path: tmp_path / path,
        lines=lambda side: ["the dog likes Tom ."] if side == "source" else [],
    )
    monkeypatch.setattr(Release, "open", lambda folder: release)
    made = make_items(["The dog eats.", "A man likes Tom.", "he likes Tom ."], out=tmp_path / "out", release="release")
    # The cover is "the dog" and "likes Tom ."; the first is in one sentence only.
    assert {row.piece for row in made.rows} == {"likes Tom ."} and len(made.rows) == 2
    assert made.left_out == {"the dog": 1}


def test_a_second_sentence_follows_without_mark_and_capital(tmp_path):
    text = ["He sleeps.", "She likes it.", "Here he is.", "Tom eats .", "Did he see Tom ?", "what he says is Tom !"]
    made = make_items(text, out=tmp_path / "out", change="conjunction")
    assert len(made.rows) == 6
    for first, second in zip(made.rows[::2], made.rows[1::2], strict=True):
        assert shared_text(first) == shared_text(second) == [first.source.rstrip(" .?!")]
        other = second.source[len(shared_text(first)[0]) :]
        assert other.startswith(" , and " if first.source[-2] == " " else ", and ")
        # Tom is a name: it has a capital within sentences.
        assert other.partition("and ")[2] in {"he sleeps.", "she likes it.", "here he is.", "Tom eats .",
                                              "did he see Tom ?", "what he says is Tom !"}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give pieces or release, and nothing else"),
        ({"pieces": ["a"], "change": "conjunction"}, "it takes no pieces"),
        ({"pieces": ["a"], "change": "synonym"}, "give synonyms, and nothing else"),
        ({"pieces": ["whale"]}, "no item can be made from this text"),
        ({"pieces": ["dog"], "contexts": 1}, "contexts=1: it must be a whole number, at least 2"),
    ],
)
def test_wrong_options_give_one_line(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        make_items(TEXT, out=tmp_path / "out", **given)


def test_the_commands_make_and_score(tmp_path):
    text, pieces, out = tmp_path / "mono.en", tmp_path / "pieces.txt", tmp_path / "out"
    text.write_text("".join(f"{line}\n" for line in TEXT))
    pieces.write_text("the dog\nTom\n")
    words = ["consistency", "make", text, "--pieces", pieces, "--out", out, "--format", "json"]
    for _ in range(2):  # the same command replaces its result
        result = CliRunner().invoke(main, list(map(str, words)))
        assert result.exit_code == 0, result.stderr
        made = json.loads(result.stdout)
    assert (made["items"], made["sentences"]) == (2, 5)
    hypotheses = tmp_path / "system.de"
    hypotheses.write_text("".join(f"{' '.join(Tokens.of(row.source).words)}\n" for row in read_items(out)))
    table = tmp_path / "rows.tsv"
    words = ["consistency", "score", out, "--hyp", f"copy={hypotheses}", "--per-example", table, "--units", "words"]
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("consistency|items:2|clusters:piece(2)|method:align|units:words|n:1")
    assert table.read_text().splitlines()[0] == "row\tsystem\trun\titem\tpiece\tchange\tconsistency\tbecame"
    result = CliRunner().invoke(
        main, ["consistency", "make", str(text), "--pieces", str(pieces), "--out", str(tmp_path)]
    )
    assert result.exit_code == 2 and "give a new one with --out" in result.stderr
