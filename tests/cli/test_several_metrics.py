"""``cgbench score bleu chrf ter``: one table, one page and one JSON; the texts are read once."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

import cgbench
from cgbench.benchmark.score.evaluation import features
from cgbench.report.score_page import score_page

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")
REFERENCES = [f"the {'small ' * (row % 4)}dog number {row} saw a cat ." for row in range(40)]
SYSTEMS = {
    "base": [
        line.replace("dog", "cow") if row % 2 else line for row, line in enumerate(REFERENCES)
    ],
    "mine": [
        line.replace("dog", "cow") if row % 9 == 0 else line for row, line in enumerate(REFERENCES)
    ],
    "like": [
        line.replace("dog", "cow") if row % 9 == 1 else line for row, line in enumerate(REFERENCES)
    ],
}
METRICS = ("bleu", "chrf", "ter")
COUNTS_READS = """
import collections, json, sys
reads = collections.Counter()
sys.addaudithook(lambda event, values: event == "open" and reads.update([str(values[0])]))
from cgbench.cli import main
try:
    main(sys.argv[2:])
finally:
    counts = {path: count for path, count in reads.items() if path.startswith(sys.argv[1])}
    print(json.dumps(counts), file=sys.stderr)
"""


@pytest.fixture
def words(tmp_path):
    for name, lines in {"ref": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return [
        "--ref",
        tmp_path / "ref",
        *(word for name in SYSTEMS for word in ("--hyp", f"{name}={tmp_path / name}")),
    ]


def test_rows_and_json_are_those_of_each_metric():
    together = cgbench.evaluate(["bleu", "chrf", "ter"], SYSTEMS, REFERENCES, paired=True)
    alone = [cgbench.evaluate(name, SYSTEMS, REFERENCES, paired=True) for name in METRICS]
    assert together.to_json() == [row for evaluation in alone for row in evaluation.to_json()]
    frames = [evaluation.to_pandas() for evaluation in alone]
    pandas.testing.assert_frame_equal(
        together.to_pandas(), pandas.concat(frames, ignore_index=True)
    )
    assert set(together.to_pandas()["metric"]) == {"BLEU", "chrF2", "TER"}
    # Holm's correction is for the two systems within a metric, not for six comparisons.
    assert all(row.p_holm <= 2 * row.p_value for row in together.rows() if row.p_value is not None)


def test_one_table_for_a_terminal_and_a_paper(words, run):
    shown = run("score", *METRICS, *words, "--paired", env={"COLUMNS": "80"}).stdout
    first, second, third, notes = shown.split("\n\n")
    assert first.splitlines()[0].split()[:4] == ["system", "n", "runs", "BLEU"]
    tables = {"BLEU": first, "chrF2": second, "TER": third}
    for name, table in tables.items():  # each with its interval, difference and p-values
        assert {name, "Δ", "p", "(Holm)"} <= {*table.splitlines()[0].split()}
        assert len(table.splitlines()) == 4 and max(map(len, table.splitlines())) <= 80
    assert notes.count("signature  ") == 3 and "**" in first
    assert "adjusts together, by metric: 2 over all examples\n" in notes
    latex = run("score", *METRICS, *words, "--paired", "--format", "latex").stdout
    # Below each other, as narrow as the table of one metric.
    assert latex.count(r"\begin{tabular}") == 1 and latex.count(r"95\% interval") == 1
    assert all(f"\n{name}" in latex for name in ("BLEU &", "chrF2 &", "TER &"))
    rows = json.loads(run("score", "BLEU", "chrF", *words, "--format", "json").stdout)
    assert [(row["metric"], row["system"]) for row in rows[2:4]] == [
        ("BLEU", "like"),
        ("chrF2", "base"),
    ]


def test_one_page(words, run, tmp_path):
    run("score", *METRICS, *words, "--paired", "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<title>BLEU, chrF2, TER: base, mine, like" in page
    assert "Differences, examples and plots of one system against another are by BLEU." in page
    for name in ("BLEU", "chrF2", "TER"):
        assert page.count(f"{name}|nrefs:1") == 1 and f"<caption>{name}" in page
        # Pairs and breakdown of each metric, not of the first only.
        assert f"Row minus column, {name}" in page
        assert re.search(rf"{name}( \(%\))? by length", page)
        assert f'scope="rowgroup" class="group" colspan="5">{name}' in page
    assert "are by BLEU." not in score_page(cgbench.evaluate("bleu", SYSTEMS, REFERENCES))


def test_every_text_is_read_once(words, tmp_path):
    reads = []
    for metrics in (METRICS[:1], METRICS):
        command = [sys.executable, "-c", COUNTS_READS, tmp_path, "score", *metrics, *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        reads.append(json.loads(done.stderr.splitlines()[-1]))
    assert reads[0] == reads[1]
    assert {str(tmp_path / name) for name in ("ref", *SYSTEMS)} <= set(
        map(str, map(Path, reads[0]))
    )


def test_warnings_come_once(words, run):
    *first, mine, _, like = words
    runs = f"{mine},{like.removeprefix('like=')}"
    errors = run("score", *METRICS, *first, runs, "--paired").stderr.splitlines()
    assert sum("one run of base" in line for line in errors) == 1


def test_breakdowns_are_those_of_each_metric(monkeypatch):
    measured = []
    of_length = features.find_feature("length")
    counting = replace(
        of_length, measure=lambda inputs: measured.append(1) or of_length.measure(inputs)
    )
    monkeypatch.setattr(features, "find_feature", lambda name: counting)
    options = {"paired": True, "by": "length", "bins": [9, 10]}
    together = cgbench.evaluate(["bleu", "chrf", "ter"], SYSTEMS, REFERENCES, **options)
    assert measured == [1]  # once, since it may take long
    alone = [cgbench.evaluate(name, SYSTEMS, REFERENCES, **options) for name in METRICS]
    assert together.to_json() == [row for evaluation in alone for row in evaluation.to_json()]
    rows = [row for evaluation in alone for row in evaluation.rows()]
    assert together.rows() == rows and {row.tests for row in rows if row.bin} == {None, 6}
    for form in ("text", "markdown", "latex", "html"):
        for evaluation in alone:
            (name,) = [evaluation.scored.metric.name]
            assert re.search(rf"{name}( \(\\%\))? by length", together.report("latex"))
            assert together.report(form).count(name) >= 2


def test_where_systems_differ_is_shown_once(words, run):
    one = run("score", "bleu", *words, "--differences").stdout
    several = run("score", *METRICS, *words, "--differences").stdout
    assert several.count("n-grams differ") == one.count("n-grams differ") == 2


def test_options_go_to_the_metrics_that_have_them():
    both = cgbench.evaluate(["bleu", "chrf"], SYSTEMS, REFERENCES, lowercase=True, tokenize="none")
    assert "case:lc" in both.signature and "tok:none" in both.signature
    assert "case:lc" in both.more[0].signature and "tok:" not in both.more[0].signature
    plus = cgbench.evaluate(["bleu", "chrf"], SYSTEMS, REFERENCES, word_order=2)
    assert "nw:2" in plus.more[0].signature and "nw:" not in plus.signature


def test_rows_per_example_name_their_metric(tmp_path):
    cgbench.evaluate(["bleu", "exact"], SYSTEMS, REFERENCES).write_per_example(tmp_path / "rows")
    with (tmp_path / "rows").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert list(rows[0]) == ["metric", "row", "system", "run", "score", "correct"]
    for name, column, other in (("BLEU", "score", "correct"), ("exact", "correct", "score")):
        cgbench.evaluate(name.lower(), SYSTEMS, REFERENCES).write_per_example(tmp_path / "alone")
        with (tmp_path / "alone").open(newline="") as file:
            alone = list(csv.DictReader(file, delimiter="\t"))
        of_metric = [row for row in rows if row["metric"] == name]
        assert [row[column] for row in of_metric] == [row[column] for row in alone]
        assert {row[other] for row in of_metric} == {""}


@pytest.mark.parametrize(
    ("metrics", "more", "line"),
    [
        (METRICS, ("--set", "every_eval_ever=records"), "--set every_eval_ever is for one metric"),
        (("bleu", "cter"), (), "cter has sources"),
        (("bleu", "chrf"), ("--set", "order=2"), "which of bleu and chrf has it is not known"),
    ],
)
def test_what_is_of_one_metric_is_refused_in_a_line(words, run, metrics, more, line):
    errors = run("score", *metrics, *words, *more, status=2).stderr.splitlines()
    assert len(errors) == 1 and line in errors[0]


def test_one_metric_in_a_list_is_that_metric():
    assert (
        cgbench.evaluate(["bleu"], SYSTEMS, REFERENCES).to_json()
        == cgbench.bleu(SYSTEMS, REFERENCES).to_json()
    )
