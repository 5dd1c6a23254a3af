"""Statistics of examples that were counted before: a folder of small files, which may be deleted at
any time.

A file is named by the hash of everything that its statistics are made from: the metric with its
options, the versions of cgbench and sacrebleu, and every character of references and hypotheses. So
a changed byte is another file. Its content begins with its own checksum; a damaged file counts as
missing. Only the newest files are kept.
"""

import contextlib
import hashlib
import io
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.files import write_atomic

REVISION = 1
"""To be raised with every change of what the statistics are."""
MOST_FILES = 500
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


class StatisticsCache:
    """The statistics of lists of hypotheses for the same references by the same metric."""

    def __init__(self, made_by: Sequence[Any], references: Sequence[Sequence[str]]) -> None:
        """
        :param made_by: the metric, its options and the versions of its code, as values of JSON.
        """
        self.folder = cache_folder()
        self._shared = hashlib.sha256(_bytes([REVISION, made_by, references]))

    def read(self, hypotheses: Sequence[str]) -> np.ndarray | None:
        """The statistics of these hypotheses, float64 ``[n, k]``; None if there are none."""
        if self.folder is None:
            return None
        try:
            data = self._path(hypotheses).read_bytes()
            if hashlib.sha256(data[32:]).digest() != data[:32]:
                return None
            content = io.BytesIO(zlib.decompress(data[32:]))
            statistics: np.ndarray = np.load(content, allow_pickle=False)
        except (OSError, ValueError, zlib.error):
            return None
        return statistics if len(statistics) == len(hypotheses) else None

    def write(self, hypotheses: Sequence[str], statistics: np.ndarray) -> None:
        """Keep the statistics; without a folder to write to, nothing happens."""
        if self.folder is None:
            return
        content = io.BytesIO()
        np.save(content, statistics, allow_pickle=False)
        data = zlib.compress(content.getvalue())
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(hypotheses), hashlib.sha256(data).digest() + data)
            files = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
            for path in files[:-MOST_FILES]:
                path.unlink(missing_ok=True)

    def _path(self, hypotheses: Sequence[str]) -> Path:
        assert self.folder is not None
        key = self._shared.copy()
        key.update(_bytes(list(hypotheses)))
        return self.folder / key.hexdigest()


def _bytes(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
