"""Single texts: a plain file, one side of a corpus, or a column of a table."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgbench.benchmark.measure.known_ngrams.vocabulary import blocks_of
from cgbench.errors import InputError, argument
from cgbench.text.blocks import Block, read_blocks
from cgbench.text.columns import read_text as text_lines
from cgbench.text.formats import CorpusSpec, has_tab, read_pairs, unequal_sides
from cgbench.text.normalisation import SIDES
from cgbench.text.plain_text import BLANKS, words_of
from cgbench.text.shards import Change
from cgbench.text.streams import is_stdin, is_table, shown, split_name

BLANK_BYTES = np.frombuffer(BLANKS, np.uint8)


@dataclass(frozen=True)
class Text:
    """A text, one sentence per line: its ``content`` is in memory, or a file that is read block by
    block.

    ``name`` is the user's name of it; ``side`` is ``source`` or ``target`` if it is one side of a
    corpus.
    """

    name: str
    side: str | None
    content: Sequence[str] | Path

    @property
    def lines(self) -> Sequence[str]:
        """All lines; a file is read again each time."""
        return list(text_lines(self.content)) if isinstance(self.content, Path) else self.content

    def blocks(self) -> Iterator[Block]:
        """The text in blocks for the compiled loops.

        A block's buffer may be reused by the next one.
        """
        return blocks_of(self.content)

    def sentences(self) -> list[list[str]]:
        """The words of each line."""
        return list(map(words_of, self.lines))


def text_digest(text: Text) -> str:
    """The SHA-256 of a text's lines (as UTF-8, each followed by a newline)."""
    digest = hashlib.sha256()
    filled = False
    for block in text.blocks():
        digest.update(block.buffer[: block.size].data)
        filled = filled or bool(np.any(~np.isin(block.buffer[: block.size], BLANK_BYTES)))
    if not filled:
        raise InputError(f"{text.name}: the text is empty")
    return digest.hexdigest()


def read_single_text(
    paths: Sequence[Path] | Text,
    columns: tuple[str, str] | None,
    side: str | None,
    change: Change | None,
    *,
    keep: bool,
) -> Text:
    """Read one text.

    :param paths: a plain file, ``TABLE:COLUMN`` or ``-``; two of these, source and target; a table
        with both sides; or a text in memory.
    :param columns: source and target column of a table.
    :param side: which side of a corpus (default: source); None for a single text.
    :param change: normalises a line.
    :param keep: keep the lines in memory, even those of a file that could be read again.
    :raises InputError: a file is missing or cannot be read, the sides of a corpus differ in length,
        or ``side`` is set for a single text.
    """
    if isinstance(paths, Text):
        if side:
            raise InputError(f"{paths.name}: is a single text; leave {argument('side', side)} out")
        return Text(paths.name, None, _changed(list(paths.lines), change))
    name = " ".join(map(str, paths))
    if len(paths) == 1:
        path = paths[0]
        column = split_name(path)[1]
        two_sides = is_table(path) or ((side or columns) and has_tab(path))  # whatever its name
        if column is not None or not two_sides:
            if side:
                noun = "column" if column is not None else "text"
                raise InputError(f"{name}: is a single {noun}; leave {argument('side', side)} out")
            if keep or change or is_stdin(path):
                return Text(shown(path), None, _changed(list(text_lines(path)), change))
            return Text(name, None, path)
    spec = CorpusSpec(tuple(paths), columns)
    side = side or SIDES[0]
    side_index = SIDES.index(side)
    if spec.is_plain and not keep and not change:
        # both sides, even if only one of them is used
        counts = [sum(block.count_lines() for block in read_blocks(file)) for file in paths]
        if counts[0] != counts[1]:
            raise unequal_sides(paths[0], counts[0], paths[1], counts[1])
        return Text(name, side, paths[side_index])
    return Text(name, side, _changed([pair[side_index] for pair in read_pairs(spec)], change))


def _changed(lines: list[str], change: Change | None) -> list[str]:
    return list(map(change, lines)) if change else lines


def check_sentences(text: Text) -> None:
    """Check a test text: it needs sentences, and each needs words, because an empty one has no
    degree.
    """
    if not text.lines:
        raise InputError(f"{text.name}: the text is empty")
    for line_number, line in enumerate(text.lines, 1):
        if not words_of(line):
            raise InputError(
                f"{text.name}, row {line_number}: an empty sentence has no degree; remove it"
            )
