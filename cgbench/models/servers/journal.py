"""Answers on disk: the journal of an output, and a cache that outputs share.

The journal has one JSON object per line, in the order of events::

    {"format": 1, "url": URL}                                 first line
    {"sent": KEY, "most": [INPUT, OUTPUT]}                    before a request is sent: bounds on its tokens
    {"key": KEY, "request": ..., "server": ..., "reply": ...} an answer, as the server gave it
    {"key": KEY, "usage": [...], "reason": ...}               a reply that is no answer
    {"lost": KEY, "reason": ...}                              no reply: the server may have counted the request

``origin`` says that an answer came from the cache or from a batch file. KEY: :attr:`Request.key`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.files import parse_json, write_atomic
from cgbench.models.servers.exchange import Request
from cgbench.models.servers.spending import Spending
from cgbench.steps import hash_value

FORMAT = 1
REMEDY = "remove the file to request all answers again"


def journal_path(output: Path) -> Path:
    """The raw answers behind an output."""
    return output.with_name(f"{output.name}.answers.jsonl")


class Journal:
    """The journal of one output and one server.

    :param replies: the answers by key of the request; :param spending: counts every line, also of earlier runs.
    """

    def __init__(self, path: Path, url: str) -> None:
        """Read the journal, or begin one; an incomplete last line is removed.

        :raises InputError: it is of another server, or damaged.
        """
        self.path, self.spending, self.replies = path, Spending(), dict[str, dict[str, Any]]()
        data = path.read_bytes() if path.is_file() else b""
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                event = parse_json(line, path)
                if number == 1:
                    begun = event["format"], event["url"]
                else:
                    self._take(event)
            except (InputError, ValueError, LookupError, TypeError, AttributeError):
                raise InputError(f"{path}, line {number}: is damaged; {REMEDY}") from None
            if number == 1 and begun != (FORMAT, url):
                raise InputError(f"{path}: has answers of another server ({begun[1]}); choose another output")
        self._file = path.open("ab")
        self._file.truncate(len(whole))
        if not whole:
            self.write({"format": FORMAT, "url": url}, count=False)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def write(self, event: Mapping[str, Any], *, count: bool = True) -> None:
        """Append a line, and make it durable unless it only says that something is about to be sent."""
        self._file.write((json.dumps(event, ensure_ascii=False) + "\n").encode("utf-8"))
        self._file.flush()
        if "sent" not in event:
            os.fsync(self._file.fileno())
        if count:
            self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        self.spending.count(event)
        if "reply" in event:
            self.replies[event["key"]] = {
                "reply": {**event["reply"]}, "server": str(event["server"]), "origin": event.get("origin"),
                "model": event["request"]["body"]["model"],
            }  # fmt: skip


class Cache:
    """Answers that outputs share: one file per server and request in a folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def get(self, request: Request) -> Mapping[str, Any] | None:
        """A kept answer (``server``, ``reply``); None if there is none, or its file is damaged."""
        try:
            found = parse_json(self._path(request).read_bytes(), self.folder)
            return found if found["asked"] == self._asked(request) and "reply" in found else None
        except (OSError, InputError, ValueError, LookupError, TypeError):
            return None

    def put(self, request: Request, server: str, reply: Any) -> None:
        """Keep an answer."""
        path = self._path(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"asked": self._asked(request), "server": server, "reply": reply}
        write_atomic(path, json.dumps(kept, ensure_ascii=False) + "\n")

    def _asked(self, request: Request) -> dict[str, Any]:
        return {"url": self.url, "endpoint": request.endpoint, "body": request.body, "sample": request.sample}

    def _path(self, request: Request) -> Path:
        name = hash_value([self.url, request.key])
        return self.folder / name[:2] / f"{name}.json"
