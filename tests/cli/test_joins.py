"""Rows are joined by what tables say of the examples, or by ``--id``; contradictions are
refused.
"""

import json
import random

import pytest
from text_files import write_table

N = 60
ROWS = [
    {
        "seg_id": f"s{row}",
        "source": f"src {row}",
        "reference": f"a line of {row} words",
        "kind": f"k{row % 3}",
    }
    for row in range(N)
]


def _answers(wrong):
    return [
        {
            "seg_id": row["seg_id"],
            "hypothesis": "no" if number % wrong == 0 else row["reference"],
            "score": float(number % wrong),
        }
        for number, row in enumerate(ROWS)
    ]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The same tables in ``right/`` in one order, in ``mixed/`` each in an order of its own, in
    several forms.
    """
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    for folder in ("right", "mixed"):
        (tmp_path / folder).mkdir()
        for name, rows in (
            ("ref.tsv", ROWS),
            ("meta.csv", ROWS),
            ("a.jsonl", _answers(5)),
            ("b.csv", _answers(7)),
            ("a2.tsv", _answers(4)),
            ("b2.jsonl", _answers(3)),
        ):
            rows = list(rows)
            if folder == "mixed":
                draw.shuffle(rows)
            write_table(tmp_path / folder / name, rows)
    return tmp_path


CALLS = {
    "score": (
        "score exact --ref {}/ref.tsv:reference --hyp a={}/a.jsonl --hyp b={}/b.csv:hypothesis"
        " --paired --by column:kind --table {}/meta.csv --format json"
    ),
    "several runs": (
        "score bleu --ref {}/ref.tsv:reference --hyp a={}/a.jsonl,{}/a2.tsv --hyp"
        " b={}/b.csv,{}/b2.jsonl --source {}/meta.csv:source --by length --side source --bins 1"
        " --format json"
    ),
    "a control set": (
        "score exact --ref {}/ref.tsv:reference --hyp a={}/a.jsonl --control-ref"
        " {}/meta.csv:reference --control-hyp a={}/a2.tsv --format json"
    ),
    "import": (
        "score import --scores a={}/a.jsonl --scores b={}/b.csv --by column:kind --table"
        " {}/meta.csv --paired --format json"
    ),
    "import of texts": (
        "score import --scores a={}/a.jsonl --scores b={}/b.csv --ref {}/ref.tsv:reference "
        "--source {}/meta.csv:source --hyp a={}/a2.tsv --by length --bins 1 --format json"
    ),
    "power of scores": (
        "power --scores a={}/a.jsonl --scores b={}/b.csv --difference 5 --format json"
    ),
    "power of hypotheses": (
        "power --hyp a={}/a.jsonl --hyp b={}/b.csv --ref {}/ref.tsv:reference --difference 5 "
        "--format json"
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_id_joins_everything(tables, run, call):
    words = call.replace("{}", "right").split()
    wanted = json.loads(run(*words).stdout)
    assert json.loads(run(*words, "--id", "seg_id").stdout) == wanted
    for options in (["--id", "seg_id"], []):
        found = json.loads(run(*call.replace("{}", "mixed").split(), *options).stdout)
        if call.startswith("power"):
            # Resamples are of rows in the order of the first file: the variance is another estimate
            # of the same.
            (ours,), (theirs,) = found["needs"], wanted["needs"]
            assert ours["examples"] == pytest.approx(theirs["examples"], rel=0.1)
        else:
            assert _values(found) == _values(wanted)
    if "exact" in words and "control" not in call:
        as_they_are = [*call.replace("{}", "mixed").split(), "--id", "none"]
        assert "in another order" in run(*as_they_are, status=2).stderr
        found = json.loads(run(*as_they_are, "--accept-text").stdout)
        assert _values(found) != _values(wanted)  # rows as they are


def _values(systems):
    systems = systems if isinstance(systems, list) else [systems]
    found = [[one["value"], one["values"], one.get("control", {}).get("drop")] for one in systems]
    for one in systems:
        found += sorted([part["label"], part["value"], part["n"]] for part in one["bins"])
    return found


def test_files_without_the_id_are_refused(tables, run):
    (tables / "plain").write_text("x\n" * N)
    words = ["score", "exact", "--ref", "right/ref.tsv:reference", "--id", "seg_id", "--hyp"]
    assert "names a column; plain is not a table" in run(*words, "a=plain", status=2).stderr
    write_table(tables / "other.jsonl", [{"seg_id": "q", "hypothesis": "x"}])
    assert (
        "no column 'seg-id'"
        in run(*words[:-2], "seg-id", "--hyp", "a=right/a.jsonl", status=2).stderr
    )
    error = run(*words, "a=other.jsonl", status=2).stderr
    assert (
        "right/ref.tsv:reference, row 1 (id 's0') has no row in other.jsonl (60 such rows)" in error
    )
    write_table(tables / "twice.jsonl", [*_answers(5)[:-1], _answers(5)[3]])
    assert (
        "twice.jsonl, row 60: the id 's3' is also in row 4"
        in run(*words, "a=twice.jsonl", status=2).stderr
    )


def test_a_table_may_have_more_rows_than_there_are_examples(tables, run):
    extra = [{**ROWS[0], "seg_id": "more", "kind": "k9"}, *reversed(ROWS)]
    write_table(tables / "meta.csv", extra)
    words = (
        "score exact --ref right/ref.tsv:reference --hyp a=right/a.jsonl --by column:kind --id"
        " seg_id --format json"
    )
    found, wanted = (
        json.loads(run(*words.split(), "--table", name).stdout)
        for name in ("meta.csv", "right/meta.csv")
    )
    assert _values(found) == _values(wanted)


def test_ids_that_have_nothing_in_common_are_refused(tables, run):
    """Ids of each system's own; a rank and a document's name tell no examples apart."""
    for name in "ab":
        made = [
            {
                "rank": number,
                "id": f"{name}-{number}",
                "doc_id": number // 2,
                "hypothesis": row["reference"],
            }
            for number, row in enumerate(ROWS)
        ]
        write_table(tables / f"{name}.jsonl", made)
    words = [
        "score",
        "exact",
        "--ref",
        "right/ref.tsv:reference",
        "--hyp",
        "a.jsonl",
        "--hyp",
        "b.jsonl",
    ]
    error = run(*words, status=2).stderr
    assert (
        "a.jsonl, row 1, has id 'a-0' where right/ref.tsv has seg_id 's0'" in error
        and "--id none" in error
    )
    assert run(*words, "--id", "none").stdout.count("100.0") == 2


def test_logs_are_joined_to_tables(tables, run):
    log = [
        {"doc_id": row, "doc_hash": f"h{row}", "filter": "none", "metrics": ["acc"], "acc": row % 2}
        for row in range(N)
    ]
    write_table(tables / "samples_t_1.jsonl", log)
    write_table(tables / "samples_t_2.jsonl", log[::-1])
    write_table(
        tables / "meta.tsv", [{"doc_id": row, "kind": f"k{row % 2}"} for row in reversed(range(N))]
    )
    words = (
        "score import --scores a=samples_t_1.jsonl --scores b=samples_t_2.jsonl --by column:kind"
        " --table meta.tsv"
    )
    for options in (["--id", "doc_id"], []):
        found = json.loads(run(*words.split(), *options, "--format", "json").stdout)
        assert [[part["value"] for part in one["bins"]] for one in found] == [
            [0.0, 100.0],
            [0.0, 100.0],
        ]


def test_rows_as_they_came_beside_plain_text_are_refused(tables, run):
    """The ids of outputs that were written as they came; the references have none."""
    (tables / "ref").write_text("".join(f"{row['reference']}\n" for row in ROWS))
    for first in (0, 1, 5):
        rows = [
            {"n": first + number, "hypothesis": row["reference"]} for number, row in enumerate(ROWS)
        ]
        write_table(tables / "sorted.jsonl", rows)
        write_table(tables / "turned.jsonl", rows[::-1])
        write_table(
            tables / "lost.jsonl", [*rows[:7], *rows[8:], {"n": first + N, "hypothesis": "x"}]
        )
        assert "100.0" in run("score", "exact", "--ref", "ref", "--hyp", "sorted.jsonl").stdout
        for name in ("turned", "lost"):
            error = run("score", "exact", "--ref", "ref", "--hyp", f"{name}.jsonl", status=2).stderr
            assert f"{name}.jsonl: its column 'n' has row numbers out of order (row " in error
            assert "but ref has no ids" in error


CHANGES = {
    "one lost, one twice": lambda rows: [*rows[:3], *rows[4:], rows[8]],
    "one lost, another at the end": lambda rows: [*rows[1:], {**rows[0], "seg_id": "s60"}],
    "one cut": lambda rows: rows[:-1],
    "one more": lambda rows: [*rows, {**rows[0], "seg_id": "s60"}],
    "another id in its place": lambda rows: [{**rows[0], "seg_id": "s60"}, *rows[1:]],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["seg_id", "sample_id", "key"])
def test_lost_and_repeated_rows_are_refused(tables, run, change, name):
    """A repeated id switched the check off."""
    rows = change(_answers(5))
    write_table(
        tables / "other.jsonl",
        [{name if key == "seg_id" else key: row[key] for key in row} for row in rows],
    )
    words = ["score", "exact", "--ref", "right/ref.tsv:reference", "--hyp", "other.jsonl"]
    (error,) = run(*words, status=2).stderr.splitlines()
    assert ", row " in error and "other.jsonl" in error and (name in error or "has no row" in error)


SPELLINGS = {
    "case": str.upper,
    "blanks": " {} ".format,
    "zeros": lambda key: f"S00{key[1:]}",
    "name": str,
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_ids_as_other_programs_write_them(tables, run, values, spell):
    rows = [
        {"sample_id": spell(row["seg_id"]), **{"hypothesis": row["hypothesis"]}}
        for row in _answers(5)
    ]
    write_table(tables / "other.jsonl", rows[::-1])
    assert values("score", "exact", "--ref", "right/ref.tsv:reference", "--hyp", "other.jsonl") == [
        80.0
    ]


def test_sources_identify_examples(tables, run, values):
    """Also against a source that is given as plain text, tokenised and in lower case; one occurs
    twice.
    """
    sources = [f"Sentence {row}, please." for row in range(N)]
    (tables / "source").write_text("".join(f"sentence {row} , please .\n" for row in range(N)))
    (tables / "ref").write_text("".join(f"{row['reference']}\n" for row in ROWS))
    rows = [
        {"src": source, "hypothesis": row["hypothesis"]}
        for source, row in zip(sources, _answers(5), strict=True)
    ]
    write_table(tables / "other.jsonl", rows[::-1])
    words = ["score", "exact", "--ref", "ref", "--hyp", "other.jsonl"]
    assert values(*words, "--source", "source") == [80.0]
    write_table(tables / "other.jsonl", [{**rows[3], "src": sources[4]}, *rows[:3], *rows[4:]])
    assert "other.jsonl, row 1, has source" in run(*words, "--source", "source", status=2).stderr
