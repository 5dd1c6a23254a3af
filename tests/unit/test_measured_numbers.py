"""Measured numbers on the front pages: each stands in a lab page that its paragraph links to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d+(?:\.\d+)?%|(?<![\w.])\d+\.\d+(?![\w.])")
LAB = re.compile(r"\]\((?:docs/)?(lab/[a-z0-9-]+\.md)")
NO_MEASUREMENT = re.compile(r"p < 0\.0\d|Python [\d.]+ to [\d.]+")


def paragraphs(page):
    """The paragraphs and list items of a page, without code and tables."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    lines = [line for line in text.split("\n") if not line.startswith("|")]
    return re.split(r"\n\s*\n|\n(?=- )", "\n".join(lines))


def numbers_without_a_source(paragraph):
    """The measured numbers of a paragraph that no linked lab page has."""
    pages = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in LAB.findall(paragraph)]
    numbers = NUMBER.findall(NO_MEASUREMENT.sub("", paragraph))
    return [number for number in numbers if not any(number.rstrip("%") in page for page in pages)]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_numbers_stand_in_the_lab(name):
    for paragraph in paragraphs(ROOT / name):
        assert not numbers_without_a_source(paragraph), paragraph


def test_a_number_without_a_source_is_found():
    assert numbers_without_a_source("A scan takes 0.68 of `wc -w`.") == ["0.68"]
    assert numbers_without_a_source("It drops 12.7% ([lab](docs/lab/splits.md)).") == ["12.7%"]
    level = "At p < 0.05, about 5% differ ([lab](docs/lab/significance.md))."
    assert not numbers_without_a_source(level)
