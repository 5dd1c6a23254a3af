"""``make_items()``: sentences that share a piece, a word or a sentence, to translate and to score for consistency.

Dankers, Bruni and Hupkes (2022) change sentences by a swapped noun phrase, a synonym and a conjunction, from templates;
here they come from any text. A draw depends on the sentences, the pieces and the seed, not on the order of lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import nsmallest
from pathlib import Path

from cgbench.benchmark.consistency.items import HEAD, SENTENCES, TABLE, Row, Tokens, Words, read_items
from cgbench.benchmark.consistency.request import ItemsRequest
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic, write_json
from cgbench.requests import accepts, as_path
from cgbench.steps import check_folder
from cgbench.tables import counted, render
from cgbench.text.columns import read_column, read_text
from cgbench.text.inputs import as_column, files_of, is_path
from cgbench.text.plain_text import words_of

MADE = "made.json"
LONGEST = 40  # words of a sentence
POOL = 50  # times as many sentences of a piece as are drawn, to find swaps in
_END = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+\s*$")
Cells = tuple[str, str, str, str, str]
"""A row of the table: :data:`~cgbench.benchmark.consistency.items.HEAD`."""


@dataclass(frozen=True)
class Found:
    """A sentence of the text: its line (from 1), its text, its words, and the place of a piece among them."""

    line: int
    text: str
    tokens: Tokens
    place: int = 0

    def near(self, size: int) -> tuple[str, str]:
        """The words before and after a piece of ``size`` words; empty at an end of the sentence."""
        words = ("", *self.tokens.words, "")
        return words[self.place], words[self.place + size + 1]

    def changed(self, size: int, other: str) -> tuple[str, str, str]:
        """The piece as it stands here; another one with its capital; and the sentence with that in its place."""
        begin, end = self.tokens.spans[self.place][0], self.tokens.spans[self.place + size - 1][1]
        if self.place == 0 and self.text[begin].isupper():
            other = other[:1].upper() + other[1:]
        return self.text[begin:end], other, self.text[:begin] + other + self.text[end:]

    def fits(self, size: int, other: str) -> bool:
        """Whether the sentence has more than its piece, and no earlier place of another that is put there."""
        changed = Tokens.of(self.changed(size, other)[2])
        return len(self.tokens.words) > size and changed.find(Tokens.of(other).words) == self.place


@dataclass(frozen=True)
class Items:
    """The sentences of a consistency test in a folder; ``left_out``: pieces with too few contexts, and how many."""

    rows: list[Row]
    left_out: dict[str, int]
    out: Path

    def report(self) -> str:
        """The counts."""
        items, pieces = len({row.item for row in self.rows}), len({row.piece for row in self.rows})
        left = f"; left out, with too few contexts: {len(self.left_out):,} ({self.out / MADE})" if self.left_out else ""
        return (
            f"{counted(items, 'item')} of {counted(pieces, 'piece')}, {counted(len(self.rows), 'sentence')}{left}\n"
            f"translate {self.out / SENTENCES}, then run cgbench consistency score {self.out}"
        )


@accepts(ItemsRequest)
def make_items(request: ItemsRequest) -> Items:
    """Draw or change sentences of a monolingual text that share pieces, and write them to a folder.

    A piece is found whatever its case, in tokenised and other text. Only its first place in a sentence counts.

    :raises InputError: a text cannot be read, options do not fit together, or no item can be made.
    """
    out, ways = as_path(request.out), ("pieces", "synonyms", "conjunction")
    if sum(getattr(request, name) is not None for name in ways) != 1:
        raise InputError(f"give one of {', '.join(map(argument, ways))}")
    if request.swap and request.pieces is None:
        raise InputError(f"{argument('swap')} belongs to {argument('pieces')}")
    if not (out / TABLE).is_file():  # an earlier result is replaced
        check_folder(out)
    else:
        check_output(out / SENTENCES, files_of(request.text, request.pieces))
    left_out: dict[str, int] = {}
    cells = list(_of_pieces(request, left_out) if request.conjunction is None else _conjoined(request))
    if not cells:
        raise InputError("no item can be made from this text; give a longer text or other pieces")
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / SENTENCES, "".join(f"{source}\n" for *_, source in cells))
    names = ("swap", "conjunction", "contexts", "most", "seed")
    write_json(out / MADE, {name: getattr(request, name) for name in names} | {"left_out": left_out})
    write_atomic(out / TABLE, render(HEAD, cells, "tsv") + "\n")
    return Items(read_items(out), left_out, out)


def _of_pieces(request: ItemsRequest, left_out: dict[str, int]) -> Iterator[Cells]:
    """An item with all contexts of a piece, or one for each sentence and its change."""
    synonyms = {} if request.synonyms is None else _synonyms(request.synonyms)
    pieces = {piece: " ".join(piece) for piece in synonyms} or _pieces(request)
    context = not request.swap and not synonyms
    found = _occurrences(request, pieces, request.contexts * (1 if context else POOL))
    near: dict[tuple[str, str], set[str]] = {}  # as in GECA (Andreas 2020) with a window of one word
    for piece, some in found.items():
        for one in some:
            near.setdefault(one.near(len(piece)), set()).add(pieces[piece])
    drawn: dict[Words, list[tuple[Found, str]]] = {}
    for piece, some in found.items():
        if context:
            drawn[piece] = [(one, "") for one in some]
        elif synonyms:
            drawn[piece] = _changes(request, piece, some, [{synonyms[piece]}] * len(some))
        else:
            others = [near[one.near(len(piece))] - {pieces[piece]} for one in some]
            drawn[piece] = _changes(request, piece, some, others)
    kept = []
    for piece, name in sorted(pieces.items()):
        if len(drawn[piece]) < (2 if context else 1):
            left_out[name] = len(drawn[piece])
        else:
            kept.append(piece)
    for piece in sorted(nsmallest(request.most, kept, key=lambda piece: _key(request.seed, *piece))):
        name = pieces[piece]
        for one, other in drawn[piece]:
            if context:
                yield name, name, "", str(one.line), one.text
                continue
            here, there, text = one.changed(len(piece), other)
            yield f"{name}:{one.line}", name, here, str(one.line), one.text
            yield f"{name}:{one.line}", name, there, str(one.line), text


def _changes(
    request: ItemsRequest, piece: Words, some: Sequence[Found], others: Sequence[set[str]]
) -> list[tuple[Found, str]]:
    """The first sentences in which one of the ``others`` (of each sentence) fits, and which one, drawn by the seed."""
    changes = []
    for one, names in zip(some, others, strict=True):
        if fitting := [name for name in names if one.fits(len(piece), name)]:
            changes.append((one, min(fitting, key=lambda name: _key(request.seed, one.text, name))))
    return changes[: request.contexts]


def _pieces(request: ItemsRequest) -> dict[Words, str]:
    """The distinct pieces that have a letter or digit."""
    lines = as_column(request.pieces, "pieces", "piece", "compound")  # type: ignore[arg-type]
    found = {Tokens.of(line).words: " ".join(words_of(line)) for line in lines}
    return {words: name for words, name in found.items() if any(word[0].isalnum() for word in words)}


def _synonyms(path: object) -> dict[Words, str]:
    """The synonym of each word or phrase."""
    first, second = read_column(f"{path}:1"), read_column(f"{path}:2")
    found = {}
    for row, (words, other) in enumerate(zip(first, second, strict=True)):
        if not (key := Tokens.of(words).words) or not Tokens.of(other).words:
            raise InputError(f"{first.row(row)}: needs a word and its synonym, separated by a tab")
        found[key] = " ".join(words_of(other))
    return found


def _sentences(request: ItemsRequest) -> Iterator[Found]:
    """The sentences of the text that are short enough, with one blank between words."""
    given = request.text
    for line, text in enumerate(read_text(given, "text", "source") if is_path(given) else given, 1):
        tokens = Tokens.of(text := " ".join(words_of(text)))
        if 0 < len(tokens.words) <= LONGEST:
            yield Found(line, text, tokens)


def _occurrences(request: ItemsRequest, pieces: Iterable[Words], most: int) -> dict[Words, list[Found]]:
    """The distinct sentences with each piece, in random order; at most ``most``, drawn by the seed."""
    begins: dict[str, list[Words]] = {}
    found: dict[Words, dict[Words, Found]] = {}
    for piece in pieces:
        begins.setdefault(piece[0], []).append(piece)
        found[piece] = {}

    def drawn(piece: Words) -> list[tuple[Words, Found]]:
        return nsmallest(most, found[piece].items(), key=lambda one: _key(request.seed, *piece, *one[0]))

    for sentence in _sentences(request):
        words = sentence.tokens.words
        for place, word in enumerate(words):
            for piece in begins.get(word, ()):
                if words[place : place + len(piece)] == piece:
                    found[piece].setdefault(words, Found(sentence.line, sentence.text, sentence.tokens, place))
                    if len(found[piece]) > 8 * most:
                        found[piece] = dict(drawn(piece))
    return {piece: [one for _, one in drawn(piece)] for piece in found}


def _conjoined(request: ItemsRequest) -> Iterator[Cells]:
    """A sentence alone, and joined with another that follows it."""
    within: Counter[str] = Counter()
    drawn: dict[str, Found] = {}

    def draw() -> list[Found]:
        return nsmallest(2 * request.most, drawn.values(), key=lambda one: _key(request.seed, one.text))

    for sentence in _sentences(request):
        within.update(sentence.text[begin:end] for begin, end in sentence.tokens.spans[1:])
        drawn.setdefault(sentence.text, sentence)
        if len(drawn) > 16 * request.most:
            drawn = {one.text: one for one in draw()}
    chosen = draw()
    for first, second in zip(chosen[::2], chosen[1::2], strict=False):
        kept, (begin, end) = _END.sub("", first.text), second.tokens.spans[0]
        word = second.text[begin:end]
        # The first word keeps its capital only if it mostly has one within sentences: a name, a German noun.
        word = word if within[word] > within[word.lower()] else word.lower()
        joined = f"{kept}{request.conjunction}{second.text[:begin]}{word}{second.text[end:]}"
        if Tokens.of(kept).words:
            yield kept, kept, "", str(first.line), first.text
            yield kept, kept, "", f"{first.line}+{second.line}", joined


def _key(seed: int, *words: str) -> str:
    return sha256("\0".join((str(seed), *words)).encode()).hexdigest()
