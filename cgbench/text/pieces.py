"""Marks of pieces of words, and symbols that only the hypotheses have.

The laws: a mark that begins or ends words, except where a piece of a word cannot stand (``##`` at
the beginning of a line, ``@@`` at its end), that begins or ends nearly all of them (``▁``), or that
is within many words or instead of blanks, is of a vocabulary of pieces, and neither side may have
it; nor a rarer one without which the pieces are words that either side has elsewhere. Punctuation
of the script of a text (a Tibetan syllable mark, an Arabic comma) is text. A character without
width is text only in the scripts that need it. A symbol that most hypotheses and hardly any
reference have is not of the language if the hypotheses match their references better without it.
"""

import html
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise

from cgbench.text.damage import has_unspaced
from cgbench.text.form_sample import LAST_LATIN, FormSample
from cgbench.text.formal import is_formal
from cgbench.text.languages import OTHER, UNSPACED, letters_of

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
LEAST_LINES, HARDLY_ANY = 0.3, 0.1  # of the hypotheses with a symbol; of that, of the references
LEAST_GAIN = 0.02  # of the units of all references
LEAST_LESS = 0.15  # of the units of the hypotheses are gone without a symbol

_BEGIN = re.compile(r"(<\w+>|[^\w\s]+|_+|[\u0100-\u024f\u2581])(?=[^\W_])")
_END = re.compile(r"(?<=.)(</?\w+>)$|(?<=[^\W_])([^\w\s]+|_+)$")
_SPACED = f"[\\0-{LAST_LATIN}]"  # re compiles it four times as fast as all that follows
_RUN = r"<\w{1,8}>|\[\w{1,8}\]|\{\w{1,8}\}|[^\w\s]+"
_RUNS = re.compile(rf"&\w{{1,8}};|{_RUN}|_+")
_WITHIN = re.compile(rf"(?<=[^\W_])(?<={_SPACED})(&\w{{1,8}};|{_RUN})(?=[^\W_])(?={_SPACED})")
_ENTITY = re.compile(r"&\w{1,8};")
_TAG = re.compile(r"</?\w+>")
_OF_TEXT = {"Ps", "Pe", "Pi", "Pf", "Pd", "Sc"}
_SENTENCE = set("\"'`´.,;:!?…。，、؟।%&*^=/\\|<>")  # noqa: RUF001 - other scripts
_IN_WORDS = set("'-.,:’‐‑")  # noqa: RUF001 - marks that people write within words
_AT_WORDS = set("\"'`´’‘“”„«»–—.,;:!?…()[]{}")  # noqa: RUF001 - and at words
_SYMBOLS = ("So", "Sm", "Sk", "Cc", "Cf", "Co", "Cn", "Pc")
_JOINERS = "\u200c\u200d"  # within words of Persian and Indian languages
_BLANK_WITHOUT_WIDTH = "\u200b"  # between words of Khmer and Thai
_SOFT_HYPHEN = "\xad"
_ASCII_SYMBOLS = set("@#*\\^~|_+")
_ASCII_MARKS = set("+~_")


@dataclass(frozen=True)
class Mark:
    """A mark, and how many ``count`` of ``unit`` (words, hypotheses) have it.

    ``is_sure``: a mark on both sides is no text, however rare it is. ``stops``: too many words have
    it for any score.
    """

    text: str
    count: int
    unit: str
    is_sure: bool = False
    stops: bool = True


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
        if (match := find(word)) and not _is_of_script(match[match.lastindex or 0], word)
    }
    counts: Counter[str] = Counter()
    for word, mark in mark_of.items():
        counts[mark] += every[word]
    at_edge = Counter(mark_of.get(line[edge], "") for line in words)
    total = every.total()
    frequent = [(mark, count) for mark, count in counts.most_common(8) if count >= FEWEST_WORDS]
    joined = _joined_at(words, mark_of, {mark for mark, _ in frequent}, edge) if frequent else {}
    for mark, count in frequent:
        if mark not in _IN_WORDS and _join_to_words(joined.get(mark, ()), known):
            return Mark(mark, count, "words", is_sure=True)
        if mark in _AT_WORDS or _is_text(mark):
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
        for mark in {*_WITHIN.findall(_ENTITY.sub(_unescaped, word))} - _IN_WORDS:
            is_unseen = unicodedata.category(mark[0]) == "Cf"  # _without_width counts these
            if not is_unseen and not _is_of_script(mark, word):
                counts[mark] += count
                first, _, rest = word.partition(mark)
                joined[mark] += count * [(first, rest.replace(mark, ""))]
        if _TAG.fullmatch(word):
            counts[word] += count
    for mark, count in counts.most_common(3):
        is_mark = mark.isascii() or all(map(_is_symbol, mark))
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
    return character if character in _IN_WORDS or character.isalnum() else entity[0]


def _without_width(text: FormSample) -> Mark | None:
    """A character without width in words of a script that does not need it."""
    counts: Counter[str] = Counter()
    total = text.counts.total()
    for word, count in text.marked_counts.items():
        if word.isascii() or word.isprintable():
            continue
        for mark in {*word}:
            if unicodedata.category(mark) == "Cf" and not _is_of_script(mark, word):
                counts[mark] += count
    for mark, count in counts.most_common(1):
        if count >= max(FEWEST_WORDS, LEAST_UNSEEN * total):
            stops = count >= LEAST_WITHIN * total
            return Mark(mark, count, "words", is_sure=True, stops=stops)
    return None


def _is_of_script(mark: str, word: str) -> bool:
    """Whether a mark is punctuation of the script of a word, or a character without width that such
    scripts need.
    """
    if mark.isascii() or mark.isalpha():
        return False
    letters = [character for character in word if character.isalpha()]
    if unicodedata.category(mark[0]) == "Cf":
        directions = {unicodedata.bidirectional(letter) for letter in letters}
        if mark in _BLANK_WITHOUT_WIDTH:
            return bool(letters) and letters_of({word: 1}).keys() <= UNSPACED.keys() | {OTHER}
        if mark in _JOINERS:
            return not any(letter.lower() != letter.upper() for letter in letters)
        return mark != _SOFT_HYPHEN and (not letters or bool(directions & {"R", "AL"}))
    scripts = {_script_of(letter) for letter in letters}
    return all(_script_of(character) in scripts for character in mark)


def _script_of(character: str) -> str:
    """The script of a character, as its name begins."""
    return unicodedata.name(character, "").partition(" ")[0]


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
            separates = _is_symbol(mark) or (is_spaced and is_mark)
            if separates and count >= SEPARATED * len(single):
                return Mark(mark, count, "places without blanks")
    total = every.total()
    is_split = sum(len(word) * count for word, count in every.items()) <= ONE_LETTER * total
    for mark, count in Counter(text.marked_counts).most_common(8):
        if is_split and len(mark) == 1 and _is_symbol(mark) and count >= LEAST_WITHIN * total:
            return Mark(mark, count, "words")
        if mark.isalnum() or not _RUNS.fullmatch(mark) or count < LEAST_ALONE * total:
            continue
        inner = [word for line in words for word in line[1:-1]]
        if inner.count(mark) < max(FEWEST_WORDS, LEAST_ALONE * len(inner)):
            continue
        if not is_formal(word for line in words for word in line if word != mark):
            return Mark(mark, count, "words")
    return None


def _is_text(mark: str) -> bool:
    """Whether a mark is punctuation, or a sign that people write at words."""
    if mark.startswith("<") and mark.endswith(">"):
        return False
    if mark.isascii() and len(mark) == 1:
        return mark not in _ASCII_MARKS
    categories = {unicodedata.category(character) for character in mark}
    if categories & {"Mn", "Mc", "Me", "Cc", "Cf"}:
        return True  # vowels and accents of a letter; characters that are not shown
    return all(
        character in _SENTENCE
        or unicodedata.category(character) in _OF_TEXT
        or (unicodedata.category(character) == "Po" and character > LAST_LATIN)
        for character in mark
    )


def _is_symbol(character: str) -> bool:
    """Whether a character is no letter, blank or punctuation of a language."""
    category = unicodedata.category(character)
    is_rare = category == "Po" and "\x7f" < character <= LAST_LATIN and character not in _SENTENCE
    return character in _ASCII_SYMBOLS or category in _SYMBOLS or is_rare


def _without(symbol: str) -> Iterator[Callable[[str], str]]:
    """What a program may have done that adds a symbol, undone."""
    escaped = re.escape(symbol)
    yield lambda line: line.replace(symbol, "")
    yield lambda line: re.sub(f" ?{escaped} ?", "", line)
    yield lambda line: line.replace(symbol, " ")
    yield lambda line: line.replace(" ", "").replace(symbol, " ")


def foreign_symbol(
    hypotheses: FormSample, references: FormSample, units: Callable[[str], Counter[str]]
) -> Mark | None:
    """A symbol of most hypotheses and of hardly any reference, without which they match better;
    None without one.

    :param references: one per hypothesis.
    :param units: what a metric compares.
    """
    for symbol, count in _foreign_marks(hypotheses, references):
        pairs = [
            pair
            for pair in zip(hypotheses.lines, references.lines, strict=True)
            if symbol in pair[0]
        ]
        of_references = [units(reference) for _, reference in pairs]
        all_units = sum(map(Counter.total, of_references))
        before = _matches([hypothesis for hypothesis, _ in pairs], of_references, units)
        for repair in _without(symbol):
            repaired = [repair(hypothesis) for hypothesis, _ in pairs]
            after = _matches(repaired, of_references, units)
            gain, less = after[0] - before[0], before[1] - after[1]
            if gain >= max(1, LEAST_GAIN * all_units) or (
                gain >= 0 and less >= LEAST_LESS * before[1]
            ):
                return Mark(symbol, count, "hypotheses")
    return None


def _foreign_marks(hypotheses: FormSample, references: FormSample) -> list[tuple[str, int]]:
    """The most frequent symbols of most lines, and runs of marks at or in words, that the
    references hardly have; with the number of lines that have them.
    """
    symbols = filter(_is_symbol, hypotheses.characters)
    runs, of_references = _runs_of(hypotheses), _runs_of(references)
    least = max(FEWEST_WORDS, LEAST_PARTS * hypotheses.counts.total())
    foreign_runs = (
        run
        for run, count in runs.most_common(5)
        if count >= least
        and of_references[run] <= HARDLY_ANY * count
        and not all(mark in _AT_WORDS or mark in _SENTENCE for mark in run)
    )
    lines = Counter({mark: hypotheses.lines_with(mark) for mark in {*symbols, *foreign_runs}})
    return [
        (mark, count)
        for mark, count in lines.most_common(5)
        if count >= max(1, LEAST_LINES * hypotheses.size)
        and references.lines_with(mark) <= HARDLY_ANY * count
    ]


def _runs_of(text: FormSample) -> Counter[str]:
    """How often each run of marks occurs at or in words."""
    counts: Counter[str] = Counter()
    for word, count in text.marked_counts.items():
        for run in _RUNS.findall(word):
            counts[run] += count
    return counts


def _matches(
    hypotheses: Sequence[str],
    references: Sequence[Counter[str]],
    units: Callable[[str], Counter[str]],
) -> tuple[int, int]:
    """How many units of hypotheses match, and how many there are."""
    texts = list(map(units, hypotheses))
    pairs = zip(texts, references, strict=True)
    matches = sum((text & reference).total() for text, reference in pairs)
    return matches, sum(map(Counter.total, texts))
