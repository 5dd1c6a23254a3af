"""``cgbench score bleu chrf ter``: one table, one page and one JSON; the texts are read once."""

import json
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import cgbench
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
    first, second, notes = shown.split("\n\n")
    assert first.splitlines()[0].split()[:4] == ["system", "n", "runs", "BLEU"] and "chrF2" in first
    assert second.splitlines()[0].split()[:2] == [
        "system",
        "TER",
    ]  # with its interval and difference
    assert [len(table.splitlines()) for table in (first, second)] == [4, 4]
    assert notes.count("signature  ") == 3 and "**" in first
    assert max(map(len, (first + "\n" + second).splitlines())) <= 80
    latex = run("score", *METRICS, *words, "--paired", "--format", "latex").stdout
    assert latex.count(r"\begin{tabular}") == 1 and latex.count(r"95\% interval") == 3
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
        assert f"Row minus column, {name}" in page and f"{name} by length" in page
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


def test_options_go_to_the_metrics_that_have_them():
    both = cgbench.evaluate(["bleu", "chrf"], SYSTEMS, REFERENCES, lowercase=True, tokenize="none")
    assert "case:lc" in both.signature and "tok:none" in both.signature
    assert "case:lc" in both.more[0].signature and "tok:" not in both.more[0].signature


@pytest.mark.parametrize(
    ("metrics", "more", "line"),
    [
        (METRICS, ("--by", "length"), "--by is for one metric, not for bleu and chrf and ter"),
        (METRICS, ("--differences",), "--differences is for one metric"),
        (METRICS, ("--per-example", "x.tsv"), "--per-example is for one metric"),
        (("bleu", "cter"), (), "cter has sources"),
        (("bleu", "chrf"), ("--set", "word_order=2"), "which of bleu and chrf has it is not known"),
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
