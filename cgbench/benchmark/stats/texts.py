"""Single texts as a user names them: a plain file, one side of a corpus, or a column of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.errors import InputError
from cgbench.text.blocks import Block, join_blocks, read_blocks
from cgbench.text.columns import read_column, short_name, split_name
from cgbench.text.formats import COMPRESSED, CorpusSpec, form, read_lines, read_pairs

SIDES = ("source", "target")
Change = Callable[[str], str]


@dataclass(frozen=True)
class Text:
    """A text, a sentence a line: in memory (``lines``), or a plain file that is read block by block (``path``).

    ``name`` is what the user called it; ``side`` is ``source`` or ``target`` where it is a side of a corpus.
    """

    name: str
    side: str | None
    lines: Sequence[str] | None = None
    path: Path | None = None

    def blocks(self) -> Iterator[Block]:
        """The text as the compiled loops read it. A block's buffer may be reused by the next one."""
        if self.lines is not None:
            return join_blocks(self.lines)
        assert self.path is not None
        return read_blocks(self.path)

    def sentences(self) -> list[list[str]]:
        """The words of each line."""
        if self.lines is not None:
            return [words_of(line) for line in self.lines]
        assert self.path is not None
        return [words_of(line) for line in read_lines(self.path)]


@dataclass(frozen=True)
class Identity:
    """What a text is: the SHA-256 of its lines (as UTF-8, each ended by a newline), and how many there are."""

    sha256: str
    lines: int


def identify(text: Text) -> Identity:
    """Hash a text and count its lines.

    :raises InputError: it holds no word.
    """
    digest = hashlib.sha256()
    lines, words = 0, False
    for block in text.blocks():
        digest.update(block.buffer[: block.size].data)
        lines += block.count_lines()
        words = words or bool(np.any(block.buffer[: block.size] > 32))
    if not words:
        raise InputError(f"{text.name}: the text is empty")
    return Identity(digest.hexdigest(), lines)


def words_of(line: str) -> list[str]:
    """The words of a line: what ASCII white space separates."""
    return [word.decode() for word in line.encode().split()]


def read_text(
    paths: Sequence[Path],
    columns: tuple[str, str] | None,
    side: str | None,
    change: Change | None,
    *,
    keep: bool,
) -> Text:
    """Read one text.

    :param paths: a plain file; two, source and target; a table with both sides; or ``TABLE:COLUMN``.
    :param columns: source and target column of a table.
    :param side: which side of a corpus (default: source); None for a text that has none.
    :param change: normalises a line.
    :param keep: hold the lines in memory, even those of a plain file that could be read where it is.
    :raises InputError: a file is missing or cannot be read; a side of a text is asked for that has no sides.
    """
    name = " ".join(map(str, paths))
    if len(paths) == 1:
        path, column = split_name(str(paths[0]))
        if column is not None or form(path) == "plain":
            if side:
                what = "one column" if column is not None else "one side"
                raise InputError(f"{name}: --side {side}, but this is a text of {what}; leave --side out")
            if column is not None:
                return Text(name, None, _changed(read_column(paths[0]).values, change))
            return _plain(name, None, path, change, keep)
    spec = CorpusSpec(tuple(paths), columns)
    side = side or SIDES[0]
    number = SIDES.index(side)
    if len(paths) == 2 and not keep:
        for path in paths:
            if not path.exists():
                raise InputError(f"{path}: no such file")
        return _plain(name, side, paths[number], change, keep)
    lines = [pair[number].replace("\n", " ") for pair in read_pairs(spec)]
    return Text(name, side, _changed(lines, change))


def _plain(name: str, side: str | None, path: Path, change: Change | None, keep: bool) -> Text:
    if keep or change or path.suffix in COMPRESSED:
        return Text(name, side, _changed(list(read_lines(path)), change))
    return Text(name, side, path=path)


def _changed(lines: list[str], change: Change | None) -> list[str]:
    return list(map(change, lines)) if change else lines


def check_sentences(text: Text) -> None:
    """Check a test text: a sentence without words has no degree, and no text has none.

    :raises InputError: there is no line, or a line without a word (with its number).
    """
    assert text.lines is not None
    if not text.lines:
        raise InputError(f"{text.name}: the text is empty")
    for number, line in enumerate(text.lines, 1):
        if not line.strip(" \t\n\r\x0b\x0c"):
            raise InputError(f"{text.name}, row {number}: an empty sentence, whose degree is not defined; remove it")


def split_label(paths: Sequence[Path]) -> tuple[str, list[Path]]:
    """``NAME=FILE`` as name and files; without ``NAME=`` the name of the first file, less what tells its form.

    :raises InputError: the name is empty.
    """
    first = str(paths[0])
    label, sign, rest = first.partition("=")
    if sign and not split_name(first)[0].exists():
        if not label or not rest:
            raise InputError(f"--test {first}: write it as NAME=FILE")
        return label, [Path(rest), *paths[1:]]
    return short_name(first), list(paths)
