"""What was computed before from the same inputs: a folder of small files, which may be deleted at
any time.

A file is named by the hash of everything that its content is made from, so a changed byte of an
input is another file. Its content begins with its own checksum; a damaged file counts as missing.
Only the newest files are kept.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench.files import write_atomic

WORTH_KEEPING = 500
"""Number of examples from which on results are kept for the next time."""
MOST_FILES = 1_000
CHECKSUM = 32
"""Bytes of a checksum."""
OFF = "0"


def cache_folder() -> Path | None:
    """``CGBENCH_CACHE``, else ``cgbench`` in the user's cache folder; None if it is ``0``."""
    chosen = os.environ.get("CGBENCH_CACHE")
    if chosen == OFF:
        return None
    if chosen:
        return Path(chosen) / "statistics"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cgbench" / "statistics"


def _sha256(data: bytes) -> Any:
    import hashlib  # 2 ms of a start, which texts that are too short to be kept do without

    return hashlib.sha256(data)


class Kept:
    """Results that depend on a list of texts, and on what all these results share."""

    def __init__(self, made_by: Sequence[Any]) -> None:
        """
        :param made_by: the shared inputs, with the versions of the code, as values of JSON.
        """
        self.folder = cache_folder()
        self._shared = _sha256(_bytes(made_by))

    def read_bytes(self, texts: Sequence[str]) -> bytes | None:
        """The result for these texts; None if there is none."""
        if self.folder is None:
            return None
        try:
            data = self._path(texts).read_bytes()
            if _sha256(data[CHECKSUM:]).digest() != data[:CHECKSUM]:
                return None
            return zlib.decompress(data[CHECKSUM:])
        except (OSError, zlib.error):
            return None

    def write_bytes(self, texts: Sequence[str], content: bytes) -> None:
        """Keep the result; without a folder to write to, nothing happens."""
        if self.folder is None:
            return
        data = zlib.compress(content)
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(texts), _sha256(data).digest() + data)
            files = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
            for path in files[:-MOST_FILES]:
                path.unlink(missing_ok=True)

    def _path(self, texts: Sequence[str]) -> Path:
        assert self.folder is not None
        key = self._shared.copy()
        key.update(_bytes(list(texts)))
        return self.folder / key.hexdigest()


def code_of(folder: Path) -> list[list[Any]]:
    """What changes if a file of code in a folder does: names, sizes and times."""
    return [
        [path.name, path.stat().st_size, path.stat().st_mtime_ns]
        for path in sorted(folder.glob("*.py"))
    ]


def _bytes(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
