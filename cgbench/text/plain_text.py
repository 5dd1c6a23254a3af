"""The text contract: UTF-8 without a byte order mark, one sentence per line, words separated by
ASCII white space.

ASCII white space is blank, tab, CR, vertical tab and form feed (and the newline, which ends a
line). All other characters, including no-break space and U+3000, are part of words. ``str.split``
and ``str.strip`` treat more characters as white space and must not be used to find words;
``bytes.split`` and the compiled loops (``text/word_kernels.py``) split as :func:`words_of` does.
"""

import re

from cgbench.errors import InputError, warn

BLANKS = b"\t\n\v\f\r "
"""ASCII white space."""

MARK = b"\xef\xbb\xbf"
"""U+FEFF in UTF-8, the byte order mark that some editors write before a text."""

_UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

_find_words = re.compile(r"\S+", re.ASCII).findall


def words_of(line: str) -> list[str]:
    """The words of a line, separated by ASCII white space."""
    # The only white space that is printable is the blank; split() is three times as fast.
    return line.split() if line.isprintable() else _find_words(line)


def word_bytes(line: str) -> list[bytes]:
    """The same words as UTF-8, several times as fast.

    :raises UnicodeEncodeError: the line contains a lone surrogate.
    """
    return line.encode().split()


def skip_mark(data: bytes | memoryview, name: object) -> int:
    """The number of bytes before the text of a file: 3 for a byte order mark, with a warning, else
    0.
    """
    if data[: len(MARK)] != MARK:
        return 0
    warn(f"{name}: begins with a byte order mark, which is ignored")
    return len(MARK)


def warn_of_mark(data: bytes | bytearray, begin: int, end: int, name: object, line: int) -> bool:
    """Warn of a byte order mark within a text, as where files were joined; returns whether there is
    one.

    :param data: lines, of which ``begin`` to ``end`` are searched. ``line``: the number of the
        first one.
    """
    # A single byte is found twenty times as fast, and most texts have none of these.
    position = data.find(MARK[0], begin, end)
    position = data.find(MARK, position, end) if position >= 0 else position
    if position < 0:
        return False
    line += data.count(b"\n", 0, position)
    warn(
        f"{name}, line {line:,}: a byte order mark within the text, which makes another word of the"
        " one beside it; remove all of them: sed 's/\\xef\\xbb\\xbf//g'"
    )
    return True


def not_utf8(data: bytes, name: object, line_number: int) -> InputError:
    """The error for lines that are not UTF-8; ``line_number`` is that of the first line."""
    if line_number == 1:
        for encoding, marks in (("UTF-32", _UTF32), ("UTF-16", _UTF16)):
            if data.startswith(marks):
                return InputError(
                    f"{name}, line 1: not UTF-8 but {encoding}, by its byte order mark; convert the"
                    f" file, for example with iconv -f {encoding} -t UTF-8"
                )
    for position, line in enumerate(data.split(b"\n"), line_number):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return InputError(
                f"{name}, line {position}: not UTF-8 (byte 0x{line[error.start]:02x} at column"
                f" {error.start + 1}); convert the file, for example with iconv -f ENCODING -t"
                " UTF-8"
            )
    raise AssertionError("a text is not UTF-8, yet each of its lines is")
