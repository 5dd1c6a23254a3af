"""LaTeX is compiled: no error, nothing wider than its column, and the notes are in the PDF."""

import re
import shutil
import subprocess
import warnings
from html import unescape

import pytest

import cgbench
from cgbench.latex import fit_to_column, latex_mark, latex_table
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
    latex = evaluated(by="length").to_latex(fit_column=True)
    assert latex.count(r"\begin{table}") == latex.count(r"\caption") == latex.count(r"\label") == 2
    assert len(set(re.findall(r"\\label\{(.*?)\}", latex))) == 2
    log, text = compiled(latex)
    assert not re.search(r"Overfull \\hbox \((?!0\.)\d", log), log
    if text:
        words = " ".join(text.split())
        assert "Table 1: BLEU" in words and "standard deviation over seeds" in words
        assert "** p < 0.01" in words and "#2" in words and "100%" in words
        assert "BLEU|nrefs:1|" in words.replace(" ", "")


def test_stars_take_no_room():
    assert latex_mark("**") == r"\rlap{$^{**}$}" and latex_mark("") == ""
    table = latex_table(render(("a", "b"), [("x", "1")], "latex"), "BLEU & chrF2, 50%", ["a note"])
    assert r"\caption{BLEU \& chrF2, 50\%}" in table and r"\label{tab:bleu-chrf2-50}" in table
    first, last = fit_to_column(table).split(r"\begin{tabular}")
    assert first.endswith("{!}{%\n") and last.count("\\end{tabular}}\n") == 1


def test_tables_copied_from_a_page_compile(compiled):
    page = score_page(evaluated(by="length"))
    copied = list(map(unescape, re.findall('data-copy="([^"]*)"', page)))
    assert len(copied) >= 4
    log, text = compiled("\n\\clearpage\n".join(copied))
    assert "multiply defined" not in log
    if text:
        assert "Bold: best system" in text and "Parts of BLEU" in text
