"""Texts and corpora as a caller of the library gives them: a file by its name, or strings in memory.

A ``str`` or path is a file, as on the command line: plain (.gz, .zst too), ``TABLE:COLUMN`` or an address. Any other
iterable of strings (a list, a pandas Series) is the text itself, a string an example.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cgbench.errors import InputError
from cgbench.text.columns import Column, read_column
from cgbench.text.formats import CorpusSpec
from cgbench.text.joins import index_of
from cgbench.text.remote import local

AnyPath = str | os.PathLike[str]
Texts = AnyPath | Iterable[str] | Column
Corpus = AnyPath | tuple[AnyPath, AnyPath] | CorpusSpec


def is_path(given: object) -> bool:
    """Whether this is the name of a file, not a text."""
    return isinstance(given, (str, os.PathLike))


def as_column(given: Texts, name: str, *roles: str, ids: str | None = None) -> Column:
    """A text as a column; a pandas Series has its index as ids.

    :param name: what messages call a text that is in no file.
    :param roles: of a table's column, where none is named (:func:`~cgbench.text.columns.read_column`).
    :param ids: the column of a file's table that says which example a row is of.
    :raises InputError: a file cannot be read, or what is given holds something else than strings.
    """
    if isinstance(given, Column):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read_column(local(os.fspath(given)), *roles, ids=ids)
    values = list(given)
    for row, value in enumerate(values, 1):
        if not isinstance(value, str):
            raise InputError(f"{name}, row {row}: {value!r}, where a string is needed")
    return Column(name, values, ids=index_of(given))


def as_corpus(given: Corpus, columns: tuple[str, str] | None = None) -> CorpusSpec:
    """A corpus: a file that holds both sides, or two, ``(source, target)``.

    :param columns: source and target column of a single file.
    :raises InputError: it is neither.
    """
    if isinstance(given, CorpusSpec):
        return given
    if isinstance(given, (str, os.PathLike)):
        return CorpusSpec((as_path(given),), columns)
    return CorpusSpec(tuple(map(as_path, given)))


def as_path(given: AnyPath) -> Path:
    """The path of a file, which is fetched where an address is given (:mod:`cgbench.text.remote`).

    :raises InputError: it cannot be.
    """
    return Path(local(os.fspath(given)))
