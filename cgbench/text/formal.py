"""Texts in formal languages (programs, logical forms), whose words contain marks of markup."""

import unicodedata
from collections.abc import Iterable

from cgbench.patterns import pattern

LEAST = 0.1  # of the words of a formal language are no words of a natural one
_TEXT_MARKS = ".,;:!?\"'-\u2019"
_WORD = pattern(r"[A-Za-z]+(?:['-][A-Za-z]+)*|[\d.,:/'-]+[A-Za-z]{0,4}%?")
_ATTACHED = pattern(r"^[^\w\s]+|[^\w\s]+$")


def is_markup(mark: str) -> bool:
    """Whether a character is no letter, blank, sentence mark, quotation mark or dash."""
    if mark == "\t":
        return True
    category = unicodedata.category(mark)
    is_sign = category[0] == "S" or category in ("Ps", "Pe", "Pc", "Po")
    return is_sign and mark not in _TEXT_MARKS and (mark.isascii() or category != "Po")


def is_formal(words: Iterable[str]) -> bool:
    """Whether these are the words of a formal language."""
    counts = [0, 0]
    for word in words:
        counts[_is_formal_word(word)] += 1
    return counts[True] > 0 and counts[True] >= LEAST * sum(counts)


def _is_formal_word(word: str) -> bool:
    """Whether a word is neither one of a language nor punctuation. Formal languages use the marks
    of ASCII.
    """
    if not word.isascii() or word.isalnum():
        return False
    inner = _ATTACHED.sub("", word)
    return _WORD.fullmatch(inner) is None if inner else any(map(is_markup, word))
