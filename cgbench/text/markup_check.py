"""Whether lines are markup or records (XML, SGML, JSON) rather than texts.

The laws: a text does not begin and end with marks of a format in most of its lines; no line is a
tag alone; its lines do not count themselves; and most of them have letters, if some have. If both
hypotheses and references break one, a score would compare the format.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

MOST = 0.5  # of the lines
FEWEST = 2  # lines
_TAG = r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>|<[!?][^>]*>"
_ELEMENT = re.compile(rf"\s*(?:{_TAG})(?:.*(?:{_TAG}))?\s*", re.DOTALL)
_RECORD = re.compile(r"\s*(?:\{\s*\"[^\"]*\"\s*:.*\}|\[\s*[\"'].*[\"']\s*\])\s*,?\s*", re.DOTALL)
_ENTRY = re.compile(r"(?:msgid|msgstr|msgctxt)(?:\[\d\])? \".*\"|#[:,.~].*")
JSON = "JSON"
FORMATS = (
    ("tags", _ELEMENT, "name the files .sgm, .xml, .tmx or .xliff, whose texts are read"),
    (JSON, _RECORD, "name the files .jsonl and the column (FILE.jsonl:COLUMN)"),
    ("entries of gettext", _ENTRY, "name the files .po, whose texts are read"),
)
"""The format, what a whole line of it looks like, and the remedy."""
_TAG_ALONE = re.compile(rf"\s*(?:{_TAG})\s*")
TAGS_ALONE = 0.01  # of the lines are a tag
_NUMBER = re.compile(r"[^\w]{0,8}(?:\w{1,8}[^\w]{1,8})?([0-9]{1,9})(?![0-9])")
COUNTING = 0.8  # of the lines have a number that is one more than in the line before
FEWEST_COUNTING = 6  # lines
WITHOUT_LETTERS, WITH_LETTERS = 0.5, 0.1  # of the lines
_LETTER = re.compile(r"[^\W\d_]")


def format_of(lines: Sequence[str]) -> tuple[str, int, str] | None:
    """The format of most lines, how many have it, and the remedy; None for text."""
    full = [line for line in lines if line.strip()]
    for name, pattern, remedy in FORMATS:
        if (
            name != "entries of gettext"
            and sum(line.lstrip()[:1] in "<{[" for line in full) < len(full) * MOST
        ):
            continue  # fast: most texts have none
        count = sum(pattern.fullmatch(line) is not None for line in full)
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
    count = sum(_LETTER.search(line) is None for line in lines)
    if count < max(FEWEST, WITHOUT_LETTERS * len(lines)):
        return None
    if len(lines) - count < WITH_LETTERS * len(lines):
        return None
    return "numbers or times", count, "keep only the lines with text"
