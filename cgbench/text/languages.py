"""Names of languages, and scripts that are written without blanks between words."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

_SCRIPTS = {
    "kana": ((0x3040, 0x30FF),),
    "han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)),
    "thai": ((0x0E00, 0x0E7F),),
    "lao": ((0x0E80, 0x0EFF),),
    "khmer": ((0x1780, 0x17FF),),
    "burmese": ((0x1000, 0x109F),),
}
UNSPACED = {"han": 5.0, "kana": 5.0, "thai": 9.0, "lao": 9.0, "khmer": 9.0, "burmese": 9.0}
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
    return next(
        (name for name, ranges in _SCRIPTS.items() if any(a <= code <= b for a, b in ranges)), ""
    )


def characters_of(script: str) -> str:
    """The characters of a script, for a class of a regular expression."""
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in _SCRIPTS[script])
