"""What users get wrong: one clear line, exit status 2, and nothing half-written."""

import errno
import os
import subprocess
import sys

import pytest
from small_build import SMALL

from cgbench import steps


@pytest.fixture
def build(run, tmp_path):
    """Run build-react on files written here; ``build(train=..., pool=..., words...)`` gives the
    error line.
    """

    def call(*words, train=("a b c\n" * 9, "x y z\n" * 9), pool=("a b c\n", "x y z\n"), status=2):
        for name, texts in (("train", train), ("pool", pool)):
            for language, text in zip(("de", "en"), texts, strict=True):
                data = text if isinstance(text, bytes) else text.encode()
                (tmp_path / f"{name}.{language}").write_bytes(data)
        files = {
            name: [tmp_path / f"{name}.{language}" for language in ("de", "en")]
            for name in ("train", "pool")
        }
        result = run(
            *("build-react", "--train", *files["train"], "--pool", *files["pool"]),
            *("--out", tmp_path / "out", "--until", "candidates", *words),
            status=status,
        )
        assert status != 2 or not (tmp_path / "out" / "manifest.json").exists()
        if status == 2:
            assert len(result.stderr.strip().splitlines()) == 1 and result.stderr.startswith(
                "error: "
            )
        return result.stderr

    return call


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"pool": ("a\nb\nc\n", "x\n")}, ("pool.de has 3 lines", "pool.en has 1")),
        ({"train": ("", "")}, ("train.de: the corpus is empty",)),
        ({"pool": ("", "")}, ("pool.de: the corpus is empty",)),
        ({"train": ("\n\n", " \n\n")}, ("train.en: the corpus is empty: it has no words",)),
        (
            {"pool": ("q q q\n", "r r r\n")},
            ("fewer than 3 times in the training corpus: 1,", "share too few words"),
        ),
    ],
)
def test_texts_of_which_nothing_can_be_built(build, texts, expected):
    message = build(**texts)
    assert all(part in message for part in expected)


@pytest.mark.parametrize("name", ["train", "pool"])
@pytest.mark.parametrize("side", [0, 1])
def test_not_utf8(build, name, side):
    texts = [b"a b c\n" * 9, b"x y z\n" * 9]
    texts[side] = texts[side][:12] + "a Mädchen\n".encode("latin-1") + texts[side][18:]
    assert f"{name}.{('de', 'en')[side]}, line 3: not UTF-8" in build(**{name: texts})


def test_a_pool_that_is_too_small_says_what_was_left(build, run, corpora, tmp_path):
    words = [
        f"--set={one}"
        for one in ("candidates=5000", "drop_reference=0", "drop=100", "window=2380", "select=10")
    ]
    message = run("build-react", *corpora, *SMALL, *words, "--out", tmp_path / "x", status=2).stderr
    assert "too few candidates to drop 100 and draw 10 of the next 2,380" in message
    for words in ("pool 2,500", "known words", "within the length bounds", "candidates"):
        assert words in message
    assert not (tmp_path / "x" / "manifest.json").exists()
    assert not list(
        (tmp_path / "x.work" / ".cgbench").glob("member-*")
    )  # found out before any training


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--set", "drop=290"), "300 candidates are too few to drop 305 and draw 35"),
        (
            ("--set", "candidates=9000", "--set", "drop=2490"),
            "the 2,500 pairs of the pool are too few to drop 2,615",
        ),
        (
            ("--set", "drop_reference=0.9"),
            "drop_reference=0.9, window=3/10: together more than all candidates",
        ),
        (("--document", "doc"), "pool.de is plain text, which has no columns; give a table"),
        (
            ("--document", "blank-lines"),
            "--document blank-lines: no line is empty on both sides of",
        ),
        (
            ("--set", "draw_by=document"),
            "draw_by=document: needs documents; name them with --document",
        ),
        (("--languages", "de,de"), "two different codes are needed"),
        (("--exclude", "missing", "text.arpa"), "error: missing: no such file"),
        (("--set", "lm=text.arpa"), "text.arpa: not a language model"),
        (("--set", "lm=missing"), "missing: no such file"),
        (("--set", "drop_perplexity=5"), "needs a language model"),
        (("--set", "lm_side=source"), "needs a language model"),
        (
            ("--set", "select_by=difficulty"),
            "select_by=difficulty: needs one value per pair; pass a file with --diff",
        ),
        (("--difficulty", "missing"), "missing: no such file"),
        (
            ("--difficulty", "a", "--difficulty", "b"),
            "--difficulty: 2 files for 1 corpora of the pool; give",
        ),
        (("--set", "uncertainty=rmy"), "did you mean rmi?"),
    ],
)
def test_a_dry_run_finds_what_the_run_would(corpora, run, tmp_path, monkeypatch, words, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.arpa").write_text("no language model\n")
    for more in (("--dry-run",), ()):
        said = run(
            "build-react", *corpora, *SMALL, *words, "--out", tmp_path / "x", *more, status=2
        ).stderr
        assert expected in said and said.count("\n") == 1
        assert not (tmp_path / "x").exists()
    assert not list((tmp_path / "x.work" / ".cgbench").glob("member-*"))


def test_an_output_folder_that_holds_something_else(build, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    assert "holds something else" in build()
    assert (tmp_path / "out" / "thesis.tex").read_text() == "x"


def test_a_full_disk(build, monkeypatch, tmp_path):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(steps, "sync", full)
    words = {"train": ("a b c\n" * 9, "x y z\n" * 9), "pool": ("c b a\n", "z y x\n")}
    assert "the disk is full" in build("--set", "min_length=1", **words)
    monkeypatch.undo()
    build("--set", "min_length=1", **words, status=0)  # the same command goes on


def test_fewer_candidates_than_asked_for_is_a_warning(build):
    words = ("--set", "min_length=1", "--set", "candidates=7")
    assert "only 1 candidates are left, of 7 requested" in build(
        *words, pool=("c b a\n", "z y x\n"), status=0
    )
    assert "candidates are left, of" not in build(
        *words[:3], "candidates=1", pool=("c b a\n", "z y x\n"), status=0
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--set", "min_lenght=3"), "did you mean min_length?"),
        (("--set", "training.max_update=3"), "did you mean training.max_updates?"),
        (("--set", "min_length"), "key=value"),
        (("--set", "seed=-1"), "--seed -1: it must be a whole number from 0"),
        (("--set", "members=--5"), "--members --5: it must be a whole number"),
        (
            ("--set", "candidates=1e999999999"),
            "--set candidates=1e999999999: it must be a whole number above 0",
        ),
        (("--set", "max_length=3"), "--set max_length=3: it must be at least min_length (6)"),
        (("--ensemble", "e", "--method", "creg"), "leave --method out"),
        (("--languages", "parquet,en"), "parquet"),
        (("--set", "beam=wide"), "--set beam=wide: it must be"),
        (("--set", "model.attention_heads=3", "--model", "tiny"), "model.attention_heads=3"),
        (("--preset", "raect"), "did you mean react?"),
        (("--model", "smal"), "did you mean small?"),
        (("--columns", "1"), "--columns 1: it must be two names"),
        (("--config", "missing.yaml"), "missing.yaml: no such file"),
    ],
)
def test_the_call_is_wrong(build, words, expected):
    assert expected in build(*words)


def test_a_share_that_is_none_is_found_before_training(run, corpora, tmp_path):
    result = run(
        "build-react", *corpora, *SMALL, "--set", "select=0.0001", "--out", tmp_path / "x", status=2
    )
    assert "select: 0.0001 of 300 candidates is 0" in result.stderr
    assert not list((tmp_path / "x.work" / ".cgbench").glob("member-*"))


def test_moses_needs_to_know_the_languages(run, demo, tmp_path):
    lines = [(demo / f"train.{side}").read_text().splitlines() for side in ("de", "en")]
    (tmp_path / "t.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in zip(*lines, strict=True)))
    words = ["--train", tmp_path / "t.tsv", "--pool", tmp_path / "t.tsv", "--out", tmp_path / "x"]
    result = run(
        "build-react",
        *words,
        "--accept-text",
        "--tokenize",
        "moses",
        "--until",
        "candidates",
        status=2,
    )
    assert "--languages" in result.stderr


def test_an_ensemble_folder_without_members(run, corpora, tmp_path):
    (tmp_path / "e").mkdir()
    words = [*corpora, "--preset", "demo", "--ensemble", tmp_path / "e", "--out", tmp_path / "x"]
    assert "contains no trained model" in run("build-react", *words, status=2).stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("build-react", "--output", "x"), "'--out'"),
        (("build-react", "--modle", "x"), "'--model'"),
        (("translate", "--out", "x"), "'--output'"),
        (("score", "bleu", "--reference", "x"), "'--ref'"),
        (("degree", "--xyzzy"), None),  # nothing like it
    ],
)
def test_an_unknown_option_names_the_right_one(run, words, expected):
    said = run(*words, status=2).stderr.splitlines()[-1]
    assert said.startswith("error: no such option")
    assert expected in said if expected else "Did you mean" not in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("min_length: many", "s.yaml: min_length=many: it must be a whole number"),
        (
            "training:\n  learning_rate: fast\n",
            "s.yaml: training.learning_rate: 'fast' is not a number",
        ),
        ("min_lenght: 3", "s.yaml: unknown setting min_lenght; did you mean min_length?"),
    ],
)
def test_a_wrong_setting_of_a_file_names_the_file(build, tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(text)
    assert f"error: {expected}" in build("--config", "s.yaml")
    assert (
        "s.yaml" not in build("--config", "s.yaml", "--set", text.split(":")[0] + "=x")
        or "learning" in text
    )


def test_outputs_that_swallow_the_input_are_said(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("augment", "geca", "--out", "o", "train.de", "train.en", status=2).stderr
    assert (
        "--out took o and train.de, which leaves train.en alone for TRAIN; put TRAIN first" in said
    )


def test_a_limit_on_the_size_of_files_is_one_line_and_nothing_is_lost(corpora, run, tmp_path):
    words = ["build-react", *corpora, *SMALL, "--until", "candidates", "--out", tmp_path / "out"]
    call = [sys.executable, "-m", "cgbench", *map(str, words)]
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # cut short, bytecode would stop later runs
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *call],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert limited.returncode == 2 and "ulimit -f" in limited.stderr
    assert (
        len([line for line in limited.stderr.splitlines() if not line.startswith("warning: ")]) == 1
    )
    run(*words)
    run(*words[:-1], tmp_path / "undisturbed")
    found = [
        sorted((tmp_path / f"{name}.work" / ".cgbench" / "candidates").glob("*/*"))
        for name in ("out", "undisturbed")
    ]
    contents = [
        {path.name: path.read_bytes() for path in paths if path.name != "step.json"}
        for paths in found
    ]
    assert contents[0] == contents[1] and contents[0]
