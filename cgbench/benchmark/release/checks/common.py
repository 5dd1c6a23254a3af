"""The results of checks, and the rows in which two columns differ."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, TypeAlias

from cgbench.benchmark.release.manifest import Check

Outcome: TypeAlias = str | Iterable[Check]
"""The result of a check: the difference (empty: none), or one result for each thing checked."""


def differing_rows(expected: Iterable[Any], recorded: Iterable[Any]) -> list[int]:
    """The rows (from 1) that differ; a row that only one of the two has differs."""
    missing = object()
    pairs = zip_longest(expected, recorded, fillvalue=missing)
    return [row for row, (first, second) in enumerate(pairs, 1) if first != second]


def difference(line: str, rows: list[int], noun: str) -> str:
    """What is wrong, if any rows are: the first of them stands in ``line`` as ``{}``."""
    return f"{line.format(rows[0])} ({len(rows):,} such {noun})" if rows else ""
