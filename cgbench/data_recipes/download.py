"""Download a file over HTTP atomically, with Pooch; proxies and certificates come from the environment."""

from __future__ import annotations

import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError, require
from cgbench.files import sync_file, sync_folder
from cgbench.progress import bar
from cgbench.text.limits import MOST_DOWNLOAD

ATTEMPTS = 5
WAIT = 1.0  # seconds before the second attempt, doubled for each later one
TIMEOUT = (10, 60)  # seconds to connect, and seconds without data
CHUNK = 1 << 18
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(InputError):
    """The download failed."""


class NotFoundError(DownloadError):
    """The server has no such file."""


def download(url: str, target: Path, attempts: int = ATTEMPTS, *, most: int = MOST_DOWNLOAD) -> None:
    """Download ``url`` to ``target``.

    :param most: maximum size in bytes.
    :raises DownloadError: it failed ``attempts`` times, the server refuses, or the file is larger than ``most``.
    """
    pooch, requests = require("pooch", "data"), require("requests", "data")
    from urllib3.exceptions import HTTPError

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    headers = {"Accept-Encoding": "identity", "User-Agent": f"cgbench/{__version__}"}
    for attempt in range(1, attempts + 1):
        progress = _Limited(url, target.name, most)
        fetch = pooch.HTTPDownloader(progressbar=progress, chunk_size=CHUNK, timeout=TIMEOUT, headers=headers)
        try:
            fetch(url, str(part), None)
            progress.check(part.stat().st_size)
            sync_file(part)
            part.replace(target)
            sync_folder(target.parent)
            return
        except (requests.RequestException, HTTPError, HTTPException, ValueError) as error:
            answer = getattr(error, "response", None)
            if answer is not None and answer.status_code in (404, 410):
                raise NotFoundError(f"{url}: the server has no such file ({answer.status_code})") from None
            refused = answer is not None and answer.status_code not in RETRIED
            wrong_address = isinstance(error, ValueError) and not isinstance(error, requests.JSONDecodeError)
            if attempt == attempts or refused or wrong_address:
                raise DownloadError(f"{url}: cannot be downloaded ({_reason(error)})") from None
        finally:
            progress.close()
            part.unlink(missing_ok=True)
        time.sleep(WAIT * 2 ** (attempt - 1))


class _Limited:
    """A progress bar for Pooch that stops a download that is too large."""

    def __init__(self, url: str, name: str, most: int) -> None:
        self.url, self.name, self.most, self.came = url, name, most, 0
        self._bar: Any = None

    @property
    def total(self) -> int:
        """The size announced by the server, or 0; set by Pooch before the first piece."""
        return int(self._bar.total or 0) if self._bar else 0

    @total.setter
    def total(self, size: int) -> None:
        self.check(size)
        self._bar = bar(size or None, self.name, "B")

    def check(self, size: int) -> None:
        """Refuse a file of at least ``size`` bytes if that is too many."""
        if size > self.most:
            raise DownloadError(f"{self.url}: has {size:,} bytes or more; at most {self.most:,} are allowed")

    def update(self, size: int) -> None:
        """Add a piece of at most ``size`` bytes."""
        self.check(self.came)
        self.came += size
        if self._bar:
            self._bar.update(min(size, self.total - self._bar.n) if self.total else size)

    def reset(self) -> None:
        """Restart the count: at the end Pooch adds the total again."""
        self.came = 0

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar:
            self._bar.close()


def _reason(error: Exception) -> str:
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return " ".join((str(inner).partition(": ")[2] or str(error) or type(error).__name__).split())[:300]
