"""Names of languages, and scripts that are written without blanks between words."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class _Script(NamedTuple):
    """A script without blanks between words: the ranges of its characters, and the mean letters
    between blanks above which a text is unsegmented.
    """

    ranges: tuple[tuple[int, int], ...]
    longest_word: float


_SCRIPTS = {
    "han": _Script(((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)), 5.0),
    "kana": _Script(((0x3040, 0x30FF),), 5.0),
    "thai": _Script(((0x0E00, 0x0E7F),), 9.0),
    "lao": _Script(((0x0E80, 0x0EFF),), 9.0),
    "khmer": _Script(((0x1780, 0x17FF),), 9.0),
    "burmese": _Script(((0x1000, 0x109F),), 9.0),
}
UNSPACED = {name: script.longest_word for name, script in _SCRIPTS.items()}
"""Scripts without blanks between words, and the mean letters between blanks above which a text is
unsegmented.
"""
OTHER, LONGEST_WORD = "other", 9.0
"""Other scripts whose letters have no upper case (Javanese, rare Chinese characters), and the same
mean, which alone tells whether they are written without blanks.
"""

_ROWS = Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()[1:]
_NAMES = {code: (name, letters) for code, name, letters in (row.split("\t") for row in _ROWS)}
"""English names, and codes of three letters."""
_CODES = {
    **{letters: code for code, (_, letters) in _NAMES.items()},
    **{"ger": "de", "fre": "fr", "nb": "no", "zho": "zh", "chi": "zh", "ara": "ar", "fas": "fa"},
}


def known(code: str) -> str | None:
    """The two-letter code of a language (``de``, ``de-AT``, ``deu``: ``de``); None for an unknown
    one.
    """
    short = code.lower().replace("_", "-").partition("-")[0]
    short = _CODES.get(short, short)
    return short if short in _NAMES else None


def name_of(language: str) -> str:
    """The English name of a language; the code itself if unknown."""
    return _NAMES[language][0] if language in _NAMES else language


def letters_of(words: Mapping[str, int]) -> Counter[str]:
    """Number of letters of each script in :data:`UNSPACED` and :data:`OTHER`; under "" those that
    have upper case.
    """
    characters: dict[str, int] = {}
    for word, times in words.items():
        for character in word:
            characters[character] = characters.get(character, 0) + times
    letters: Counter[str] = Counter()
    for character, count in characters.items():
        script = _script(ord(character))
        if not script and character.lower() == character.upper():
            script = OTHER if character.isalpha() else ""
        if character.isalpha() or (script and not character.isalnum()):  # vowels of Thai are marks
            letters[script] += count
    return letters


def _script(code: int) -> str:
    for name, script in _SCRIPTS.items():
        if any(first <= code <= last for first, last in script.ranges):
            return name
    return ""


def characters_of(script: str) -> str:
    """The characters of a script, for a class of a regular expression."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in _SCRIPTS[script].ranges)
