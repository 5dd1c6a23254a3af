import hashlib
import json

import pytest

TEXT = "a b c\na b\nc a b\na d\n"


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "train.en").write_text(TEXT)
    return tmp_path / "train.en"


def test_train_and_score(corpus, run, tmp_path):
    pytest.importorskip("kenlm")
    result = run("lm", "train", corpus, "--order", "3", "--out", tmp_path / "x.arpa")
    lines = result.stdout.splitlines()
    assert lines[0] == "10 words in 4 sentences" and lines[1].startswith("SHA-256 ")
    assert lines[3:5] == [
        "order  n-grams      D1      D2     D3+",
        "1            7  0.3333  1.5000  3.0000",
    ]
    assert lines[-2].startswith("lm:mkn|order:3|fallback:0.5,1.0,1.5|v:")
    assert (
        "warning: order 2: the discount for an adjusted count of 2 would be -0.3333"
        in result.stderr
    )

    scored = run("lm", "score", "--lm", tmp_path / "x.arpa", input="a b\nx c\n\n")
    rows = [line.split("\t") for line in scored.stdout.splitlines()]
    assert rows[0] == ["log10", "words", "oovs", "perplexity"]
    assert [row[1:3] for row in rows[1:]] == [["2", "0"], ["2", "1"], ["0", "0"]]
    assert "3 sentences, 7 tokens with </s>, 1 unknown; perplexity " in scored.stderr


def test_score_as_json_of_a_file_and_a_column(corpus, run, tmp_path):
    pytest.importorskip("kenlm")
    run("lm", "train", corpus, "--order", "2", "--out", tmp_path / "x.arpa")
    result = run("lm", "score", "--lm", tmp_path / "x.arpa", corpus, "--format", "json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["words"] for row in rows] == [3, 2, 3, 2]
    assert rows[0]["perplexity"] == pytest.approx(10 ** (-rows[0]["log10"] / 4))
    total = json.loads(result.stderr)
    assert total["log10"] == pytest.approx(sum(row["log10"] for row in rows))
    assert (total["sentences"], total["tokens"], total["oovs"]) == (4, 14, 0)
    (tmp_path / "t.tsv").write_text("id\ttext\n1\ta b c\n2\ta b\n")
    column = run(
        "lm", "score", "--lm", tmp_path / "x.arpa", f"{tmp_path / 't.tsv'}:text", "--format", "json"
    )
    assert [json.loads(line) for line in column.stdout.splitlines()] == rows[:2]


def test_what_the_model_was_made_of_as_json(corpus, run, tmp_path):
    words = ["lm", "train", "-", "--order", "2", "--out", tmp_path / "x.arpa", "--format", "json"]
    figures = json.loads(run(*words, input=TEXT).stdout)
    assert figures["ngrams"] == [7, 9]  # words: <unk> <s> </s> a b c d
    assert (figures["tokens"], figures["sentences"]) == (10, 4)
    assert figures["signature"].startswith("lm:mkn|order:2|fallback:0.5,1.0,1.5|v:")
    assert figures["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()


def test_bad_input(corpus, run, tmp_path):
    out = ["--out", tmp_path / "x.arpa"]
    for words, text, message in (
        ([tmp_path / "missing", *out], "", "missing: no such file"),
        ([corpus, "--out", tmp_path / "x.lm"], "", "must end in .arpa"),
        (["-", *out], "", "standard input: contains no words"),
        (["-", "--order", "2", *out], "a\nb <s>\n", "line 2: contains the special symbol <s>"),
    ):
        assert message in run("lm", "train", *words, input=text, status=2).stderr
    assert not (tmp_path / "x.arpa").exists()
    pytest.importorskip("kenlm")
    assert "not a language model" in run("lm", "score", "--lm", corpus, corpus, status=2).stderr
    run("lm", "train", corpus, "--order", "2", *out)
    assert (
        "there is no sentence in it"
        in run("lm", "score", "--lm", tmp_path / "x.arpa", input="", status=2).stderr
    )
