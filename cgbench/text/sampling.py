"""Draw an evenly spread, reproducible sample of a text.

The sample depends only on line numbers, so a plain file, its ``.gz`` and a table of the same text
give the same sample. A compressed text cannot be read from the middle, so every text is read from
its beginning, up to :data:`READ` lines.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from cgbench.text.columns import read_text
from cgbench.text.formats import Pair
from cgbench.text.streams import is_stdin

RUN = 16  # consecutive lines, so that neighbours are included
RUNS = 128  # minimum number of runs of a long text, and half the maximum
READ = 1 << 18
CHARACTERS = 64 << 20  # approximate maximum for a text with long lines
LONGEST = 2_000  # characters kept of a line

Item = TypeVar("Item", str, Pair)


def spread(items: Iterator[Item]) -> list[Item]:
    """The items of :func:`spread_runs`."""
    return [item for _, run in spread_runs(items) for item in run]


def spread_runs(items: Iterator[Item]) -> list[tuple[int, list[Item]]]:
    """Every 2^k-th run of :data:`RUN` items, with the smallest k that leaves fewer than 2 x
    :data:`RUNS` runs; each with the number of its first item, from 1.

    Reading stops after :data:`READ` items, or an estimated :data:`CHARACTERS` characters.
    """
    runs: list[tuple[int, list[Item]]] = []
    step, characters = 1, 0
    for run_number in range(READ // RUN):
        if not (run := list(islice(items, RUN))):
            break
        if run_number % step:
            continue
        if len(runs) == 2 * RUNS:
            runs, step = runs[::2], 2 * step
            if run_number % step:
                continue
        characters += step * sum(
            len(item) if isinstance(item, str) else len(item[0]) + len(item[1]) for item in run
        )
        runs.append((run_number * RUN + 1, [_cut(item) for item in run]))
        if characters > CHARACTERS:
            break
    return runs


def _cut(item: Item) -> Item:
    if isinstance(item, str):
        return item[:LONGEST]
    return item[0][:LONGEST], item[1][:LONGEST]


def sample_text(text: str | Path) -> list[str]:
    """A sample of the lines of a text; empty for standard input.

    :raises InputError: as :func:`cgbench.text.columns.read_text`, for the lines read.
    """
    return [] if is_stdin(text) else spread(iter(read_text(text)))
