import json
from pathlib import Path

import pytest

from cgbench import __version__
from cgbench.models.lexicons.lexicon import LEARNERS

TRAIN = [
    ("jump", "JUMP"),
    ("walk", "WALK"),
    ("walk twice", "WALK WALK"),
    ("run", "RUN"),
    ("run left", "LEFT RUN"),
]
TEST = [("jump twice", "JUMP JUMP"), ("run twice", "RUN RUN RUN"), ("hop", "HOP")]


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


@pytest.fixture
def train(tmp_path):
    return write(tmp_path / "train.tsv", TRAIN)


def test_learn(train, run, tmp_path):
    """twice is sufficient for WALK, too, but walk explains it."""
    result = run("lexicon", "learn", train, "--out", tmp_path / "x.json")
    assert result.stdout.splitlines() == [
        "jump  JUMP 1",
        "walk  WALK 2",
        "run   RUN 2",
        "left  LEFT 1",
        "",
        "4 entries for 4 source words; the text has 5 and 4 target words in 5 pairs",
        f"lexicon:simple|epsilon:3|v:{__version__}",
        f"written to {tmp_path / 'x.json'}",
    ]
    assert json.loads((tmp_path / "x.json").read_text())["walk"] == {"WALK": 2}


@pytest.mark.parametrize("method", LEARNERS)
def test_every_method_from_two_files_to_the_same_bytes(train, run, tmp_path, method):
    for side, name in enumerate(("s.txt", "t.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in TRAIN))
    words = ["lexicon", "learn", "--method", method, "--format", "json"]
    if method == "bayesian":
        words += ["--set", "steps=600", "--set", "burn_in=100"]
    first = run(*words, train, "--out", tmp_path / "1.json")
    second = run(*words, tmp_path / "s.txt", tmp_path / "t.txt", "--out", tmp_path / "2.json")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    figures, other = json.loads(first.stdout), json.loads(second.stdout)
    assert figures.pop("out") != other.pop("out") and figures == other
    assert figures["method"] == method and figures["signature"].startswith(f"lexicon:{method}|")
    entries = json.loads((tmp_path / "1.json").read_text())
    assert figures["entries"] == sum(map(len, entries.values())) and "RUN" in entries["run"]


def test_settings_columns_and_lower_case(run, tmp_path):
    rows = [("id", "en", "zh"), ("1", "Jump", "JUMP"), ("2", "jump", "JUMP")]
    (tmp_path / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    words = [
        "lexicon",
        "learn",
        tmp_path / "t.tsv",
        "--columns",
        "en,zh",
        "--out",
        tmp_path / "x.json",
    ]
    run(*words)
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "Jump": {"JUMP": 1},
        "jump": {"JUMP": 1},
    }
    run(*words, "--lowercase")
    assert json.loads((tmp_path / "x.json").read_text()) == {"jump": {"jump": 3}}
    assert (
        "nothing was written"
        in run(*words, "--method", "ibm1", "--set", "iterations=1", status=2).stderr
    )


def test_bad_calls_of_learn(train, run, tmp_path):
    out = ["--out", tmp_path / "x.json"]
    (tmp_path / "empty.tsv").write_text("")
    for words, message in (
        ([tmp_path / "missing.tsv", *out], "missing.tsv: no such file"),
        ([tmp_path / "empty.tsv", *out], "the source side has no words"),
        ([train, train, train, *out], "one file with both sides, or two files, not 3"),
        ([train, "--out", train], "is also an input"),
        ([train, "--out", tmp_path / "no" / "x.json"], "there is no folder"),
        ([train, *out, "--set", "epsilom=2"], "unknown setting epsilom; did you mean epsilon?"),
        ([train, *out, "--set", "epsilon=two"], "epsilon: 'two' is not a whole number"),
        ([train, "--out", tmp_path / "x.json.gz"], "not compressed; use .json"),
    ):
        assert message in run("lexicon", "learn", *words, status=2).stderr
    assert not (tmp_path / "x.json").exists()


def test_geca(train, run, tmp_path):
    test = write(tmp_path / "test.tsv", TEST)
    words = ["augment", "geca", train, "--size", "1", "--samples", "0", "--test", test]
    result = run(*words, "--out", tmp_path / "new.tsv")
    rows = [tuple(line.split("\t")) for line in (tmp_path / "new.tsv").read_text().splitlines()]
    assert {
        ("jump twice", "JUMP JUMP"),
        ("run twice", "RUN RUN"),
        ("walk left", "LEFT WALK"),
    } <= set(rows)
    assert not set(rows) & set(TRAIN)
    lines = result.stdout.splitlines()
    assert (
        lines[0].startswith("5 pairs, ")
        and lines[1] == f"{len(rows)} new pairs, written to {tmp_path / 'new.tsv'}"
    )
    assert (
        lines[2] == f"{test}: the new pairs contain 1 of its 3 pairs and 2 of its sources (66.7%)"
    )

    two = [tmp_path / "new.src", tmp_path / "new.tgt"]
    figures = json.loads(run(*words, "--out", *two, "--format", "json").stdout)
    sides = [path.read_text().splitlines() for path in two]
    assert list(zip(*sides, strict=True)) == rows
    assert figures["pairs"] == len(rows) and figures["settings"]["size"] == 1
    assert figures["tests"] == [{"test": str(test), "rows": 3, "pairs": 1, "sources": 2}]


def test_corpora_leave_the_words_behind_them_to_train(train, run, tmp_path, monkeypatch):
    """Wherever TRAIN stands: a table is a whole corpus, and so are two files."""
    monkeypatch.chdir(tmp_path)
    sides = [Path(name) for name in ("s.txt", "t.txt")]
    for side, path in enumerate(sides):
        path.write_text("".join(f"{pair[side]}\n" for pair in TRAIN))
    test, options = write(Path("test.tsv"), TEST), ["--size", "1", "--samples", "0"]
    run("augment", "geca", *options, train, "--out", "first.tsv")
    expected = Path("first.tsv").read_text()
    for words in (
        ["--out", "new.tsv", train],
        ["--out=new.tsv", train],
        ["--out", "new.tsv", *sides],
        ["--out=new.tsv", *sides],
        ["--test", test, train, "--out", "new.tsv"],
        ["--test", *sides, *sides, "--out", "new.tsv"],
        ["--out", "new.tsv", "--test", *sides, train],
        ["--out", "new.tsv", "--", train],
    ):
        run("augment", "geca", *options, *words)
        assert Path("new.tsv").read_text() == expected
        Path("new.tsv").unlink()
    for words in (["--out", "a", "b", train], ["--out=a", "b", *sides]):
        run("augment", "geca", *options, *words)
        rows = list(zip(*(Path(name).read_text().splitlines() for name in ("a", "b")), strict=True))
        assert "".join("\t".join(row) + "\n" for row in rows) == expected
    assert (
        "only: a single file must have both sides"
        in run("augment", "geca", "--out", "only", train, status=2).stderr
    )
    assert "a file name is empty" in run("augment", "geca", "--out=", train, status=2).stderr


def test_bad_calls_of_geca(train, run, tmp_path):
    out = ["--out", tmp_path / "new.tsv"]
    for words, message in (
        ([train, "--out", tmp_path / "new.txt"], "a single file must have both sides"),
        (
            [train, "--out", tmp_path / "new.jsonl"],
            "a single file with both sides must end in .tsv",
        ),
        (
            [train, "--out", tmp_path / "new.tsv.gz"],
            "a single file with both sides must end in .tsv",
        ),
        (
            [train, "--out", tmp_path / "a.gz", tmp_path / "b.gz"],
            "new pairs are written as plain text",
        ),
        ([train, "--out", tmp_path / "a", tmp_path / "a"], "give two different files"),
        ([train, "--out", train], "is also an input"),
        ([train, *out, "--set", "max_length=2"], "no new pair can be made with these settings"),
        ([tmp_path / "missing.tsv", *out], "no such file"),
        ([train, *out, "--test", tmp_path / "missing.tsv"], "no such file"),
    ):
        assert message in run("augment", "geca", *words, status=2).stderr
    assert not (tmp_path / "new.tsv").exists()


def test_geca_mixes_new_pairs_into_a_training_text(train, run, tmp_path):
    words = ["augment", "geca", train, "--size", "1", "--samples", "0"]
    run(*words, "--out", tmp_path / "new.tsv")
    run(*words, "--mix", "0.25", "--out", tmp_path / "mixed.tsv")
    new, rows = (
        [tuple(row.split("\t")) for row in (tmp_path / name).read_text().splitlines()]
        for name in ("new.tsv", "mixed.tsv")
    )
    assert set(rows) == {*new, *TRAIN}
    assert sum(row in new for row in rows) / len(rows) == pytest.approx(0.25, abs=0.05)


def test_a_lexicon_goes_into_a_model_and_its_checkpoint(train, run, tmp_path):
    """Learn one, train with it, translate: through the commands; an ensemble whose members share
    it.
    """
    run("lexicon", "learn", train, "--out", tmp_path / "x.json")
    sizes = ("width=16", "encoder_layers=1", "decoder_layers=1")
    settings = [f"model.{size}" for size in sizes] + ["training.max_updates=3", "text.unit=words"]
    words = ["--train", train, "--arch", "lstm_lexicon", "--set", "model.lexicon=hard"]
    words += [word for setting in settings for word in ("--set", setting)]
    assert "cgbench lexicon learn" in run("train", *words, "--out", tmp_path / "m", status=2).stderr
    assert not (tmp_path / "m").exists()
    run("train", *words, "--lexicon", tmp_path / "x.json", "--out", tmp_path / "m")
    config = json.loads((tmp_path / "m/config.json").read_text())
    assert config["model"]["lexicon"] == "hard" and len(config["lexicon"]) == 64
    members = (
        "--members",
        "2",
        "--jobs",
        "1",
        "--lexicon",
        tmp_path / "x.json",
        "--out",
        tmp_path / "e",
    )
    run("train-ensemble", *words, *members)
    (tmp_path / "source").write_text("walk twice\n\njump\n")
    for model in ("m", "e"):
        found = run("translate", tmp_path / "source", "--model", tmp_path / model).stdout.split(
            "\n"
        )
        assert len(found) == 4 and found[1] == ""


def test_a_lexicon_that_does_not_fit_is_refused(train, run, tmp_path):
    (tmp_path / "x.json").write_text('{"hop": {"HOP": 1}, "walk": {"WALK": 1}}')
    words = (
        "train",
        "--train",
        train,
        "--arch",
        "lstm_lexicon",
        "--set",
        "text.unit=words",
        "--set",
        "model.width=8",
    )
    words = (*words, "--out", tmp_path / "m", "--lexicon", tmp_path / "x.json")
    said = run(*words, "--set", "model.lexicon=hard", status=2).stderr
    assert "x.json" in said and "1 source word ('hop') and 1 target word ('HOP')" in said
    assert (
        "set model.lexicon to hard" in run(*words, "--set", "model.lexicon=copy", status=2).stderr
    )
    (tmp_path / "x.json").write_text("{}")
    assert "x.json" in run(*words, "--set", "model.lexicon=hard", status=2).stderr
