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
from dataclasses import dataclass

from cgbench.text.form_sample import FormSample
from cgbench.text.plain_text import words_of

MOST = 0.5  # of the hypotheses have the string
NEARLY_ALL = 0.9  # of the lines have a mark between fields equally often
MOST_FIELD_MARKS = 4
OPENED = 1 / 3  # of the references open with a mark where nearly all hypotheses do
HARDLY_ANY = 0.1  # of that share of the references have it
ELLIPSIS = 3  # points
REPEATED_ENDS = 2  # marks that end a sentence, one after another
MOST_WORDS = 2  # of a string that no reference is compared with
FEWEST = 3  # lines with the string
VARIED = 0.5  # as many lines are distinct without it as among references; else a system repeats
AGREEING = 0.2  # of the lines begin or end as their references do without a string of words
LONGEST = 80  # characters at the beginning or the end of a line
LONGEST_WORD = 12  # characters per word, on average, where words are separated
LEAST_LESS = 0.15  # of the units of lines of several fields are not in the field with the text
MOST_LOST = 0.15  # of the units that match are outside the field with the text

_TOKENS = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|.", re.DOTALL)
_BLANK = re.compile(r"[^\S\t]")
_WORD = re.compile(r"[^\W_]+")
_MARKED_WORD = re.compile(r"\S*[^\w\s.,;'’-]")  # noqa: RUF001 - an apostrophe
_FIELD_MARK = re.compile(r"[^\w\s]{2,4}|[|#~^=*/\\&@]|<\w{1,12}>|\[[^\w\s]?\w{0,12}\]")
_ENDS = ".。．!！?？…।؟۔։።"  # noqa: RUF001 - other scripts
_PUNCTUATION = _ENDS + "'’"  # noqa: RUF001 - an apostrophe
_QUOTES = "\"'`\u00b4"
_END_MARKS = _ENDS + " \r"
_END_OF_TEXT = _ENDS + _QUOTES + " \n\r"
_OPENING = ("Pi", "Pf", "Ps", "Pd")
_CLOSING = ("Pi", "Pf", "Pe", "Pd")

REMEDIES = (
    (re.compile(r"think|reason", re.I), "cut the reasoning (sed 's/.*<.think>//')"),
    (re.compile(r"\|\|\|"), "take one field of the n-best list (awk -F' [|][|][|] ' '{print $2}')"),
    (re.compile(r"\t"), "name the file .tsv and the column (FILE.tsv:2)"),
    (re.compile(r"^<seg|^<hyp|^<tu|^<target"), "name the file .sgm or .xml, whose text is read"),
    (re.compile(r"^\{|^\["), "write one text per line, or name the file .jsonl and the column"),
    (re.compile(r"</?s>|eos|pad|unk|im_end|\|>", re.I), "remove it (skip special tokens)"),
)
"""What to do about strings with these signs; any other is to be removed."""


Pair = tuple[str, str]
"""A hypothesis and its reference."""


@dataclass(frozen=True)
class Affix:
    """A string of ``lines`` of the hypotheses; ``place``: ``before``, ``after`` or ``between``."""

    text: str
    place: str
    lines: int
    remedy: str


def foreign_affix(
    hypotheses: FormSample,
    references: FormSample,
    units: Callable[[str], Counter[str]],
    *,
    are_outputs: bool = True,
    are_references: bool = True,
) -> Affix | None:
    """A string at the same place of most hypotheses and of hardly any reference; None without one.

    :param references: one per hypothesis; some may be empty.
    :param units: what a metric compares (:func:`cgbench.text.damage.units_of`).
    :param are_outputs: the first texts are those of a system; a system may lack the final marks of
        its references, which is no error of form.
    :param are_references: the others say the same, so that a string of words alone can be judged.
    """
    pairs = [
        pair for pair in zip(hypotheses.lines, references.lines, strict=True) if pair[0].strip()
    ]
    if len(pairs) < FEWEST:
        return None
    return (
        _before(pairs, are_references)
        or _labels(pairs)
        or (_ends_of_sentences(pairs) if are_outputs else None)
        or _after(pairs, are_references)
        or _between(hypotheses, references, units)
    )


def remedy_of(text: str) -> str:
    """What to do about a string."""
    remedy = next((remedy for sign, remedy in REMEDIES if sign.search(text)), None)
    return remedy or "remove it from every line"


def tokens_of(text: str, *, last: bool = False) -> list[str]:
    """The characters of the beginning or the end of a line, with each number as ``0`` and other
    blanks as a blank.
    """
    text = _BLANK.sub(" ", text[-LONGEST:] if last else text[:LONGEST])
    tokens = ["0" if token[0].isdigit() else token for token in _TOKENS.findall(text)]
    return tokens[::-1] if last else tokens


def _is_label(text: str) -> bool:
    """Whether a string is none that sentences of the same kind may share."""
    return _has_mark(_unquoted(text)) and len(words_in(text)) <= MOST_WORDS


def words_in(text: str) -> list[str]:
    """The runs of letters and digits of a text."""
    return _WORD.findall(text)


def common_beginning(lines: Sequence[Sequence[str]], least: float = MOST) -> list[str]:
    """The longest beginning that ``least`` of the lines share."""
    beginning: list[str] = []
    sharing, needed = list(lines), max(FEWEST, least * len(lines))
    while len(beginning) < LONGEST:
        position = len(beginning)
        counts = Counter(line[position] for line in sharing if len(line) > position)
        if not counts:
            break
        token, count = counts.most_common(1)[0]
        if count < needed:
            break
        beginning.append(token)
        sharing = [line for line in sharing if len(line) > position and line[position] == token]
    return beginning


def _foreign_part(beginning: list[str], of_references: Sequence[str]) -> list[str]:
    """A beginning of hypotheses without the part at its end that references begin with."""
    for length in range(1, len(beginning)):
        inner = beginning[length:]
        if inner == list(of_references[: len(inner)]):
            return beginning[:length]
    return beginning


def _is_common(characters: Iterable[str]) -> bool:
    """Whether most of these characters are the same one, or digits."""
    counts = Counter("0" if character.isdigit() else character for character in characters)
    return 1 + counts.most_common(1)[0][1] >= MOST * counts.total()


def whole_words(beginning: list[str]) -> list[str]:
    """A beginning without the word that it breaks off in."""
    length = len(beginning)
    while length and _WORD.fullmatch(beginning[length - 1]):
        length -= 1
    return beginning[:length]


def _begins(line: Sequence[str], beginning: Sequence[str]) -> bool:
    return len(line) >= len(beginning) and list(line[: len(beginning)]) == list(beginning)


def _has_mark(text: str) -> bool:
    """Whether a string has a number or a mark that is no punctuation of a sentence."""
    return any(
        character.isdigit()
        or character == "\t"
        or (unicodedata.category(character)[0] in "PS" and character not in _PUNCTUATION)
        for character in text
    )


def _before(pairs: Sequence[Pair], are_references: bool) -> Affix | None:
    """A string before the text."""
    if not _is_common(hypothesis[0] for hypothesis, _ in pairs):
        return None  # fast: most texts end here
    common = whole_words(common_beginning([tokens_of(hypothesis) for hypothesis, _ in pairs]))
    of_references = common_beginning([tokens_of(reference) for _, reference in pairs])
    beginning = _foreign_part(common, of_references)
    text = "".join(beginning)
    rests = _without(pairs, beginning)
    if not text.strip() or not _is_foreign(pairs, rests, common):
        return None
    if not are_references and not _is_label(text):
        return None
    if not _has_mark(text):
        # Words alone: with them, few lines begin as their references do; without them, many.
        before = sum(_same_word(pairs[row][0], pairs[row][1], 0) for row in rests)
        after = sum(_same_word(rest, pairs[row][1], 0) for row, rest in rests.items())
        if after - before < max(FEWEST, AGREEING * len(rests)):
            return None
    elif len(text.strip()) == 1 and _is_class(text.strip(), _OPENING):
        # Quotes and dashes of another kind open as many references.
        closed = sum(_is_class(rest.rstrip()[-1:], _CLOSING) for rest in rests.values())
        are_closed = closed >= MOST * len(rests)
        opened = sum(
            _is_class(pairs[row][1][:1], _OPENING)
            and not rest.lstrip().startswith(pairs[row][1][:1])
            and (not are_closed or _is_class(pairs[row][1].rstrip()[-1:], _CLOSING))
            for row, rest in rests.items()
        )
        of_all = len(rests) >= NEARLY_ALL * len(pairs)
        if opened > (OPENED if of_all else HARDLY_ANY) * len(rests):
            return None
    row = next(iter(rests))
    shown = pairs[row][0][: len(pairs[row][0]) - len(rests[row])]
    return Affix(shown, "before", len(rests), remedy_of(shown))


def _labels(pairs: Sequence[Pair]) -> Affix | None:
    """A first word with marks, whose letters and numbers differ from line to line."""
    marked = sum(_MARKED_WORD.match(hypothesis) is not None for hypothesis, _ in pairs)
    if marked < MOST * len(pairs):
        return None  # fast: most texts end here
    shapes = Counter(first_shape(hypothesis) for hypothesis, _ in pairs)
    shape, count = shapes.most_common(1)[0]
    in_references = sum(
        first_shape(reference) == shape
        or _plain(reference).startswith(_plain(hypothesis.split()[0]))
        for hypothesis, reference in pairs
    )
    if (
        not _has_mark(_unquoted(shape))
        or count < max(FEWEST, MOST * len(pairs))
        or in_references > HARDLY_ANY * count
    ):
        return None
    with_it = [hypothesis for hypothesis, _ in pairs if first_shape(hypothesis) == shape]
    if not _varies(with_it, [reference for _, reference in pairs]):
        return None
    example = with_it[0]
    shown = re.split(r"\s", example, maxsplit=1)[0]
    return Affix(shown, "before", count, remedy_of(shown))


def _after(pairs: Sequence[Pair], are_references: bool) -> Affix | None:
    """A string after the text."""
    if not _is_common(hypothesis.rstrip(_END_OF_TEXT)[-1:] for hypothesis, _ in pairs):
        return None
    common = common_beginning([tokens_of(hypothesis, last=True) for hypothesis, _ in pairs])
    ending = _foreign_part(
        common,
        common_beginning([tokens_of(reference.rstrip(), last=True) for _, reference in pairs]),
    )
    if ending == common:
        # The end of a sentence before the string is text.
        end_of_text: list[str] = []
        while ending and ending[-1] in _END_OF_TEXT:
            end_of_text.append(ending.pop())
        common = ending = whole_words(ending + end_of_text[-1:] * (end_of_text[-1:] == [" "]))
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
        after = sum(_same_word(rest, pairs[row][1], -1) for row, rest in rests.items())
        if after < max(FEWEST, AGREEING * len(rests)):
            return None
    row = next(iter(rests))
    shown = pairs[row][0].rstrip()[len(rests[row]) :]
    return Affix(shown, "after", len(rests), remedy_of(shown))


def _closes_nothing(text: str, rests: Iterable[str]) -> bool:
    """Whether a text is a closing bracket of which most of the lines before it open none."""
    bracket = text.strip()
    if len(bracket) != 1 or unicodedata.category(bracket) != "Pe":
        return False
    opened = [
        sum(unicodedata.category(mark) == "Ps" for mark in rest)
        > sum(unicodedata.category(mark) == "Pe" for mark in rest)
        for rest in rests
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
        if affix and _begins(tokens_of(line, last=last), affix):
            rests[row] = without(line, len(affix), last=last)
    return rests


def without(line: str, count: int, *, last: bool = False) -> str:
    """A line without its first or last tokens (:func:`tokens_of`)."""
    tokens = _TOKENS.findall(line[-LONGEST:] if last else line[:LONGEST])
    size = sum(map(len, tokens[len(tokens) - count :] if last else tokens[:count]))
    return line[: len(line) - size] if last else line[size:]


def _is_foreign(
    pairs: Sequence[Pair], rests: Mapping[int, str], affix: Sequence[str], *, last: bool = False
) -> bool:
    """Whether most hypotheses and hardly any reference have these tokens, in whatever form, and a
    text besides.

    :param rests: the hypotheses that have them, without the part of them that is no text.
    """
    if len(rests) < max(FEWEST, MOST * len(pairs)):
        return False
    text = _plain("".join(affix))
    references = [_plain("".join(tokens_of(reference, last=last))) for _, reference in pairs]
    full = [reference for reference in references if reference]
    with_it = sum(reference.startswith(text) for reference in full) if text else 0
    share = len(rests) / len(pairs)
    if with_it > HARDLY_ANY * share * max(1, len(full)):
        return False
    texts = [rest.strip() for rest in rests.values()]
    return _varies(texts, full)


def _varies(texts: Sequence[str], references: Sequence[str]) -> bool:
    """Whether lines differ as references do, so that no system repeats itself."""
    expected = len({*references}) / max(1, len(references))
    return len({text for text in texts if text}) >= max(FEWEST, VARIED * expected * len(texts))


def _plain(text: str) -> str:
    """A text without case and blanks; a blank alone stays."""
    return "".join(text.casefold().split()) or text[:1]


def _same_word(text: str, other: str, index: int) -> bool:
    """Whether two texts begin (0) or end (-1) with the same word; with the same two characters
    where words are not separated.
    """
    words, others = words_of(text), words_of(other)
    if not words or not others:
        return False
    if len(other) > LONGEST_WORD * len(others):
        size = slice(2) if index == 0 else slice(-2, None)
        return text.strip()[size] == other.strip()[size]
    return words[index] == others[index]


def _between(
    hypotheses: FormSample, references: FormSample, units: Callable[[str], Counter[str]]
) -> Affix | None:
    """A mark that separates fields, of which one alone is the text."""
    n = len(hypotheses.lines)
    for mark in field_marks(hypotheses):
        count = hypotheses.lines_with(mark)
        if count < max(FEWEST, MOST * n) or references.lines_with(mark) > HARDLY_ANY * count:
            continue
        if separates_all(mark, hypotheses.lines):
            return Affix(mark, "between", count, remedy_of(mark))
        fields = [
            ([field.strip() for field in hypothesis.split(mark)], reference)
            for hypothesis, reference in zip(hypotheses.lines, references.lines, strict=True)
            if mark in hypothesis
        ]
        whole = sum((units(" ".join(texts)) for texts, _ in fields), Counter[str]()).total()
        matches = sum((units(" ".join(texts)) & units(other)).total() for texts, other in fields)
        for index in (0, 1, -1, 2):
            chosen = [
                (units(texts[index]), units(other))
                for texts, other in fields
                if -len(texts) <= index < len(texts)
            ]
            in_field = sum(of_field.total() for of_field, _ in chosen)
            matches_in_field = sum((of_field & other).total() for of_field, other in chosen)
            if (
                matches
                and in_field <= (1 - LEAST_LESS) * whole
                and matches_in_field >= (1 - MOST_LOST) * matches
            ):
                return Affix(mark, "between", count, remedy_of(mark))
    return None


def separates_all(mark: str, lines: Sequence[str]) -> bool:
    """Whether nearly all lines have a mark equally often, between texts that differ."""
    full = [line for line in lines if line.strip()]
    times = Counter(line.count(mark) for line in full)
    ((most_times, count),) = times.most_common(1)
    firsts = [line.partition(mark)[0] for line in full]
    return most_times > 0 and count >= NEARLY_ALL * len(full) and _varies(firsts, full)


def field_marks(text: FormSample) -> list[str]:
    """What may separate fields: words of a few marks, the most frequent first, and tabs."""
    counts = Counter(
        {word: count for word, count in text.marked_counts.items() if _FIELD_MARK.fullmatch(word)}
    )
    tabs = ["\t"] * ("\t" in text.characters)
    return tabs + [mark for mark, _ in counts.most_common(MOST_FIELD_MARKS)]


def _is_class(character: str, categories: tuple[str, ...]) -> bool:
    return bool(character) and (
        character in _QUOTES or unicodedata.category(character) in categories
    )


def _unquoted(text: str) -> str:
    """A text without quotes, brackets and dashes."""
    return "".join(
        character for character in text if not _is_class(character, (*_OPENING, *_CLOSING))
    )


def first_shape(text: str) -> str:
    """The first field of a line, with each word as ``w``."""
    return _WORD.sub("w", re.split(r"\s", text, maxsplit=1)[0])
