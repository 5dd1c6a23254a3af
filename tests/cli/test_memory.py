"""A translation memory as a system: ``cgbench translate --system memory:CORPUS``."""

import json
from pathlib import Path

import pytest
from invented_pairs import invented_pairs, shifted, write_pairs


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "train.de").write_text(
        "der hund schläft\ndie katze schläft\nein hund bellt\n", encoding="utf-8"
    )
    (tmp_path / "train.en").write_text(
        "the dog sleeps\nthe cat sleeps\na dog barks\n", encoding="utf-8"
    )
    (tmp_path / "train.tsv").write_text(
        "der hund schläft\tthe dog sleeps\ndie katze schläft\tthe cat sleeps\n"
    )
    (tmp_path / "test.de").write_text("ein hund schläft\ndie katze bellt\nneu\n", encoding="utf-8")
    return tmp_path


def test_two_files(run, corpus):
    system = f"memory:{corpus / 'train.de'},{corpus / 'train.en'}"
    run("translate", corpus / "test.de", "--system", system, "-o", corpus / "out")
    assert (corpus / "out").read_text() == "a dog barks\nthe cat sleeps\n\n"
    record = json.loads((corpus / "out.system.json").read_text())
    assert record["system"]["kind"] == "memory" and record["lines"] == 3
    run(
        "translate", corpus / "test.de", "--system", system, "-o", corpus / "out"
    )  # again: the same
    (corpus / "train.en").write_text("the dog sleeps\nthe cat sleeps\na dog barked\n")
    refused = run(
        "translate", corpus / "test.de", "--system", system, "-o", corpus / "out", status=2
    )
    assert "another corpus" in refused.stderr


def test_sources_with_line_ends_of_windows_are_the_same_text_when_they_are_scored(run, corpus):
    (corpus / "test.de").write_bytes(b"der hund\r\ndie katze\r\n")
    (corpus / "test.en").write_text("the dog\nthe cat\n")
    system = f"memory:{corpus / 'train.de'},{corpus / 'train.en'}"
    run("translate", corpus / "test.de", "--system", system, "-o", corpus / "out")
    run(
        "score",
        "chrf",
        "--hyp",
        corpus / "out",
        "--ref",
        corpus / "test.en",
        "--source",
        corpus / "test.de",
    )


def test_pairs_that_are_no_pairs_stop_it(run, tmp_path):
    files = write_pairs(tmp_path, "shifted", shifted(invented_pairs(600), 300, 1))
    system = f"memory:{','.join(files)}"
    words = ("translate", files[0], "--system", system, "-o", tmp_path / "out")
    fault = "the source is 1 line ahead of the target, from line 301"
    refused = " ".join(run(*words, status=2).stderr.split())
    assert fault in refused and "use --set accept_text=true to accept" in refused
    assert not (tmp_path / "out").exists()
    accepted = run(*words, "--set", "accept_text=true")
    assert fault in " ".join(accepted.stderr.split())
    assert (tmp_path / "out").read_text() == Path(files[1]).read_text()


def test_table_and_json(run, corpus):
    words = ("--system", f"memory:{corpus / 'train.tsv'}", "--format", "json", "-o", corpus / "out")
    run("translate", corpus / "test.de", *words)
    rows = [json.loads(line) for line in (corpus / "out").read_text().splitlines()]
    assert rows[0] == {"hypothesis": "the dog sleeps", "similarity": pytest.approx(2 / 3), "row": 1}
    assert rows[2] == {"hypothesis": "", "similarity": 0.0, "row": None}


@pytest.mark.parametrize(
    ("system", "words", "message"),
    [
        ("memory:", (), "names no corpus"),
        ("memory:none.tsv", (), "none.tsv: no such file"),
        ("memory:train.de", (), "for plain text name two files"),
        ("memory:train.de,test.de,train.en", (), "not 3"),
        ("memory:train.tsv", ("--beam", "3"), "--beam does not work with a memory"),
        ("memory:train.tsv", ("--prompt", "{source}"), "--prompt does not work with a memory"),
        (
            "memory:train.tsv",
            ("--nbest", "2", "--format", "json"),
            "--nbest does not work with a memory",
        ),
    ],
)
def test_refused(run, corpus, monkeypatch, system, words, message):
    monkeypatch.chdir(corpus)
    refused = run("translate", "test.de", "--system", system, *words, "-o", "out", status=2)
    assert message in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert not (corpus / "out").exists()
