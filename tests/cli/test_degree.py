import json

import pytest

TRAIN = "what can we do about this ?\n" * 3 + "but we can not\n" * 3 + "you rarely see this\n"


@pytest.fixture
def train(tmp_path):
    (tmp_path / "train.en").write_text(TRAIN)
    return tmp_path / "train.en"


def test_pieces_length_degree_and_cover(train, run):
    result = run(
        "degree",
        "--train",
        train,
        "--cover",
        input="but what can we do about this ?\n\nyou can fly\n",
    )
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
    assert run(
        "degree", "--train", train, "-", "--min-count", "1", input="you rarely see\n"
    ).stdout.endswith("1\t3\t0.3333\n")


def test_a_byte_order_mark_is_left_out_and_said_once(train, run, tmp_path):
    (tmp_path / "bom.en").write_bytes(b"\xef\xbb\xbf" + train.read_bytes())
    words = "what can we do about this ?\n"
    clean = run("degree", "--train", train, input=words)
    assert clean.stderr == ""
    for given in ({"input": words}, {"input": "\ufeff" + words}):
        result = run("degree", "--train", tmp_path / "bom.en", **given)
        assert result.stdout == clean.stdout
        names = [f"{tmp_path}/bom.en"] + ["standard input"] * given["input"].startswith("\ufeff")
        lines = [
            f"warning: {name}: begins with a byte order mark, which is ignored" for name in names
        ]
        assert result.stderr.splitlines() == lines


def test_bad_input(train, run, tmp_path):
    assert (
        "missing: no such file"
        in run("degree", "--train", tmp_path / "missing", input="", status=2).stderr
    )
    assert "give --train, or --known-from instead" in run("degree", input="a b\n", status=2).stderr
    (tmp_path / "x.tsv").write_text("a\tb\n")
    assert (
        "which column? Write"
        in run("degree", "--train", tmp_path / "x.tsv", input="a\n", status=2).stderr
    )
    (tmp_path / "empty").write_text("")
    assert "empty" in run("degree", "--train", tmp_path / "empty", input="a\n", status=2).stderr
    result = run("degree", "--train", train, input=b"good\n\xff\n", status=2)
    assert "standard input, line 2: not UTF-8" in result.stderr


def test_a_line_that_no_sentence_is(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CGBENCH_MAX_LINE", "1K")
    (tmp_path / "train").write_text("a b c\n" * 3)
    (tmp_path / "long").write_text("a b\n" + "a b " * 500)
    said = run("degree", "--train", tmp_path / "train", tmp_path / "long", status=2).stderr
    assert f"{tmp_path / 'long'}, line 2: longer than 1,024 bytes" in said
