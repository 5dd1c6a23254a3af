"""What the lines of a text have in common at their beginnings and ends.

Lines are compared by tokens: characters, and numbers, which are all equal.
"""

import re
from collections import Counter
from collections.abc import Sequence

from cgbench.patterns import pattern

MOST = 0.5  # of the lines have a string
FEWEST = 3  # lines with a string
VARIED = 0.5  # as many lines are distinct without it as among references; else a system repeats
LONGEST = 80  # characters at the beginning or the end of a line

_TOKENS = pattern(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|.", re.DOTALL)
_BLANK = pattern(r"[^\S\t]")
_WORD = pattern(r"[^\W_]+")


def tokens_of(text: str, *, last: bool = False) -> list[str]:
    """The characters of the beginning or the end of a line, with each number as ``0`` and other
    blanks as a blank.
    """
    text = _BLANK.sub(" ", text[-LONGEST:] if last else text[:LONGEST])
    tokens = ["0" if token[0].isdigit() else token for token in _TOKENS.findall(text)]
    return tokens[::-1] if last else tokens


def without_tokens(line: str, count: int, *, last: bool = False) -> str:
    """A line without its first or last tokens (:func:`tokens_of`)."""
    tokens = _TOKENS.findall(line[-LONGEST:] if last else line[:LONGEST])
    size = sum(map(len, tokens[len(tokens) - count :] if last else tokens[:count]))
    return line[: len(line) - size] if last else line[size:]


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


def begins_with(line: Sequence[str], beginning: Sequence[str]) -> bool:
    """Whether a line begins with these tokens."""
    return len(line) >= len(beginning) and list(line[: len(beginning)]) == list(beginning)


def whole_words(beginning: list[str]) -> list[str]:
    """A beginning without the word that it breaks off in."""
    length = len(beginning)
    while length and _WORD.fullmatch(beginning[length - 1]):
        length -= 1
    return beginning[:length]


def words_in(text: str) -> list[str]:
    """The runs of letters and digits of a text."""
    return _WORD.findall(text)


def first_field(text: str) -> str:
    """What stands before the first blank of a line."""
    return re.split(r"\s", text, maxsplit=1)[0]


def first_shape(text: str) -> str:
    """The first field of a line, with each word as ``w``."""
    return _WORD.sub("w", first_field(text))


def vary(texts: Sequence[str], references: Sequence[str]) -> bool:
    """Whether lines differ as references do, so that no system repeats itself."""
    expected = len({*references}) / max(1, len(references))
    return len({text for text in texts if text}) >= max(FEWEST, VARIED * expected * len(texts))
