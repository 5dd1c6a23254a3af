"""Post JSON to a server and read its reply, limited in size and time whatever the server does."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import re
import ssl
import threading
import time
import urllib.parse
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cgbench.errors import InputError, printable, require
from cgbench.files import parse_json

LARGEST = 1 << 22  # bytes of a reply
_OF_ERROR = 2000  # bytes read of an error page
_ERROR_SECONDS = 5.0  # limit for reading it
_SHOWN = 200  # characters of it in a message
_AGAIN = frozenset((408, 409, 425, 429))


class NoReply(Exception):  # noqa: N818 - a reason to ask again
    """There was no usable reply this time.

    :param after: seconds to wait, as requested by the server; :param status: of an error page, else None.
    :param sent: whether the server may have read the request.
    """

    def __init__(
        self, reason: str, after: float | None = None, status: int | None = None, *, sent: bool = True
    ) -> None:
        super().__init__(reason)
        self.after, self.status, self.sent = after, status, sent


@dataclass(frozen=True)
class Reply:
    """A reply; ``body`` is complete for a status below 400, and the beginning of the page of an error.

    ``server``: the software that answered, as its header names it.
    """

    status: int
    body: bytes
    server: str = ""

    def json(self) -> Any:
        """The body as a value.

        :raises NoReply: it is not JSON.
        """
        try:
            return parse_json(self.body.decode("utf-8"), "the reply")
        except UnicodeDecodeError:
            raise NoReply("the reply: not UTF-8") from None
        except InputError as error:
            raise NoReply(str(error).removesuffix("; the file may be cut short")) from None

    @property
    def shown(self) -> str:
        """The beginning of the body, for a message."""
        return printable(" ".join(self.body.decode("utf-8", "replace").split()))[:_SHOWN]


def check_url(url: str, where: str, form: str, secret: str = "") -> None:
    """Check the address of a server.

    :param where: beginning of the message; ``form``: an example address; ``secret``: hint where a password goes.
    :raises InputError: it is not http or https, has no host, or contains a password, a blank or a fragment.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        if parts.username or parts.password:
            raise InputError(f"{parts.scheme}://{parts.hostname}: no password belongs here{secret}")
        host = (parts.hostname or "").encode("idna")
        right = parts.scheme in ("http", "https") and host and parts.port != 0
    except ValueError:  # a port beyond the range, half a bracket, a host with an empty part
        right = False
    if not right or "#" in url or not url.isprintable() or " " in url:
        raise InputError(f"{where}: not the address of a server; write {form}")


def post_json(
    url: str, question: Mapping[str, Any], headers: Mapping[str, str] | None = None, *, seconds: float
) -> Reply:
    """Post ``question`` and return the reply.

    Proxies are taken from the environment. Passwords in ``~/.netrc`` are not used and redirects are not followed, so
    that key and text only reach the named server.

    :param seconds: timeout from the connection to the last byte.
    :raises NoReply: no connection, a timeout, a broken reply, or a status to retry (408, 409, 425, 429, and 5xx).
    :raises InputError: the server redirects, its certificate cannot be verified, or the address is invalid.
    """
    requests = require("requests", "data")
    from urllib3.exceptions import HTTPError, NewConnectionError

    sent = {"Content-Type": "application/json", "Accept-Encoding": "identity", **(headers or {})}
    outcomes: queue.Queue[Any] = queue.Queue()
    body = bytearray()

    def exchange() -> None:
        try:
            with requests.Session() as session:
                response = session.post(
                    url, data=json.dumps(question).encode(), headers=sent, timeout=seconds, stream=True,
                    allow_redirects=False, auth=lambda request: request,
                )  # fmt: skip
                outcomes.put(response)
                if response.status_code < 300:
                    body.extend(response.raw.read(LARGEST + 1, decode_content=False))
                    if len(body) <= LARGEST and response.raw.length_remaining:
                        raise NoReply("a reply that breaks off")
                else:
                    for _ in range(_OF_ERROR):  # byte by byte, so that a partial page is used
                        body.extend(response.raw.read(1, decode_content=False))
            outcomes.put(None)
        except Exception as error:
            outcomes.put(error)

    def outcome(until: float) -> Any:
        """The response, or None for the end of its body."""
        try:
            found = outcomes.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise NoReply(f"no whole reply within {seconds:g} s") from None
        if isinstance(found, requests.exceptions.InvalidURL):
            raise InputError(f"{url}: not a valid address ({_reason(found)})")
        if isinstance(found, requests.exceptions.SSLError) and isinstance(_inner(found), ssl.SSLCertVerificationError):
            raise InputError(f"{url}: no verified connection ({_reason(found)}); check the address and its certificate")
        if isinstance(found, requests.ConnectionError) and isinstance(_inner(found), NewConnectionError):
            raise NoReply(_reason(found), sent=False)
        if isinstance(found, requests.Timeout):
            raise NoReply(f"no whole reply within {seconds:g} s")
        if isinstance(found, (requests.RequestException, HTTPError, OSError, http.client.HTTPException, ValueError)):
            raise NoReply(_reason(found))
        if isinstance(found, Exception):
            raise found
        return found

    # A server may send headers or body byte by byte for ever; only giving up on the thread stops that.
    threading.Thread(target=exchange, daemon=True).start()
    deadline = time.monotonic() + seconds
    response = outcome(deadline)
    status = response.status_code
    if 300 <= status < 400:
        where = printable(response.headers.get("Location") or "nowhere")[:_SHOWN]
        raise InputError(
            f"{url}: the server redirects (status {status}) to {where}, which is not followed; give that address if it "
            "is the right one"
        )
    if status >= 400:
        with contextlib.suppress(NoReply):
            outcome(min(deadline, time.monotonic() + _ERROR_SECONDS))
        reply = Reply(status, bytes(body), response.headers.get("Server") or "")
        if status in _AGAIN or status >= 500:
            said = f": {reply.shown}" if reply.shown else ""
            raise NoReply(f"status {status}{said}", _seconds(response.headers.get("Retry-After")), status)
        return reply
    outcome(deadline)
    whole = _decoded(bytes(body), response.headers.get("Content-Encoding", "identity").strip().lower())
    if len(whole) > LARGEST:
        raise NoReply(f"a reply of more than {LARGEST >> 20} MB")
    return Reply(status, whole, response.headers.get("Server") or "")


def _decoded(body: bytes, encoding: str) -> bytes:
    """A body that is compressed although that was not requested, up to one byte more than allowed."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise NoReply(f"a reply in an encoding that was not requested ({printable(encoding)[:40]})")
    unpacker = zlib.decompressobj(47)  # the header says whether gzip or zlib
    try:
        found = unpacker.decompress(body, LARGEST + 1)
    except zlib.error:
        raise NoReply(f"a damaged reply ({encoding})") from None
    if not unpacker.eof and len(found) <= LARGEST:
        raise NoReply(f"a reply that breaks off ({encoding})")
    return found


def _seconds(found: str | None) -> float | None:
    """``Retry-After`` as seconds: a number (some servers write a fraction) or a date."""
    from urllib3.exceptions import InvalidHeader
    from urllib3.util import Retry

    if not found or len(found) > 40:
        return None
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", found, re.ASCII):
        return float(found)
    try:
        return float(Retry().parse_retry_after(found))
    except (InvalidHeader, ValueError, OverflowError):
        return None


def _inner(error: Exception) -> BaseException:
    """The error behind those that libraries have put around it."""
    inner: BaseException = error
    while (cause := getattr(inner, "reason", None)) is not None or inner.args:
        nested = cause if isinstance(cause, BaseException) else inner.args[0] if inner.args else None
        if not isinstance(nested, BaseException):
            break
        inner = nested
    return inner


def _reason(error: Exception) -> str:
    inner = _inner(error)
    return printable(" ".join(str(inner).split()) or type(inner).__name__)[:_SHOWN]
