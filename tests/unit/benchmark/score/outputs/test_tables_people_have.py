"""Tables as people have them are read right whatever their suffix and form, or refused with the
fix.
"""

import csv
import io
import json

import pytest

from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.benchmark.score.outputs.score_readers import read_score_columns
from cgbench.errors import InputError, InputWarning
from cgbench.text.columns import read_column
from cgbench.text.rows import Table

RATINGS = [
    {"system": system, "seg_id": row, "rater": "r", "score": score}
    for system, scores in (("A", (2, 3, 4)), ("B", (4, 5, 6)))
    for row, score in enumerate(scores, 1)
]


def as_table(rows, kind):
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    if kind == "json":
        return json.dumps(rows)
    separator = {"tsv": "\t", "csv": ",", "excel.csv": ";"}[kind]
    lines = [rows[0].keys(), *(row.values() for row in rows)]
    text = "".join(separator.join(map(str, line)) + "\n" for line in lines)
    return f"sep=;\n{text}" if kind == "excel.csv" else text


def means(path, **options):
    evaluation = import_scores(path, **options)
    return {
        system.name: next(iter(result.whole.figures.values())).value
        for system, result in zip(evaluation.systems, evaluation.results, strict=True)
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["tsv", "csv", "excel.csv", "jsonl", "json"])
def test_a_table_of_two_systems_has_two_systems_in_any_suffix(tmp_path, kind):
    path = tmp_path / f"ratings.{kind}"
    path.write_text(as_table(RATINGS, kind))
    assert means(path) == {"A": 3.0, "B": 5.0}
    renamed = [{f"my {name}": value for name, value in row.items()} for row in RATINGS]
    path.write_text(as_table(renamed, kind))
    columns = {"system": "my system", "segment": "my seg_id", "score": "my score"}
    assert means(path, columns_of=columns) == {"A": 3.0, "B": 5.0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mark", ["", "nan", "NA", "N/A", "#N/A", "null", "None", "-"])
@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_missing_scores_are_missing_in_tables_of_ratings(tmp_path, mark, kind):
    rows = [*RATINGS[:2], RATINGS[2] | {"score": mark}, *RATINGS[3:]]
    path = tmp_path / f"ratings.{kind}"
    path.write_text(as_table(rows, kind))
    with pytest.raises(InputError, match="1 of 3 scores are missing"):
        import_scores(path)
    assert means(path, drop_missing=True) == {"A": 2.5, "B": 4.5}


QUOTED = ['He said "yes", twice', "plain, with a comma", 'a "b" c']


def excel(dialect="excel-tab"):
    buffer = io.StringIO()
    csv.writer(buffer, dialect=dialect, lineterminator="\n").writerows(
        [["id", "text"], *enumerate(QUOTED, 1)]
    )
    return buffer.getvalue()


def test_quoted_cells_of_tsv_are_those_that_excel_and_pandas_write(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(excel())
    assert '""yes""' in path.read_text()
    assert read_column(f"{path}:text").values == QUOTED
    # A quotation is text: nothing in the file shows that its cells are quoted.
    for text in ('1\t"Yes"\n2\tno\n', '1\t"Yes" he said\n2\t"a ""b"" c"\n'):
        path.write_text(f"id\ttext\n{text}")
        assert read_column(f"{path}:text").values[0] == text.split("\n")[0][2:]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blanks.csv", "SYS SID RAW.SCR \nA 1 2\nA 2 4\n"),
        ("blanks.tsv", "SYS SID RAW.SCR\nA 1 2\nA 2 4\n"),
        ("mixed.tsv", "SYS\tSID  RAW.SCR\nA 1\t2\nA\t2\t4\n"),
        ("sep.csv", "sep=;\nSYS;SID;RAW.SCR\nA;1;2\nA;2;4\n"),
        ("tabs.csv", "SYS\tSID\tRAW.SCR\nA\t1\t2\nA\t2\t4\n"),
        ("commas.csv", "SYS,SID,RAW.SCR\nA,1,2,,\nA,2,4,,\n"),
    ],
)
def test_columns_are_separated_in_many_ways(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    rows = [row for _, row in Table(path, named=True).read(["SYS", "RAW.SCR"])]
    assert rows == [("A", "2"), ("A", "4")]
    assert means(path) == {"A": 3.0}


def test_one_column_of_sentences_is_not_several(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a b\nc d\ne f\n" * 3)
    assert Table(path, named=False).names == []
    path.write_text("text\nHello there\nGood day\n")
    assert read_column(path).values == ["Hello there", "Good day"]


REFUSED = {
    "two scores": ("score\tCOMET\n1\t2\n", "which column has the scores. Write .*:score or .*:C"),
    "another metric": ("id\tbleu\tcomet\n1\t2\t3\n", "Write .*:comet or .*:bleu"),
    "a further score": ("score\tcomet_score\n1\t2\n", "Write .*:score or .*:comet_score"),
    "a list": ('id\tscore\na\t[1, 2]\n', "is not a score; give a number"),
    "twice": ("score\tscore\n1\t2\n", "2 columns are named 'score'"),
    "swapped": ("id\tscore\n0.5\t1\n0.7\t2\n0.1\t3\n", "'score' counts the rows; is 'id' the"),
    "mean": ("id\tscore\na\t1\nb\t2\nc\t4.5\nmean\t2.5\n", "row 5: the mean of the rows before"),
    "percent": ("score\n50%\n0.6\n", "write it without the sign, 50"),
    "decimal comma": ("score\n0,5\n0.6\n", "write it with a decimal point, 0.5"),
    "unknown names": ("system\tx\ty\nA\tb\t1\nA\tc\t2\n", "such as .*:y; it has system, x, y"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_fix(tmp_path, case):
    text, message = REFUSED[case]
    path = tmp_path / "a.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        import_scores(path)


def test_the_score_of_sacrebleu_is_not_that_of_a_segment(tmp_path):
    path = tmp_path / "a.json"
    scores = [{"name": name, "score": 40.0, "signature": "nrefs:1"} for name in ("BLEU", "TER")]
    path.write_text(json.dumps(scores))
    with pytest.raises(InputError, match="scores of whole texts by sacrebleu, not of segments"):
        import_scores(path)


def test_attention_checks_of_appraise_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "username,system,itemId,itemType,srcLang,trgLang,score\n"
        "u,A,1,TGT,en,de,40\nu,A,1,BAD,en,de,0\nu,A,2,TGT,en,de,60\nu,A,2,CHK,en,de,59\n"
    )
    with pytest.warns(UserWarning, match=r"2 rows of attention checks \(itemType\) left out"):
        columns = read_score_columns({"": path})
    assert columns["A"][0].values == ["40.0", "60.0"]


def test_a_campaign_of_pearmut_line_by_line(tmp_path):
    entries = [
        {
            "annotation": [{"A": {"score": score}, "B": {"score": 1}}],
            "user_id": "eva",
            "item_i": page,
            "item": [{"item_id": str(page), "src": "x", "tgt": {}}],
        }
        for page, score in enumerate((10, 30))
    ]
    path = tmp_path / "campaign.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    columns = read_score_columns({"": path})
    assert columns["A"][0].values == ["10.0", "30.0"]


def test_one_unscored_sample_of_inspect_is_missing(tmp_path):
    samples = [
        {"id": row, "epoch": 1, "input": "x", "scores": {"match": {"value": "C"}}}
        for row in range(4)
    ]
    samples[2] = {"id": 2, "epoch": 1, "input": "x", "scores": None, "error": {"message": "time"}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": {"task": "t"}, "samples": samples}))
    with pytest.raises(InputError, match="1 of 4 scores are missing or infinite: row 3"):
        import_scores({"A": path})
    assert import_scores({"A": path}, drop_missing=True).score == 100.0


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["0,25", "0,5", "NA", "1"], [0.25, 0.5, 1]),
        (["-0,123", "0,456"], [-0.123, 0.456]),
        (["50%", "12.5 %", "", "0%"], [50, 12.5, 0]),
        (["50,5%", "7%"], [50.5, 7]),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "tsv", "ratings"])
def test_a_column_of_decimal_commas_or_percents_is_read(tmp_path, cells, values, kind):
    path = tmp_path / {"plain": "scores", "tsv": "scores.tsv", "ratings": "ratings.csv"}[kind]
    if kind == "plain":
        path.write_text("".join(f"{cell}\n" for cell in cells))
    elif kind == "tsv":
        path.write_text("id\tscore\n" + "".join(f"x{n}\t{cell}\n" for n, cell in enumerate(cells)))
    else:
        rows = "".join(f"A;{row};{cell}\n" for row, cell in enumerate(cells))
        path.write_text(f"system;seg_id;score\n{rows}")
    (mean,) = means(path, metric={"drop_missing": True}).values()
    assert mean == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize(
    "cells",
    [["1,234", "2,345"], ["0,5", "0.5"], ["50%", "0.5"], ["1.000,5", "2.000,5"], ["50 %%", "1%"]],
)
def test_what_may_mean_something_else_is_refused(tmp_path, cells):
    path = tmp_path / "scores"
    path.write_text("".join(f"{cell}\n" for cell in cells))
    with pytest.raises(InputError, match="is not a score"):
        import_scores({"a": path})


def test_appraise_has_no_names_of_columns(tmp_path):
    path = tmp_path / "appraise.csv"
    rows = [
        f"engdeu01,{system},{item},{kind},eng,deu,{score},doc{item // 2},{whole},1.5,2.5\n"
        for system, base in (("A", 10), ("B", 20))
        for item in range(4)
        for kind, score, whole in (
            ("TGT", base + item, "False"),
            ("BAD", 99, "False"),
            ("TGT", 98, "True"),
        )
        if item % 2 or whole == "False"
    ]
    path.write_text("".join(rows))
    with (
        pytest.warns(InputWarning, match="8 rows of attention checks"),
        pytest.warns(InputWarning, match="4 scores of whole documents .isDocument. left out"),
    ):
        evaluation = import_scores(path, by="column:document")
    values = [next(iter(result.whole.figures.values())).value for result in evaluation.results]
    assert values == [11.5, 21.5] and [system.name for system in evaluation.systems] == ["A", "B"]
    assert [bin.label for bin, _ in evaluation.results[0].bins] == ["doc0", "doc1"]


def inspect_log(path, samples):
    path.write_text(
        json.dumps(
            {"status": "success", "eval": {"task": "t", "task_version": 1}, "samples": samples}
        )
    )


def test_metadata_of_logs_are_columns(tmp_path):
    """Of Inspect, and of lm-eval in documents; long texts are none."""
    scored = {"match": {"value": "C"}}
    samples = [
        {
            "id": row,
            "epoch": 1,
            "input": f"q{row}",
            "metadata": {"level": "ab"[row % 2], "year": 2000 + row, "text": "long " * 50},
            "scores": scored,
        }
        for row in range(8)
    ]
    inspect_log(tmp_path / "log.json", samples)
    logs = {"log.json": {"by": "column:level"}}
    rows = [
        {
            "doc_id": row,
            "doc": {"level": "ab"[row % 2], "question": "q " * 60},
            "doc_hash": f"h{row}",
        }
        | {"filter": name, "metrics": ["acc"], "acc": 1.0, "filtered_resps": ["x"]}
        for row in range(8)
        for name in ("strict", "loose")
    ]
    (tmp_path / "samples_t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    logs["samples_t.jsonl:acc@strict"] = {"by": "column:level"}
    for log, options in logs.items():
        evaluation = import_scores({"a": f"{tmp_path}/{log}"}, **options)
        assert [(bin.label, len(bin.rows)) for bin, _ in evaluation.results[0].bins] == [
            ("a", 4),
            ("b", 4),
        ]
    with pytest.raises(InputError, match="no column 'text'|no such column"):
        import_scores({"a": tmp_path / "log.json"}, by="column:text")
    with pytest.raises(InputError, match=r"choose one with .*samples_t.jsonl:acc@strict"):
        import_scores({"a": tmp_path / "samples_t.jsonl"})


@pytest.mark.parametrize("head", ["system\tscore", "seg_id\trater\tscore", "id\tscore"])
def test_a_table_without_rows_has_no_scores(tmp_path, head):
    path = tmp_path / "scores.tsv"
    path.write_text(f"{head}\n")
    with pytest.raises(InputError, match="no scores|no judgements"):
        import_scores({"a": path})
