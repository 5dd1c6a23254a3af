"""The steps of fairseq's preparations of translation data (prepare-iwslt14.sh), one function a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.text.moses import Pair, map_pairs, moses
from cgbench.text.streams import read_lines

DROPPED = ("<url>", "<talkid>", "<keywords>")  # lines about a talk that are not text
_TAGS = re.compile(r"</?(?:title|description)>")
_SEGMENT = re.compile(r'<seg id="[0-9]*">\s*|\s*</seg>\s*')


def talk_lines(path: Path) -> Iterator[str]:
    """The text of an IWSLT training file: talks with tags between them."""
    for line in read_lines(path):
        if not any(tag in line for tag in DROPPED):
            yield _TAGS.sub("", line)


def segment_lines(path: Path) -> Iterator[str]:
    """The text of an IWSLT or WMT test file: ``<seg id="1"> ... </seg>``, typographic apostrophes made plain."""
    for line in read_lines(path):
        if "<seg id" in line:
            yield _SEGMENT.sub("", line).replace("\u2019", "'")


def aligned(source: Path, target: Path, first: Iterable[str], second: Iterable[str]) -> Iterator[Pair]:
    """Pairs of the lines of two files.

    :raises InputError: one has more than the other, with the row.
    """
    for number, (left, right) in enumerate(zip_longest(first, second), 1):
        if left is None or right is None:
            raise InputError(
                f"{source if left is None else target}: row {number} is lacking; the file may be cut short"
            )
        yield left, right


def tokenized(pairs: Iterable[Pair], languages: Pair, what: str, engine: Engine) -> Iterator[Pair]:
    """Tokenise both sides, in order."""
    moses(languages[0])  # before any work: is it installed?
    yield from map_pairs(partial(_tokenize, languages=languages), pairs, what, engine)


def clean(pairs: Iterable[Pair], shortest: int, longest: int, ratio: float) -> Iterator[Pair]:
    """Drop pairs whose sides have fewer or more words than this, or one side over ``ratio`` times the other's."""
    for source, target in pairs:
        lengths = (len(source.split()), len(target.split()))
        if shortest <= min(lengths) and max(lengths) <= longest and max(lengths) <= ratio * min(lengths):
            yield " ".join(source.split()), " ".join(target.split())


def lowercased(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Both sides in lower case."""
    for source, target in pairs:
        yield source.lower(), target.lower()


def _tokenize(block: list[Pair], languages: Pair) -> list[Pair]:
    first, second = map(moses, languages)
    return [(first(source), second(target)) for source, target in block]
