"""A server with OpenAI's interface as a system (vLLM, a vendor's): hypotheses, and nothing of distributions.

Every answer is on the disk before the next question of its thread: what is killed, or fails, goes on without asking
anything twice.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.models.outside.addresses import PLACE
from cgbench.progress import bar
from cgbench.settings import did_you_mean

FORM = "openai:URL?model=NAME, URL being what /chat/completions is put behind (http://localhost:8000/v1)"
KEYS = ("CGBENCH_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the server's key; it is written nowhere."""
_OPTIONS: dict[str, Any] = {"max_tokens": 512, "model": "", "parallel": 8, "temperature": 0.0, "timeout": 120}
_TRIES = 6
_LONGEST = 1 << 24  # bytes of an answer
_WAIT = 60.0  # seconds at most between two tries


@dataclass(frozen=True)
class Server:
    """Where to ask, and for what.

    :param text: as it was given; ``url``: what is posted to; ``template``: what is asked, ``{source}`` being the
        sentence.
    :param parallel: questions at once; ``timeout``: seconds that an answer may take. They change no answer.
    """

    text: str
    url: str
    model: str
    template: str
    temperature: float
    max_tokens: int
    parallel: int
    timeout: float

    @property
    def identity(self) -> dict[str, Any]:
        """What the answers depend on, as far as a server says."""
        return {
            "kind": "openai",
            "url": self.url,
            "model": self.model,
            "prompt": self.template,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }


def parse_server(text: str, template: str) -> Server:
    """Read ``openai:URL?model=NAME``.

    :raises InputError: it is no such name, or an option is none.
    """
    url, sign, query = text.removeprefix("openai:").partition("?")
    try:
        pairs = urllib.parse.parse_qsl(query, strict_parsing=True) if sign else []
    except ValueError:
        raise InputError(f"{text}: behind ? stand options, NAME=VALUE with & between") from None
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{text}: no address of a server; write {FORM}")
    if parts.username or parts.password:
        raise InputError(f"openai:{parts.scheme}://{parts.hostname}: no password belongs here; set {KEYS[0]}")
    options: dict[str, Any] = dict(_OPTIONS)
    for name, value in pairs:
        if name not in _OPTIONS:
            raise InputError(f"{text}: unknown option {name!r}{did_you_mean(name, _OPTIONS)}")
        try:
            options[name] = type(_OPTIONS[name])(value)
        except ValueError:
            raise InputError(f"{text}: {name}={value} is no number") from None
    if not options["model"]:
        raise InputError(f"{text}: says no model; write {FORM}")
    low = [name for name in ("max_tokens", "parallel", "timeout") if options[name] < 1]
    if low or not 0 <= options["temperature"] <= 2:
        raise InputError(f"{text}: {low[0] if low else 'temperature'} is out of its range")
    return Server(text, f"{url.rstrip('/')}/chat/completions", template=template, **options)


@dataclass(frozen=True)
class Answer:
    """What a server has said of a sentence: its choices, and which of them it has cut short."""

    texts: list[str]
    cut: list[bool]


def ask_all(
    server: Server, lines: Sequence[str], kept: Path, *, nbest: int, sleep: Callable[[float], object] = time.sleep
) -> list[Answer]:
    """Ask for every line that has a word and is not in ``kept`` yet; write every answer there as it comes.

    :param sleep: what waits between tries.
    :raises InputError: the server refuses, or does not answer well within several tries; what it has said is kept.
    """
    found = _read_kept(kept, len(lines), nbest)
    waiting = [row for row, line in enumerate(lines) if line.strip() and row not in found]
    lock, stop = threading.Lock(), threading.Event()

    def one(row: int) -> None:
        if stop.is_set():
            return
        answer = _ask(server, lines[row], row, nbest, sleep, stop)
        if answer is None:
            return
        said = json.dumps({"row": row, "texts": answer.texts, "cut": answer.cut}, ensure_ascii=False) + "\n"
        with lock:
            with kept.open("ab") as file:
                file.write(said.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            found[row] = answer
            shown.update(1)

    with (
        bar(len(lines), "asking", "sentence", initial=len(lines) - len(waiting)) as shown,
        _threads(server.parallel, stop) as pool,
    ):
        futures = [pool.submit(one, row) for row in waiting]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        failed = [future for future in done if future.exception()]
        if failed:
            stop.set()
            failed[0].result()
    empty = Answer([""], [False])
    return [found.get(row, empty) for row in range(len(lines))]


@contextlib.contextmanager
def _threads(number: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """Threads that ask nothing more once something has gone wrong, or somebody has pressed Ctrl-C."""
    pool = ThreadPoolExecutor(number)
    try:
        yield pool
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _read_kept(kept: Path, lines: int, nbest: int) -> dict[int, Answer]:
    """The answers that are there; a last line that was cut by a kill is taken off the file."""
    if not kept.is_file():
        return {}
    data = kept.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with kept.open("r+b") as file:
            file.truncate(len(whole))
    found = {}
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            row = json.loads(line)
            place, answer = int(row["row"]), Answer(list(row["texts"]), list(row["cut"]))
        except (ValueError, LookupError, TypeError):
            place, answer = -1, Answer([], [])
        if not 0 <= place < lines or len(answer.texts) != nbest:
            raise InputError(f"{kept}, line {number}: is damaged; remove the file, and its questions are asked again")
        found[place] = answer
    return found


class _Again(Exception):  # noqa: N818 - a reason to try again
    """What went wrong this time; ``after``: seconds that the server wants to be left alone."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


def _ask(
    server: Server,
    line: str,
    row: int,
    nbest: int,
    sleep: Callable[[float], object],
    stop: threading.Event,
) -> Answer | None:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": server.template.replace(PLACE, line)}],
        "n": nbest,
        "temperature": server.temperature,
        "max_tokens": server.max_tokens,
    }
    reason = ""
    for attempt in range(_TRIES):
        if stop.is_set():
            return None
        try:
            return _choices(_post(server, body), nbest)
        except _Again as error:
            reason = str(error)
            if attempt + 1 < _TRIES:
                sleep(min(_WAIT, 2.0**attempt if error.after is None else error.after))
    raise InputError(
        f"{server.text}: line {row + 1} has no answer after {_TRIES} tries ({reason}); what is answered is kept: the "
        "same command, given again, asks for the others"
    )


def _post(server: Server, body: Mapping[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    if key := next((os.environ[name] for name in KEYS if os.environ.get(name)), None):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(server.url, json.dumps(body).encode(), headers, method="POST")
    try:
        with _opener().open(request, timeout=server.timeout) as response:
            data = response.read(_LONGEST)
            if response.length:  # promised, and not there
                raise http.client.IncompleteRead(data, response.length)
        return json.loads(data)
    except urllib.error.HTTPError as error:
        with error:
            said = " ".join(error.read(2000).decode("utf-8", "replace").split())[:200]
        if error.code in (408, 409, 425, 429) or error.code >= 500:
            raise _Again(f"status {error.code}: {said}", _seconds(error.headers)) from None
        raise InputError(f"{server.text}: the server refuses (status {error.code}: {said})") from None
    except (OSError, http.client.HTTPException) as error:  # no server, a timeout, an answer that breaks off
        raise _Again(" ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__) from None
    except ValueError:
        raise _Again("an answer that is no JSON") from None


class _StayHere(urllib.request.HTTPRedirectHandler):
    """No redirect is followed: a key is for the server that was named."""

    def redirect_request(self, *given: Any, **more: Any) -> None:
        """Follow nothing."""


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_StayHere)


def _seconds(headers: Message) -> float | None:
    """``Retry-After``, where it is a number."""
    found = headers.get("Retry-After") or ""
    return float(found) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", found) else None


def _choices(answer: Any, nbest: int) -> Answer:
    try:
        choices = list(answer["choices"])
        texts = [choice["message"]["content"] for choice in choices]
        cut = [choice.get("finish_reason") == "length" for choice in choices]
    except (LookupError, TypeError, AttributeError):
        raise _Again("an answer without choices") from None
    if len(texts) != nbest:
        raise _Again(f"{len(texts)} choices, not {nbest}")
    if not all(isinstance(text, str) for text in texts):
        raise _Again("a choice without text")
    return Answer([" ".join(text.strip().splitlines()).strip() for text in texts], cut)
