"""The text contract: UTF-8 without a byte order mark, a sentence a line, words separated by ASCII white space.

ASCII white space is blank, tab, CR, vertical tab and form feed (and the newline, which ends a line). Every other
character, a no-break space or U+3000 too, is part of a word. ``str.split`` and ``str.strip`` know more kinds of white
space and are no way to find words; ``bytes.split`` cuts as :func:`words_of` does, and so do the compiled loops
(``text/word_kernels.py``).
"""

from __future__ import annotations

import re
import warnings

from cgbench.errors import InputError, InputWarning

BLANKS = b"\t\n\v\f\r "
"""ASCII white space."""

MARK = b"\xef\xbb\xbf"
"""U+FEFF in UTF-8, which some editors put in front of a text: no part of it."""

_UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")

_find_words = re.compile(r"\S+", re.ASCII).findall


def words_of(line: str) -> list[str]:
    """The words of a line: what ASCII white space separates."""
    return _find_words(line)


def word_bytes(line: str) -> list[bytes]:
    """The same words as UTF-8, several times as fast.

    :raises UnicodeEncodeError: the line holds half of a surrogate pair.
    """
    return line.encode().split()


def skip_mark(data: bytes | memoryview, name: object) -> int:
    """The number of bytes before the text at the beginning of a file: 3 for a byte order mark, else 0.

    Warns of a mark (:class:`~cgbench.errors.InputWarning`), with the ``name`` of the file.
    """
    if data[: len(MARK)] != MARK:
        return 0
    warnings.warn(f"{name}: begins with a byte order mark, which is left out", InputWarning, stacklevel=2)
    return len(MARK)


def not_utf8(data: bytes, name: object, number: int) -> InputError:
    """What to say of lines, the first of which has this number, that cannot be decoded: where, what is wrong, how to
    mend it."""
    if number == 1:
        for found, marks in (("UTF-32", _UTF32), ("UTF-16", _UTF16)):
            if data.startswith(marks):
                return InputError(
                    f"{name}, line 1: not UTF-8 but {found}, by its byte order mark; convert the file, for example "
                    f"with iconv -f {found} -t UTF-8"
                )
    for place, line in enumerate(data.split(b"\n"), number):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return InputError(
                f"{name}, line {place}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
                "convert the file, for example with iconv -f ENCODING -t UTF-8"
            )
    raise AssertionError("a text is not UTF-8, yet each of its lines is")
