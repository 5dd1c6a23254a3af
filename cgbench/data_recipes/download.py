"""Fetch a file over HTTP: resumed where it stopped, tried again, whole or not at all.

``requests`` does the work; it takes proxies and certificates from the environment.
"""

from __future__ import annotations

import filecmp
import re
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError, require
from cgbench.files import read_json, sync_file, sync_folder, write_json
from cgbench.progress import bar
from cgbench.shapes import check_shape

ATTEMPTS = 5  # in a row without a byte more
WAIT = 1.0  # seconds before the second attempt, doubled for each after it
TIMEOUT = (10, 60)  # seconds to connect, seconds without a byte
STALL, LEAST = 120.0, 1 << 14  # in so many seconds so many bytes come, or the request is made anew
OVERALL = 24 * 3600.0  # seconds for one file, all attempts together
MOST = 4 << 30  # bytes of a file of which no recipe says more
CHUNK = 1 << 18
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(InputError):
    """The file could not be fetched."""


class NotFoundError(DownloadError):
    """The server says that there is no such file."""


def download(url: str, target: Path, attempts: int = ATTEMPTS, *, most: int = MOST, known: bool = False) -> bool:
    """Fetch ``url`` into ``target``, which appears whole or not at all. Returns whether earlier work was resumed.

    What has come lies in ``<target>.part`` meanwhile, every byte of it, and is kept when the download fails.

    A server that states no length may stop in the middle of a file without a sign of it. Such a file is fetched twice,
    and taken when both are the same.

    :param most: bytes; a larger file is refused, and not kept.
    :param known: the caller knows a digest of the file, so that it need not be fetched twice.
    :raises DownloadError: it failed ``attempts`` times in a row without a byte more, the server refuses, or the time
        is up (:data:`OVERALL`).
    """
    requests = require("requests", "data")
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    resumed = part.exists()
    deadline = time.monotonic() + OVERALL
    with requests.Session() as session:
        went_on, sure = _complete(session, url, part, attempts, most, deadline)
        resumed |= went_on
        again = part.with_name(target.name + ".again.part")
        again.unlink(missing_ok=True)
        for _ in range(attempts):
            if sure or known:
                break
            _, sure = _complete(session, url, again, attempts, most, deadline)
            sure |= filecmp.cmp(part, again, shallow=False)
            again.replace(part)
            _state(again).unlink(missing_ok=True)
        else:
            if not sure and not known:
                part.unlink()
                raise DownloadError(f"{url}: the server states no length, and sends something else each time")
    sync_file(part)
    part.replace(target)
    _state(part).unlink(missing_ok=True)
    sync_folder(target.parent)
    return resumed


class _BrokenError(Exception):
    """An answer that a further attempt may mend."""


def _complete(session: Any, url: str, part: Path, attempts: int, most: int, deadline: float) -> tuple[bool, bool]:
    """Fill ``part``. Returns whether it took more than one request, and whether the end is known to be the end."""
    from requests import RequestException
    from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema, TooManyRedirects
    from urllib3.exceptions import HTTPError

    failures, went_on = 0, False
    while True:
        before = _size(part)
        try:
            return went_on, _fetch(session, url, part, most, deadline)
        except TooManyRedirects as error:
            raise DownloadError(f"{url}: cannot be downloaded ({_reason(error)})") from error
        except (RequestException, HTTPError, HTTPException, _BrokenError) as error:
            if isinstance(error, (InvalidSchema, InvalidURL, MissingSchema)):
                raise DownloadError(f"{url}: leads to an address that is none ({_reason(error)})") from error
            failures = 1 if _size(part) > before else failures + 1
            if failures >= attempts or time.monotonic() > deadline:
                raise DownloadError(f"{url}: cannot be downloaded ({_reason(error)})") from error
            time.sleep(WAIT * 2 ** (failures - 1))
            went_on = True
        except ValueError as error:  # of many kinds, from urllib and idna too
            raise DownloadError(f"{url}: leads to an address that is none ({_reason(error)})") from error


def _fetch(session: Any, url: str, part: Path, most: int, deadline: float) -> bool:
    """One request: the rest of ``part`` if the server still has the same file, else all of it.

    Returns whether the answer says where it ends.
    """
    earlier = _earlier(part)
    done = _size(part) if earlier.get("url") == url else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": f"cgbench/{__version__}"}
    if done:
        headers["Range"] = f"bytes={done}-"
        if earlier.get("validator"):
            headers["If-Range"] = earlier["validator"]
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416 and done:  # the server's file has become shorter than what has come
            part.unlink()
            raise _BrokenError("the file on the server has changed")
        if answer.status_code in RETRIED:
            raise _BrokenError(f"the server answers {answer.status_code} {answer.reason}")
        if answer.status_code in (404, 410):
            raise NotFoundError(f"{url}: the server has no such file ({answer.status_code})")
        if answer.status_code not in (200, 206):
            raise DownloadError(f"{url}: the server refuses ({answer.status_code} {answer.reason})")
        if answer.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
            raise DownloadError(f"{url}: the server packs the file, though it was asked not to")
        begin, total = 0, _number(answer.headers.get("Content-Length"))
        if answer.status_code == 206:
            begin, total = _range(answer.headers.get("Content-Range", ""))
            if begin != done or earlier.get("total") not in (None, total):
                part.unlink(missing_ok=True)
                raise _BrokenError("the server sent another part than was asked for")
        if (total or 0) > most:
            raise DownloadError(f"{url}: has {total:,} bytes, where {most:,} are the most that it may have")
        write_json(_state(part), {"url": url, "validator": _validator(answer.headers), "total": total})
        with (
            part.open("ab" if begin else "wb") as file,
            bar(total, part.name.removesuffix(".part"), "B", initial=begin) as progress,
        ):
            came = begin
            for data in _pieces(answer.raw, deadline):
                came += len(data)
                if came > most:
                    part.unlink()
                    raise DownloadError(f"{url}: sends more than the {most:,} bytes that it may have")
                file.write(data)
                file.flush()  # what has come is kept, whatever happens next
                progress.update(len(data))
    if total is not None and _size(part) != total:
        raise _BrokenError(f"{_size(part):,} of {total:,} bytes came")
    return total is not None or "chunked" in answer.headers.get("Transfer-Encoding", "").lower()


def _pieces(raw: Any, deadline: float) -> Iterator[bytes]:
    """The body as it comes, not in pieces of one size: a slow server's bytes are kept, too."""
    read = getattr(raw, "read1", raw.read)
    since, came = time.monotonic(), 0
    while data := read(CHUNK):
        yield data
        came += len(data)
        now = time.monotonic()
        if now > deadline:
            raise _BrokenError(f"the {OVERALL:,.0f} s that one file may take are over")
        if now - since > STALL:
            if came < LEAST:
                raise _BrokenError(f"{came:,} bytes in {now - since:,.0f} s")
            since, came = now, 0


def _earlier(part: Path) -> dict[str, Any]:
    """What is known of ``part`` from the request that began it; nothing if that is not to be relied on."""
    try:
        earlier = read_json(_state(part)) if part.exists() else {}
        check_shape(earlier, {"url": str, "validator": str, "total": (int, None)}, part, "")
    except InputError:
        return {}
    # what goes into a header of the next request
    return earlier if re.fullmatch("[ -~]*", earlier["validator"]) else {}


def _reason(error: Exception) -> str:
    """What is wrong, without the names of the objects that it went through."""
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return " ".join((str(inner).partition(": ")[2] or str(error) or type(error).__name__).split())[:300]


def _validator(headers: Any) -> str:
    """What names this edition of the file: a strong ETag or the date; empty if there is neither."""
    tag = headers.get("ETag", "")
    name = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
    return name if re.fullmatch("[ -~]{0,1000}", name) else ""


def _range(header: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)", header.strip())
    return (int(match[1]), _number(match[2])) if match else (-1, None)


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch("[0-9]{1,18}", text) else None


def _state(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
