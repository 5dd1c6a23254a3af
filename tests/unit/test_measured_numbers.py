"""Measured numbers outside the lab: each stands in a lab page that its page links to.

A percentage or a decimal that nobody measured is a convention (95% intervals, p < 0.05), or its
paragraph says what it is: ``<!-- example: 33.3 -->``, with a reason of :data:`REASONS`.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?%|(?<![\w.,])\d+\.\d+(?![\w.])")
LAB = re.compile(r"\]\((?:docs/|\.\./)?(lab/[a-z0-9-]+\.md)")
REASONS = ("definition", "example", "published", "version")
MARKER = re.compile(rf"<!-- (?:{'|'.join(REASONS)}): ([^>]*) -->")
NO_MEASUREMENT = re.compile(
    r"p < 0\.0\d|below 0\.05|Python [\d.]+ to [\d.]+|\]\([^)]*\)|arXiv\s[\d.]+"
    r"|(?<![\d.])(?:95% (?:confidence )?intervals?|100%|at 5%|5% level)(?!\w)"
)
PAGES = [
    ROOT / "README.md",
    DOCS / "index.md",
    *sorted((DOCS / "explanation").glob("*.md")),
    *sorted((DOCS / "how-to").glob("*.md")),
]


def paragraphs(text):
    """The paragraphs and list items of a page, without code, formulas and tables."""
    text = re.sub(r"```.*?```|\$`.*?`\$|`[^`\n]*`", "", text, flags=re.S)
    lines = [line for line in text.split("\n") if not line.startswith("|")]
    return re.split(r"\n\s*\n|\n(?=- )", "\n".join(lines))


def numbers_without_a_source(text):
    """The measured numbers of a page that no linked lab page has, and their paragraphs."""
    sources = "\n".join(
        (DOCS / page).read_text(encoding="utf-8") for page in sorted(set(LAB.findall(text)))
    )
    for paragraph in paragraphs(text):
        stated = " ".join(MARKER.findall(paragraph)).split()
        prose = NO_MEASUREMENT.sub("", MARKER.sub("", paragraph))
        for number in NUMBER.findall(prose):
            digits = re.escape(number.rstrip("%"))
            if number in stated or re.search(rf"(?<![\d.,]){digits}(?![\d])(?!\.\d)", sources):
                continue
            yield number, paragraph


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_numbers_stand_in_the_lab(page):
    missing = list(numbers_without_a_source(page.read_text(encoding="utf-8")))
    assert not missing, missing


def test_a_number_without_a_source_is_found():
    def numbers(text):
        return [number for number, _ in numbers_without_a_source(text)]

    assert numbers("A scan takes 0.68 of `wc -w`.") == ["0.68"]
    assert numbers("It drops 12.7% ([lab](docs/lab/splits.md)).") == ["12.7%"]
    assert numbers("It drops 12.7%. <!-- example: 12.7% -->") == []
    assert numbers("It drops 12.7%. <!-- because: 12.7% -->") == ["12.7%"] * 2
    level = "At p < 0.05, about 5% differ ([lab](docs/lab/significance.md))."
    assert not numbers(level)
    assert numbers(level.replace("5% differ", "4.19% differ")) == ["4.19%"]
