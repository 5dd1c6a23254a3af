"""The steps of fairseq's preparations of translation data (prepare-iwslt14.sh), one function a step.

Tokenisation is sacremoses', a port of the Moses scripts: escapes as Moses writes them (``&apos;``), hyphens kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, require
from cgbench.progress import bar
from cgbench.text.formats import read_lines

Pair = tuple[str, str]

DROPPED = ("<url>", "<talkid>", "<keywords>")  # lines about a talk that are not text
_TAGS = re.compile(r"</?(?:title|description)>")
_SEGMENT = re.compile(r'<seg id="[0-9]*">\s*|\s*</seg>\s*')
BLOCK = 2_000  # pairs handed to a worker process at a time


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


def tokenized(pairs: Iterable[Pair], languages: Pair, jobs: int, what: str) -> Iterator[Pair]:
    """Tokenise both sides, in order."""
    from cgbench.parallel import map_in_order

    require("sacremoses", "data")
    waiting = iter(pairs)
    blocks = iter(lambda: list(islice(waiting, BLOCK)), [])
    with bar(None, f"tokenise {what}", "pair") as progress:
        for block in map_in_order(partial(_tokenize, languages=languages), blocks, jobs):
            progress.update(len(block))
            yield from block


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


_tokenizers: dict[str, Any] = {}  # one a process and language: making one takes as long as a thousand lines


def _tokenize(block: list[Pair], languages: Pair) -> list[Pair]:
    for language in languages:
        if language not in _tokenizers:
            _tokenizers[language] = require("sacremoses", "data").MosesTokenizer(lang=language)
    first, second = (_tokenizers[language] for language in languages)
    return [
        (first.tokenize(source, return_str=True), second.tokenize(target, return_str=True)) for source, target in block
    ]
