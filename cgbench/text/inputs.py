"""Texts and corpora as callers of the library pass them: a file name, or strings in memory.

A ``str`` or path names a file, as on the command line: plain (also compressed), ``TABLE:COLUMN`` or
an address. Any other iterable of strings (a list, a pandas Series) is the text itself, one string
per example.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.files import write_atomic
from cgbench.text.columns import Column, read_column
from cgbench.text.formats import CorpusSpec, form
from cgbench.text.identities import index_of
from cgbench.text.remote import local
from cgbench.text.streams import is_stdin, split_name

AnyPath = str | os.PathLike[str]
Texts = AnyPath | Iterable[str] | Column
Corpus = AnyPath | tuple[AnyPath, AnyPath] | CorpusSpec


def is_path(value: object) -> bool:
    """Whether this is a file name, not a text."""
    return isinstance(value, (str, os.PathLike))


def as_column(text: Texts, name: str, *roles: str, ids: str | None = None) -> Column:
    """A text as a column; the index of a pandas Series becomes the ids.

    :param name: name of an in-memory text in messages.
    :param roles: columns to look for in a table where none is named
        (:func:`~cgbench.text.columns.read_column`).
    :param ids: the table column with the example ids.
    :raises InputError: a file cannot be read, or an item is not a string.
    """
    if isinstance(text, Column):
        return text
    if isinstance(text, (str, os.PathLike)):
        return read_column(local(os.fspath(text)), *roles, ids=ids)
    if isinstance(text, Mapping) or not isinstance(text, Iterable):
        raise InputError(f"{name}: {text!r:.60} is no text; give a file, or a list of strings")
    values = list(text)
    for row, value in enumerate(values, 1):
        if not isinstance(value, str):
            raise InputError(f"{name}, row {row}: {value!r} is not a string")
    return Column(name, values, ids=index_of(text))


def lines_of(text: Texts, name: str) -> tuple[list[str], str]:
    """The lines of a text, and its name in messages; parameters and errors as of
    :func:`as_column`.
    """
    column = as_column(text, name)
    return column.values, column.name


def files_of(*texts: Any) -> list[Path]:
    """The files that texts are read from; lists and standard input have none."""
    return [split_name(text)[0] for text in texts if is_path(text) and not is_stdin(text)]


def as_corpus(
    corpus: Any,
    columns: tuple[str, str] | None = None,
    role: str = "corpus",
    texts: Path | None = None,
) -> CorpusSpec:
    """A corpus: a file that holds both sides, two files, ``(source, target)``, or two lists of
    sentences.

    :param columns: source and target column of a single file.
    :param role: name in errors: ``train``, ``pool-1``.
    :param texts: folder that two lists of sentences are written to, under a hash of their content.
    :raises InputError: it is something else.
    """
    if isinstance(corpus, CorpusSpec):
        return corpus
    if is_path(corpus):
        return CorpusSpec((local_path(corpus),), columns)
    members = list(corpus) if isinstance(corpus, Iterable) else []
    if members and all(map(is_path, members)):
        paths = tuple(map(local_path, members))
        return CorpusSpec(paths, columns if len(paths) == 1 else None)
    if len(members) != 2 or not all(map(_is_text, members)):
        raise InputError(
            f"{role}: a corpus is a file, two files, or two lists of sentences (source, target)"
        )
    if texts is None:
        raise InputError(f"{role}: a file is needed, or two, (source, target)")
    return _write(list(map(list, members)), role, texts)


def corpora_of(
    value: Any, role: str, *, columns: tuple[str, str] | None = None, texts: Path | None = None
) -> tuple[CorpusSpec, ...]:
    """Several corpora or a single one. Two names of plain files are the two sides of one corpus."""
    if isinstance(value, (str, os.PathLike, CorpusSpec)) or _is_pair(value):
        return (as_corpus(value, columns, f"{role}-1", texts),)
    return tuple(
        as_corpus(corpus, columns, f"{role}-{position}", texts)
        for position, corpus in enumerate(value, 1)
    )


def _is_pair(value: Any) -> bool:
    """Whether these are the sides of one corpus: two plain files, or two lists of sentences that
    are not file pairs.
    """
    if len(value) != 2:
        return False
    if all(isinstance(side, (str, os.PathLike)) for side in value):
        return all(form(Path(str(side))) == "plain" for side in value)
    return all(_is_text(side) and len(side) != 2 for side in value)


def _is_text(value: Any) -> bool:
    """Whether this is a list of sentences."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return all(isinstance(sentence, str) for sentence in value)


def _write(sides: Sequence[Sequence[str]], role: str, folder: Path) -> CorpusSpec:
    for name, lines in zip(("source", "target"), sides, strict=True):
        if broken := next(
            (line_number for line_number, line in enumerate(lines, 1) if "\n" in line), 0
        ):
            raise InputError(
                f"{role}, {name}, sentence {broken}: holds a line break; a sentence is one line"
            )
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{role}: {len(sides[0]):,} source sentences for {len(sides[1]):,} target sentences"
        )
    if not sides[0]:
        raise InputError(f"{role}: the corpus is empty")
    from cgbench.steps import hash_value

    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{role}-{hash_value(sides)[:12]}"
    paths = (folder / f"{stem}.source", folder / f"{stem}.target")
    for path, lines in zip(paths, sides, strict=True):
        write_atomic(path, "".join(line + "\n" for line in lines))
    return CorpusSpec(paths, label=role)


def local_path(path: AnyPath) -> Path:
    """The path of a file; an address is downloaded first (:mod:`cgbench.text.remote`).

    :raises InputError: the download fails.
    """
    return Path(local(os.fspath(path)))
