"""Texts in files of translators: SGML and XML of WMT, TMX, XLIFF and PO, as tables with one row per
segment.

=======================  ===========================================================================
``.sgm`` ``.sgml``       NIST and WMT before 2022: the text of each ``seg``, a column per ``sysid``
                         or ``refid`` if a file has several
``.xml``                 WMT since 2022: ``source``, ``reference`` (``reference.A`` of several
                         translators), and a column per system
``.tmx``                 TMX 1.4: one column per language
``.xlf`` ``.xliff``      XLIFF 1.2 and 2.0: ``source`` and ``target``
``.po``                  gettext: ``source`` (``msgid``) and ``target`` (``msgstr``)
=======================  ===========================================================================

SGML, XML and XLIFF also have ``id``, which joins them with other tables. Codes within TMX and XLIFF
(``ph``, ``bpt``) are not text. A line break within a segment is a blank.

XML is read by expat without entities of its own and without loading anything: a file that declares
entities is refused. A file is read whole, so its size is limited.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from cgbench.errors import InputError
from cgbench.text.streams import SEGMENT_ID as ID
from cgbench.text.streams import form, open_bytes, read_lines

LARGEST = 256 << 20  # bytes of a file
DEEPEST = 100  # elements within each other
_CODES = frozenset(("bpt", "ept", "ph", "it", "ut", "alt-trans", "note", "originaldata"))
_TAG = re.compile(
    r"<(/?)(srcset|refset|tstset|doc|seg)\b((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))")
_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")
_STRING = re.compile(r"\s*\"((?:[^\"\\]|\\.)*)\"\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

Segment = dict[str, str]
"""The texts of a segment by column."""


def read_segments(path: Path) -> tuple[list[str], list[Segment]]:
    """The names of the columns of a file, and its segments in order.

    :raises InputError: it is missing, damaged, too large or of another format.
    """
    reader = READERS[form(path)]
    segments = reader(path)
    names = list(dict.fromkeys(name for segment in segments for name in segment))
    if not names:
        raise InputError(f"{path}: no segments; is it a file of another format?")
    return names, segments


def _clean(text: str) -> str:
    return _BREAK.sub(" ", text.strip(" \t\r\n"))


def _bytes_of(path: Path) -> bytes:
    with open_bytes(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(
            f"{path}: more than {LARGEST >> 20} MiB; write its text as a table with one segment per"
            " line, as .tsv"
        )
    return data


class _Rows:
    """Segments of a file by document and number: texts of several systems are rows of one table."""

    def __init__(self) -> None:
        self.segments: dict[str, Segment] = {}

    def add(self, column: str, key: str, text: str, where: str) -> None:
        segment = self.segments.setdefault(key, {ID: key})
        if column in segment:
            raise InputError(f"{where}: the segment {key} of {column} is there twice")
        segment[column] = _clean(text)


def _sgml(path: Path) -> list[Segment]:
    """NIST's SGML, which is no XML: ``&`` and ``<`` may stand alone."""
    try:
        text = _bytes_of(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 (byte {error.start + 1:,}); convert it (iconv -t UTF-8)"
        ) from None
    rows, document, column, count = _Rows(), "", "text", 0
    columns: dict[str, None] = {}
    start, number = -1, ""
    for tag in _TAG.finditer(text):
        name, closes = tag[2].lower(), bool(tag[1])
        fields = {
            key.lower(): html.unescape(next(filter(None, values), ""))
            for key, *values in _ATTRIBUTE.findall(tag[3])
        }
        if name == "seg" and not closes:
            count += 1
            start, number = tag.end(), fields.get(ID, str(count))
        elif name == "seg" and start >= 0:
            key = f"{document}:{number}" if document else number
            line = html.unescape(text[start : tag.start()])
            rows.add(column, key, line, f"{path}, segment {count}")
            start = -1
        elif name == "doc" and not closes:
            document, count = fields.get("docid", ""), 0
            column = fields.get("sysid", column)
            columns.setdefault(column)
        elif name != "doc" and not closes:
            column = fields.get("refid", fields.get("sysid", "text"))
    if len(columns) <= 1:  # a text of its own
        return [
            {ID: segment[ID], "text": next(value for key, value in segment.items() if key != ID)}
            for segment in rows.segments.values()
        ]
    return list(rows.segments.values())


class _Xml:
    """A safe XML parser that calls ``start(name, attributes)`` and ``end(name, text)``; the text of
    elements in ``texts`` is collected, without that of codes.
    """

    def __init__(
        self,
        path: Path,
        texts: Iterable[str],
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str, str], None],
    ) -> None:
        self.path, self.texts, self.start, self.end = path, frozenset(texts), start, end
        self.depth = self.in_code = 0
        self.collected: list[str] | None = None

    def parse(self) -> None:
        """Parse the file.

        :raises InputError: it is not XML, or declares entities.
        """
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._refuse_entities
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = self._refuse_entities
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(_bytes_of(self.path), True)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.path}, line {error.lineno}: not XML ({expat.ErrorString(error.code)})"
            ) from None
        except (ValueError, LookupError) as error:  # an encoding that Python does not know
            raise InputError(f"{self.path}: not readable XML ({error})") from None

    def _doctype(self, _name: str, _system: Any, _public: Any, has_declarations: int) -> None:
        if has_declarations:
            self._refuse_entities()

    def _refuse_entities(self, *_: object) -> int:
        raise InputError(f"{self.path}: declares a document type or entities; write it without")

    def _skipped(self, name: str, _is_parameter: bool) -> None:
        raise InputError(f"{self.path}: the entity &{name}; is not defined; write the character")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"{self.path}: more than {DEEPEST} elements within each other")
        name = name.rpartition(":")[2].lower()
        if self.in_code or name in _CODES:
            self.in_code += 1
        elif name in self.texts and self.collected is None:
            self.collected = []
            self.start(name, attributes)
        elif self.collected is None:
            self.start(name, attributes)

    def _end(self, name: str) -> None:
        self.depth -= 1
        name = name.rpartition(":")[2].lower()
        if self.in_code:
            self.in_code -= 1
        elif name in self.texts and self.collected is not None:
            text, self.collected = "".join(self.collected), None
            self.end(name, text)
        elif self.collected is None:
            self.end(name, "")

    def _characters(self, text: str) -> None:
        if self.collected is not None and not self.in_code:
            self.collected.append(text)


def _wmt(path: Path) -> list[Segment]:
    """WMT's XML: documents with a source, references by translator, and hypotheses by system."""
    rows, translators = _Rows(), dict[str, None]()
    document = column = number = root = ""
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal document, column, number, root, count
        root = root or name
        if name == "doc":
            document = attributes.get(ID, "")
        elif name == "src":
            column, count = "source", 0
        elif name == "ref":
            translator = attributes.get("translator", "")
            translators.setdefault(translator)
            column, count = f"reference.{translator}", 0
        elif name == "hyp":
            column, count = attributes.get("system", "hypothesis"), 0
        elif name == "seg":
            count += 1
            number = attributes.get(ID, str(count))

    def end(name: str, text: str) -> None:
        if name == "seg" and column:
            rows.add(column, f"{document}:{number}", text, str(path))

    _Xml(path, ["seg"], start, end).parse()
    if root not in ("dataset", "doc", "collection"):
        raise InputError(
            f"{path}: XML with the root <{root[:40]}>; WMT's XML (<dataset>) is read from .xml, and"
            " .tmx, .xliff and .sgm by their names"
        )
    segments = list(rows.segments.values())
    if len(translators) == 1:
        long = f"reference.{next(iter(translators))}"
        segments = [
            {("reference" if name == long else name): text for name, text in segment.items()}
            for segment in segments
        ]
    return segments


def _tmx(path: Path) -> list[Segment]:
    """TMX: the variants of each unit by language, of which the first of a language counts."""
    segments: list[Segment] = []
    language = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal language
        if name == "tu":
            segments.append({})
        elif name == "tuv":
            language = attributes.get("xml:lang", attributes.get("lang", ""))

    def end(name: str, text: str) -> None:
        if name == "seg" and segments and language:
            segments[-1].setdefault(language, _clean(text))

    _Xml(path, ["seg"], start, end).parse()
    return [segment for segment in segments if segment]


def _xliff(path: Path) -> list[Segment]:
    """XLIFF: the source and the target of each unit."""
    segments: list[Segment] = []
    unit = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal unit
        if name in ("trans-unit", "unit"):
            unit = attributes.get(ID, str(len(segments) + 1))
        if name in ("trans-unit", "segment"):
            segments.append({ID: unit})

    def end(name: str, text: str) -> None:
        if name in ("source", "target") and segments:
            segments[-1].setdefault(name, _clean(text))

    _Xml(path, ["source", "target"], start, end).parse()
    return segments


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _po(path: Path) -> list[Segment]:
    """gettext: the entries in order, without the header, obsolete entries and further plurals."""
    segments: list[Segment] = []
    entry: dict[str, str] = {}
    field = ""

    def finish() -> None:
        if entry.get("msgid"):
            segments.append(
                {"source": _clean(entry["msgid"]), "target": _clean(entry.get("msgstr", ""))}
            )
        entry.clear()

    for line_number, line in enumerate(read_lines(path, sentences=False), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        if name in ("msgctxt", "msgid", "msgid_plural", "msgstr") or name.startswith("msgstr["):
            if name == "msgctxt" or (name == "msgid" and field != "msgctxt"):
                finish()
            field = "msgstr" if name == "msgstr[0]" else name
            entry[field], line = "", rest
        string = _STRING.fullmatch(line)
        if string is None or not field:
            raise InputError(f'{path}, line {line_number}: not PO (msgid "..." or msgstr "...")')
        entry[field] += _unescaped(string[1])
    finish()
    return segments


READERS: dict[str, Callable[[Path], list[Segment]]] = {
    "sgm": _sgml,
    "sgml": _sgml,
    "xml": _wmt,
    "tmx": _tmx,
    "xlf": _xliff,
    "xliff": _xliff,
    "po": _po,
}


def rows_of(
    segments: Sequence[Segment], columns: Sequence[str]
) -> Iterator[tuple[int, tuple[str | None, ...]]]:
    """The numbered rows of these columns; None where a segment has no such text."""
    for row_number, segment in enumerate(segments, 1):
        yield row_number, tuple(segment.get(name) for name in columns)
