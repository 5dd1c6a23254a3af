"""What the beginning of a file says about its content, whatever its name.

A text has one sentence per line. Files of other formats would be read as sentences without a word:
the tags of XML, the comments of CoNLL-U, a whole dictionary as one line. So every text is checked
where it is opened (:func:`cgbench.text.streams.open_raw`), on its first bytes.

Two laws decide; what is known of single formats only gives the remedy. Bytes that are no characters
of a text are a binary file. Lines that are markup, or a table of annotations, are not sentences.
"""

import json
import re

from cgbench.errors import InputError
from cgbench.patterns import pattern

HEAD = 1 << 16
"""Bytes that are checked, at most."""
_FEWEST = 64  # bytes that tell a binary file from a text with a few odd characters
_MOST_CONTROL = 0.05  # share of control characters
_CONTROL = bytes({*range(32), 127} - {*b"\t\n\v\f\r\x1b"})
_PACKED = (
    (b"\x1f\x8b", "gzip", "name it {name}.gz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "name it {name}.zst"),
    (b"\xfd7zXZ\x00", "xz", "name it {name}.xz"),
    (b"BZh", "bzip2", "name it {name}.bz2"),
    (b"PK\x03\x04", "zip", "unpack it (unzip), or name it {name}.zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip", "unpack it (7z x)"),
    (b"\x04\x22\x4d\x18", "LZ4", "decompress it (unlz4), or compress it with gzip"),
)
_BINARY = (
    (b"PAR1", "a Parquet file", "name it {name}.parquet"),
    (b"%PDF-", "a PDF file", "extract its text"),
    (b"\n\x0e\n\x05<unk>", "a SentencePiece model", "give the text that it segments"),
    (b"blmt", "a binary language model of KenLM", "give its text"),
)
_MARKUP = pattern(
    r"\s*<(\?xml\b|!DOCTYPE\b|(?:tmx|xliff|srcset|refset|tstset|mteval|dataset|html)\b[^<>]*>"
    r"|\w+(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+\s*>[ \t\r]*(?:\n|$))",
    re.IGNORECASE,
)
_NAMES = {"tmx": ".tmx", "xliff": ".xliff", "srcset": ".sgm", "refset": ".sgm", "tstset": ".sgm"}
_NAMES |= {"mteval": ".sgm", "dataset": ".xml"}
_TOKEN = pattern(r"[0-9]+(?:[-.][0-9]+)?\t(?:[^\t]*\t){8}[^\t]*")  # a row of CoNLL-U


def check_bytes(head: bytes, name: object, suffix: str = "") -> None:
    """Check that the first bytes of a file, before any decompression, can be a text.

    :param suffix: of a file that is decompressed: ``.gz``.
    :raises InputError: the file is compressed or binary, with what to do.
    """
    for magic, kind, remedy in _PACKED:
        if head.startswith(magic) and not (suffix and remedy.endswith(suffix)):
            raise InputError(f"{name}: compressed with {kind}; {remedy.format(name=name)}")
    if suffix:
        return
    for magic, kind, remedy in _BINARY:
        if head.startswith(magic):
            raise InputError(f"{name}: {kind}, not a text; {remedy.format(name=name)}")
    control = len(head) - len(head.translate(None, _CONTROL))
    if len(head) >= _FEWEST and control > _MOST_CONTROL * len(head) and not _is_utf8(head):
        raise InputError(
            f"{name}: a binary file, not a text ({control:,} of its first {len(head):,} bytes are"
            " control characters)"
        )


def check_sentences(head: bytes, name: object) -> None:
    """Check that a text begins with sentences.

    :param head: its first bytes, decompressed.
    :raises InputError: it is of another format, with what to do.
    """
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.split("\n")
    whole = lines[:-1] if len(lines) > 1 else lines  # the last one may be cut
    if len(lines) == 1 and text.count("\r") > 1:
        raise InputError(
            f"{name}: its lines end with CR alone, as on old Macs; convert them (tr '\\r' '\\n')"
        )
    if match := _MARKUP.match(text):
        raise InputError(f"{name}: {_markup(match[1].lower(), text, name)}")
    rows = [line.rstrip("\r") for line in whole if line.strip() and not line.startswith("#")]
    if rows and all(map(_TOKEN.fullmatch, rows)) and rows[0][:2] in ("1\t", "1-"):
        raise InputError(
            f"{name}: CoNLL-U, not sentences; write the text of its `# text =` lines, one per line"
        )
    if rows and all(line.startswith("IN: ") and " OUT: " in line for line in rows):
        raise InputError(
            f"{name}: commands and actions of SCAN on one line; `cgbench data get scan` writes"
            " them as two files"
        )
    if re.match(r'\s*\{\s*"', text) and _is_one_value(lines, complete=len(head) < HEAD):
        raise InputError(
            f"{name}: JSON, a single object; a text has one sentence per line, and a table of JSON"
            " one object per line (.jsonl)"
        )


def _markup(tag: str, text: str, name: object) -> str:
    """What a file of markup is, and what to do."""
    known = re.search(rf"<({'|'.join(_NAMES)})\b", text, re.IGNORECASE)
    if known is None:
        return "markup, not sentences; write its text, one sentence per line"
    root = known[1].lower()
    return f"markup ({root}), not sentences; name it {name}{_NAMES[root]}, which is read as a table"


def _is_one_value(lines: list[str], *, complete: bool) -> bool:
    """Whether lines are one JSON object: the first is not a whole value, or is all there is."""
    try:
        json.loads(lines[0])
    except (ValueError, RecursionError):
        return True
    return complete and not any(map(str.strip, lines[1:]))


def _is_utf8(head: bytes) -> bool:
    """Whether bytes are UTF-8, but for a character that is cut at the end, or UTF-16 with a mark,
    which has an error of its own.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4
    return True
