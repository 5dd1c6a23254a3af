"""LaTeX is compiled: no error, nothing wider than its column, and the notes are in the PDF."""

import re
import shutil
import subprocess
import warnings
from html import unescape

import pytest

import cgbench
from cgbench.latex import fit_to_column, latex_mark, latex_table
from cgbench.numbers_as_text import p_text
from cgbench.report.score_page import score_page
from cgbench.tables import render

WORDS = ["the dog saw number " + "very " * (row % 7) + f"{row}" for row in range(60)]
SYSTEMS = {
    "base_line & co": [
        [text.replace("dog", "cat") if row % 3 == run else text for row, text in enumerate(WORDS)]
        for run in range(2)
    ],
    "100%_mine #2 ~x^y {z} \\n": [[text.replace("very", "so") for text in WORDS], WORDS],
}
DOCUMENT = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""


@pytest.fixture
def compiled(tmp_path):
    """Compile tables: the text of the log, and of the PDF if pdftotext is installed."""
    if shutil.which("pdflatex") is None:
        pytest.skip("LaTeX is not installed (apt install texlive-latex-recommended)")

    def call(tables):
        (tmp_path / "tables.tex").write_text(DOCUMENT % tables, encoding="utf-8")
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
        log = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, log[-2000:]
        if shutil.which("pdftotext") is None:
            return log, ""
        words = ["pdftotext", "-layout", "tables.pdf", "-"]
        text = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout
        return log, text.decode("utf-8", "replace")

    return call


def evaluated(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cgbench.evaluate("bleu", SYSTEMS, WORDS, paired=True, accept_text=True, **options)


def test_tables_compile_and_fit_a_column(compiled):
    latex = evaluated(by="length").to_latex()
    assert latex.count(r"\begin{table}") == latex.count(r"\caption") == latex.count(r"\label") == 2
    assert len(set(re.findall(r"\\label\{(.*?)\}", latex))) == 2
    log, text = compiled(latex)
    assert not re.search(r"Overfull \\hbox \((?!0\.)\d", log), log
    if text:
        words = " ".join(text.split())
        assert "Table 1: BLEU" in words and "standard deviation over seeds" in words
        assert "** p < 0.01" in words and "#2" in words and "100%" in words
        assert "BLEU|nrefs:1|" in words.replace(" ", "")


def test_several_metrics_fit_and_have_their_p_values(compiled):
    systems = {**SYSTEMS, "third": [text.replace("saw", "sees") for text in WORDS]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metrics = ["bleu", "chrf", "ter"]
        scores = cgbench.evaluate(metrics, systems, WORDS, paired=True, accept_text=True)
    log, text = compiled(scores.to_latex())
    assert not re.search(r"Overfull \\hbox \((?!0\.)\d", log), log
    for scored in (further.scored for further in scores.by_metric):
        for result in scored.results[1:]:
            score = result.whole.figures[scored.metric.figures[0]]
            assert p_text(score.p_value).replace("< ", "$<$ ") in scores.to_latex()
            assert p_text(score.p_holm).replace("< ", "$<$ ") in scores.to_latex()
    if text:
        assert "BLEU" in text and "chrF2" in text and "TER" in text and "p (Holm)" in text
        assert "Bold: best system" in " ".join(text.split())


@pytest.mark.parametrize(("systems", "adjusted"), [(2, False), (3, True)])
def test_a_family_of_one_has_no_column_of_holm(systems, adjusted):
    rows = list(enumerate(WORDS))
    outputs = {
        str(wrong): [text.replace("dog", "cat") if row % 9 < wrong else text for row, text in rows]
        for wrong in range(systems)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cgbench.evaluate(["bleu", "exact"], outputs, WORDS, paired=True)
    head = next(line for line in scores.to_latex().splitlines() if line.startswith("metric "))
    assert re.search(r"& p\b", head) and ("p (Holm)" in head) == adjusted


def test_metrics_side_by_side_have_the_same_decimals():
    # By exact match, the difference is -2 points; by BLEU it is so small that it has two decimals.
    words = ["the dog saw cats and more cats " * 15 + f"and {row} mice" for row in range(500)]
    other = [*words[:-10], *(text.replace("mice", "rats") for text in words[-10:])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cgbench.evaluate(["bleu", "exact"], {"a": words, "b": other}, words, paired=True)
    lines = scores.report("markdown").splitlines()
    line = next(line for line in lines if line.startswith("| b "))
    differences = re.findall(r"[-+][0-9]+\.([0-9]+)", line)
    assert len(differences) == 2 and len({*map(len, differences)}) == 1


def test_stars_take_no_room():
    assert latex_mark("**") == r"\rlap{$^{**}$}" and latex_mark("") == ""
    tabular = render(("a", "b"), [("x", "1")], "latex")
    table = latex_table(tabular, "BLEU & chrF2, 50%", ["a note"])
    assert r"\caption{BLEU \& chrF2, 50\%}" in table and r"\label{tab:bleu-chrf2-50}" in table
    assert fit_to_column(tabular) in table
    first, last = fit_to_column(tabular).split(r"\begin{tabular}")
    assert first.endswith("{!}{%\n") and last.endswith("\\end{tabular}}")


def test_tables_copied_from_a_page_compile(compiled):
    page = score_page(evaluated(by="length"))
    copied = list(map(unescape, re.findall('data-copy="([^"]*)"', page)))
    assert len(copied) >= 4
    log, text = compiled("\n\\clearpage\n".join(copied))
    assert "multiply defined" not in log
    if text:
        assert "Bold: best system" in text and "Parts of BLEU" in text
