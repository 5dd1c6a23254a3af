"""Words, tags and dependencies from CoNLL-U files (Universal Dependencies, version 2).

The words of a sentence are its *syntactic words*: the lines whose ID is a number. Only these carry
tags. A multiword token (``1-2``) and an empty node (``1.1``) are checked and skipped
(https://universaldependencies.org/format.html).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cgbench.errors import InputError, argument
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

COLUMNS = 10
FORM, LEMMA, UPOS, FEATS, HEAD, DEPREL = 1, 2, 3, 5, 6, 7
TAGS = {"upos": 3, "xpos": 4}
"""Columns of tags: universal ones, and language-specific ones (English: Penn Treebank)."""

_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"([0-9]{1,9})\.[1-9][0-9]*")


@dataclass(frozen=True)
class ParsedSentence:
    """The ten columns of every word, the line of each in the file (from 1), and the sentence's
    first line.
    """

    words: list[list[str]]
    lines: list[int]
    first: int

    def column(self, line_number: int) -> list[str]:
        """One column, one value per word."""
        return [fields[line_number] for fields in self.words]

    def heads(self, path: object) -> list[int]:
        """The head of each word, from 1; 0 for the root.

        :raises InputError: a HEAD is not the number of a word of the sentence.
        """
        sentence_rows = []
        for fields, line in zip(self.words, self.lines, strict=True):
            head = fields[HEAD]
            if (
                not head.isascii()
                or not head.isdigit()
                or len(head) > 9
                or int(head) > len(self.words)
            ):
                raise InputError(
                    f"{path}, line {line}: HEAD {head!r} is not the number of a word of the"
                    " sentence, or 0; parse the text first"
                )
            sentence_rows.append(int(head))
        return sentence_rows

    def tags(self, tags: str, path: object) -> list[str]:
        """The tag of each word.

        :param tags: ``xpos`` or ``upos``.
        :raises InputError: a word has no tag.
        """
        tagged = zip(self.column(TAGS[tags]), self.lines, strict=True)
        return [_tag(tag, tags, f"{path}, line {line}") for tag, line in tagged]


def read_sentences(path: Path) -> Iterator[ParsedSentence]:
    """The sentences of a CoNLL-U file (also .gz or .zst).

    :raises InputError: the file is missing or damaged, has no sentence, or a line violates the
        standard.
    """
    words: list[list[str]] = []
    lines: list[int] = []
    begin = line_number = range_end = sentences = 0
    for line_number, text in enumerate(read_lines(path, sentences=False), 1):
        line = text.rstrip("\r")
        # An empty line ends a sentence; comments precede it.
        if not line.strip():
            if begin:
                yield _finish(words, lines, begin, range_end, path, line_number)
                sentences += 1
            words, lines, begin, range_end = [], [], 0, 0
        elif line.startswith("#") and not words:
            continue
        else:
            # A row of ten columns.
            begin = begin or line_number
            fields, where = line.split("\t"), f"{path}, line {line_number}"
            if len(fields) != COLUMNS:
                raise InputError(
                    f"{where}: {len(fields)} columns; CoNLL-U has {COLUMNS}, separated by tabs, and"
                    " an empty line ends a sentence"
                )
            # The range of a token of several words; an empty node; a word.
            if span := _RANGE.fullmatch(fields[0]):
                first, last = int(span[1]), int(span[2])
                if first != len(words) + 1 or last < first or first <= range_end:
                    raise InputError(
                        f"{where}: the range {fields[0]} does not begin at word {len(words) + 1}"
                    )
                range_end = last
                continue
            if empty := _EMPTY.fullmatch(fields[0]):
                if int(empty[1]) != len(words):
                    raise InputError(
                        f"{where}: the empty node {fields[0]} does not follow word {len(words)}"
                    )
                continue
            if fields[0] != str(len(words) + 1):
                raise InputError(f"{where}: ID {fields[0]!r}; {len(words) + 1} is next")
            if not words_of(fields[FORM]):
                raise InputError(f"{where}: no word in column 2")
            words.append(fields)
            lines.append(line_number)
    if begin:
        yield _finish(words, lines, begin, range_end, path, line_number)
    elif not sentences:
        raise InputError(f"{path}: no sentences")


def _finish(
    words: list[list[str]],
    lines: list[int],
    begin: int,
    range_end: int,
    path: Path,
    line_number: int,
) -> ParsedSentence:
    if not words:
        raise InputError(f"{path}, line {begin}: a sentence without a word")
    if range_end > len(words):
        raise InputError(
            f"{path}, line {line_number}: the sentence ends within a range that ends at word"
            f" {range_end}"
        )
    return ParsedSentence(words, lines, begin)


def _tag(tag: str, tags: str, where: str) -> str:
    if tag == "_" or not tag:
        second = "upos" if tags == "xpos" else "xpos"
        raise InputError(
            f"{where}: no {tags} tag; use {argument('tags', second)} if the treebank has only those"
        )
    if len(words_of(tag)) != 1:
        raise InputError(f"{where}: the tag {tag!r} contains a blank")
    return tag
