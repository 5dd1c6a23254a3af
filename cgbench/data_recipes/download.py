"""Download a file over HTTP atomically; proxies and certificates come from the environment."""

import time
from http.client import HTTPException
from pathlib import Path

from cgbench import __version__
from cgbench.errors import InputError, require
from cgbench.files import sync
from cgbench.progress import bar
from cgbench.text.limits import MOST_DOWNLOAD

ATTEMPTS = 5
WAIT = 1.0  # seconds before the second attempt, doubled for each later one
TIMEOUT = (10, 60)  # seconds to connect, and seconds without data
CHUNK = 1 << 18
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(InputError):
    """The download failed; ``refused``: the server answered that it does not have or give the
    file.
    """

    refused = False


def download(
    url: str, target: Path, attempts: int = ATTEMPTS, *, most: int = MOST_DOWNLOAD
) -> None:
    """Download ``url`` to ``target``.

    :param most: maximum size in bytes.
    :raises DownloadError: it failed ``attempts`` times, the server refuses, or the file is larger
        than ``most``.
    """
    requests = require("requests", "data")
    from urllib3.exceptions import HTTPError

    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    for attempt in range(1, attempts + 1):
        try:
            _stream(url, partial, most)
            sync(partial)
            partial.replace(target)
            sync(target.parent)
            return
        except (requests.RequestException, HTTPError, HTTPException, ValueError) as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            failure = DownloadError(f"{url}: cannot be downloaded ({_reason(error)})")
            failure.refused = status is not None and status not in RETRIED
            if (
                attempt == attempts or failure.refused or isinstance(error, ValueError)
            ):  # ValueError: a wrong address
                raise failure from None
        finally:
            partial.unlink(missing_ok=True)
        time.sleep(WAIT * 2 ** (attempt - 1))


def _stream(url: str, path: Path, most: int) -> None:
    """Write what the server sends to ``path``, and stop if it is too large."""
    requests = require("requests", "data")
    headers = {"Accept-Encoding": "identity", "User-Agent": f"cgbench/{__version__}"}
    with requests.get(url, stream=True, timeout=TIMEOUT, headers=headers) as response:
        response.raise_for_status()
        total = response.raw.length_remaining or 0  # as announced by the server
        received = 0
        with bar(total or None, path.stem, "B") as progress, path.open("wb") as file:
            for chunk in response.iter_content(CHUNK):
                received += len(chunk)
                if max(received, total) > most:
                    raise DownloadError(
                        f"{url}: has {max(received, total):,} bytes or more; at most {most:,} are"
                        " allowed"
                    )
                file.write(chunk)
                progress.update(len(chunk))


def _reason(error: Exception) -> str:
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return " ".join((str(inner).partition(": ")[2] or str(error) or type(error).__name__).split())[
        :300
    ]
