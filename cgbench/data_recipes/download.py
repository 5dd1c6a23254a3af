"""Fetch a file over HTTP: resumed where it stopped, tried again, whole or not at all.

``requests`` does the work; it takes proxies and certificates from the environment.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError, require
from cgbench.files import read_json, sync_file, sync_folder, write_json
from cgbench.progress import bar

ATTEMPTS = 5  # in a row without a byte more
WAIT = 1.0  # seconds before the second attempt, doubled for each after it
TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte
CHUNK = 1 << 18
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(InputError):
    """The file could not be fetched."""


class NotFoundError(DownloadError):
    """The server says that there is no such file."""


def download(url: str, target: Path) -> bool:
    """Fetch ``url`` into ``target``, which appears whole or not at all. Returns whether earlier work was resumed.

    What has come lies in ``<target>.part`` meanwhile, and is kept when the download fails.

    :raises DownloadError: it failed :data:`ATTEMPTS` times in a row, or the server refuses.
    """
    requests = require("requests", "data")
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    resumed = part.exists()
    failures = 0
    with requests.Session() as session:
        while True:
            before = _size(part)
            try:
                _fetch(session, url, part)
                break
            except (requests.RequestException, _BrokenError) as error:
                failures = 1 if _size(part) > before else failures + 1
                if failures >= ATTEMPTS:
                    raise DownloadError(f"{url}: cannot be downloaded ({_reason(error)})") from error
                time.sleep(WAIT * 2 ** (failures - 1))
                resumed = True
    sync_file(part)
    part.replace(target)
    _state(part).unlink(missing_ok=True)
    sync_folder(target.parent)
    return resumed


class _BrokenError(Exception):
    """An answer that a further attempt may mend."""


def _fetch(session: Any, url: str, part: Path) -> None:
    """One request: the rest of ``part`` if the server still has the same file, else all of it."""
    earlier = read_json(_state(part)) if part.exists() and _state(part).exists() else {}
    done = _size(part) if earlier.get("url") == url else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": f"cgbench/{__version__}"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if earlier.get("validator"):
            headers["If-Range"] = earlier["validator"]
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # the server's file has become shorter than what has come
            part.unlink()
            raise _BrokenError("the file on the server has changed")
        if answer.status_code in RETRIED:
            raise _BrokenError(f"the server answers {answer.status_code} {answer.reason}")
        if answer.status_code in (404, 410):
            raise NotFoundError(f"{url}: the server has no such file ({answer.status_code})")
        if answer.status_code not in (200, 206):
            raise DownloadError(f"{url}: the server refuses ({answer.status_code} {answer.reason})")
        begin, total = 0, _number(answer.headers.get("Content-Length"))
        if answer.status_code == 206:
            begin, total = _range(answer.headers.get("Content-Range", ""))
            if begin != done or earlier.get("total") not in (None, total):
                part.unlink(missing_ok=True)
                raise _BrokenError("the server sent another part than was asked for")
        write_json(_state(part), {"url": url, "validator": _validator(answer.headers), "total": total})
        with (
            part.open("ab" if begin else "wb") as file,
            bar(total, part.name.removesuffix(".part"), "B", initial=begin) as progress,
        ):
            for data in answer.iter_content(CHUNK):
                file.write(data)
                file.flush()  # what has come is kept, whatever happens next
                progress.update(len(data))
    if total is not None and _size(part) != total:
        raise _BrokenError(f"{_size(part):,} of {total:,} bytes came")


def _reason(error: Exception) -> str:
    """What is wrong, without the names of the objects that it went through."""
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return " ".join((str(inner).partition(": ")[2] or str(error)).split())


def _validator(headers: Any) -> str:
    """What names this edition of the file: a strong ETag or the date; empty if there is neither."""
    tag = headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")


def _range(header: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", header.strip())
    return (int(match[1]), _number(match[2])) if match else (-1, None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _state(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
