"""The page of scores: what is on it, and that it is what was scored."""

import re
import warnings
from html import unescape

import numpy as np
import pytest
from hostile_text import HOSTILE
from page_data import data_of

import cgbench
from cgbench.benchmark.score.comparison.tiers import compare_all
from cgbench.benchmark.score.evaluation.differences import example_scores
from cgbench.errors import InputError
from cgbench.report import score_sections as module
from cgbench.report.score_data import (
    breakdowns,
    most_telling,
    never_right,
    outputs,
    ranked,
    with_intervals,
)
from cgbench.report.score_page import score_page


def scores_of(found):
    return example_scores(found.scored.metric, found.systems, found.results)


def quietly(*given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cgbench.evaluate(*given, **options)


REFERENCES = [f"line {number} of {'long ' * (number % 7)}text" for number in range(40)]
SYSTEMS = {
    "good": REFERENCES[:36] + ["wrong"] * 4,
    "bad": [text if number % 4 == 0 else "wrong" for number, text in enumerate(REFERENCES)],
    "as bad": [text if number % 4 == 1 else "line" for number, text in enumerate(REFERENCES)],
}


@pytest.fixture
def exact():
    return quietly("exact", SYSTEMS, REFERENCES, sources=REFERENCES)


def test_intervals_and_all_pairs_are_there_unasked(exact):
    assert exact.results[0].whole.figures["exact"].ci_low is None
    parts = [result.whole for result in with_intervals(exact, exact.inputs).results]
    assert all(part.figures["exact"].ci_low is not None for part in parts)
    asked = quietly("exact", SYSTEMS, REFERENCES, comparison={"all_pairs": True})
    assert [part.figures["exact"].pairs for part in parts] == [
        result.whole.figures["exact"].pairs for result in asked.results
    ]
    pairs = compare_all(exact.scored.metric, list(SYSTEMS), parts)
    assert pairs.order == [0, 1, 2] and pairs.tiers == [[0], [1, 2]]
    assert pairs.difference(0, 1) == -pairs.difference(1, 0) == pytest.approx(65.0)


def test_the_breakdown_is_that_of_by(exact):
    (found,) = breakdowns(exact, exact.inputs)
    asked = quietly("exact", SYSTEMS, REFERENCES, by="length")
    assert found.by == "length"
    (again,) = breakdowns(asked, asked.inputs)
    assert again is asked.scored
    for ours, theirs in zip(found.results, asked.results, strict=True):
        assert [(one.label, part) for one, part in ours.bins] == [
            (one.label, part) for one, part in theirs.bins
        ]


def test_bins_stand_side_by_side_and_link_to_their_examples(exact):
    html = score_page(exact)
    table = re.search(
        r"<caption>exact \(%\) by length \(words\)</caption>(.*?)</table>", html, re.DOTALL
    )[1]
    heads = re.findall(r'<a href="#examples" data-bin="([^"]*)"[^>]*>([^<]*)</a>', table)
    (found,) = breakdowns(exact, exact.inputs)
    assert heads == [
        (f"0.{place}", one.label) for place, (one, _) in enumerate(found.results[0].bins)
    ]
    assert re.findall('<th scope="row" dir="auto">([^<]*)</th>', table) == ["examples", *SYSTEMS]
    data = data_of(html)
    at = {name: place for place, name in enumerate(data["fields"])}
    for place, (one, _) in enumerate(found.results[0].bins):
        rows = [row[at["number"]] - 1 for row in data["rows"] if f"0.{place}" in row[at["bins"]]]
        assert rows == one.rows.tolist()


def test_examples_hold_what_each_system_said(exact):
    html = score_page(exact, command="cgbench score <exact>")
    data = data_of(html)
    at = {name: place for place, name in enumerate(data["fields"])}
    for row in data["rows"]:
        place = row[at["number"]] - 1
        assert [text for ((text, _, _, _),) in row[at["outputs"]]] == [
            texts[place] for texts in SYSTEMS.values()
        ]
        assert row[at["scores"]] == [
            100.0 * (texts[place] == REFERENCES[place]) for texts in SYSTEMS.values()
        ]
    assert "cgbench score &lt;exact&gt;" in html and str(exact.signature) in html
    assert html == score_page(exact, command="cgbench score <exact>")


def test_the_examples_that_tell_most():
    scores = np.array([[1.0, 5.0, 3.0, 9.0], [1.0, 9.0, 2.0, 4.0]])
    assert most_telling(scores, 2).tolist() == [1, 3]
    assert most_telling(scores, 9).tolist() == [0, 1, 2, 3]


def test_more_examples_than_are_shown(exact, monkeypatch):
    monkeypatch.setattr(module, "MOST_EXAMPLES", 10)
    html = score_page(exact)
    assert len(data_of(html)["rows"]) == 10
    assert "10 of 40 examples are listed: those on which the systems differ" in html


def test_runs_are_means(exact):
    runs = quietly("exact", {"both": [SYSTEMS["good"], SYSTEMS["bad"]]}, REFERENCES)
    (scores,) = scores_of(runs)
    assert scores.tolist() == [one[0].tolist() for one in scores_of(exact)[:2]]
    three = quietly("exact", {"all": [SYSTEMS["good"], SYSTEMS["bad"], SYSTEMS["bad"]]}, REFERENCES)
    # every different output, the worst first, with its seeds and score
    assert outputs(three, scores_of(three), 0) == [[[REFERENCES[0], [1, 2, 3], 100.0, ""]]]
    assert outputs(three, scores_of(three), 1) == [
        [["wrong", [2, 3], 0.0, ""], [REFERENCES[1], [1], 100.0, ""]]
    ]
    html = score_page(runs)
    assert (
        'id="pairs"' not in html
        and 'id="differences"' not in html
        and html.count('class="run c0"') >= 2
    )


def test_differences_are_there_unasked(exact):
    html = score_page(exact)
    assert re.findall("<summary>([^<]* against [^<]*)</summary>", html) == [
        "bad against good",
        "as bad against good",
    ]
    row = re.search(r'<th scope="row" dir="auto">line</th>(.*?)</tr>', html)[1]
    assert re.findall("<td[^>]*>(.*?)</td>", row)[:3] == ["40", "10", "36"]
    asked = quietly(
        "exact", SYSTEMS, REFERENCES, sources=REFERENCES, breakdown={"differences": True}
    )
    assert "Where systems differ" in html and score_page(asked) == html


def test_too_few_examples_for_a_test_have_no_marks_and_no_word_of_stars():
    texts = [f"line {number}" for number in range(5)]
    systems = {"good": texts, "bad": [*texts[:2], "x", "y", "z"]}
    html = score_page(quietly("exact", systems, texts, paired=True, accept_text=True))
    assert "too few" in html and "★" not in html and "p &lt; 0.05" not in html
    assert "Tier:" not in html and '<span class="mark">' not in html


def test_hostile_text_is_data_alone():
    texts = [text.replace("\n", " ") for text in HOSTILE] * 2
    names = {"<script>alert(1)</script>": texts, "b&\x1b[31m": texts[::-1]}
    html = score_page(
        quietly("exact", names, texts, sources=texts, accept_text=True), command=texts[0]
    )
    assert (
        "<img" not in html
        and "<svg onload" not in html
        and "\x1b" not in html
        and "alert(1)</script>" not in html
    )
    assert data_of(html)["systems"] == ["<script>alert(1)</script>", "b&\\x1b[31m"]


def test_bleu_of_several_runs(monkeypatch):
    monkeypatch.setattr(module, "FEW", 3)
    systems = {"a": [SYSTEMS["good"], SYSTEMS["bad"]], "b": SYSTEMS["as bad"]}
    found = quietly(
        "bleu",
        systems,
        REFERENCES,
        sources=REFERENCES,
        accept_text=True,
        paired=True,
        by="length",
        breakdown={"side": "source"},
    )
    html = score_page(found)
    assert "p (Holm)" not in html  # one comparison
    assert "BLEU by length" in html and "Δ: difference from a; * p" in html
    table = re.search(
        r"<caption>Parts of BLEU, means of seeds</caption>(.*?)</table>", html, re.DOTALL
    )[1]
    assert re.findall('<th scope="col">([^<]*)</th>', table)[:4] == [
        "system",
        "BP",
        "length ratio",
        "1-gram %",
    ]
    assert html.count('data-pair="1 0"') == 1 and "<summary>b against a</summary>" in html


COMPOUNDS = {
    "source": ["a dog ran", "the dog", "a cat", "the cat"],
    "compound": ["dog", "dog", "cat", "cat"],
}


def test_compounds_never_right(tmp_path):
    (tmp_path / "lexicon").write_text("dog\tD\ncat\tC\n")
    (tmp_path / "atoms").write_text("N\tdog\tdog\nN\tcat\tcat\n")
    found = quietly(
        "cter",
        {"one": [["D", "x", "x", "y"], ["x", "x", "y", "y"]], "two": ["D", "D", "C", "x"]},
        sources=COMPOUNDS["source"],
        compounds=COMPOUNDS["compound"],
        lexicon=tmp_path / "lexicon",
        atoms=tmp_path / "atoms",
        group_size=2,
    )
    assert (
        never_right(found, 0) == [["cat", "NP", "2", "no translation of cat"]]
        and never_right(found, 1) == []
    )
    html = score_page(found)
    assert "1 of 2 compounds are never right" in html and "0 of 2 compounds are never right" in html
    assert "no translation of dog" in html
    data = data_of(html)
    first = dict(zip(data["fields"], data["rows"][0], strict=True))
    assert first["compound"] == "dog" and first["outputs"][0] == [
        ["x", [2], 0.0, "no translation of dog"],
        ["D", [1], 100.0, ""],
    ]


def test_what_is_lost_from_a_control_set(exact):
    found = quietly(
        "exact",
        SYSTEMS,
        REFERENCES,
        control={
            "control_systems": dict.fromkeys(SYSTEMS, REFERENCES),
            "control_references": REFERENCES,
        },
    )
    html = score_page(found)
    row = re.search(
        r'id="control".*?<th scope="row" dir="auto">bad</th>(.*?)</tr>', html, re.DOTALL
    )[1]
    assert re.findall("<td[^>]*>([^<]*)</td>", row)[:3] == ["100.00", "25.00", "75.00"]
    assert 'id="control"' not in score_page(exact)


def test_many_systems_are_sorted_and_the_best_are_drawn(exact):
    systems = {
        f"s{number}": REFERENCES[:number] + ["wrong"] * (40 - number) for number in range(1, 31)
    }
    many = quietly("exact", systems, REFERENCES, paired=True, accept_text=True)
    order = [result.system for result in ranked(many).results]
    assert (
        order == ["s1", *(f"s{number}" for number in range(30, 1, -1))] and ranked(exact) is exact
    )
    assert [system.name for system in ranked(many).systems] == order
    html = score_page(many)
    assert html.count("Shown: s1 and the best 19 of the other 29 systems.") == 1
    systems_chart = re.search(r'aria-label="exact \(%\) of each system".*?</svg>', html, re.DOTALL)[
        0
    ]
    assert re.findall("<title>(s[0-9]+):", systems_chart) == order[:20]
    # every system is in the table, with its own score
    table = re.search(r"<caption>exact \(%\); ★.*?</table>", html, re.DOTALL)[0]
    cells = re.findall(r'<th scope="row" dir="auto">(s\d+).*?</th><td[^>]*>([\d.]+)', table)
    assert cells == [(name, f"{int(name[1:]) / 0.4:.2f}") for name in order]
    assert re.findall("<summary>(s[0-9]+) against s1", html) == order[1:7]


@pytest.mark.parametrize("metrics", ["exact", ["exact", "chrf"]], ids=["one", "several"])
def test_a_copied_table_is_that_of_a_tex_file(metrics):
    """With its caption, its label and its notes, to the letter."""
    options = {"paired": True, "confidence": True, "by": "length", "accept_text": True}
    reversed_texts = {name: texts[::-1] for name, texts in SYSTEMS.items()}
    control = {"control_systems": reversed_texts, "control_references": REFERENCES[::-1]}
    found = quietly(metrics, SYSTEMS, REFERENCES, control=control, **options)
    copied = map(unescape, re.findall('data-copy="([^"]*)"', score_page(found)))
    tables = {table for copy in copied for table in copy.split("\n\n")}
    written = found.to_latex().split("\n\n")
    assert len(written) == 1 + 2 * len(found.by_metric)  # systems; bins and drop of each metric
    assert tables >= set(written)
    assert all(table.startswith(r"\begin{table}") and r"\label{" in table for table in tables)


def test_categories_have_a_colour_per_system_and_say_what_is_hollow(tmp_path):
    """Points of categories are not joined, so no dashes tell apart two systems of one colour."""
    systems = {
        f"s{number}": REFERENCES[:number] + ["wrong"] * (40 - number) for number in range(1, 10)
    }
    (tmp_path / "kinds.tsv").write_text(
        "\n".join(["id\tkind", *(f"{n}\t{'rare' if n < 3 else 'ab'[n % 2]}" for n in range(40))])
        + "\n"
    )
    html = score_page(
        quietly(
            "exact",
            systems,
            REFERENCES,
            by="column:kind",
            table=tmp_path / "kinds.tsv",
            accept_text=True,
        )
    )
    chart = re.search(r'aria-label="exact \(%\) by kind".*?</svg>', html, re.DOTALL)[0]
    colours = re.findall(r'class="name (c\d)"', chart)
    assert len(set(colours)) == len(colours) == 7
    assert "Bars: 95% intervals; hollow: fewer than 5 examples." in html


def test_an_evaluation_put_together_by_hand(exact):
    from cgbench.benchmark.score.evaluation.result import Evaluation

    with pytest.raises(InputError, match="an evaluation that cgbench.evaluate made"):
        score_page(Evaluation(exact.scored, exact.systems))


def test_from_the_command_line(run, tmp_path):
    for name, lines in {"ref": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    out = tmp_path / "page.html"
    words = (
        "score",
        "exact",
        "--ref",
        tmp_path / "ref",
        "--hyp",
        tmp_path / "good",
        "--hyp",
        f"bad={tmp_path}/bad",
    )
    run(*words, "--output", out)
    html = out.read_text(encoding="utf-8")
    assert f"cgbench score exact --ref {tmp_path}/ref" in html
    run(*words, "--output", out)
    assert out.read_text(encoding="utf-8") == html
    words = [tmp_path / "ref.txt" if word == tmp_path / "ref" else word for word in words]
    (tmp_path / "ref").rename(tmp_path / "ref.txt")
    assert "is also an input" in run(*words, "--output", tmp_path / "ref.txt", status=2).stderr
    assert "no folder" in run(*words, "--output", tmp_path / "a/b.html", status=2).stderr


def test_a_long_name_of_the_baseline_is_cut_below_the_chart_of_differences():
    baseline = "a-system-with-a-very-long-name-and-a-checkpoint-2026-11-22"
    page = score_page(
        quietly(
            "exact", {baseline: SYSTEMS["good"], "bad": SYSTEMS["bad"]}, REFERENCES, paired=True
        )
    )
    labels = re.findall(r'class="label"[^>]*>([^<]*difference from [^<]*)', page)
    assert [label.split("difference from ")[1] for label in labels] == ["a-system…026-11-22"]
