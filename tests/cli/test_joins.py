"""Rows are joined by ``--id``; without it, tables that have the same ids in another order are refused."""

import json
import random

import pytest

N = 60
ROWS = [
    {"seg_id": f"s{row}", "source": f"src {row}", "reference": f"a line of {row} words", "kind": f"k{row % 3}"}
    for row in range(N)
]


def _answers(wrong):
    return [
        {"seg_id": row["seg_id"], "hypothesis": "no" if number % wrong == 0 else row["reference"],
         "score": float(number % wrong)}
        for number, row in enumerate(ROWS)
    ]  # fmt: skip


def _write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    sign = "," if path.suffix == ".csv" else "\t"
    cells = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    path.write_text("".join(sign.join(row) + "\n" for row in cells))


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The same tables in ``right/`` in one order, in ``mixed/`` each in an order of its own, in several forms."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    for folder in ("right", "mixed"):
        (tmp_path / folder).mkdir()
        for name, rows in (
            ("ref.tsv", ROWS), ("meta.csv", ROWS), ("a.jsonl", _answers(5)), ("b.csv", _answers(7)),
            ("a2.tsv", _answers(4)), ("b2.jsonl", _answers(3)),
        ):  # fmt: skip
            rows = list(rows)
            if folder == "mixed":
                draw.shuffle(rows)
            _write(tmp_path / folder / name, rows)
    return tmp_path


CALLS = {
    "score": "score exact --ref {}/ref.tsv:reference --hyp a={}/a.jsonl --hyp b={}/b.csv:hypothesis --paired "
    "--by column:kind --table {}/meta.csv --format json",
    "several runs": "score bleu --ref {}/ref.tsv:reference --hyp a={}/a.jsonl,{}/a2.tsv --hyp b={}/b.csv,{}/b2.jsonl "
    "--source {}/meta.csv:source --by length --side source --bins 1 --format json",
    "a control set": "score exact --ref {}/ref.tsv:reference --hyp a={}/a.jsonl --control-ref {}/meta.csv:reference "
    "--control-hyp a={}/a2.tsv --format json",
    "import": "score import --scores a={}/a.jsonl --scores b={}/b.csv --by column:kind --table {}/meta.csv --paired "
    "--format json",
    "import of texts": "score import --scores a={}/a.jsonl --scores b={}/b.csv --ref {}/ref.tsv:reference "
    "--source {}/meta.csv:source --hyp a={}/a2.tsv --by length --bins 1 --format json",
    "power of scores": "power --scores a={}/a.jsonl --scores b={}/b.csv --difference 5 --format json",
    "power of hypotheses": "power --hyp a={}/a.jsonl --hyp b={}/b.csv --ref {}/ref.tsv:reference --difference 5 "
    "--format json",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_id_joins_everything(tables, run, call):
    words = call.replace("{}", "right").split()
    wanted = json.loads(run(*words).stdout)
    assert json.loads(run(*words, "--id", "seg_id").stdout) == wanted
    found = json.loads(run(*call.replace("{}", "mixed").split(), "--id", "seg_id").stdout)
    if call.startswith("power"):
        # Resamples are of rows in the order of the first file: the variance is another estimate of the same.
        (ours,), (theirs,) = found["needs"], wanted["needs"]
        assert ours["examples"] == pytest.approx(theirs["examples"], rel=0.1)
    else:
        assert _values(found) == _values(wanted)


def _values(systems):
    systems = systems if isinstance(systems, list) else [systems]
    found = [[one["value"], one["values"], one.get("control", {}).get("drop")] for one in systems]
    for one in systems:
        found += sorted([part["label"], part["value"], part["n"]] for part in one["bins"])
    return found


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_same_ids_in_another_order_are_refused(tables, run, call):
    error = run(*call.replace("{}", "mixed").split(), status=2).stderr
    assert error.count("\n") == 1
    assert "has the values of mixed/" in error
    assert "join them with --id seg_id" in error


def test_a_table_of_scores_that_is_turned_is_refused(tables, run):
    """The table was joined by row: bins had the scores of other examples."""
    words = ["score", "import", "--scores", "a=right/a.jsonl", "--by", "column:kind", "--table", "mixed/meta.csv"]
    assert "mixed/meta.csv: its column 'seg_id'" in run(*words, status=2).stderr


def test_files_without_the_id_are_refused(tables, run):
    (tables / "plain").write_text("x\n" * N)
    words = ["score", "exact", "--ref", "right/ref.tsv:reference", "--id", "seg_id", "--hyp"]
    assert "names a column; plain is not a table" in run(*words, "a=plain", status=2).stderr
    _write(tables / "other.jsonl", [{"seg_id": "q", "hypothesis": "x"}])
    assert "no column 'seg-id'" in run(*words[:-2], "seg-id", "--hyp", "a=right/a.jsonl", status=2).stderr
    error = run(*words, "a=other.jsonl", status=2).stderr
    assert "right/ref.tsv:reference, row 1 (id s0) has no row in other.jsonl (60 such rows)" in error
    _write(tables / "twice.jsonl", [*_answers(5)[:-1], _answers(5)[3]])
    assert "twice.jsonl, row 60: the id 's3' is also in row 4" in run(*words, "a=twice.jsonl", status=2).stderr


def test_a_table_may_have_more_rows_than_there_are_examples(tables, run):
    extra = [{**ROWS[0], "seg_id": "more", "kind": "k9"}, *reversed(ROWS)]
    _write(tables / "meta.csv", extra)
    words = "score exact --ref right/ref.tsv:reference --hyp a=right/a.jsonl --by column:kind --id seg_id --format json"
    found, wanted = (json.loads(run(*words.split(), "--table", name).stdout) for name in ("meta.csv", "right/meta.csv"))
    assert _values(found) == _values(wanted)


def test_columns_that_tell_no_examples_apart_are_no_ids(tables, run):
    """A rank in both tables, ids of each system's own, ids that repeat: nothing is refused."""
    for name, rows in (("a", ROWS), ("b", ROWS[::-1])):
        made = [
            {"rank": number, "id": f"{name}-{number}", "doc_id": number // 2, "hypothesis": one["reference"]}
            for number, one in zip([ROWS.index(row) for row in rows], ROWS, strict=True)
        ]
        _write(tables / f"{name}.jsonl", made)
    result = run("score", "exact", "--ref", "right/ref.tsv:reference", "--hyp", "a.jsonl", "--hyp", "b.jsonl")
    assert result.stdout.count("100.0") == 2


def test_logs_are_joined_to_tables_by_the_column_that_is_named(tables, run):
    log = [
        {"doc_id": row, "doc_hash": f"h{row}", "filter": "none", "metrics": ["acc"], "acc": row % 2} for row in range(N)
    ]
    _write(tables / "samples_t_1.jsonl", log)
    _write(tables / "samples_t_2.jsonl", log[::-1])
    _write(tables / "meta.tsv", [{"doc_id": row, "kind": f"k{row % 2}"} for row in reversed(range(N))])
    words = "score import --scores a=samples_t_1.jsonl --scores b=samples_t_2.jsonl --by column:kind --table meta.tsv"
    error = run(*words.split(), status=2).stderr
    assert "meta.tsv: its column 'doc_id'" in error
    found = json.loads(run(*words.split(), "--id", "doc_id", "--format", "json").stdout)
    assert [[part["value"] for part in one["bins"]] for one in found] == [[0.0, 100.0], [0.0, 100.0]]


def test_rows_as_they_came_beside_plain_text_are_warned_of(tables, run):
    """The ids of outputs that were written as they came; the references have none."""
    (tables / "ref").write_text("".join(f"{row['reference']}\n" for row in ROWS))
    for name, step, warned in (("sorted", 1, False), ("turned", -1, True)):
        for first in (0, 1):
            rows = [{"id": first + number, "hypothesis": row["reference"]} for number, row in enumerate(ROWS)]
            _write(tables / f"{name}.jsonl", rows[::step])
            error = run("score", "exact", "--ref", "ref", "--hyp", f"{name}.jsonl").stderr
            assert ("its column 'id' has row numbers out of order; ref has no ids" in error) == warned
