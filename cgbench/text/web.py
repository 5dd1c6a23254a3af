"""Post JSON to a server and read its reply, limited in size and time whatever the server does.

httpx limits the time between two packets. A server that sends a byte now and then would keep a
request open for ever, so each exchange runs as one task of asyncio that ends at its deadline.
"""

import asyncio
import contextlib
import functools
import json
import os
import re
import ssl
import time
import urllib.parse
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from cgbench.errors import InputError, printable, require
from cgbench.files import parse_json

LARGEST = 1 << 22  # bytes of a reply
_OF_ERROR = 2000  # bytes read of an error page
_ERROR_SECONDS = 5.0  # limit for reading it
_SHOWN = 200  # characters of it in a message
# shorter ones are no secret ("EMPTY" for a server without keys), and may be words of an answer
SHORTEST_KEY = 6
_AGAIN = frozenset((408, 409, 425, 429))
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class NoReply(Exception):  # noqa: N818 - a reason to ask again
    """There was no usable reply this time.

    :param after: seconds to wait, as requested by the server; :param status: of an error page, else
        None.
    :param sent: whether the server may have read the request.
    """

    def __init__(
        self,
        reason: str,
        after: float | None = None,
        status: int | None = None,
        *,
        sent: bool = True,
    ) -> None:
        super().__init__(reason)
        self.after, self.status, self.sent = after, status, sent


@dataclass(frozen=True)
class Reply:
    """A reply; ``body`` is complete for a status below 400, and the beginning of the page of an
    error.

    ``server``: the software that answered, as its header names it.
    """

    status: int
    body: bytes
    server: str = ""

    def json(self) -> Any:
        """The body as a value; what is no text in it is replaced by U+FFFD, because another try
        would cost as much and bring the same.

        :raises NoReply: it is not JSON.
        """
        try:
            return parse_json(self.body.decode("utf-8-sig", "replace"), "the reply", repairs=True)
        except InputError as error:
            raise NoReply(str(error).removesuffix("; the file may be cut short")) from None

    @property
    def shown(self) -> str:
        """The beginning of the body, for a message."""
        return printable(" ".join(self.body.decode("utf-8", "replace").split()))[:_SHOWN]


def check_url(url: str, where: str, form: str, secret: str = "") -> None:
    """Check the address of a server.

    :param where: beginning of the message; ``form``: an example address; ``secret``: hint where a
        password goes.
    :raises InputError: it is not http or https, has no host, or contains a password, a blank or a
        fragment.
    """
    try:
        address = urllib.parse.urlsplit(url)
        if address.username or address.password:
            raise InputError(
                f"{address.scheme}://{address.hostname}: no password belongs here{secret}"
            )
        host = (address.hostname or "").encode("idna")
        right = address.scheme in ("http", "https") and host and address.port != 0
    except ValueError:  # a port beyond the range, half a bracket, a host with an empty part
        right = False
    if not right or "#" in url or not url.isprintable() or " " in url:
        raise InputError(f"{where}: not the address of a server; write {form}")


def post_json(
    url: str,
    question: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    *,
    seconds: float,
) -> Reply:
    """Post ``question`` and return the reply.

    Proxies and certificates (``SSL_CERT_FILE``) are taken from the environment. Passwords in
    ``~/.netrc`` are not used and redirects are not followed, so that key and text only reach the
    named server. A key of at least :data:`SHORTEST_KEY` characters that the server repeats becomes
    ``[key]`` in replies and messages.

    :param seconds: timeout from the connection to the last byte.
    :raises NoReply: no connection, a timeout, a broken reply, or a status to retry (408, 409, 425,
        429, and 5xx).
    :raises InputError: the server redirects, its certificate cannot be verified, or the address is
        invalid.
    """
    httpx = require("httpx", "servers")
    hide = _hiding((headers or {}).get("Authorization", "").removeprefix("Bearer "))
    try:
        client = httpx.AsyncClient(
            timeout=None,
            verify=_certificates(*map(os.environ.get, _CERTIFICATES)),
            event_hooks={"response": [functools.partial(_refuse_redirect, hide)]},
        )
        sent = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **(headers or {}),
        }
        request = client.build_request(
            "POST", url, content=json.dumps(question).encode(), headers=sent
        )
    except (
        httpx.InvalidURL,
        ValueError,
        ImportError,
    ) as error:  # also of a proxy in the environment
        raise InputError(f"{url}: not a valid address or proxy ({_reason(error)})") from None
    try:
        # In a thread of its own, because a notebook has a running event loop in this one.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(
                asyncio.run, asyncio.wait_for(_exchange(client, request, hide), seconds)
            ).result()
    except TimeoutError:
        raise NoReply(f"no whole reply within {seconds:g} s") from None
    except httpx.ConnectError as error:
        if isinstance(inner := _innermost(error), ssl.SSLCertVerificationError):
            raise InputError(
                f"{url}: no verified connection ({_reason(inner)}); check the address and its"
                " certificate"
            ) from None
        raise NoReply(f"no connection: {_reason(inner)}", sent=False) from None
    except (httpx.HTTPError, OSError) as error:
        raise NoReply(_reason(error, hide)) from None


def _hiding(key: str) -> Callable[[str], str]:
    """A function that removes a key from a text, also as it stands in JSON and in addresses."""
    if len(key) < SHORTEST_KEY:
        return str
    forms = {key, json.dumps(key)[1:-1], urllib.parse.quote(key), urllib.parse.quote(key, safe="")}
    pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
    return lambda text: pattern.sub("[key]", text)


@functools.cache
def _certificates(*environment: str | None) -> ssl.SSLContext:
    """The trusted certificates, which take 0.1 s to load.

    ``environment``: the variables that choose them.
    """
    return require("httpx", "servers").create_ssl_context()


async def _exchange(client: Any, request: Any, hide: Callable[[str], str]) -> Reply:
    """Send a request and read the reply; ``hide`` removes the key from what the server sends."""
    async with client:
        response = await client.send(request, stream=True)
        status, server = response.status_code, hide(response.headers.get("Server") or "")
        body = bytearray()
        # The page of an error is read for the message, as far as it arrives.
        if status >= 400:
            with contextlib.suppress(TimeoutError, require("httpx", "servers").HTTPError):
                await asyncio.wait_for(_read(response, body, 2 * _OF_ERROR), _ERROR_SECONDS)
            page = hide(bytes(body).decode("latin-1")).encode(
                "latin-1"
            )  # before a cut could divide the key
            reply = Reply(status, page[:_OF_ERROR], server)
            if status in _AGAIN or status >= 500:
                beginning = f": {reply.shown}" if reply.shown else ""
                raise NoReply(
                    f"status {status}{beginning}",
                    _seconds(response.headers.get("Retry-After")),
                    status,
                )
            return reply
        await _read(response, body, LARGEST)
        encoding = hide(response.headers.get("Content-Encoding", "identity").strip())
        unpacked = _decoded(bytes(body), encoding.lower())
        if len(unpacked) > LARGEST:
            raise NoReply(f"a reply of more than {LARGEST >> 20} MB")
        return Reply(status, hide(unpacked.decode("latin-1")).encode("latin-1"), server)


async def _refuse_redirect(hide: Callable[[str], str], response: Any) -> None:
    """Stop before httpx reads the new address, which would get the key."""
    if 300 <= response.status_code < 400:
        address = printable(hide(response.headers.get("Location") or "nowhere"))[:_SHOWN]
        raise InputError(
            f"{response.url}: the server redirects (status {response.status_code}) to {address},"
            " which is not followed; give that address if it is the right one"
        )


async def _read(response: Any, body: bytearray, most: int) -> None:
    """Append the bytes of a reply to ``body`` until there are more than ``most``."""
    async for data in response.aiter_raw():
        body += data
        if len(body) > most:
            return


def _decoded(body: bytes, encoding: str) -> bytes:
    """A body that is compressed although that was not requested, up to one byte more than
    allowed.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise NoReply(f"a reply in an encoding that was not requested ({printable(encoding)[:40]})")
    unpacker = zlib.decompressobj(47)  # the header says whether gzip or zlib
    try:
        unpacked = unpacker.decompress(body, LARGEST + 1)
    except zlib.error:
        raise NoReply(f"a damaged reply ({encoding})") from None
    if not unpacker.eof and len(unpacked) <= LARGEST:
        raise NoReply(f"a reply that breaks off ({encoding})")
    return unpacked


def _seconds(header: str | None) -> float | None:
    """``Retry-After`` as seconds: a number (some servers write a fraction) or a date."""
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", header or "", re.ASCII):
        return float(header or 0)
    try:
        return max(0.0, parsedate_to_datetime((header or "")[:40]).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _innermost(error: BaseException) -> BaseException:
    """The error behind those that libraries have put around it."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return error


def _reason(error: BaseException, hide: Callable[[str], str] = str) -> str:
    return printable(hide(" ".join(str(error).split())) or type(error).__name__)[:_SHOWN]
