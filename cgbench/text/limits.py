"""Every bound on what is read from files that strangers made, and what refuses more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgbench.errors import InputError
from cgbench.machine import size_of

if TYPE_CHECKING:
    import numpy as np

LIMITS = {
    "CGBENCH_MAX_LINE": 64 << 20,
    "CGBENCH_MAX_RATIO": 250,
    "CGBENCH_MAX_TEXT": 256 << 30,
}
"""Environment variables and their defaults: bytes of a line; bytes of text from a byte of a compressed file, looked at
once :data:`GRACE` came out of it; bytes of text from one compressed file. The first two letters of KMGT are units."""

GRACE = 64 << 20
"""Bytes that any compressed file may become."""
ZSTD_WINDOW = 128 << 20  # what zstd itself takes without --long
MOST_LINES = 1 << 20  # that a compressed file kept in memory may have, or one in each of its bytes
FIRST_LINE = 1 << 20  # bytes of the first line in which a tab is looked for

# Parquet, in bytes.
PARQUET_FOOTER = 64 << 20  # that the description of a file may take
PARQUET_MEMORY = 2 << 30  # that the child process may take for what it reads
PARQUET_MESSAGE = 256 << 20  # of what it sends at once

# Archives.
MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30  # that come out of an archive; the largest wanted member has about 4 GB
MOST_RATIO = 300  # unpacked to packed, of an archive that unpacks to more than FREE_BYTES
FREE_BYTES = 64 << 20
MOST_HEADER = 1 << 20  # bytes of a long name or other notes on a member, which are held in memory

# Downloads, in bytes.
MOST_DOWNLOAD = 4 << 30  # of a file of which no recipe says more
MOST_OF_GITHUB = 100 << 20  # of a file of a repository: GitHub holds no larger one


def limit(name: str) -> int:
    """One of :data:`LIMITS`, as the environment has it: a number, also with K, M, G or T behind it.

    :raises InputError: it is no such number, or 0.
    """
    given = size_of(name, LIMITS[name])
    return LIMITS[name] if given is None else given


class Budget:
    """How much text has come out of a compressed file.

    :raises InputError: when it is more than any text of that size (see :data:`LIMITS`).
    """

    def __init__(self, name: object) -> None:
        self.name, self.taken = name, 0
        self.most, self.ratio = limit("CGBENCH_MAX_TEXT"), limit("CGBENCH_MAX_RATIO")

    def take(self, size: int, packed: int) -> None:
        """Count ``size`` bytes more, of ``packed`` compressed ones that were read until now."""
        self.taken += size
        self.check(self.taken, packed)

    def check(self, size: int, packed: int) -> None:
        """Refuse ``size`` bytes from ``packed`` ones."""
        if size > GRACE and size > self.ratio * packed:
            raise InputError(
                f"{self.name}: {packed:,} compressed bytes become more than {size:,}, over {self.ratio} from each, "
                "which no text does; if it should, raise CGBENCH_MAX_RATIO"
            )
        if size > self.most:
            raise InputError(
                f"{self.name}: more than {self.most:,} bytes of text; if it should be so long, raise CGBENCH_MAX_TEXT"
            )


def check_line(size: int, name: object, number: int) -> None:
    """Check that line ``number`` (from 1), of which ``size`` bytes were read, is not too long to be one.

    :raises InputError: it is.
    """
    if size > (most := limit("CGBENCH_MAX_LINE")):
        raise InputError(
            f"{name}, line {number}: longer than {most:,} bytes, which no sentence is; end lines with a newline, "
            "or raise CGBENCH_MAX_LINE"
        )


def check_lines(newlines: np.ndarray, name: object, number: int) -> None:
    """Check the lines between the places of newlines, the first of which is line ``number``.

    :raises InputError: one is too long.
    """
    import numpy as np

    lengths = np.diff(newlines) - 1
    if len(lengths):
        first = int(np.argmax(lengths > limit("CGBENCH_MAX_LINE")))
        check_line(int(lengths[first]), name, number + first)
