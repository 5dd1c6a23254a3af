"""Whether lines are markup or records (XML, SGML, JSON) rather than texts.

The laws: a text does not begin and end with marks of a format in most of its lines; no line is a
tag alone; its lines do not count themselves; and most of them have letters, if some have. If both
hypotheses and references break one, a score would compare the format. So it would if nearly all
lines of both begin or end with the same string with a mark of markup, or are divided by one; unless
such marks are what they consist of (a program, a logical form).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from cgbench.patterns import pattern
from cgbench.text.affixes import MOST_WORDS, Affix, remedy_of
from cgbench.text.field_marks import NEARLY_ALL, field_marks, separates_all
from cgbench.text.form_sample import FormSample
from cgbench.text.formal import is_formal, is_markup
from cgbench.text.line_edges import (
    common_beginning,
    first_shape,
    tokens_of,
    whole_words,
    without_tokens,
    words_in,
)
from cgbench.text.plain_text import words_of

MOST = 0.5  # of the lines
FEWEST = 2  # lines
_TAG = r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>|<[!?][^>]*>"
_ELEMENT = pattern(rf"\s*(?:{_TAG})(?:.*(?:{_TAG}))?\s*", re.DOTALL)
_RECORD = pattern(r"\s*(?:\{\s*\"[^\"]*\"\s*:.*\}|\[\s*[\"'].*[\"']\s*\])\s*,?\s*", re.DOTALL)
_ITEM = pattern(r"\s*\"(?:[^\"\\]|\\.)*\"\s*,\s*|\s*[\[\]]\s*")
_ENTRY = pattern(r"(?:msgid|msgstr|msgctxt)(?:\[\d\])? \".*\"|#[:,.~].*")
JSON = "JSON"
FORMATS = (
    ("tags", _ELEMENT, "name the files .sgm, .xml, .tmx or .xliff, whose texts are read"),
    (JSON, _RECORD, "name the files .jsonl and the column (FILE.jsonl:COLUMN)"),
    ("items of a list", _ITEM, "write one text per line"),
    ("entries of gettext", _ENTRY, "name the files .po, whose texts are read"),
)
"""The format, what a whole line of it looks like, and the remedy."""
_TAG_ALONE = pattern(rf"\s*(?:{_TAG})\s*")
TAGS_ALONE = 0.01  # of the lines are a tag
_NUMBER = pattern(r"[^\w]{0,8}(?:\w{1,8}[^\w]{1,8})?([0-9]{1,9})(?![0-9])")
COUNTING = 0.8  # of the lines have a number that is one more than in the line before
FEWEST_COUNTING = 6  # lines
WITHOUT_LETTERS, WITH_LETTERS = 0.5, 0.1  # of the lines
OF_MARKUP = 0.3  # of the lines have no letters but marks of markup, such as -->
EQUAL = 0.05  # of the lines are equal in both texts and begin with a mark of markup
_LETTER = pattern(r"[^\W\d_]")
SAMPLE = 128  # lines of both texts, whose beginnings and ends are compared
FEWEST_MARKS = 2  # kinds of punctuation around words, as in ``- text: "``


def format_of(lines: Sequence[str]) -> tuple[str, int, str] | None:
    """The format of most lines, how many have it, and the remedy; None for text."""
    full = [line for line in lines if line.strip()]
    for name, form, remedy in FORMATS:
        if (
            name != "entries of gettext"
            and sum(line.lstrip()[:1] in '<{["' for line in full) < len(full) * MOST
        ):
            continue  # fast: most texts have none
        count = sum(form.fullmatch(line) is not None for line in full)
        if count >= max(FEWEST, MOST * len(full)):
            return name, count, remedy
    return _tags_alone(full) or _without_letters(full)


def _tags_alone(lines: Sequence[str]) -> tuple[str, int, str] | None:
    count = sum(line[0] in "< \t" and _TAG_ALONE.fullmatch(line) is not None for line in lines)
    if count < max(FEWEST, TAGS_ALONE * len(lines)):
        return None
    return "tags", count, FORMATS[0][2]


def are_counted(lines: Sequence[str]) -> bool:
    """Whether lines begin with their number, as records and lists do."""
    numbers = [match and int(match[1]) for match in map(_NUMBER.match, lines)]
    count = sum(
        first is not None and second is not None and second - first == 1
        for first, second in pairwise(numbers)
    )
    least = max(FEWEST_COUNTING, COUNTING * (len(lines) - 1))
    return count >= least and len({*numbers}) >= least  # years and seasons begin again


def _without_letters(lines: Sequence[str]) -> tuple[str, int, str] | None:
    """Lines of a format with texts between them, such as subtitles."""
    others = [line for line in lines if _LETTER.search(line) is None]
    count = len(others)
    of_markup = sum(any(map(is_markup, line)) for line in others)
    if count < max(FEWEST, WITHOUT_LETTERS * len(lines)) and (
        of_markup < max(FEWEST, OF_MARKUP * len(lines))
    ):
        return None
    if len(lines) - count < WITH_LETTERS * len(lines):
        return None
    return "numbers or times", count, "keep only the lines with text"


def wrapper_of_both(hypotheses: FormSample, references: FormSample) -> Affix | None:
    """What nearly all lines of both texts begin or end with, or are divided by, if it is markup and
    the lines are not written in such marks; None without it.
    """
    every = [line for line in (*hypotheses.lines, *references.lines) if line.strip()]
    lines = every[:: -(-len(every) // SAMPLE) or 1]
    if len(lines) < FEWEST_COUNTING:
        return None
    for affix, texts in chain(
        _around(lines),
        _first_field(lines),
        _divider(lines, hypotheses, references),
        _lines_between(hypotheses, references),
    ):
        if not is_formal(word for text in texts for word in words_of(text)):
            return affix
    return None


def _around(lines: Sequence[str]) -> Iterator[tuple[Affix, list[str]]]:
    """Strings of markup before and after nearly all lines, and the lines without them."""
    before = whole_words(common_beginning([tokens_of(line) for line in lines], NEARLY_ALL))
    ends = [tokens_of(line.rstrip(), last=True) for line in lines]
    after = whole_words(common_beginning(ends, NEARLY_ALL))
    marks = {mark for mark in before + after if unicodedata.category(mark)[0] in "PS"}
    has_words = any(map(str.isalpha, before + after))
    if not any(map(is_markup, marks)) and not (has_words and len(marks) >= FEWEST_MARKS):
        return
    strings = "".join(before), "".join(reversed(after))
    if max(len(words_in(text)) for text in strings) > MOST_WORDS:
        return  # sentences of a template
    texts = [
        without_tokens(without_tokens(line.rstrip(), len(after), last=True), len(before))
        for line in lines
    ]
    of_markup = [sum(map(is_markup, text)) for text in strings]
    text, place = (strings[0], "before") if of_markup[0] >= of_markup[1] else (strings[1], "after")
    yield Affix(text, place, len(lines), remedy_of(text)), texts


def _first_field(lines: Sequence[str]) -> Iterator[tuple[Affix, list[str]]]:
    """A first word with marks of markup, whose letters and numbers differ from line to line."""
    shape, count = Counter(map(first_shape, lines)).most_common(1)[0]
    if count >= NEARLY_ALL * len(lines) and any(map(is_markup, shape)):
        firsts = [words_of(line)[0] for line in lines]
        texts = [line.lstrip()[len(first) :] for line, first in zip(lines, firsts, strict=True)]
        yield Affix(firsts[0], "before", count, remedy_of(firsts[0])), texts


def _divider(
    lines: Sequence[str], hypotheses: FormSample, references: FormSample
) -> Iterator[tuple[Affix, list[str]]]:
    """A mark that nearly all lines have equally often."""
    sides = (hypotheses.lines, references.lines)
    for mark in field_marks(hypotheses):
        if any(map(is_markup, mark)) and all(separates_all(mark, side) for side in sides):
            count = hypotheses.lines_with(mark) + references.lines_with(mark)
            texts = [line.replace(mark, " ") for line in lines]
            yield Affix(mark, "between", count, remedy_of(mark)), texts


def _lines_between(
    hypotheses: FormSample, references: FormSample
) -> Iterator[tuple[Affix, list[str]]]:
    """Lines of markup between texts, which are equal in both."""
    rows = list(zip(hypotheses.lines, references.lines, strict=True))
    equal = [line for line, other in rows if line == other and line and is_markup(line[0])]
    if len(equal) < max(FEWEST_COUNTING, EQUAL * len(rows)):
        return
    shape, count = Counter(map(first_shape, equal)).most_common(1)[0]
    of_shape = sum(first_shape(line) == shape for line, _ in rows)
    if count >= NEARLY_ALL * max(of_shape, len(equal)):
        others = [line for line in hypotheses.lines if first_shape(line) != shape]
        yield Affix(words_of(equal[0])[0], "in lines before", count, remedy_of(equal[0])), others
