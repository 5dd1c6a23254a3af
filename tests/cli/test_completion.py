"""Shell completion: names where there is a list of them, files where a file is wanted."""

import pytest
from click.shell_completion import BashComplete

from cgbench.cli import main


def complete(*words):
    """What completes the last of ``words``, and as what."""
    found = BashComplete(main, {}, "cgbench", "_CGBENCH_COMPLETE").get_completions(
        [*words[:-1]], words[-1]
    )
    return [(one.type, one.value) for one in found]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("tra",), ["train", "train-ensemble", "translate"]),
        (("score", "bleu", "--paired", "m"), ["mcnemar"]),
        (
            (
                "score",
                "bl",
            ),
            ["bleu"],
        ),
        (("train", "--dry"), ["--dry-run"]),
    ],
)
def test_names(words, values):
    assert complete(*words) == [("plain", value) for value in values]


@pytest.mark.parametrize(
    "words",
    [
        ("train", "--train", "tr"),
        ("train", "--train", "a.de", "tr"),
        ("build-react", "--pool", "a.de", "b.en", "--exclude", "v.de", ""),
        ("degree", "tr"),
        ("score", "bleu", "--ref", "t"),
        ("translate", "--model", "models/a", "mo"),
        ("verify", "re"),
    ],
)
def test_files(words):
    assert complete(*words) == [("file", words[-1])]


def test_completion_fetches_nothing(monkeypatch):
    monkeypatch.setattr("cgbench.text.remote.local", lambda word: pytest.fail(f"fetched {word}"))
    assert complete("train", "--train", "https://example.org/a.de", "--dry") == [
        ("plain", "--dry-run")
    ]
