"""Formats of tables that other packages add, by the suffix of their files.

A format is registered as ``cgbench.formats`` (:mod:`cgbench.extensions`) under its suffix without
the dot. A file of that format is read wherever cgbench reads a table: corpora, references,
hypotheses, tables of examples.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.extensions import load_from_package, of_packages
from cgbench.records import Record
from cgbench.text.languages import known

USUAL = ("", "txt", "text", "out", "hyp", "ref", "src", "tok", "norm", "log")
"""Suffixes of plain text, for which entry points, which take time to list, are not read."""


class TableFormat(Record):
    """A format of tables.

    :param suffix: of its files, without the dot.
    :param rows: yields the rows of a file, a mapping of column names to values each, in order. It
        raises :class:`~cgbench.errors.InputError` for a damaged file.
    """

    suffix: str
    rows: Callable[[Path], Iterator[Mapping[str, Any]]]


def may_be_added(suffix: str) -> bool:
    """Whether packages are asked for files with this suffix: not for those of plain text."""
    return suffix not in USUAL and not known(suffix)


@cache
def is_added(suffix: str) -> bool:
    """Whether another package reads files with this suffix as tables."""
    return may_be_added(suffix) and suffix in of_packages("formats")


def added_format(suffix: str) -> TableFormat:
    """The format that another package has registered.

    :raises InputError: it cannot be loaded, or is something else.
    """
    point = of_packages("formats")[suffix]
    table_format: TableFormat = load_from_package("formats", point, TableFormat, "a TableFormat")
    if table_format.suffix != suffix:
        raise InputError(f"cgbench.formats {suffix}: {point.value} is for .{table_format.suffix}")
    return table_format
