"""Strings that a program put before, after or between the texts of most hypotheses.

The law: a string at the same place of most hypotheses and of hardly any reference is no
translation. Numbers count as equal (``0 ||| text``, ``1 ||| text``). No list of wrappers decides;
:data:`REMEDIES` only gives the words of the remedy.

A string that contains a mark (``PRED 1:``) is one from :data:`FEWEST` lines on. A string of words
alone (``en``) may be an answer that a weak model repeats; it is a wrapper only if the lines agree
with their references without it. A mark that ends or opens a sentence is punctuation.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from cgbench.patterns import pattern
from cgbench.records import Record
from cgbench.text.field_marks import HARDLY_ANY, NEARLY_ALL, Units, foreign_field_mark
from cgbench.text.form_sample import FormSample
from cgbench.text.line_edges import (
    FEWEST,
    MOST,
    begins_with,
    common_beginning,
    first_field,
    first_shape,
    tokens_of,
    vary,
    whole_words,
    without_tokens,
    words_in,
)
from cgbench.text.plain_text import words_of

OPENED = 1 / 3  # of the references open with a mark where nearly all hypotheses do
ELLIPSIS = 3  # points
REPEATED_ENDS = 2  # marks that end a sentence, one after another
MOST_WORDS = 2  # of a string that no reference is compared with
AGREEING = 0.2  # of the lines begin or end as their references do without a string of words
LEAST_OF_SOME = 0.03  # of the hypotheses have a string that most do not have
FEWEST_OF_SOME = 5
LONGEST_WORD = 12  # characters per word, on average, where words are separated

_MARKED_WORD = pattern(r"\S*[^\w\s.,;'’-]")  # noqa: RUF001 - an apostrophe
_ENDS = ".。．!！?？…।؟۔։።"  # noqa: RUF001 - other scripts
_PUNCTUATION = _ENDS + "'’"  # noqa: RUF001 - an apostrophe
_QUOTES = "\"'`\u00b4"
_END_MARKS = _ENDS + " \r"
_END_OF_TEXT = _ENDS + _QUOTES + " \n\r"
_OPENING = ("Pi", "Pf", "Ps", "Pd")
_CLOSING = ("Pi", "Pf", "Pe", "Pd")

REMEDIES = (
    (pattern(r"think|reason", re.I), "cut the reasoning (sed 's/.*<.think>//')"),
    (pattern(r"\|\|\|"), "take one field of the n-best list (awk -F' [|][|][|] ' '{print $2}')"),
    (pattern(r"\t"), "name the file .tsv and the column (FILE.tsv:2)"),
    (pattern(r"^<seg|^<hyp|^<tu|^<target"), "name the file .sgm or .xml, whose text is read"),
    (pattern(r"^\{|^\["), "write one text per line, or name the file .jsonl and the column"),
    (pattern(r"</?s>|eos|pad|unk|im_end|\|>", re.I), "remove it (skip special tokens)"),
)
"""What to do about strings with these signs; any other is to be removed."""

Pair = tuple[str, str]
"""A hypothesis and its reference."""
Rests = Mapping[int, str]
"""What is left of the hypotheses that have a string without it, by row."""


class Affix(Record):
    """A string of ``lines`` of the hypotheses; ``place``: ``before``, ``after`` or ``between``."""

    text: str
    place: str
    lines: int
    remedy: str


def foreign_affix(
    hypotheses: FormSample,
    references: FormSample,
    units: Units,
    *,
    are_outputs: bool = True,
    are_references: bool = True,
) -> Affix | None:
    """A string at the same place of most hypotheses and of hardly any reference; None without one.

    :param references: one per hypothesis; some may be empty.
    :param are_outputs: the first texts are those of a system; a system may lack the final marks of
        its references, which is no error of form.
    :param are_references: the others say the same, so that a string of words alone can be judged.
    """
    pairs = [
        pair for pair in zip(hypotheses.lines, references.lines, strict=True) if pair[0].strip()
    ]
    if len(pairs) < FEWEST:
        return None
    affix = (
        _before(pairs, are_references)
        or _labels(pairs)
        or (_ends_of_sentences(pairs) if are_outputs else None)
        or _after(pairs, are_references)
    )
    if affix:
        return affix
    mark = foreign_field_mark(hypotheses, references, units)
    if mark is None:
        return None
    return Affix(mark, "between", hypotheses.lines_with(mark), remedy_of(mark))


def affix_of_some(hypotheses: FormSample, references: FormSample) -> Affix | None:
    """A string with a mark before the text of some hypotheses, fewer than most, and of hardly any
    reference; None without one.

    A language model may introduce only some of its answers (``Output:``). Hypotheses with the same
    first word, or the same mark at their beginning, are judged as if they were all; they agree with
    their references without the string.
    """
    pairs = [
        pair for pair in zip(hypotheses.lines, references.lines, strict=True) if pair[0].strip()
    ]
    least = max(FEWEST_OF_SOME, LEAST_OF_SOME * len(pairs))
    for opening_of in (first_field, _first_mark):
        of_references = Counter(opening_of(reference) for _, reference in pairs)
        groups: dict[str, list[Pair]] = {}
        for pair in pairs:
            groups.setdefault(opening_of(pair[0]), []).append(pair)
        for opening, group in groups.items():
            is_foreign = of_references[opening] <= HARDLY_ANY * len(group)
            if opening and len(group) >= least and is_foreign:
                affix = _before(group, are_references=True, must_agree=True)
                if affix and affix.lines >= least and _is_introduction(affix.text):
                    return affix
    return None


def _is_introduction(text: str) -> bool:
    """Whether a string has a mark and is more than a quote or a dash, which are text."""
    return _has_mark(text) and not (len(text.strip()) == 1 and _is_class(text.strip(), _OPENING))


def _first_mark(text: str) -> str:
    """The first character, unless it is a letter or a digit."""
    return "" if text[:1].isalnum() else text[:1]


def remedy_of(text: str) -> str:
    """What to do about a string."""
    remedy = next((remedy for sign, remedy in REMEDIES if sign.search(text)), None)
    return remedy or "remove it from every line"


def _before(
    pairs: Sequence[Pair], are_references: bool, *, must_agree: bool = False
) -> Affix | None:
    """A string before the text.

    :param must_agree: the lines agree with their references without it, even if it has a mark.
    """
    if not _is_common(hypothesis[0] for hypothesis, _ in pairs):
        return None  # fast: most texts end here
    common = whole_words(common_beginning([tokens_of(hypothesis) for hypothesis, _ in pairs]))
    of_references = common_beginning([tokens_of(reference) for _, reference in pairs])
    beginning = _foreign_beginning(common, of_references)
    text = "".join(beginning)
    rests = _without(pairs, beginning)
    if not text.strip() or not _is_foreign(pairs, rests, common):
        return None
    if not are_references and not _is_label(text):
        return None
    has_mark = _has_mark(text)
    if (must_agree or not has_mark) and not _agree_better_without(pairs, rests):
        return None
    is_opening = has_mark and len(text.strip()) == 1 and _is_class(text.strip(), _OPENING)
    if is_opening and _references_open_too(pairs, rests):
        return None
    row, text_alone = next(iter(rests.items()))
    example = pairs[row][0][: len(pairs[row][0]) - len(text_alone)]
    return Affix(example, "before", len(rests), remedy_of(example))


def _foreign_beginning(beginning: list[str], of_references: Sequence[str]) -> list[str]:
    """A beginning of hypotheses without what stands at its end that references begin with."""
    for length in range(1, len(beginning)):
        inner = beginning[length:]
        if inner == list(of_references[: len(inner)]):
            return beginning[:length]
    return beginning


def _agree_better_without(pairs: Sequence[Pair], rests: Rests) -> bool:
    """Whether few lines begin as their references do with words before the text, and many without
    them.
    """
    before = sum(_same_word(*pairs[row], 0) for row in rests)
    after = sum(_same_word(text_alone, pairs[row][1], 0) for row, text_alone in rests.items())
    return after - before >= max(FEWEST, AGREEING * len(rests))


def _references_open_too(pairs: Sequence[Pair], rests: Rests) -> bool:
    """Whether quotes and dashes of another kind open as many references."""
    closed = sum(_is_class(text_alone.rstrip()[-1:], _CLOSING) for text_alone in rests.values())
    are_closed = closed >= MOST * len(rests)
    opened = 0
    for row, text_alone in rests.items():
        reference = pairs[row][1]
        is_opened = _is_class(reference[:1], _OPENING)
        is_of_text = text_alone.lstrip().startswith(reference[:1])
        is_closed = _is_class(reference.rstrip()[-1:], _CLOSING)
        opened += is_opened and not is_of_text and (not are_closed or is_closed)
    of_all = len(rests) >= NEARLY_ALL * len(pairs)
    return opened > (OPENED if of_all else HARDLY_ANY) * len(rests)


def _labels(pairs: Sequence[Pair]) -> Affix | None:
    """A first word with marks, whose letters and numbers differ from line to line."""
    marked = sum(_MARKED_WORD.match(hypothesis) is not None for hypothesis, _ in pairs)
    if marked < MOST * len(pairs):
        return None  # fast: most texts end here
    shapes = Counter(first_shape(hypothesis) for hypothesis, _ in pairs)
    shape, count = shapes.most_common(1)[0]
    if not _has_mark(_unquoted(shape)) or count < max(FEWEST, MOST * len(pairs)):
        return None
    in_references = sum(
        first_shape(reference) == shape
        or _plain(reference).startswith(_plain(hypothesis.split()[0]))
        for hypothesis, reference in pairs
    )
    labelled = [hypothesis for hypothesis, _ in pairs if first_shape(hypothesis) == shape]
    references = [reference for _, reference in pairs]
    if in_references > HARDLY_ANY * count or not vary(labelled, references):
        return None
    label = first_field(labelled[0])
    return Affix(label, "before", count, remedy_of(label))


def _after(pairs: Sequence[Pair], are_references: bool) -> Affix | None:
    """A string after the text."""
    if not _is_common(hypothesis.rstrip(_END_OF_TEXT)[-1:] for hypothesis, _ in pairs):
        return None
    # Both endings are read from the end of the line.
    common = common_beginning([tokens_of(hypothesis, last=True) for hypothesis, _ in pairs])
    ends_of_references = [tokens_of(reference.rstrip(), last=True) for _, reference in pairs]
    ending = _foreign_beginning(common, common_beginning(ends_of_references))
    if ending == common:
        common = ending = _without_end_of_text(ending)
    text = "".join(reversed(ending))
    rests = _without(pairs, ending, last=True)
    is_punctuation = all(_is_class(mark, _CLOSING) or mark.isspace() for mark in text)
    if is_punctuation and not _closes_nothing(text, rests.values()):
        return None
    if not _is_foreign(pairs, rests, common, last=True):
        return None
    if not are_references and not _is_label(text):
        return None
    if not _has_mark(text):
        agreeing = sum(
            _same_word(text_alone, pairs[row][1], -1) for row, text_alone in rests.items()
        )
        if agreeing < max(FEWEST, AGREEING * len(rests)):
            return None
    row, text_alone = next(iter(rests.items()))
    example = pairs[row][0].rstrip()[len(text_alone) :]
    return Affix(example, "after", len(rests), remedy_of(example))


def _without_end_of_text(ending: list[str]) -> list[str]:
    """An ending, read from its end, without the end of a sentence before it, which is text; a
    blank before the ending stays.
    """
    length = len(ending)
    while length and ending[length - 1] in _END_OF_TEXT:
        length -= 1
    blank = [" "] if ending[length : length + 1] == [" "] else []
    return whole_words(ending[:length] + blank)


def _closes_nothing(text: str, rests: Iterable[str]) -> bool:
    """Whether a text is a closing bracket of which most of the lines before it open none."""
    bracket = text.strip()
    if len(bracket) != 1 or unicodedata.category(bracket) != "Pe":
        return False
    opened = [
        sum(unicodedata.category(mark) == "Ps" for mark in text_alone)
        > sum(unicodedata.category(mark) == "Pe" for mark in text_alone)
        for text_alone in rests
    ]
    return 2 * sum(opened) < len(opened)


def _ends_of_sentences(pairs: Sequence[Pair]) -> Affix | None:
    """Marks that end a sentence, where references have none, or one after another."""
    endings = [_end_marks(hypothesis) for hypothesis, _ in pairs]
    of_references = [_end_marks(reference) for _, reference in pairs]
    kinds: tuple[Callable[[str], bool], ...] = (
        lambda marks: len(marks) >= REPEATED_ENDS and not _is_ellipsis(marks),
        _is_ellipsis,
        bool,
    )
    for is_of_kind in kinds:
        of_kind = [marks for marks in endings if is_of_kind(marks)]
        count, in_references = len(of_kind), sum(map(is_of_kind, of_references))
        if count >= max(FEWEST, MOST * len(pairs)) and in_references <= HARDLY_ANY * count:
            text = Counter(of_kind).most_common(1)[0][0]
            return Affix(text, "after", count, "end the lines of both texts in the same way")
    return None


def _end_marks(line: str) -> str:
    """The marks that end a sentence at the end of a line, one after another, without blanks."""
    line = line.rstrip(_QUOTES + _END_MARKS.strip(_ENDS))
    return "".join(line[len(line.rstrip(_END_MARKS)) :].split())


def _is_ellipsis(marks: str) -> bool:
    return marks == "…" or (len(marks) >= ELLIPSIS and not marks.strip("."))


def _without(pairs: Sequence[Pair], affix: Sequence[str], *, last: bool = False) -> dict[int, str]:
    """What is left of the hypotheses that have these tokens at their beginning or end, by row."""
    rests = {}
    for row, (hypothesis, _) in enumerate(pairs):
        line = hypothesis.rstrip() if last else hypothesis
        if affix and begins_with(tokens_of(line, last=last), affix):
            rests[row] = without_tokens(line, len(affix), last=last)
    return rests


def _is_foreign(
    pairs: Sequence[Pair], rests: Rests, affix: Sequence[str], *, last: bool = False
) -> bool:
    """Whether most hypotheses and hardly any reference have these tokens, in whatever form, and a
    text besides.

    :param rests: the hypotheses that have them, without what of them is no text.
    """
    if len(rests) < max(FEWEST, MOST * len(pairs)):
        return False
    text = _plain("".join(affix))
    references = [_plain("".join(tokens_of(reference, last=last))) for _, reference in pairs]
    full = [reference for reference in references if reference]
    count = sum(reference.startswith(text) for reference in full) if text else 0
    affected_share = len(rests) / len(pairs)
    if count > HARDLY_ANY * affected_share * max(1, len(full)):
        return False
    return vary([text_alone.strip() for text_alone in rests.values()], full)


def _is_common(characters: Iterable[str]) -> bool:
    """Whether most of these characters are the same one, or digits."""
    counts = Counter("0" if character.isdigit() else character for character in characters)
    return 1 + counts.most_common(1)[0][1] >= MOST * counts.total()


def _same_word(text: str, reference: str, index: int) -> bool:
    """Whether two texts begin (0) or end (-1) with the same word; with the same two characters
    where words are not separated.
    """
    words, reference_words = words_of(text), words_of(reference)
    if not words or not reference_words:
        return False
    if len(reference) > LONGEST_WORD * len(reference_words):
        two_characters = slice(2) if index == 0 else slice(-2, None)
        return text.strip()[two_characters] == reference.strip()[two_characters]
    return words[index] == reference_words[index]


def _plain(text: str) -> str:
    """A text without case and blanks; a blank alone stays."""
    return "".join(text.casefold().split()) or text[:1]


def _is_label(text: str) -> bool:
    """Whether a string is none that sentences of the same kind may share."""
    return _has_mark(_unquoted(text)) and len(words_in(text)) <= MOST_WORDS


def _has_mark(text: str) -> bool:
    """Whether a string has a number or a mark that is no punctuation of a sentence."""
    return any(
        character.isdigit()
        or character == "\t"
        or (unicodedata.category(character)[0] in "PS" and character not in _PUNCTUATION)
        for character in text
    )


def _is_class(character: str, categories: tuple[str, ...]) -> bool:
    return bool(character) and (
        character in _QUOTES or unicodedata.category(character) in categories
    )


def _unquoted(text: str) -> str:
    """A text without quotes, brackets and dashes."""
    return "".join(
        character for character in text if not _is_class(character, (*_OPENING, *_CLOSING))
    )
