"""A server with OpenAI's interface as a system (vLLM or a vendor's): hypotheses without distributions.

Every answer is saved before its thread sends the next request, so an interrupted run resumes without repeating any.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, printable
from cgbench.files import parse_json
from cgbench.models.external.addresses import PLACE, read_options
from cgbench.progress import bar
from cgbench.settings import make_settings, setting
from cgbench.text.web import NoReply, Reply, check_url, post_json

FORM = "openai:URL?model=NAME, where URL is the part before /chat/completions (http://localhost:8000/v1)"
KEYS = ("CGBENCH_API_KEY", "OPENAI_API_KEY")
"""Environment variables for the server's API key, which is never written to a file."""
_TRIES = 6
_FILTERED = "content_filter"  # finish_reason or error code if a filter stopped the answer
_PARSING = threading.Lock()  # one reply at a time: parsed JSON takes up to thirty times its size
_WAIT = 60.0  # maximum seconds between two tries


@dataclass(frozen=True)
class ServerOptions:
    """Options after the ``?`` of an address."""

    model: str = setting("", "Name of the model on the server")
    temperature: float = setting(0.0, "Sampling temperature", least=0, most=2)
    max_tokens: int = setting(512, "Maximum number of tokens in a reply", least=1, most=1 << 20)
    parallel: int = setting(8, "Number of parallel requests, which does not change the replies", least=1, most=256)
    timeout: float = setting(120.0, "Timeout of a request, in seconds", least=1, most=86_400)


@dataclass(frozen=True, kw_only=True)
class Server(ServerOptions):
    """A server and its prompt.

    :param text: the address; ``url``: endpoint of requests; ``template``: prompt with ``{source}``.
    """

    text: str
    url: str
    template: str

    @property
    def identity(self) -> dict[str, Any]:
        """Everything known that the answers depend on."""
        return {
            "kind": "openai",
            "url": self.url,
            "model": self.model,
            "prompt": self.template,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }


def parse_server(text: str, template: str) -> Server:
    """Parse ``openai:URL?model=NAME``."""
    url, sign, query = text.removeprefix("openai:").partition("?")
    check_url(url, printable(text), FORM, f"; set {KEYS[0]}")
    if not query.isprintable():
        raise InputError(f"{printable(text)}: contains unprintable characters")
    try:
        options = make_settings(ServerOptions, read_options(text, query) if sign else {})
    except InputError as error:
        raise InputError(f"{text}: {error}") from None
    if not options.model:
        raise InputError(f"{text}: no model is named; write {FORM}")
    return Server(text=text, url=f"{url.rstrip('/')}/chat/completions", template=template, **vars(options))


@dataclass(frozen=True)
class Answer:
    """A server's choices for a sentence, and which of them were cut short by a limit.

    ``missing``: some choices have no text, because of a filter or after several tries; these are empty.
    """

    texts: list[str]
    cut: list[bool]
    missing: bool = False


def ask_all(
    server: Server, lines: Sequence[str], kept: Path, *, nbest: int, sleep: Callable[[float], object] = time.sleep
) -> list[Answer]:
    """Request an answer for every non-blank line that is not in ``kept`` yet; append every answer to ``kept``.

    :param sleep: waits between tries.
    :raises InputError: the server refuses, or returns no valid answer in several tries; finished answers are kept.
    """
    answers = _read_kept(kept, len(lines), nbest)
    waiting = [row for row, line in enumerate(lines) if line.strip() and row not in answers]
    lock, stop = threading.Lock(), threading.Event()

    def one(row: int) -> None:
        if stop.is_set():
            return
        answer = _ask(server, lines[row], row, nbest, sleep, stop)
        if answer is None:
            return
        record = json.dumps({"row": row, **vars(answer)}, ensure_ascii=False) + "\n"
        with lock:
            with kept.open("ab") as file:
                file.write(record.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            answers[row] = answer
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
    return [answers.get(row, empty) for row in range(len(lines))]


@contextlib.contextmanager
def _threads(number: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """Threads that send no further requests after an error or Ctrl-C."""
    pool = ThreadPoolExecutor(number)
    try:
        yield pool
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _read_kept(kept: Path, lines: int, nbest: int) -> dict[int, Answer]:
    """Read the saved answers; an incomplete last line is removed from the file."""
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
            row = parse_json(line, kept)
            place, answer = int(row["row"]), Answer(list(row["texts"]), list(row["cut"]), bool(row.get("missing")))
        except (InputError, ValueError, LookupError, TypeError, AttributeError):
            place, answer = -1, Answer([], [])
        if not 0 <= place < lines or len(answer.texts) != nbest:
            raise InputError(f"{kept}, line {number}: is damaged; remove the file to request its answers again")
        found[place] = answer
    return found


class _NoText(NoReply):
    """A choice has no text; ``answer`` has the others."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("a choice without text")
        self.answer = answer


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
    reason, empty = "", None
    for attempt in range(_TRIES):
        if stop.is_set():
            return None
        try:
            reply = post_json(server.url, body, _key(), seconds=server.timeout)
            with _PARSING:
                return _read(server, reply, nbest)
        except NoReply as error:
            reason, empty = str(error), error.answer if isinstance(error, _NoText) else None
            if attempt + 1 < _TRIES:
                sleep(min(_WAIT, 2.0**attempt if error.after is None else error.after))
    if empty is not None:
        return empty
    raise InputError(
        f"{server.text}: line {row + 1} has no answer after {_TRIES} tries ({reason}); finished answers are kept: run "
        "the same command again to resume"
    )


def _read(server: Server, reply: Reply, nbest: int) -> Answer:
    """Parse a reply; the answer is empty if the server's filter refuses this prompt."""
    if reply.status < 400:
        return _choices(reply.json(), nbest)
    if reply.status == 400 and _is_filtered(reply):
        return Answer([""] * nbest, [False] * nbest, missing=True)
    raise InputError(f"{server.text}: the server refuses the request (status {reply.status}: {reply.shown})")


def _is_filtered(reply: Reply) -> bool:
    """Whether a filter has refused this prompt, in Azure's format."""
    try:
        return bool(reply.json()["error"]["code"] == _FILTERED)
    except (NoReply, LookupError, TypeError):
        return False


def _key() -> dict[str, str]:
    name = next((name for name in KEYS if os.environ.get(name)), None)
    if name is None:
        return {}
    key = os.environ[name].strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{name}: contains an invalid character; set it again")
    return {"Authorization": f"Bearer {key}"}


def _choices(answer: Any, nbest: int) -> Answer:
    try:
        choices = list(answer["choices"])
        texts = [choice["message"]["content"] for choice in choices]
        ends = [choice.get("finish_reason") for choice in choices]
    except (LookupError, TypeError, AttributeError):
        raise NoReply("an answer without choices") from None
    if len(texts) != nbest:
        raise NoReply(f"{len(texts)} choices, not {nbest}")
    if not all(text is None or isinstance(text, str) for text in texts):
        raise NoReply("a choice is not text")
    lines = [" ".join((text or "").strip().splitlines()).strip() for text in texts]
    missing = [text is None for text in texts]
    found = Answer(lines, [end == "length" for end in ends], any(missing))
    if any(no_text and end != _FILTERED for no_text, end in zip(missing, ends, strict=True)):
        raise _NoText(found)
    return found
