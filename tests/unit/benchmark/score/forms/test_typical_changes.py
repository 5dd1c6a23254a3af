"""A test of significance and a form of output are a file and its line of registration, a column is
one declaration: they are added to a copy of the package, and every command and form has them.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cgbench

SIGN_TEST = '''"""The sign test: which system wins more examples."""

import numpy as np

from cgbench.benchmark.score.comparison.paired_test import PairedTest
from cgbench.benchmark.score.comparison.significance import sign_test


class SignTest(PairedTest):
    """The exact sign test over examples, by the main score."""

    name = "sign"

    def p_values(self, systems, pairs):
        """From the examples that each system wins."""
        units, compute = systems.drawn.units, systems.metric.compute
        scores = [compute(runs[0])[:, 0] for runs in units]
        p_values = {}
        for first, second in pairs:
            wins = np.count_nonzero(scores[first] > scores[second])
            losses = np.count_nonzero(scores[first] < scores[second])
            p_values[first, second] = [sign_test(wins, losses)] * len(systems.metric.figures)
        return p_values
'''
COLUMN = """    Column(
        "gain",
        "float64",
        "difference",
        "p-value in thousandths",
        value=lambda result: None if result.p_value is None else 1000 * result.p_value,
        head="thousandths",
        cell=lambda row, decimals: "" if row.p_value is None else f"{1000 * row.p_value:.2f}",
    ),
"""
WIKI = '''"""Tables for a wiki."""


def as_wiki(evaluation, width, reasons):
    """One line per score."""
    rows = [row for row in evaluation.rows() if row.analysis == "scores"]
    return "\\n".join(f"|| {row.system} || {row.value:.{width}f}{row.mark} ||" for row in rows)
'''
USE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import cgbench
from cgbench.report.score_page import score_page
assert cgbench.__file__.startswith(sys.argv[1])
systems = {"a": ["x"] * 12, "b": ["x"] * 3 + ["y"] * 9}
found = cgbench.evaluate("exact", systems, ["x"] * 12, paired="sign")
forms = {form: found.report(form) for form in ("text", "json", "tsv", "markdown", "latex", "wiki")}
forms["page"], forms["pandas"] = score_page(found), str(list(found.to_pandas()["gain"]))
forms["signature"] = str(found.scored.signature)
print(json.dumps(forms))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with the three changes; what its forms print."""
    folder = tmp_path_factory.mktemp("changed")
    package = folder / "cgbench"
    shutil.copytree(
        Path(cgbench.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    score = package / "benchmark/score"
    (score / "comparison/sign.py").write_text(SIGN_TEST)
    register(
        score / "comparison/paired_tests.py",
        "from cgbench.benchmark.score.comparison.sign import SignTest\n",
        "BUILT_IN = (Calibrated(), ",
        "SignTest(), ",
    )
    (score / "forms/wiki.py").write_text(WIKI)
    register(
        score / "forms/output.py",
        "from cgbench.benchmark.score.forms.wiki import as_wiki\n",
        "BUILT_IN: dict[str, Form] = {\n",
        '    "wiki": as_wiki,\n',
    )
    register(score / "forms/columns.py", "", "\nCOLUMNS = (\n", COLUMN)
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    run = lambda *words: subprocess.run(  # noqa: E731
        [sys.executable, *words], env=environment, capture_output=True, text=True, cwd=folder
    )
    used = run("-c", USE, str(folder))
    assert used.returncode == 0, used.stderr
    return json.loads(used.stdout), run


def register(path, line, after, entry):
    """Add the import of a file and its entry in a registry."""
    text = path.read_text()
    assert text.count(after) == 1
    text = text.replace("\nfrom cgbench", f"\n{line}from cgbench", 1)
    path.write_text(text.replace(after, after + entry))


def test_a_test_of_significance(changed):
    forms, run = changed
    (row,) = [value for value in json.loads(forms["json"]) if value["system"] == "b"]
    assert row["p_value"] == 2 / 2**9 and row["mark"] == "**"
    assert "paired:sign" in forms["signature"] and "(sign" in forms["text"]
    assert "**" in forms["text"] and "(sign" in forms["page"]
    shown = run("-m", "cgbench", "score", "exact", "--help").stdout
    assert "[calibrated|sign|" in shown and "[wiki|text|" in shown


def test_a_column(changed):
    forms, _ = changed
    for form in ("text", "markdown", "latex", "page"):
        assert "thousandths" in forms[form] and "3.91" in forms[form]
    assert [row["gain"] for row in json.loads(forms["json"])] == [None, 3.90625]
    head, *lines = (line.split("\t") for line in forms["tsv"].splitlines())
    assert [line[head.index("gain")] for line in lines] == ["", "3.90625"]
    assert forms["pandas"] == "[nan, 3.90625]"


def test_a_form_of_output(changed):
    assert changed[0]["wiki"] == "|| a || 100.0 ||\n|| b || 25.0** ||"
