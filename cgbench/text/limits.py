"""Limits on what is read from untrusted files, and the checks that enforce them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgbench.errors import InputError
from cgbench.machine import size_of

if TYPE_CHECKING:
    import numpy as np

LIMITS = {"CGBENCH_MAX_LINE": 64 << 20, "CGBENCH_MAX_RATIO": 250, "CGBENCH_MAX_TEXT": 256 << 30}
"""Environment variables and their defaults: bytes per line; bytes of text per compressed byte,
checked above :data:`GRACE`; bytes of text per compressed file. K, M, G and T are units."""

GRACE = 64 << 20
"""Bytes that any compressed file may expand to."""
WINDOW = 128 << 20  # memory of a decompressor: what zstd itself takes without --long, xz with -9
MOST_LINES = (
    1 << 20
)  # lines of a compressed file in memory, or one per compressed byte if that is more
FIRST_LINE = 1 << 20  # bytes of the first line that are searched for a tab

# Parquet, in bytes.
PARQUET_FOOTER = 64 << 20  # size of the file's schema and metadata
PARQUET_MEMORY = 2 << 30  # memory of the child process for what it reads
PARQUET_MESSAGE = 256 << 20  # size of one message from it

# Archives.
MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30  # unpacked size; the largest wanted member has about 4 GB
MOST_RATIO = 300  # unpacked to packed size, above FREE_BYTES
FREE_BYTES = 64 << 20
MOST_HEADER = 1 << 20  # bytes of a member's long name or other metadata, which are held in memory

# Downloads, in bytes.
MOST_DOWNLOAD = 4 << 30  # unless the recipe says more
MOST_OF_GITHUB = 100 << 20  # a file in a repository: GitHub's own limit


def limit(name: str) -> int:
    """One of :data:`LIMITS`, from the environment: a number, optionally followed by K, M, G or T.

    :raises InputError: it is not such a number, or is 0.
    """
    value = size_of(name, LIMITS[name])
    return LIMITS[name] if value is None else value


class Budget:
    """Counts the text decompressed from a file.

    :raises InputError: the text exceeds :data:`LIMITS`.
    """

    def __init__(self, name: object) -> None:
        self.name, self.taken = name, 0
        self.most, self.ratio = limit("CGBENCH_MAX_TEXT"), limit("CGBENCH_MAX_RATIO")

    def take(self, length: int, packed: int) -> None:
        """Count ``length`` more bytes; ``packed`` compressed bytes have been read so far."""
        self.taken += length
        self.check(self.taken, packed)

    def check(self, length: int, packed: int) -> None:
        """Check ``length`` bytes of text from ``packed`` compressed bytes."""
        if length > GRACE and length > self.ratio * packed:
            raise InputError(
                f"{self.name}: {packed:,} compressed bytes expand to more than {length:,}, over"
                f" {self.ratio} times, unlike any text; if this is intended, raise"
                " CGBENCH_MAX_RATIO"
            )
        if length > self.most:
            raise InputError(
                f"{self.name}: more than {self.most:,} bytes of text; if this is intended, raise"
                " CGBENCH_MAX_TEXT"
            )


def check_line(length: int, name: object, line_number: int) -> None:
    """Check the length of line ``line_number`` (from 1), of which ``length`` bytes were read.

    :raises InputError: it exceeds ``CGBENCH_MAX_LINE``.
    """
    if length > (most := limit("CGBENCH_MAX_LINE")):
        raise InputError(
            f"{name}, line {line_number}: longer than {most:,} bytes; end lines with a newline, or"
            " raise CGBENCH_MAX_LINE"
        )


def check_lines(newlines: np.ndarray, name: object, line_number: int) -> None:
    """Check the lines between newline positions; the first is line ``line_number``.

    :raises InputError: as :func:`check_line`.
    """
    import numpy as np

    if len(lengths := np.diff(newlines) - 1):
        first = int(np.argmax(lengths > limit("CGBENCH_MAX_LINE")))
        check_line(int(lengths[first]), name, line_number + first)
