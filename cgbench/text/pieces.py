"""Marks of pieces of words.

The law: a mark that begins or ends words, except where a piece of a word cannot stand (``##`` at
the beginning of a line, ``@@`` at its end), that begins or ends nearly all of them (``▁``), or that
is within many words or instead of blanks, is of a vocabulary of pieces, and neither side may have
it; nor a rarer one without which the pieces are words that either side has elsewhere. Punctuation
of the script of a text (a Tibetan syllable mark, an Arabic comma) is text. A character without
width is text only in the scripts that need it.
"""

import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain, pairwise

from cgbench.patterns import pattern
from cgbench.text.damage import has_unspaced
from cgbench.text.form_sample import LAST_LATIN, FormSample
from cgbench.text.formal import is_formal
from cgbench.text.languages import UNSPACED, letters_of
from cgbench.text.marks import (
    AT_WORDS,
    IN_WORDS,
    RUN,
    RUNS,
    Mark,
    is_of_script,
    is_punctuation,
    is_symbol,
)

FEWEST_WORDS, FEWEST_OF_BOTH = 5, 20  # words with a mark, in one text and in both
LEAST_PARTS, LEAST_WHOLE = 0.01, 0.4  # of the words: with a mark of some words, and of all
LEAST_WITHIN = 0.1  # of the words: with a mark between their letters
MOST_WORDS = 0.5  # within lines have a mark of text at the same end
LEAST_ALONE = 0.3  # of the words are the same mark
LEAST_JOINED = 0.1  # of the words with a mark are words of either side without it
LEAST_UNSEEN = 0.01  # of the words have a character without width
MOST_LINES = 0.7  # of the lines begin or end with a mark of all words
ENDS_WHOLE = 0.01  # of the lines begin or end with a mark that cannot stand there
ONE_WORD = 0.8  # of the lines have no blank, in text with another separator
SEPARATED = 3  # marks per such line
ONE_LETTER = 1.3  # letters per word, of text split into characters

_BEGIN = pattern(r"(<\w+>|[^\w\s]+|_+|[\u0100-\u024f\u2581])(?=[^\W_])")
_END = pattern(r"(?<=.)(</?\w+>)$|(?<=[^\W_])([^\w\s]+|_+)$")
_SPACED = f"[\\0-{LAST_LATIN}]"  # re compiles it four times as fast as all that follows
_WITHIN = pattern(rf"(?<=[^\W_])(?<={_SPACED})(&\w{{1,8}};|{RUN})(?=[^\W_])(?={_SPACED})")
_ENTITY = pattern(r"&\w{1,8};")
_TAG = pattern(r"</?\w+>")


def piece_marks(hypotheses: FormSample, references: FormSample) -> tuple[Mark | None, Mark | None]:
    """The mark of a vocabulary of pieces in each of two texts in one language; None without one."""
    known = hypotheses.counts.keys() | references.counts.keys()
    first, second = (_piece_mark(text, known) for text in (hypotheses, references))
    return first, second


def _piece_mark(text: FormSample, known: Set[str]) -> Mark | None:
    return (
        _at_words(text, known, _BEGIN.match, 0)
        or _at_words(text, known, _END.search, -1)
        or _within_words(text, known)
        or _instead_of_blanks(text)
        or _without_width(text)
    )


def _at_words(
    text: FormSample, known: Set[str], find: Callable[[str], re.Match[str] | None], edge: int
) -> Mark | None:
    """A mark at the beginning or the end of words; ``edge``: the word of a line that has none if
    they are parts.
    """
    words, every = text.words, text.counts
    mark_of = {
        word: match[match.lastindex or 0]
        for word in text.marked_counts
        if (match := find(word)) and not is_of_script(match[match.lastindex or 0], word)
    }
    counts: Counter[str] = Counter()
    for word, mark in mark_of.items():
        counts[mark] += every[word]
    at_edge = Counter(mark_of.get(line[edge], "") for line in words)
    total = every.total()
    frequent = [(mark, count) for mark, count in counts.most_common(8) if count >= FEWEST_WORDS]
    joined = _joined_at(words, mark_of, {mark for mark, _ in frequent}, edge) if frequent else {}
    for mark, count in frequent:
        if mark not in IN_WORDS and _join_to_words(joined.get(mark, ()), known):
            return Mark(mark, count, "words", is_sure=True)
        if mark in AT_WORDS or is_punctuation(mark):
            if _at_most_words(text, mark, edge):
                return Mark(mark, count, "words")
            continue
        # A line cannot begin with the second part of a word, or end with the first.
        is_word = mark.isalpha() or mark.startswith("<")  # an inline tag may end words
        of_parts = at_edge[mark] <= ENDS_WHOLE * len(words) and not is_word
        of_all = at_edge[mark] >= MOST_LINES * len(words) or mark.isalpha()
        if (of_parts and count >= LEAST_PARTS * total) or (of_all and count >= LEAST_WHOLE * total):
            return Mark(mark, count, "words")
    return None


def _at_most_words(text: FormSample, mark: str, edge: int) -> bool:
    """Whether a mark of text stands at the beginning (``edge`` 0) or the end of most words within
    lines, which no sentence has.
    """
    inner = [word for line in text.words for word in (line[1:] if edge == 0 else line[:-1])]
    has_mark = str.startswith if edge == 0 else str.endswith
    marked = sum(has_mark(word, mark) and word != mark for word in inner)
    if marked < max(FEWEST_WORDS, MOST_WORDS * len(inner)):
        return False
    if 2 * sum(map(has_unspaced, inner)) > len(inner):
        return False  # clauses, with a few blanks
    return not is_formal(word.replace(mark, "") for word in inner)


def _joined_at(
    words: Sequence[Sequence[str]], mark_of: Mapping[str, str], marks: set[str], edge: int
) -> dict[str, list[tuple[str, str]]]:
    """The parts of words, by the mark at their beginning (``edge`` 0) or end that parts them."""
    marked = {word for word, mark in mark_of.items() if mark in marks}
    joined: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in words:
        if marked.isdisjoint(line):
            continue
        for first, second in pairwise(line):
            word = first if edge else second
            if word in marked:
                mark = mark_of[word]
                joined[mark].append((first.removesuffix(mark), second.removeprefix(mark)))
    return joined


def _join_to_words(joined: Sequence[tuple[str, str]], known: Set[str]) -> bool:
    """Whether enough parts are words that the texts have elsewhere, and not the same part is at the
    end or beginning of most of them, as the *a* of Czech *byl/a*.
    """
    words = [parts for parts in joined if "".join(parts).isalpha() and "".join(parts) in known]
    if len(words) < max(FEWEST_WORDS, LEAST_JOINED * len(joined)):
        return False
    return all(
        2 * Counter(part.lower() for part in side).most_common(1)[0][1] <= len(words)
        for side in zip(*words, strict=True)
    )


def _within_words(text: FormSample, known: Set[str]) -> Mark | None:
    """A mark between the letters of many words, or a tag as a word between words."""
    counts: Counter[str] = Counter()
    joined: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for word, count in text.marked_counts.items():
        for mark in {*_WITHIN.findall(_ENTITY.sub(_unescaped, word))} - IN_WORDS:
            is_unseen = unicodedata.category(mark[0]) == "Cf"  # _without_width counts these
            if not is_unseen and not is_of_script(mark, word):
                counts[mark] += count
                first, _, rest = word.partition(mark)
                joined[mark] += count * [(first, rest.replace(mark, ""))]
        if _TAG.fullmatch(word):
            counts[word] += count
    for mark, count in counts.most_common(3):
        is_mark = mark.isascii() or all(map(is_symbol, mark))
        of_most = is_mark and count >= max(FEWEST_WORDS, LEAST_WITHIN * text.counts.total())
        if of_most and mark.isascii() and not _TAG.fullmatch(mark):
            of_most = not is_formal(word.replace(mark, "") for line in text.words for word in line)
        is_sure = _join_to_words(joined[mark], known)
        if of_most or is_sure:
            return Mark(mark, count, "words", is_sure)
    return None


def _unescaped(entity: re.Match[str]) -> str:
    """An escaped letter or apostrophe as one; other entities as they are."""
    character = html.unescape(entity[0])
    return character if character in IN_WORDS or character.isalnum() else entity[0]


def _without_width(text: FormSample) -> Mark | None:
    """A character without width in words of a script that does not need it."""
    counts: Counter[str] = Counter()
    total = text.counts.total()
    for word, count in text.marked_counts.items():
        if word.isascii() or word.isprintable():
            continue
        for mark in {*word}:
            if unicodedata.category(mark) == "Cf" and not is_of_script(mark, word):
                counts[mark] += count
    for mark, count in counts.most_common(1):
        if count >= max(FEWEST_WORDS, LEAST_UNSEEN * total):
            stops = count >= LEAST_WITHIN * total
            return Mark(mark, count, "words", is_sure=True, stops=stops)
    return None


def _instead_of_blanks(text: FormSample) -> Mark | None:
    """A mark where blanks belong: between the words of lines without blanks, between all words, or
    as a word of text that is split into characters.
    """
    words, every = text.words, text.counts
    if len(words) < FEWEST_WORDS:
        return None
    single = [line[0] for line in words if len(line) == 1]
    if len(single) >= ONE_WORD * len(words):
        counts = Counter(chain.from_iterable(single))
        is_spaced = not letters_of(every).keys() & UNSPACED.keys()
        for mark, count in counts.most_common(8):
            is_mark = not mark.isalnum() and not mark.isspace()
            separates = is_symbol(mark) or (is_spaced and is_mark)
            if separates and count >= SEPARATED * len(single):
                return Mark(mark, count, "places without blanks")
    total = every.total()
    is_split = sum(len(word) * count for word, count in every.items()) <= ONE_LETTER * total
    for mark, count in Counter(text.marked_counts).most_common(8):
        if is_split and len(mark) == 1 and is_symbol(mark) and count >= LEAST_WITHIN * total:
            return Mark(mark, count, "words")
        if mark.isalnum() or not RUNS.fullmatch(mark) or count < LEAST_ALONE * total:
            continue
        inner = [word for line in words for word in line[1:-1]]
        if inner.count(mark) < max(FEWEST_WORDS, LEAST_ALONE * len(inner)):
            continue
        if not is_formal(word for line in words for word in line if word != mark):
            return Mark(mark, count, "words")
    return None
