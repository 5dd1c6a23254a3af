"""Metrics of other packages: found by their entry point, with everything that the metrics of
cgbench have.
"""

import json
import re
import sys
import types
from pathlib import Path

import pytest
from installed_packages import install

from cgbench import evaluate
from cgbench.errors import InputError

REFERENCES = ["the cat saw a dog", "a dog ran", "the dog ran home", "a cat"] * 5
SYSTEMS = {
    "good": ["THE cat saw a dog", "a dog ran", "the dog ran", "a cat"] * 5,
    "bad": ["the", "a", "dog", ""] * 5,
}


@pytest.fixture(autouse=True)
def package(monkeypatch):
    """A package with the metric of docs/how-to/add-a-metric.md, one that cannot be imported, one
    without a metric.
    """
    page = (Path(__file__).parents[5] / "docs/how-to/add-a-metric.md").read_text(encoding="utf-8")
    module = types.ModuleType("recall")
    exec(re.search("```python\n(.*?)```", page, re.DOTALL)[1], vars(module))
    monkeypatch.setitem(sys.modules, "recall", module)
    name, value = re.search('^([a-z-]+) = "(.+)"$', page, re.MULTILINE).groups()
    found = {name: value, "lost": "no_such_package:Metric", "text": "json:loads"}
    install(monkeypatch, {"cgbench.metrics": found})


def test_the_example_of_the_documentation():
    options = {"by": "length", "breakdown": {"bins": [3]}, "comparison": {"samples": 100}}
    found = evaluate("word-recall", SYSTEMS, REFERENCES, paired=True, **options)
    assert found.figures == {
        "good": {"score": pytest.approx(100 * 12 / 14)},
        "bad": {"score": pytest.approx(300 / 14)},
    }
    assert found.signature.startswith("word-recall|nrefs:1|")
    good, bad = found.results
    assert good.whole.figures["score"].ci_low < found.score < good.whole.figures["score"].ci_high
    assert bad.whole.figures["score"].p_value < 0.05 and len(bad.bins) == 2
    assert evaluate("word-recall", SYSTEMS["good"], REFERENCES, lowercase=True).score > found.score
    with pytest.raises(InputError, match="word-recall has no option case; there is lowercase"):
        evaluate("word-recall", SYSTEMS, REFERENCES, case=True)


def test_on_the_command_line(run, tmp_path):
    for name, lines in {"ref": REFERENCES, **SYSTEMS}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    words = (
        "score",
        "word-recall",
        "--ref",
        tmp_path / "ref",
        "--hyp",
        tmp_path / "good",
        "--format",
        "json",
    )
    words = (*words, "--control-ref", tmp_path / "ref", "--control-hyp", tmp_path / "good")
    found = json.loads(run(*words, "--lowercase", "--per-example", tmp_path / "rows").stdout)
    assert found["value"] == pytest.approx(100 * 13 / 14) and found["control"]["drop"] == 0
    assert (tmp_path / "rows").read_text().splitlines()[1].split("\t") == [
        "1",
        "good",
        "1",
        "100.0",
    ]
    help = run("score", "--help")
    assert "word-recall" in help.stdout and "lost" not in help.stdout
    assert "no_such_package:Metric cannot be loaded" in help.stderr
    assert "--lowercase" in run("score", "word-recall", "--help").stdout


def test_what_is_no_metric(run):
    with pytest.raises(
        InputError,
        match="no_such_package:Metric cannot be loaded: No module named 'no_such_package'",
    ):
        evaluate("lost", SYSTEMS, REFERENCES)
    assert "json:loads is not a subclass of cgbench.Metric" in run("score", "text", status=2).stderr
    with pytest.raises(InputError, match="metric='word-recal'; did you mean word-recall?"):
        evaluate("word-recal", SYSTEMS, REFERENCES)
