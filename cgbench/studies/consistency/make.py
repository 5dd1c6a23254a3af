"""``make_items()``: sentences that share a piece, a word or a sentence, to translate and to score
for consistency.

Dankers, Bruni and Hupkes (2022) change sentences by a swapped noun phrase, a synonym and a
conjunction, from templates; here they come from any text. A hash of the sentences decides which are
drawn, so their order does not.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cgbench.argument_types import as_path
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.numbers_as_text import counted
from cgbench.request import accepts
from cgbench.studies.consistency.items import HEAD, ItemRow, Tokens, Words, read_items
from cgbench.studies.consistency.request import ItemsRequest
from cgbench.tables import render
from cgbench.text.columns import read_text
from cgbench.text.inputs import as_column, files_of, is_path
from cgbench.text.joins import Examples
from cgbench.text.plain_text import words_of

LONGEST = 40  # words of a sentence
POOL = 50  # times as many sentences of a piece as are drawn, to find changes in
_END = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+\s*$")
Cells = tuple[str, str, str, str]
"""A row of the table: :data:`~cgbench.studies.consistency.items.HEAD`."""


class Found(NamedTuple):
    """A sentence with a piece: where that begins and ends, in characters, and the words before and
    after it.
    """

    text: str
    begin: int
    end: int
    near: tuple[str, str]

    def changed(self, replacement: str) -> tuple[str, str] | None:
        """Another piece with the capital of this one, and the sentence with that in its place; None
        where it occurs earlier in that sentence, or is all of it."""
        if self.begin == 0 and self.text[0].isupper():
            replacement = replacement[:1].upper() + replacement[1:]
        text = self.text[: self.begin] + replacement + self.text[self.end :]
        tokens = Tokens.of(text)
        position = tokens.find(Tokens.of(replacement).words)
        fits = position >= 0 and tokens.spans[position][0] == self.begin and any(self.near)
        return (replacement, text) if fits else None


@dataclass(frozen=True)
class Items:
    """The sentences of a consistency test in a table; ``left_out``: pieces with too few
    contexts.
    """

    rows: list[ItemRow]
    left_out: list[str]
    out: Path

    def report(self) -> str:
        """The counts."""
        items, pieces = len({row.item for row in self.rows}), len({row.piece for row in self.rows})
        few = (
            f"; {counted(len(self.left_out), 'piece')} with too few contexts left out"
            if self.left_out
            else ""
        )
        return (
            f"{counted(items, 'item')} of {counted(pieces, 'piece')},"
            f" {counted(len(self.rows), 'sentence')}{few}\ntranslate {self.out}:source, then run"
            f" cgbench consistency score {self.out}"
        )


@accepts(ItemsRequest)
def make_items(request: ItemsRequest) -> Items:
    """Draw or change sentences of a monolingual text that share pieces, and write them to a table.

    Case is ignored, and the text may be tokenised or raw. Only the first occurrence in a sentence
    counts.

    :raises InputError: a text cannot be read, options do not fit together, or no item can be made.
    """
    out, left_out = as_path(request.out), list[str]()
    if (request.pieces is None) == (request.conjunction is None):
        raise InputError(f"give either {argument('pieces')} or {argument('conjunction')}")
    if request.swap + (request.synonyms is not None) > (request.pieces is not None):
        raise InputError(
            f"{argument('swap')} or {argument('synonyms')}, not both, can be given with"
            f" {argument('pieces')}"
        )
    if out.suffix != ".tsv":
        raise InputError(f"{argument('out')} {out}: give a name that ends in .tsv")
    check_output(out, files_of(request.text, request.pieces, request.synonyms))
    cells = list(
        _of_pieces(request, left_out) if request.conjunction is None else _conjoined(request)
    )
    if not cells:
        raise InputError("no item can be made from this text; give a longer text or other pieces")
    write_atomic(out, render(HEAD, cells, "tsv") + "\n")
    return Items(read_items(out), left_out, out)


def _of_pieces(request: ItemsRequest, left_out: list[str]) -> Iterator[Cells]:
    """An item with all contexts of a piece, or one for each sentence and its change."""
    pieces = _pieces(request)
    changes = request.swap or request.synonyms is not None
    drawn = _occurrences(request.text, pieces, request.contexts * (POOL if changes else 1))
    near: dict[tuple[str, str], set[str]] = defaultdict(
        set
    )  # as in GECA (Andreas 2020) with a window of one word
    for words, sentences in drawn.items():
        for sentence in sentences:
            near[sentence.near].add(pieces[words][0])
    for words, sentences in drawn.items():
        name, synonym = pieces[words]
        rows: list[Cells] = []
        for sentence in sentences:
            replacements = near[sentence.near] - {name} if request.swap else {synonym}
            if not changes:
                rows.append((name, name, "", sentence.text))
                continue
            changed_sentences = {
                _key(sentence.text, word): sentence.changed(word) for word in replacements
            }
            if fitting := {key: change for key, change in changed_sentences.items() if change}:
                item, (replacement, text) = f"{name}:{len(rows) // 2 + 1}", fitting[min(fitting)]
                rows.append(
                    (item, name, sentence.text[sentence.begin : sentence.end], sentence.text)
                )
                rows.append((item, name, replacement, text))
        if len(rows) > 1:
            yield from rows[: 2 * request.contexts]
        else:
            left_out.append(name)


def _pieces(request: ItemsRequest) -> dict[Words, tuple[str, str]]:
    """The distinct pieces that have a letter or digit, each with its synonym or itself."""
    examples = Examples()
    pieces = examples.join(as_column(request.pieces, "pieces", "piece", "compound"))  # type: ignore[arg-type]
    synonyms = (
        pieces if request.synonyms is None else as_column(request.synonyms, "synonyms", "synonym")
    )
    synonyms = examples.join(synonyms)
    if len(pieces) != len(synonyms):
        raise InputError(
            f"{synonyms.name}: {len(synonyms):,} synonyms of {len(pieces):,} pieces; give one for"
            " each"
        )
    names_by_words = {
        Tokens.of(piece).words: (" ".join(words_of(piece)), " ".join(words_of(synonym)))
        for piece, synonym in zip(pieces, synonyms, strict=True)
    }
    return {
        words: names
        for words, names in names_by_words.items()
        if any(word[0].isalnum() for word in words)
    }


def _sentences(text_or_lines: Any) -> Iterator[tuple[str, Tokens]]:
    """The sentences of a text that are short enough, with one blank between words."""
    for line in (
        read_text(text_or_lines, "text", "source") if is_path(text_or_lines) else text_or_lines
    ):
        tokens = Tokens.of(text := " ".join(words_of(line)))
        if 0 < len(tokens.words) <= LONGEST:
            yield text, tokens


def _occurrences(
    text_or_lines: Any, pieces: Collection[Words], most: int
) -> dict[Words, list[Found]]:
    """The distinct sentences with each piece, by hash; at most ``most``."""
    sizes = sorted({len(piece) for piece in pieces})
    by_piece: dict[Words, dict[Words, Found]] = {piece: {} for piece in pieces}

    def drawn(piece: Words) -> list[tuple[Words, Found]]:
        return sorted(by_piece[piece].items(), key=lambda match: _key(*piece, *match[0]))[:most]

    for text, (words, spans) in _sentences(text_or_lines):
        around = ("", *words, "")
        for position, (begin, _) in enumerate(spans):
            for piece in [words[position : position + length] for length in sizes]:
                if piece in by_piece:
                    last = position + len(piece)
                    near = around[position], around[last + 1]
                    by_piece[piece].setdefault(words, Found(text, begin, spans[last - 1][1], near))
                    if len(by_piece[piece]) > 8 * most:
                        by_piece[piece] = dict(drawn(piece))
    return {piece: [match for _, match in drawn(piece)] for piece in by_piece}


def _conjoined(request: ItemsRequest) -> Iterator[Cells]:
    """A sentence alone, and joined with another that follows it."""
    sentences = {text: tokens.spans for text, tokens in _sentences(request.text)}
    within = Counter(
        text[begin:end] for text, spans in sentences.items() for begin, end in spans[1:]
    )
    drawn = sorted(sentences, key=_key)
    for first, second in zip(drawn[::2], drawn[1::2], strict=False):
        clause, (begin, end) = _END.sub("", first), sentences[second][0]
        word = second[begin:end]
        # The first word keeps its capital only if it mostly has one within sentences: a name, a
        # German noun.
        word = word if within[word] > within[word.lower()] else word.lower()
        if Tokens.of(clause).words:
            yield clause, clause, "", first
            yield (
                clause,
                clause,
                "",
                f"{clause}{request.conjunction}{second[:begin]}{word}{second[end:]}",
            )


def _key(*words: str) -> str:
    return sha256("\0".join(words).encode()).hexdigest()
