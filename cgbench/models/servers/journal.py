"""Answers on disk, and what they took: the journal of an output.

It has one JSON object per line, in the order of events. Everything that is known of tokens and
money is counted from its lines, so a resumed run counts as the first one did::

    {"format": 2, "url": URL}                                 first line
    {"sent": KEY, "most": [INPUT, OUTPUT]}                    bounds on its tokens, before sending
    {"key": KEY, "request": ..., "server": ..., "reply": ...} an answer, as the server gave it
    {"key": KEY, "usage": [...], "reason": ...}               no answer; null: it may have been paid

``origin`` says that an answer came from a batch file. KEY: :attr:`Request.key`. The last field of
each line, ``digest``, is a hash of the others.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from cgbench.errors import InputError, printable
from cgbench.files import parse_json
from cgbench.models.server_options import Price, SpendingLimit
from cgbench.models.servers.exchange import TOO_MANY, Usage, read_usage
from cgbench.steps import hash_value

FORMAT = 2
DIGEST = "digest"
REMEDY = "remove the file to request all answers again"


def journal_path(output: Path) -> Path:
    """The raw answers behind an output."""
    return output.with_name(f"{output.name}.answers.jsonl")


def cost_of(usage: Usage, price: Price) -> float:
    """What some tokens cost, in US dollars; prices are per million tokens."""
    fresh = max(0, usage.input - usage.cached)
    return (fresh * price.input + usage.cached * price.cached + usage.output * price.output) / 1e6


class Spending:
    """What the lines of a journal say about tokens.

    ``usage``: what the server has counted, also for replies that were no answers; ``silent``: the
    number of answers whose usage it did not say.
    """

    def __init__(self) -> None:
        self.usage, self.attempts, self.silent, self.failures = Usage(), 0, 0, Counter[str]()
        self._open = dict[
            str, list[Usage]
        ]()  # bounds on what the server may have counted besides, by request

    def count(self, line: Mapping[str, Any]) -> None:
        """Count a line of the journal.

        :raises LookupError, TypeError, ValueError: it is none.
        """
        if "sent" in line:
            self.attempts += 1
            self._open.setdefault(line["sent"], []).append(_usage(line["most"]))
            return
        bounds = self._open.setdefault(line["key"], [])
        if "reply" in line:
            if line.get("origin") == "batch":
                bounds.append(Usage())  # it was not sent here
            usage = read_usage(line["reply"])
            self.silent += usage is None
        else:
            usage = None if line["usage"] is None else _usage(line["usage"])
            self.failures[str(line["reason"])] += 1
        if usage is not None:
            bounds.pop()
            self.usage += usage

    @property
    def lost(self) -> int:
        """The number of attempts without a reply so far."""
        return sum(map(len, self._open.values())) - self.silent

    @property
    def most(self) -> Usage:
        """An upper bound on everything that the server can have counted."""
        return sum((bound for bounds in self._open.values() for bound in bounds), self.usage)

    def left(
        self,
        budget: SpendingLimit,
        price: Price | None,
        further: Usage = Usage(),  # noqa: B008 - it is frozen
    ) -> float:
        """What is left of a budget at the least after ``further`` tokens, in its unit."""
        after = self.most + further
        return budget.amount - (
            after.total if price is None or budget.unit == "tokens" else cost_of(after, price)
        )

    def shown(self, price: Price | None) -> str:
        """The tokens and their cost, for a message."""
        cost = "" if price is None else f", {cost_of(self.most, price):.4f} USD"
        return f"{self.most.total:,} tokens{cost}"

    def as_dict(self, price: Price | None) -> dict[str, Any]:
        """For the sidecar."""
        counts = {
            "attempts": self.attempts,
            "without_reply": self.lost,
            "failures": dict(sorted(self.failures.items())),
            "usage": vars(self.usage),
            "answers_without_usage": self.silent,
        }
        if price is None:
            return counts
        costs = {
            "cost_usd": cost_of(self.usage, price),
            "cost_usd_at_most": cost_of(self.most, price),
        }
        return {**counts, "price": vars(price), **costs}


def _usage(counts: Sequence[int]) -> Usage:
    usage = Usage(*map(int, counts))
    if not all(0 <= count < TOO_MANY for count in vars(usage).values()):
        raise ValueError(counts)
    return usage


def _digest(event: Mapping[str, Any]) -> str:
    return hash_value(event)[:16]


class Journal:
    """The journal of one output and one server; :meth:`write` keeps nothing on disk before
    :meth:`open`.

    ``replies``: the answers by key of the request; ``spending`` counts every line, also of earlier
    runs.
    """

    def __init__(self, path: Path, url: str) -> None:
        """Read the journal if there is one; an incomplete last line is left out.

        :raises InputError: it is of another server, or damaged.
        """
        self.path, self.url, self.spending, self.replies = (
            path,
            url,
            Spending(),
            dict[str, dict[str, Any]](),
        )
        self._file: BinaryIO | None = None
        data = path.read_bytes() if path.is_file() else b""
        self._size = data.rfind(b"\n") + 1
        for line_number, line in enumerate(data[: self._size].splitlines(), 1):
            try:
                event = parse_json(line, path)
                if event.pop(DIGEST) != _digest(event):
                    raise ValueError(DIGEST)
                if line_number > 1:
                    self._take(event)
                else:
                    begun_with = event["format"], event["url"]
            except (InputError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
                raise InputError(f"{path}, line {line_number}: is damaged; {REMEDY}") from None
            if begun_with != (FORMAT, url):
                shown_url = printable(str(begun_with[1]))[:200]
                raise InputError(
                    f"{path}: has answers of another server ({shown_url}); choose another output"
                )

    def open(self) -> None:
        """Write from here on; an incomplete last line is removed."""
        self._file = self.path.open("ab")
        self._file.truncate(self._size)
        if not self._size:
            self._append({"format": FORMAT, "url": self.url})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def write(self, event: Mapping[str, Any]) -> None:
        """Append a line, and make it durable unless it only says that something is about to be
        sent.
        """
        self._append(event)
        self._take(event)

    def _append(self, event: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        line = json.dumps({**event, DIGEST: _digest(event)}, ensure_ascii=False)
        self._file.write((line + "\n").encode("utf-8"))
        self._file.flush()
        if "sent" not in event:
            os.fsync(self._file.fileno())

    def _take(self, event: Mapping[str, Any]) -> None:
        self.spending.count(event)
        if "reply" in event:
            self.replies[event["key"]] = {
                "reply": {**event["reply"]},
                "server": str(event["server"]),
                "origin": event.get("origin"),
                "model": str(event["request"]["body"]["model"]),
            }
