import json

import pytest

TRAIN = "what can we do about this ?\n" * 3 + "but we can not\n" * 3 + "you rarely see this\n"


@pytest.fixture
def train(tmp_path):
    (tmp_path / "train.en").write_text(TRAIN)
    return tmp_path / "train.en"


def test_pieces_length_degree_and_cover(train, run):
    result = run("degree", "--train", train, "--cover", input="but what can we do about this ?\n\nyou can fly\n")
    assert result.stdout.splitlines() == [
        "pieces\tlength\tdegree\tcover",
        "2\t8\t0.2500\tbut | what can we do about this ?",
        "0\t0\t0.0000\t",
        "3\t3\t1.0000\tyou | can | fly",
    ]


def test_json_and_a_text_file(train, run, tmp_path):
    (tmp_path / "x.en").write_text("we can not do this\n")
    row = json.loads(run("degree", "--train", train, tmp_path / "x.en", "--format", "json").stdout)
    assert row == {"pieces": 3, "length": 5, "degree": 0.6}
    assert run("degree", "--train", train, "-", "--min-count", "1", input="you rarely see\n").stdout.endswith(
        "1\t3\t0.3333\n"
    )


def test_a_phrase_list_needs_the_dynamic_programme(train, run, tmp_path):
    # greedy would take "can we do" and be left with three single words; the least cover has two pieces
    (tmp_path / "phrases").write_text("can we do\nwe do about this\n")
    result = run(
        "degree", "--train", train, "--ngrams", tmp_path / "phrases", "--cover", input="can we do about this\n"
    )
    assert result.stdout.splitlines()[1] == "2\t5\t0.4000\tcan | we do about this"


def test_normalised_alike(train, run):
    result = run("degree", "--train", train, "--lowercase", "--tokenize", "moses", input="What can we do about THIS?\n")
    assert result.stdout.splitlines()[1].startswith("1\t7\t")


def test_bad_input(train, run, tmp_path):
    assert "missing: no such file" in run("degree", "--train", tmp_path / "missing", input="", status=2).stderr
    (tmp_path / "phrases").write_text("\n")
    words = ["degree", "--train", train, "--ngrams", tmp_path / "phrases"]
    assert "there is no phrase in it" in run(*words, input="a\n", status=2).stderr
    (tmp_path / "x.tsv").write_text("a\tb\n")
    assert "plain text of one language" in run("degree", "--train", tmp_path / "x.tsv", input="a\n", status=2).stderr
    (tmp_path / "empty").write_text("")
    assert "empty" in run("degree", "--train", tmp_path / "empty", input="a\n", status=2).stderr
    result = run("degree", "--train", train, input=b"good\n\xff\n", status=2)
    assert "standard input, line 2: not UTF-8" in result.stderr
