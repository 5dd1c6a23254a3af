"""CSV and JSON are read wherever TSV and JSON lines are."""

import json

import pytest

LINES = [
    f"the {colour} {thing} , he said"
    for colour in ("red", "old")
    for thing in ("cat", "dog", "house")
]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A text and a column of numbers, as plain files and in a table of each form."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"source": line, "target": line.upper(), "n": row, "score": row % 2}
        for row, line in enumerate(LINES)
    ]
    head = list(rows[0])
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "u.txt").write_text("".join(f"{line.upper()}\n" for line in LINES))
    cells = [head, *([str(row[name]) for name in head] for row in rows)]
    (tmp_path / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in cells))
    (tmp_path / "t.csv").write_text(
        "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in cells)
    )
    (tmp_path / "t.json").write_text(json.dumps(rows))
    (tmp_path / "lines.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


FORMS = ["t.csv", "t.json", "lines.json"]


@pytest.mark.parametrize("name", FORMS)
def test_stats_reads_columns_not_rows(tables, run, name):
    """Rows of CSV were sentences: "0,the red cat" had words of its own."""
    wanted = _stats(run, "t.txt", "t.txt")
    assert _stats(run, f"{name}:source", f"{name}:source") == wanted
    assert _stats(run, name, name) == wanted
    assert (
        "no column 'sorce'"
        in run("stats", "--train", "t.txt", "--test", f"{name}:sorce", status=2).stderr
    )


def _stats(run, train, test):
    found = json.loads(
        run("stats", "--train", train, "--test", f"x={test}", "--format", "json").stdout
    )
    return {
        key: value
        for key, value in found.items()
        if "signature" not in key and key not in ("side", "train")
    }


@pytest.mark.parametrize("name", FORMS)
def test_scores_references_and_tables(tables, run, values, name):
    words = ["--by", "column:n", "--bins", "2", "--format", "json"]
    wanted = run("score", "exact", "--hyp", "a=t.txt", "--ref", "t.txt", "--table", "t.tsv", *words)
    found = run(
        "score",
        "exact",
        "--hyp",
        f"a={name}:source",
        "--ref",
        f"{name}:source",
        "--table",
        name,
        *words,
    )
    assert json.loads(found.stdout) == json.loads(wanted.stdout)
    wanted = run("score", "import", "--scores", "a=t.tsv", *words)
    found = run("score", "import", "--scores", f"a={name}", *words)
    assert json.loads(found.stdout) == json.loads(wanted.stdout)
    assert values("score", "import", "--scores", f"a={name}:n") == [2.5]


def test_a_csv_file_without_a_header_is_refused_as_a_corpus(tables, run):
    (tables / "bare.csv").write_text("a cat,eine Katze\na dog,ein Hund\n")
    error = run(
        "lexicon", "learn", "--method", "simple", "--out", "a.json", "bare.csv", status=2
    ).stderr
    assert "'a cat' and 'eine Katze' do not look like a header" in error
    assert "--columns" in error


def test_json_of_one_long_line_is_no_table(tables, values, monkeypatch):
    """A log or a list may be longer than a line of text, for it is read whole."""
    (tables / "long.json").write_text(
        json.dumps([{"score": row % 2, "text": "a" * 50} for row in range(40)])
    )
    monkeypatch.setenv("CGBENCH_MAX_LINE", "1000")
    assert values("score", "import", "--scores", "a=long.json") == [50]
