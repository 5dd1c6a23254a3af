import json
import os

import pytest

SETS = [
    *("iwslt14-de-en", "wmt14-de-en", "react", "cognition", "cogs", "scan", "pcfg-set", "cfq"),
    *(
        "smcalflow-cs",
        "mathematics",
        "colors",
        "tatoeba-en-zh",
        "multi30k",
        "ud-english-ewt",
        "demo",
    ),
]


def test_list_shows_every_set_with_size_and_licence(run):
    lines = run("data", "list").stdout.splitlines()
    assert lines[0].split() == ["name", "contents", "size", "download", "licence"]
    assert [line.split()[0] for line in lines[1:] if line[:1] != " "] == SETS
    assert max(map(len, lines)) <= 80
    rows = json.loads(run("data", "list", "--format", "json").stdout)
    assert [row["name"] for row in rows] == SETS and all(
        row["licence"] and row["size"] for row in rows
    )


@pytest.mark.parametrize("name", SETS)
def test_describe(run, name):
    text = run("data", "describe", name).stdout
    assert text.startswith(f"{name}: ") and "licence" in text and "cite" in text
    described = json.loads(run("data", "describe", name, "--format", "json").stdout)
    assert described["name"] == name and described["splits"]


def test_describe_counts_splits_by_folder(run):
    lines = [line.split("  ") for line in run("data", "describe", "scan").stdout.splitlines()]
    rows = {line[0]: line[-1].strip() for line in lines if len(line) > 1}
    assert rows["length-26"] == "train 16,458, valid 1,828, test 2,624"
    assert rows["simple_p1"] == "train ?, test ?" and rows["all"] == "20,910"


def test_get_colors(run, tmp_path):
    result = run("data", "get", "colors", "--out", tmp_path / "colors", "--offline")
    assert (
        f"written to {tmp_path / 'colors'}" in result.stdout
        and "2 of 2 splits are generated\n" in result.stdout
    )
    assert (tmp_path / "colors" / "test.src").read_text().splitlines()[0] == "zup fep"
    words = ["data", "get", "colors", "--out", tmp_path / "colors", "--offline", "--format", "json"]
    again = json.loads(run(*words).stdout)
    assert again["splits"]["train"]["rows"] == 14 and again["made"] is True


def test_get_writes_into_data_by_default(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("data", "get", "colors")
    assert sorted(os.listdir("data/colors")) == [
        "recipe.json",
        "test.src",
        "test.tgt",
        "train.src",
        "train.tgt",
    ]


def test_get_scan_without_a_network_generates_what_the_grammar_defines(run, tmp_path):
    result = run("data", "get", "scan", "--out", tmp_path / "scan", "--offline")
    assert "warning: 195 of 251 splits are missing: simple/train, simple/test" in result.stderr
    assert f"put it at {tmp_path / 'downloads' / 'scan' / 'SCAN.zip'}" in result.stderr
    record = json.loads((tmp_path / "scan" / "recipe.json").read_text())
    assert len((tmp_path / "scan" / "length-26" / "test.src").read_text().splitlines()) == 2_624
    assert "mcd1/train" in record["missing"] and any(
        "order of the grammar" in note for note in record["notes"]
    )


def test_files_beside_the_splits_are_listed_and_those_that_are_not_at_hand_named(run, tmp_path):
    words = ["data", "get", "colors", "--out", tmp_path / "colors", "--offline"]
    lacking = run(*words)
    assert (
        "5 additional files are missing: lexicons/forward.align.o.json, lexicons/goodman.json"
        in lacking.stderr
    )
    assert "also written" not in lacking.stdout
    record = json.loads(run(*words, "--format", "json").stdout)
    assert len(record["missing_files"]) == 5 and record["missing"] == []


def test_describe_names_the_hashes_of_sources(run):
    lines = run("data", "describe", "cognition").stdout.splitlines()
    for name, known in (
        ("train.zh", "git:c7151eba311014cd4f1936afb364df41a02ab5e8"),
        ("valid.zh", "sha256:db33515c67a0a9"),
    ):
        line = next(
            number for number, line in enumerate(lines) if line.strip() == f"cognition/{name}"
        )
        assert lines[line + 2].startswith(f"    {known}")
    assert "no known hash" in run("data", "describe", "cfq").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["get", "cfq", "--offline"],
            "error: cfq: nothing can be prepared; download https://storage.googleapis.com/",
        ),
        (["get", "scam"], "error: no recipe is called scam; did you mean scan?"),
        (["describe", "scam"], "error: no recipe is called scam"),
        (["get", "scan", "--mirror", "nowhere"], "error: --mirror nowhere: no such folder"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    result = run("data", *words, status=2)
    assert message in result.stderr and result.stderr.count("error:") == 1
    assert not (tmp_path / "data" / "cfq").exists()


def test_a_full_disk_is_one_line(run, tmp_path, monkeypatch):
    from cgbench import locks

    def full(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(locks, "sync", full)
    result = run("data", "get", "colors", "--out", tmp_path / "colors", "--offline", status=2)
    assert "the disk is full; free some space" in result.stderr
    assert os.listdir(tmp_path) == []
