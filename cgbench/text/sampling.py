"""A sample of a text, spread evenly over it: the same lines whatever file the text is in, and every time.

Which lines are taken depends on their numbers alone, so that a plain file, its ``.gz`` and a table of the same text
have one sample. A compressed text cannot be read from the middle, so every text is read from its beginning, up to
:data:`READ` lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from cgbench.text.columns import read_text
from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.streams import is_stdin

RUN = 16  # lines in a row, so that neighbours are seen, too
RUNS = 128  # at least so many of a long text, less than twice as many
READ = 1 << 18
CHARACTERS = 64 << 20  # about so many are read of a text with long lines
LONGEST = 2_000  # characters of a line are looked at

Item = TypeVar("Item", str, Pair)


def spread(items: Iterator[Item]) -> list[Item]:
    """Every 2^k-th run of :data:`RUN` items, with the least k that leaves fewer than 2 x :data:`RUNS` runs.

    Less than all is read of what is longer than :data:`READ` items, or :data:`CHARACTERS` by what the sample shows.
    """
    kept: list[list[Item]] = []
    step, size = 1, 0
    for number in range(READ // RUN):
        if not (run := list(islice(items, RUN))):
            break
        if number % step:
            continue
        if len(kept) == 2 * RUNS:
            kept, step = kept[::2], 2 * step
            if number % step:
                continue
        size += step * sum(len(item) if isinstance(item, str) else len(item[0]) + len(item[1]) for item in run)
        kept.append([_cut(item) for item in run])
        if size > CHARACTERS:
            break
    return [item for run in kept for item in run]


def _cut(item: Item) -> Item:
    if isinstance(item, str):
        return item[:LONGEST]
    return item[0][:LONGEST], item[1][:LONGEST]


def sample_pairs(spec: CorpusSpec) -> list[Pair]:
    """A sample of the pairs of a corpus; none of one that comes from standard input, which can be read once.

    :raises InputError: as :func:`cgbench.text.formats.read_pairs`, of what was read.
    """
    return [] if any(map(is_stdin, spec.files)) else spread(read_pairs(spec))


def sample_text(given: str | Path) -> list[str]:
    """A sample of the lines of a text as a user names it; none of standard input.

    :raises InputError: as :func:`cgbench.text.columns.read_text`, of what was read.
    """
    return [] if is_stdin(given) else spread(iter(read_text(given)))
