"""Ask a server: every answer once, whatever the server does, and within a budget.

An answer is on disk before its thread sends the next request, so an interrupted run resumes without
repeating any.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, argument, printable
from cgbench.models.server_options import Price, SpendingLimit
from cgbench.models.servers.address import Server
from cgbench.models.servers.exchange import (
    BadAnswerError,
    ReplyChoice,
    Request,
    Usage,
    is_filtered,
    read_answer,
    read_usage,
)
from cgbench.models.servers.journal import REMEDY, Journal
from cgbench.progress import bar
from cgbench.text.web import NoReply, Reply, post_json

TRIES = 6
PAID_TRIES = 3  # replies that are no answers, which cost as much as answers
LONGEST_WAIT = 60.0  # seconds between two tries, unless the server says
LONGEST_PAUSE = 3600.0  # seconds that a server may ask for before the run stops
FIRST_WAIT = 1.0
_GATEWAYS = (408, 502, 504)  # the server behind may have answered
_PARSING = threading.Lock()  # one reply at a time: parsed JSON takes up to thirty times its size
_KEPT = "finished answers are kept: run the same command again to resume"


class BudgetError(InputError):
    """The next request might exceed the budget."""


class Client:
    """A server, the journal of its answers, and what may be spent.

    As a context manager it writes the journal; without, it only reads it.
    """

    def __init__(
        self,
        server: Server,
        journal: Path,
        *,
        price: Price | None = None,
        budget: SpendingLimit | None = None,
    ) -> None:
        """Read the journal.

        :raises InputError: it is of another server or damaged, or the cost of a request has no
            bound.
        """
        if budget is not None and budget.unit == "USD" and price is None:
            raise InputError(
                f"{argument('budget')}: a limit in dollars needs {argument('price')}, or write N"
                " tokens"
            )
        if budget is not None and not {"max_tokens", "max_completion_tokens"} & {*server.sampling}:
            raise InputError(
                f"{argument('budget')}: a reply without a limit may cost anything; set"
                " ?max_tokens=N"
            )
        self.server, self.price, self.budget = server, price, budget
        self.journal = Journal(journal, server.url)
        self._free = threading.Condition()  # guards the journal, and waits for room in the budget
        self._flying = 0
        self._stop = threading.Event()
        self._resume = 0.0  # when the server wants the next request, by time.monotonic
        self._seen: dict[
            str, tuple[str, str]
        ] = {}  # model and software that answer, by the model asked for
        for answer in self.journal.replies.values():
            self._check_same(answer["model"], answer["reply"], answer["server"])

    def __enter__(self) -> Client:
        self.journal.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.journal.close()

    def answers(self, requests: Sequence[Request]) -> list[tuple[ReplyChoice, ...]]:
        """The choices in the answers to some requests, in their order.

        Each answer is on disk before the next request of its thread, and equal requests are sent
        once.

        :raises InputError: the server fails or changes, or the budget ends; what was answered is
            kept.
        """
        if waiting := self.waiting(requests):
            request_count = len({request.key for request in requests})
            with bar(
                request_count, "asking", "request", initial=request_count - len(waiting)
            ) as progress:
                self._ask_all(waiting, progress)
        try:
            known = {
                asked_for.key: read_answer(self.journal.replies[asked_for.key]["reply"], asked_for)
                for asked_for in requests
            }
        except BadAnswerError as error:
            raise InputError(f"{self.journal.path}: is damaged ({error}); {REMEDY}") from None
        return [known[request.key] for request in requests]

    def waiting(self, requests: Sequence[Request]) -> list[Request]:
        """The requests that have no answer yet, each once."""
        unique = {
            request.key: request for request in requests if request.key not in self.journal.replies
        }
        return list(unique.values())

    def keep(self, request: Request, reply: Any, server: str, *, origin: str | None = None) -> None:
        """Write an answer into the journal.

        :param origin: where it comes from, if it was not asked for in this run: ``batch``.
        :raises BadAnswerError: it is no answer to the request.
        :raises InputError: another model has answered.
        """
        read_answer(reply, request)
        self._check_same(request.body["model"], reply, server)
        sent = {"endpoint": request.endpoint, "body": request.body}
        marked = {} if origin is None else {"origin": origin}
        self.journal.write(
            {"key": request.key, "request": sent, "server": server, **marked, "reply": reply}
        )

    def record(self, requests: Sequence[Request]) -> dict[str, Any]:
        """What was answered and what it took, for a sidecar."""
        answers = [self.journal.replies[key] for key in {request.key for request in requests}]
        origins = Counter(answer["origin"] for answer in answers)
        model, software = self._seen.get(self.server.model, ("", ""))
        return {
            "model": model,
            "software": software,
            "requests": len(answers),
            "from_batch": origins["batch"],
            **self.journal.spending.as_dict(self.price),
            **({} if self.budget is None else {"budget": str(self.budget)}),
        }

    def _check_same(self, requested: str, reply: Mapping[str, Any], server: str) -> None:
        """Refuse an answer by another model or another server than those before it."""
        before, now = self._seen.get(requested, ("", "")), (str(reply.get("model") or ""), server)
        if all(
            earlier == later or not earlier or not later
            for earlier, later in zip(before, now, strict=True)
        ):
            self._seen[requested] = (
                before[0] or now[0],
                before[1] or now[1],
            )  # what is not named may be the same
            return
        first, second = (
            f"{printable(model)!r}" + (f" on {printable(software)!r}" if software else "")
            for model, software in (before, now)
        )
        raise InputError(
            f"{self.server.text}: the model that answers has changed from {first} to {second};"
            " restore the first one and run the command again, or choose another"
            f" {argument('output')}"
        )

    def _ask_all(self, waiting: Sequence[Request], progress: Any) -> None:
        self._stop.clear()
        headers = self.server.headers()

        def one(request: Request) -> None:
            try:
                if self._ask(request, headers):
                    with self._free:
                        progress.update(1)
            except BaseException:
                self._halt()  # before this thread takes its next request
                raise

        pool = ThreadPoolExecutor(self.server.parallel)
        try:
            futures = [pool.submit(one, request) for request in waiting]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        finally:  # after an error or Ctrl-C, no thread sends another request
            self._halt()
            pool.shutdown(wait=True, cancel_futures=True)

    def _halt(self) -> None:
        self._stop.set()
        with self._free:
            self._free.notify_all()

    def _ask(self, request: Request, headers: Mapping[str, str]) -> bool:
        """Ask until there is an answer; false if the run stops before."""
        most, wrong = request.most, 0
        for attempt in range(TRIES):
            while (delay := self._resume - time.monotonic()) > 0 and not self._stop.wait(delay):
                pass
            if not self._reserve(request, most):
                return False
            try:
                self._try(request, headers, most)
            except NoReply as error:
                wrong += isinstance(error, BadAnswerError)
                if wrong == PAID_TRIES or attempt + 1 == TRIES:
                    raise InputError(
                        f"{self.server.text}: a request has no answer after {attempt + 1} tries"
                        f" ({error}); {_KEPT}"
                    ) from None
                self._rest(attempt, error.after)
            else:
                break
        return True

    def _reserve(self, request: Request, most: Usage) -> bool:
        """Wait until the request fits into the budget, and note that it is sent; false if the run
        stops.
        """
        spending, budget = self.journal.spending, self.budget
        with self._free:
            while (
                not self._stop.is_set()
                and budget is not None
                and spending.left(budget, self.price, most) < 0
            ):
                if not self._flying:
                    raise BudgetError(
                        f"{argument('budget', budget)}: the next request might exceed it"
                        f" ({spending.shown(self.price)} so far, at most {most.total:,} tokens for"
                        " the next); finished answers are kept: raise it and run the command again"
                        " to resume"
                    )
                self._free.wait()
            if self._stop.is_set():
                return False
            self._flying += 1
            self.journal.write({"sent": request.key, "most": [most.input, most.output]})
            return True

    def _try(self, request: Request, headers: Mapping[str, str], most: Usage) -> None:
        """Ask once, and note what became of it.

        :raises NoReply: there is no answer, but the next try may bring one.
        :raises InputError: asking again would not help.
        """
        used: Usage | None = Usage()
        reason = "refused"
        try:
            kind = self.server.kind
            reply = post_json(
                f"{self.server.url}/{kind.path(request)}",
                kind.body(request),
                headers,
                seconds=self.server.timeout,
            )
            with _PARSING:
                raw = self._read(reply)
            used, reason = read_usage(raw), "not an answer"
            with self._free:
                self.keep(request, raw, reply.server)
        except (NoReply, InputError) as error:
            if isinstance(error, NoReply) and not isinstance(error, BadAnswerError):
                may_count = error.sent and error.status in (None, *_GATEWAYS)
                used = None if may_count else Usage()
                reason = (
                    "not reached"
                    if not error.sent
                    else f"status {error.status}"
                    if error.status
                    else "no reply"
                )
            counts = None if used is None else list(vars(used).values())
            with self._free:
                self.journal.write({"key": request.key, "usage": counts, "reason": reason})
            raise
        finally:
            with self._free:
                self._flying -= 1
                self._free.notify_all()

    def _read(self, reply: Reply) -> Any:
        """Parse a reply; the server's refusal of a prompt by its filter is an answer."""
        if reply.status < 400:
            raw = reply.json()
            try:
                return self.server.kind.reply(raw)
            except (LookupError, TypeError, AttributeError):
                raise BadAnswerError("a reply of another form") from None
        if reply.status == 400:
            with contextlib.suppress(NoReply):
                if is_filtered(raw := reply.json()):
                    return raw
        raise InputError(
            f"{self.server.text}: the server refuses the request (status {reply.status}:"
            f" {reply.shown})"
        )

    def _rest(self, attempt: int, after: float | None) -> None:
        """Wait before the next try, as long as the server says if it does."""
        if after is None:
            self._stop.wait(min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))
        elif after > LONGEST_PAUSE:
            raise InputError(
                f"{self.server.text}: the server asks to wait {after:,.0f} seconds; {_KEPT} then"
            )
        else:
            with self._free:
                self._resume = max(self._resume, time.monotonic() + after)
