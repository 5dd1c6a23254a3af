"""The long table has the rows of every analysis; tables are selections of it."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from installed_packages import install

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.benchmark.score.forms.rows import LONG
from cgbench.benchmark.score.imported.import_scores import import_scores
from cgbench.errors import InputError
from cgbench.numbers_as_text import fixed
from cgbench.report.score_page import score_page
from cgbench.tables import Note, OutputTable, as_text

pytestmark = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")

REFERENCES = [f"the {'red' if row % 2 else 'old'} dog saw number {row % 5}" for row in range(40)]
READ = [line.replace("red", "read") for line in REFERENCES]


def rows_of(evaluation, analysis):
    head, *lines = (line.split("\t") for line in evaluation.report("tsv").splitlines())
    assert head == list(LONG)
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    return [row for row in rows if row["analysis"] == analysis]


def test_differences_are_rows_with_their_q_values():
    found = evaluate(
        "exact", {"a": REFERENCES, "b": READ}, REFERENCES, breakdown={"differences": True}
    )
    (pair,) = found.differences
    rows = {row["bin"]: row for row in rows_of(found, "differences") if row["by"] == "n-gram"}
    assert len(rows) == len(pair.ngrams) > 3
    assert (rows["red"]["system"], rows["red"]["baseline"], rows["red"]["n"]) == ("b", "a", "20")
    assert (float(rows["red"]["value"]), float(rows["red"]["difference"])) == (0, -20)
    assert float(rows["red"]["q_value"]) == pytest.approx(
        next(one.q_value for one in pair.ngrams if one.what == "red")
    )
    assert len([row for row in rows_of(found, "differences") if row["by"] == "example"]) == len(
        pair.examples
    )


def test_means_of_people_are_rows_of_systems_and_of_differences():
    scores = {name: [row % more / more for row in range(60)] for name, more in (("a", 7), ("b", 5))}
    judged = {
        name: [row % 2 + row % 3 if row < 30 else None for row in range(60)] for name in scores
    }
    found = import_scores(scores, judgements={"people": judged}, paired=True)
    rows = rows_of(found, "people")
    assert [(row["figure"], row["system"], row["baseline"]) for row in rows[-2:]] == [
        ("judgements alone", "b", "a"),
        ("with the metric", "b", "a"),
    ]
    assert [row["n"] for row in rows[:2]] == ["30", "60"]
    mean = found.scored.people[0]
    assert float(rows[1]["value"]) == pytest.approx(mean.powered)
    assert float(rows[1]["ci_low"]) == pytest.approx(mean.powered_low)
    assert all(row["value"] == "" and row["difference"] for row in rows[-2:])


def test_people_and_the_metric_have_one_table_the_estimate_first():
    scores = {name: [row % more / more for row in range(60)] for name, more in (("a", 7), ("b", 5))}
    judged = {
        name: [row % 2 + row % 3 if row < 30 else None for row in range(60)] for name in scores
    }
    found = import_scores(
        scores, judgements={"people": judged}, paired=True, metric={"name": "COMET"}
    )
    table, *notes = found.report("markdown").split("\n\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert rows[0][:4] == ["mean of", "system", "n", "mean"] and "mean of" not in "".join(notes)
    assert [row[:3] for row in rows[2:]] == [
        ["human + COMET", "a", "60"],
        ["", "b", "60"],
        ["human", "a", "30"],
        ["", "b", "30"],
        ["COMET", "a", "60"],
        ["", "b", "60"],
    ]
    mean = next(mean for mean in found.scored.people if mean.against)
    assert (
        "baseline" in rows[2]
        and fixed(mean.powered, 4, "+") in rows[3][5]
        and fixed(mean.alone, 4, "+") in rows[5][5]
    )


def test_the_best_of_several_systems_is_bold_and_stars_are_raised():
    found = evaluate("exact", {"a": READ, "b": REFERENCES}, REFERENCES, paired=True)
    assert r"\textbf{100.0}" in found.to_latex() and r"$+$50.0\rlap{$^{**}$}" in found.to_latex()
    assert "textbf" not in evaluate("exact", READ, REFERENCES).to_latex()
    assert (
        "textbf" not in evaluate("exact", {"a": READ, "b": REFERENCES}, REFERENCES).to_latex()
    )  # not tested
    like = [*READ[:2], *REFERENCES[2:]]  # one of 40 is worse than b's
    both = evaluate(
        "exact",
        {"a": READ, "like b": like, "b": REFERENCES},
        REFERENCES,
        comparison={"all_pairs": True},
    )
    assert [line.count("textbf") for line in both.to_latex().splitlines()[9:12]] == [0, 1, 1]
    # The best was compared with the baseline, but not with the third system.
    three = {"a": READ, "b": REFERENCES, "c": like}
    assert "textbf" not in evaluate("exact", three, REFERENCES, paired=True).to_latex()


def test_corrected_p_values_are_shown_only_where_they_differ():
    same = evaluate("exact", {"a": READ, "b": REFERENCES}, REFERENCES, paired=True)
    assert "Holm" not in same.report() and "Holm" not in same.to_latex()
    systems = {
        "a": READ,
        "b": [*READ[:4], *REFERENCES[4:7], *READ[7:]],
        "c": [*READ[:8], *REFERENCES[8:]],
    }
    more = evaluate("exact", systems, REFERENCES, paired=True)
    assert {row.p_value == row.p_holm for row in more.rows() if row.p_value is not None} == {
        True,
        False,
    }
    assert "p (Holm)" in more.report("markdown") and "p adjusted by Holm's method" in more.report()


def test_notes_fit_their_form():
    blocks = [
        OutputTable(["a", "b"], [["x", "<1>"]], note="below"),
        OutputTable(["a"], []),
        Note(""),
        Note("one\ntwo"),
    ]
    assert as_text(blocks, "text") == "a    b\nx  <1>\nbelow\n\none\ntwo"
    latex = as_text(blocks, "latex")
    below = latex.partition("\\end{tabular}}\n")[2].splitlines()
    assert [re.sub(r".*raggedright |.par}", "", line) for line in below] == [
        "below",
        "one",
        "two",
        "\\end{table}",
    ]
    assert "one\n\ntwo" in as_text(blocks, "markdown")
    assert as_text(blocks, "html").count("<pre>") == 2 and "&lt;1&gt;" in as_text(blocks, "html")


def test_the_examples_of_the_documentation(tmp_path, monkeypatch):
    page = (Path(__file__).parents[5] / "docs/how-to/add-an-analysis.md").read_text(
        encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    points = {"cgbench.analyses": {"repeats": "repeats:REPEATS"}}
    points["cgbench.features"] = {"vowels": "vowels:VOWELS"}
    points["cgbench.tests"] = {"sign": "sign_test:SignTest"}
    points["cgbench.forms"] = {"csv": "as_csv:as_csv"}
    points["cgbench.readers"] = {"percent": "percent_lines:percent_lines"}
    install(monkeypatch, points)
    for code in re.findall("```python\n(.*?)```", page, re.DOTALL):
        assert len(code.splitlines()) <= 30
        name = re.match(r"# (\w+)\.py", code)[1]
        (tmp_path / f"{name}.py").write_text(code)
        import_module(name)
    systems, texts = {"a": ["x", "x", "y"], "b": ["x", "y", "z"]}, ["x", "y", "z"]
    binned = evaluate("exact", systems, texts, by="vowels").results[0].bins
    assert [bin_.label for bin_, _ in binned] == ["0"]
    with pytest.raises(InputError, match="train has no effect on by='vowels'"):
        evaluate("exact", systems, texts, by="vowels", breakdown={"train": texts})
    assert not evaluate("exact", systems, texts).analyses
    found = evaluate("exact", systems, texts, repeats=True)
    assert "\nrepeated outputs in %       a  3   33.3" in found.report()
    assert [row["repeats"][0]["value"] for row in found.to_json()] == pytest.approx([100 / 3, 0])
    assert re.search(r'<h2 id="analyses">.*repeated outputs in %', score_page(found), re.DOTALL)
    assert "repeated outputs in %" in found.report("tsv") and found.report("csv").startswith(
        "metric,figure,system,"
    )
    (tmp_path / "a.percent").write_text("12.5 %\n50%\n")
    assert import_scores({"a": str(tmp_path / "a.percent")}).score == 31.25
