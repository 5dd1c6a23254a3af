"""Whether lines are markup or records (XML, SGML, JSON) rather than texts.

The law: a text does not begin and end with marks of a format in most of its lines. If both
hypotheses and references do, a score would compare the format.
"""

import re
from collections.abc import Sequence

MOST = 0.5  # of the lines
FEWEST = 2  # lines
_TAG = r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>|<[!?][^>]*>"
_ELEMENT = re.compile(rf"\s*(?:{_TAG})(?:.*(?:{_TAG}))?\s*", re.DOTALL)
_RECORD = re.compile(r"\s*(?:\{\s*\"[^\"]*\"\s*:.*\}|\[\s*[\"'].*[\"']\s*\])\s*,?\s*", re.DOTALL)
_ENTRY = re.compile(r"(?:msgid|msgstr|msgctxt)(?:\[\d\])? \".*\"|#[:,.~].*")
FORMATS = (
    ("tags", _ELEMENT, "name the files .sgm, .xml, .tmx or .xliff, whose texts are read"),
    ("JSON", _RECORD, "name the files .jsonl and the column (FILE.jsonl:COLUMN)"),
    ("entries of gettext", _ENTRY, "name the files .po, whose texts are read"),
)
"""The format, what a whole line of it looks like, and the remedy."""


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
    return None
