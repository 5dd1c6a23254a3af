"""``make_items()``: sentences that share a piece, a word or a sentence, to translate and to score for consistency.

Dankers, Bruni and Hupkes (2022) change sentences by a swapped noun phrase, a synonym and a conjunction, from templates;
here they come from any text. A draw depends on the sentences, the pieces and the seed, not on the order of lines.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import nsmallest
from itertools import chain
from pathlib import Path

from cgbench.benchmark.consistency.items import SENTENCES, TABLE, Row, Span, Tokens, as_table
from cgbench.benchmark.consistency.request import ItemsRequest
from cgbench.data_recipes.geca import Alphabet, Settings, TemplateTable
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic, write_json
from cgbench.requests import accepts, as_path
from cgbench.steps import check_folder
from cgbench.tables import counted
from cgbench.text.columns import read_column, read_text
from cgbench.text.inputs import as_column, is_path
from cgbench.text.plain_text import words_of

MADE = "made.json"
POOL = 50  # times as many sentences of a piece as are drawn, to find swaps in
NEEDS = {"context": ("pieces", "release"), "swap": ("pieces", "release"), "synonym": ("synonyms",), "conjunction": ()}
_END, _TOKENISED = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+\s*$"), re.compile(r"\s[.!?]$")
Words = tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A sentence of the text: its line (from 1), its text, its words, and the place of a piece among them."""

    line: int
    text: str
    tokens: Tokens
    place: int = 0

    def span(self, size: int) -> Span:
        """Where a piece of ``size`` words begins and ends, in characters."""
        return self.tokens.spans[self.place][0], self.tokens.spans[self.place + size - 1][1]


@dataclass(frozen=True)
class Items:
    """The sentences of a consistency test in a folder; ``left_out``: pieces with too few contexts, and how many."""

    rows: list[Row]
    left_out: dict[str, int]
    out: Path

    def report(self, form: str = "text") -> str:
        """The counts, as ``text`` or ``json``."""
        items, pieces = len({row.item for row in self.rows}), len({row.piece for row in self.rows})
        if form == "json":
            found = {"items": items, "pieces": pieces, "sentences": len(self.rows), "left_out": len(self.left_out)}
            return json.dumps(found | {"out": str(self.out)}, ensure_ascii=False, indent=1)
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
    out, change, needs = as_path(request.out), request.change, NEEDS[request.change]
    given = [name for name in ("pieces", "release", "synonyms") if getattr(request, name) is not None]
    if len(given) != min(len(needs), 1) or not set(given) <= set(needs):
        what = f"give {' or '.join(map(argument, needs))}, and nothing else" if needs else "it takes no pieces"
        raise InputError(f"{argument('change', change)}: {what}")
    if not (out / TABLE).is_file():  # an earlier result is replaced
        check_folder(out)
    else:
        check_output(out / SENTENCES, [Path(one) for one in (request.text, request.pieces) if is_path(one)])  # type: ignore[arg-type]
    rows, left_out = list(_conjoined(request)) if change == "conjunction" else [], dict[str, int]()
    if change != "conjunction":
        synonyms = _synonyms(request.synonyms) if request.synonyms else {}
        pieces = {piece: " ".join(piece) for piece in synonyms} or _pieces(request)
        found = _occurrences(request, pieces, request.contexts * (POOL if change == "swap" else 1))
        others = {piece: [synonyms.get(piece, "")] * len(some) for piece, some in found.items()}
        if change == "swap":
            found, others = _swaps(found, pieces, request)
        sizes = {piece: len(found.get(piece, ())) for piece in pieces}
        least = 2 if change == "context" else 1
        left_out = {name: sizes[piece] for piece, name in sorted(pieces.items()) if sizes[piece] < least}
        kept = (piece for piece in pieces if sizes[piece] >= least)
        drawn = nsmallest(request.most, kept, key=lambda piece: _key(request.seed, *piece))
        rows = [row for one in sorted(drawn) for row in _rows(change, one, pieces[one], found[one], others[one])]
    if not rows:
        raise InputError(
            f"{argument('change', change)}: no item can be made from this text; give a longer text or other pieces"
        )
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / SENTENCES, "".join(f"{row.source}\n" for row in rows))
    names = ("change", "contexts", "most", "max_words", "window", "conjunction", "seed")
    write_json(out / MADE, {name: getattr(request, name) for name in names} | {"left_out": left_out})
    write_atomic(out / TABLE, as_table(rows))
    return Items(rows, left_out, out)


def _pieces(request: ItemsRequest) -> dict[Words, str]:
    """The distinct pieces that have a letter or digit: given, or those of the covers of a release's sources."""
    if request.release is None:
        lines: Iterable[str] = as_column(request.pieces, "pieces", "piece", "compound").values  # type: ignore[arg-type]
    else:
        from cgbench.benchmark.known_ngrams.known import KnownNgrams
        from cgbench.benchmark.release.release import Release
        from cgbench.text.formats import CorpusSpec, read_pairs
        from cgbench.text.normalisation import normalise_pairs

        release = Release.open(Path(request.release))
        entry = release.manifest["inputs"]["train"]
        place = release.path if release.is_split else release.input_path
        spec = CorpusSpec(tuple(place(str(file["path"])) for file in entry["files"]), entry["columns"] or None)
        pairs = normalise_pairs(read_pairs(spec), release.normalisation, str(spec))
        known = KnownNgrams.learn((source for source, _ in pairs), min_count=release.configuration["ngram_min_count"])
        lines = (" ".join(piece) for cover in known.cover(release.lines("source")) for piece in cover)
    found = {tuple(Tokens.of(line).words): " ".join(words_of(line)) for line in lines}
    return {words: name for words, name in found.items() if any(word[0].isalnum() for word in words)}


def _synonyms(path: str | object) -> dict[Words, str]:
    """The synonym of each word or phrase."""
    first, second = read_column(f"{path}:1"), read_column(f"{path}:2")
    found = {}
    for row, (words, other) in enumerate(zip(first.values, second.values, strict=True)):
        if not (key := tuple(Tokens.of(words).words)) or not words_of(other):
            raise InputError(f"{first.row(row)}: needs a word and its synonym, separated by a tab")
        found[key] = " ".join(words_of(other))
    return found


def _sentences(request: ItemsRequest) -> Iterator[Found]:
    """The sentences of the text that are short enough, with one blank between words."""
    given = request.text
    for line, text in enumerate(read_text(given, "text", "source") if is_path(given) else given, 1):
        tokens = Tokens.of(text := " ".join(words_of(text)))
        if 0 < len(tokens.words) <= request.max_words:
            yield Found(line, text, tokens)


def _occurrences(request: ItemsRequest, pieces: Iterable[Words], most: int) -> dict[Words, list[Found]]:
    """The distinct sentences with each piece; at most ``most``, drawn by the seed."""
    begins: dict[str, list[Words]] = {}
    for piece in pieces:
        begins.setdefault(piece[0], []).append(piece)
    found: dict[Words, dict[Words, Found]] = {}

    def drawn(piece: Words) -> list[tuple[Words, Found]]:
        return nsmallest(most, found[piece].items(), key=lambda one: _key(request.seed, *piece, *one[0]))

    for sentence in _sentences(request):
        words = tuple(sentence.tokens.words)
        for place, word in enumerate(words):
            for piece in begins.get(word, ()):
                if words[place : place + len(piece)] == piece:
                    one = found.setdefault(piece, {})
                    one.setdefault(words, Found(sentence.line, sentence.text, sentence.tokens, place))
                    if len(one) > 8 * most:
                        found[piece] = dict(drawn(piece))
    return {piece: [one for _, one in drawn(piece)] for piece in found}


def _swaps(
    found: dict[Words, list[Found]], pieces: dict[Words, str], request: ItemsRequest
) -> tuple[dict[Words, list[Found]], dict[Words, list[str]]]:
    """Sentences in which a piece can be swapped, and for each the other piece, drawn from those that occur in the same
    surroundings elsewhere in the text, as GECA finds them."""
    alphabet = Alphabet(1)
    hole = alphabet.holes[0]
    fragments = {alphabet.encode(" ".join(piece)): piece for piece in found}
    texts = {alphabet.encode(" ".join(one.tokens.words)): one for one in chain.from_iterable(found.values())}
    settings = Settings(size=max(map(len, found), default=1), holes=1, window=request.window)
    table = TemplateTable([(text, "") for text in texts], alphabet, settings, set(fragments))
    best: dict[Words, list[tuple[str, Found, str]]] = {}
    for number, template in enumerate(table.templates):
        near = [table.tuples[one][0] for one in table.in_surroundings(number)]
        for (fragment,) in (table.tuples[one] for one in table.of(number)):
            others = [fragments[one] for one in near if set(one).isdisjoint(fragment + template)]
            if template.count(hole) == 1 and others:
                piece, text = fragments[fragment], template.partition(alphabet.border)[0]
                one = texts[text.replace(hole, fragment)]
                key, other = min((_key(request.seed, one.text, *words), words) for words in others)
                at = Found(one.line, one.text, one.tokens, text.index(hole))
                best.setdefault(piece, []).append((key, at, pieces[other]))
    drawn = {piece: nsmallest(request.contexts, some, key=lambda one: one[0]) for piece, some in best.items()}
    return (
        {piece: [one for _, one, _ in some] for piece, some in drawn.items()},
        {piece: [other for _, _, other in some] for piece, some in drawn.items()},
    )


def _rows(change: str, piece: Words, name: str, found: Sequence[Found], others: Sequence[str]) -> Iterator[Row]:
    """The rows of a piece: one item with all contexts, or one item for each sentence and its change."""
    for one, other in zip(found, others, strict=True):
        begin, end = one.span(len(piece))
        if change == "context":
            yield Row(name, name, change, str(one.line), ((begin, end),), one.text)
            continue
        if one.place == 0 and one.text[begin].isupper():
            other = other[:1].upper() + other[1:]
        changed = one.text[:begin] + other + one.text[end:]
        for kind, text, until in (("original", one.text, end), (change, changed, begin + len(other))):
            if shared := tuple(span for span in ((0, begin), (until, len(text))) if text[slice(*span)].strip()):
                yield Row(f"{name}:{one.line}", name, kind, str(one.line), shared, text)


def _conjoined(request: ItemsRequest) -> Iterator[Row]:
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
        blank = " " if request.conjunction[:1].isalnum() or _TOKENISED.search(first.text) else ""
        joined = f"{kept}{blank}{request.conjunction} {second.text[:begin]}{word}{second.text[end:]}"
        if kept:
            for kind, line, text in (("original", "", first.text), ("conjunction", f"+{second.line}", joined)):
                yield Row(f"line {first.line}", kept, kind, f"{first.line}{line}", ((0, len(kept)),), text)


def _key(seed: int, *words: str) -> str:
    return sha256("\0".join((str(seed), *words)).encode()).hexdigest()
