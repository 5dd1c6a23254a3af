"""Properties of a sample of a text: tokenised or raw, cased or lowercased, escaped, its words.

All values are counts over the lines of the sample. A property is None without enough evidence
(:data:`ENOUGH`), and None never counts as a difference.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from cgbench.patterns import pattern
from cgbench.text.languages import LONGEST_WORD, OTHER, UNSPACED, letters_of
from cgbench.text.plain_text import words_of

ENOUGH = 20  # lines or marks
BEGINNING = 2_000  # lines that :func:`is_unspaced` reads
MOST, FEW = (
    0.7,
    0.2,
)  # share of marks that stand apart: at least, in tokenised text; at most, in raw text

PERIODS = ".。।"
COMMAS = ",，、،"  # noqa: RUF001 - other scripts
QUOTES = "\"'”’“»«)]」』"  # noqa: RUF001 - what may follow a final period
_ESCAPE = pattern("&(?:quot|apos|lt|gt|amp|#124|#91|#93|#39|nbsp);")
_COMMA = pattern(f"[{COMMAS}]")
_EDGES = pattern(r"^[\W_]+|[\W_]+$")


@dataclass
class Marks:
    """How often a mark stands ``apart`` as a separate word, and how often it is ``attached`` to a
    word.
    """

    apart: int = 0
    attached: int = 0

    @property
    def share(self) -> float | None:
        """The share that stands apart; None if there are too few marks."""
        total = self.apart + self.attached
        return self.apart / total if total >= ENOUGH else None


@dataclass
class Profile:
    """Counts over the lines of a sample that hold a word."""

    lines: int = 0
    periods: Marks = field(default_factory=Marks)  # at the end of lines
    commas: Marks = field(default_factory=Marks)
    cased: int = 0  # lines with a letter that has two cases
    upper: int = 0  # of these: at least one in upper case
    initial: int = 0  # of these: the first one is in upper case
    capitals: int = 0  # of these: all are in upper case
    escaped: int = 0  # lines with escapes such as &apos;
    words: Counter[str] = field(default_factory=Counter)  # lowercased, without marks at their ends
    tokens: int = 0

    @property
    def tokenised(self) -> bool | None:
        """Whether marks stand apart from words; None if there are too few, or only some do."""
        shares = [marks.share for marks in (self.periods, self.commas) if marks.share is not None]
        if any(rate >= MOST for rate in shares):
            return True
        return False if shares and all(rate <= FEW for rate in shares) else None

    @property
    def in_capitals(self) -> bool | None:
        """Whether most lines have no lower case; None if few have letters with two cases."""
        if self.cased < max(ENOUGH, self.lines / 2):  # Japanese with a few names in Latin script
            return None
        return self.capitals >= 0.7 * self.cased

    @property
    def mixture(self) -> str:
        """How many lines are tokenised, if only some are; else empty."""
        rate = self.periods.share or 0
        text = f"{100 * rate:.0f}% of the final periods stand apart: only some lines are tokenised"
        return text if FEW < rate < MOST else ""

    @property
    def lower(self) -> bool | None:
        """Whether the text is lowercased; None if few letters have two cases, or few are in upper
        case.
        """
        if self.cased < max(ENOUGH, self.lines / 2):
            return None
        rate = self.upper / self.cased
        return True if rate <= 0.02 else False if rate >= 0.3 else None

    @property
    def sentence_case(self) -> bool | None:
        """Whether lines begin in upper case; None if the text is lowercased or only some do."""
        if self.lower is not False:
            return None
        rate = self.initial / self.cased
        return True if rate >= 0.8 else False if rate <= 0.3 else None

    @cached_property
    def unspaced(self) -> str | None:
        """The script of a text without blanks between its words (``han``, ``thai``), or None."""
        return self.solid if self.lines >= ENOUGH else None

    @cached_property
    def solid(self) -> str | None:
        """The same for any number of lines."""
        script, length = self._unspaced_letters
        return script if script and length >= UNSPACED.get(script, LONGEST_WORD) else None

    @property
    def script(self) -> str | None:
        """The script of most of the text if it is usually written without blanks, whether or not
        there are any.
        """
        script = self._unspaced_letters[0]
        return script if script != OTHER and self.lines >= ENOUGH else None

    @property
    def letters_per_word(self) -> float:
        """Letters of such scripts per word: 1 in text split into characters."""
        return self._unspaced_letters[1]

    @cached_property
    def _unspaced_letters(self) -> tuple[str | None, float]:
        letters = letters_of(self.words)
        script = max(letters, key=lambda name: letters[name], default="")
        unspaced = letters.total() - letters[""]  # Japanese is kana and Han together
        if not script or 2 * unspaced < letters.total():
            return None, 0.0
        return script, unspaced / self.tokens


def wilson_interval(count: int, lines: int) -> tuple[float, float]:
    """The 95% confidence interval of the rate ``count / lines`` (Wilson 1927); 0 to 1 for no
    lines.
    """
    if not lines:
        return 0.0, 1.0
    square = 1.96**2
    middle = (count + square / 2) / (lines + square)
    width = math.sqrt(square * (count * (lines - count) / lines + square / 4)) / (lines + square)
    return middle - width, middle + width


def lacks_escapes(text: Profile, other: Profile) -> bool:
    """Whether a text has no escapes of Moses where another has them; one that writes *'s* less
    often has some.

    They must be significantly less than half as frequent; a short text, which may have few by
    chance, is no evidence.
    """
    most, least = (
        wilson_interval(text.escaped, text.lines)[1],
        wilson_interval(other.escaped, other.lines)[0],
    )
    return text.escaped <= text.lines / 200 and most < least / 2


FORMS = {
    "in_capitals": ("not in capitals", "in capitals"),
    "lower": ("cased", "in lower case"),
    "sentence_case": ("sentences do not begin in upper case", "sentences begin in upper case"),
    "tokenised": ("not tokenised", "tokenised (final periods and commas stand apart)"),
    "escaped": ("not escaped", "escaped as by Moses (such as &apos;)"),
}
"""What a text without and with a property is."""
CASE = ("in_capitals", "lower", "sentence_case")


class FormContrast(NamedTuple):
    """A property (of :data:`FORMS`) in which two texts differ; ``value``: that of the first."""

    name: str
    value: bool

    @property
    def text(self) -> str:
        """What the first text is."""
        return FORMS[self.name][self.value]

    @property
    def opposite(self) -> str:
        """What the other is."""
        return FORMS[self.name][not self.value]


def contrasts(text: Profile, other: Profile) -> Iterator[FormContrast]:
    """How the forms of two texts differ: in one of :data:`CASE`, and in tokenisation or else in
    escapes.
    """
    for name in CASE:
        value, other_value = getattr(text, name), getattr(other, name)
        if None not in (value, other_value) and value != other_value:
            yield FormContrast(name, value)
            break
    tokenised = None if text.unspaced or other.unspaced else text.tokenised
    if None not in (tokenised, other.tokenised) and tokenised != other.tokenised:
        yield FormContrast("tokenised", bool(tokenised))
    elif lacks_escapes(text, other) or lacks_escapes(other, text):
        yield FormContrast("escaped", lacks_escapes(other, text))


def is_unspaced(lines: Iterable[str]) -> bool:
    """Whether most of a text is in a script without blanks between words, and is not segmented.

    Reads :data:`BEGINNING` lines.
    """
    return profile(islice(lines, BEGINNING)).solid is not None


def profile(lines: Iterable[str]) -> Profile:
    """Compute the profile of lines."""
    counts = Profile()
    words_in_lower_case: Counter[str] = Counter()
    for line in lines:
        words = words_of(line)
        if not words:
            continue
        counts.lines += 1
        _count_marks(counts, words, _COMMA.search(line) is not None)
        if (lower := line.lower()) != line or line.upper() != line:
            counts.cased += 1
            counts.upper += lower != line
            first = next(letter for letter in line if letter.lower() != letter.upper())
            counts.initial += first != first.lower()
            counts.capitals += line.upper() == line
        counts.escaped += "&" in line and _ESCAPE.search(line) is not None
        words_in_lower_case.update(words_of(lower))
    # Each distinct word once.
    for word, count in words_in_lower_case.items():
        if bare := word if word.isalpha() else _EDGES.sub("", word):
            counts.words[bare] += count
            counts.tokens += count
    return counts


def _count_marks(counts: Profile, words: list[str], has_commas: bool) -> None:
    ended = False
    for word in reversed(words[-3:]):  # a quotation mark may follow, attached or as a word
        end = word.rstrip(QUOTES)
        if not end:
            continue
        if end[-1] in PERIODS and end[:-1].strip(".") != "":
            counts.periods.attached += 1
        elif end in PERIODS:
            counts.periods.apart += 1
        ended = True
        break
    for word in words[: -1 if ended else None] if has_commas else ():
        if word[-1] in COMMAS:
            if len(word) == 1:
                counts.commas.apart += 1
            else:
                counts.commas.attached += 1
