"""What a mark at or in a word is: punctuation of a language, a sign of a script, or a symbol."""

import unicodedata

from cgbench.patterns import pattern
from cgbench.records import Record
from cgbench.text.form_sample import LAST_LATIN
from cgbench.text.languages import OTHER, UNSPACED, letters_of

# A tag, or marks one after another.
RUN = r"<\w{1,8}>|\[\w{1,8}\]|\{\w{1,8}\}|[^\w\s]+"
RUNS = pattern(rf"&\w{{1,8}};|{RUN}|_+")
_PUNCTUATION = {"Ps", "Pe", "Pi", "Pf", "Pd", "Sc"}
SENTENCE = set("\"'`´.,;:!?…。，、؟।%&*^=/\\|<>")  # noqa: RUF001 - other scripts
IN_WORDS = set("'-.,:’‐‑")  # noqa: RUF001 - marks that people write within words
AT_WORDS = set("\"'`´’‘“”„«»–—.,;:!?…()[]{}")  # noqa: RUF001 - and at words
_SYMBOLS = ("So", "Sm", "Sk", "Cc", "Cf", "Co", "Cn", "Pc")
_JOINERS = "\u200c\u200d"  # within words of Persian and Indian languages
_BLANK_WITHOUT_WIDTH = "\u200b"  # between words of Khmer and Thai
_SOFT_HYPHEN = "\xad"
_ASCII_SYMBOLS = set("@#*\\^~|_+")
_ASCII_MARKS = set("+~_")


class Mark(Record):
    """A mark, and how many ``count`` of ``unit`` (words, hypotheses) have it.

    ``is_sure``: a mark on both sides is no text, however rare it is. ``stops``: too many words have
    it for any score.
    """

    text: str
    count: int
    unit: str
    is_sure: bool = False
    stops: bool = True


def is_punctuation(mark: str) -> bool:
    """Whether a mark is punctuation, or a sign that people write at words."""
    if mark.startswith("<") and mark.endswith(">"):
        return False
    if mark.isascii() and len(mark) == 1:
        return mark not in _ASCII_MARKS
    categories = {unicodedata.category(character) for character in mark}
    if categories & {"Mn", "Mc", "Me", "Cc", "Cf"}:
        return True  # vowels and accents of a letter; characters that are not shown
    return all(
        character in SENTENCE
        or unicodedata.category(character) in _PUNCTUATION
        or (unicodedata.category(character) == "Po" and character > LAST_LATIN)
        for character in mark
    )


def is_symbol(character: str) -> bool:
    """Whether a character is no letter, blank or punctuation of a language."""
    category = unicodedata.category(character)
    is_rare = category == "Po" and "\x7f" < character <= LAST_LATIN and character not in SENTENCE
    return character in _ASCII_SYMBOLS or category in _SYMBOLS or is_rare


def is_of_script(mark: str, word: str) -> bool:
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
