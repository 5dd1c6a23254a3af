"""tests/prose.py: each pattern finds its example and leaves good sentences alone."""

import runpy
from pathlib import Path

import pytest

PROSE = runpy.run_path(str(Path(__file__).parents[1] / "prose.py"))

HABITS = [
    "A file has a sentence a line.",
    "It writes one script a job.",
    "Names, one a line.",
    "How many, and so many more.",
    "A killed build goes on.",
    "The file is looked at.",
    "It is taken for a path.",
    "The count stands beside the score.",
    "Data of others.",
    "The release is in order.",
    "It names how to mend it.",
    "Scores are printed, too.",
    "Folders likewise.",
    "Nothing is said of it.",
    "'x' is none of the systems",
    "train.yaml: no file of settings",
    "Made to measure for any pair.",
    "Models that differ in their seed alone.",
    "A test that holds its level.",
    "Killed at any moment, it resumes.",
    "As near as it can be.",
    "Sizes are not believed.",
    "An error that is not the input's.",
    "It prints what is missing.",
    "It shows what systems said.",
    "It records what was asked.",
    "A model that can think aloud.",
    "Text that leaves the house.",
    "Sweep old results.",
    "It starts of its own accord.",
    "The model generalizes and is normalized.",
    "The behavior of a color.",
    "The modeling code was analyzed.",
    "An interval of 95 % is wide.",
]
PLAIN = [
    "One sentence per line, a test set per folder, 4.5 steps a second.",
    "A file is a list of lines; one has a name.",
    "So much that nothing fits; the differences are too small.",
    "Run it in order to see the rows in order.",
    "Look at the first lines; recommend a fix.",
    "The tokeniser's behaviour is analysed.",
    "`tokenize` and --tokenize, analyzer='color' and color.py are names.",
    "```\nso many goes on\n```",
    "None of the systems is missing; no file is written.",
    "Colors and *Findings of ACL 2024* are proper names.",
]


@pytest.mark.parametrize("text", HABITS)
def test_a_habit_is_found(text):
    assert list(PROSE["hits"](text))


def test_every_pattern_has_its_example():
    unused = [
        rule.pattern for rule, _ in PROSE["RULES"] if not any(rule.search(text) for text in HABITS)
    ]
    assert not unused


@pytest.mark.parametrize("text", PLAIN)
def test_plain_english_is_left_alone(text):
    assert not list(PROSE["hits"](text))


def test_what_is_read_in_a_module(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(
        '"""One a line."""\n'
        "# goes on\n"
        'option(help="Of two.")\n'
        'raise InputError(f"{path}: " f"{n} of others in it")\n'
        'name = "mend"\n'
    )
    hits = PROSE["hits"]
    found = [
        (line, words)
        for line, text, is_help in PROSE["texts"](path)
        for _, words, _ in hits(text, is_help)
    ]
    assert sorted(found) == [
        (1, "One a line"),
        (2, "goes on"),
        (3, "."),
        (3, "Of"),
        (4, "of others"),
    ]


def test_only_the_newest_section_of_the_changelog_is_read(tmp_path):
    path = tmp_path / "CHANGELOG.md"
    path.write_text("# Changes\n\n## 2\n\nNew.\n\n## 1\n\nOld.\n")
    ((line, text, is_help),) = PROSE["texts"](path)
    assert (line, is_help) == (1, False)
    assert "New" in text and "Old" not in text
