"""Tokens and money: what a server has counted, what it may have counted, and a limit on both.

Everything is counted from the lines of the journal, so a resumed run counts as the first one did.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgbench.models.server_options import Budget, Price
from cgbench.models.servers.exchange import Request, Usage, read_usage

_TEMPLATE = 256  # tokens that a chat template and a server's own system message may add
NOTHING = Usage()


def cost_of(usage: Usage, price: Price) -> float:
    """What some tokens cost, in US dollars; prices are per million tokens."""
    fresh = max(0, usage.input - usage.cached)
    return (fresh * price.input + usage.cached * price.cached + usage.output * price.output) / 1e6


def at_most(request: Request) -> Usage:
    """An upper bound on the tokens of a request: a token of the prompt has at least one byte."""
    return Usage(len(json.dumps(request.body, ensure_ascii=False).encode()) + _TEMPLATE, request.longest or 0)


@dataclass
class Spending:
    """What the lines of a journal say about tokens.

    :param usage: of answers; :param discarded: of replies that were no answers, such as too few choices.
    :param unreported: bounds on answers whose usage the server did not say.
    :param pending: bounds on the ``lost`` attempts, which have no reply so far: the server may have counted them.
    """

    usage: Usage = NOTHING
    discarded: Usage = NOTHING
    unreported: Usage = NOTHING
    pending: Usage = NOTHING
    attempts: int = 0
    lost: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    silent: int = 0  # answers without usage
    _bounds: dict[str, list[Usage]] = field(default_factory=dict)  # of the lost attempts, by request

    def count(self, line: Mapping[str, Any]) -> None:
        """Count a line of the journal.

        :raises LookupError, TypeError, ValueError: it is none.
        """
        if "sent" in line:
            most = _usage(line["most"])
            self.attempts, self.lost, self.pending = self.attempts + 1, self.lost + 1, self.pending + most
            self._bounds.setdefault(line["sent"], []).append(most)
        elif "lost" in line:
            self.failures[str(line["reason"])] += 1
        elif line.get("origin") != "cache":
            most = NOTHING
            if "origin" not in line and (waiting := self._bounds.get(line["key"])):
                most = waiting.pop()
                self.lost, self.pending = self.lost - 1, self.pending + Usage(-most.input, -most.output)
            found = read_usage(line["reply"]) if "reply" in line else _usage(line["usage"])
            if "reply" not in line:
                self.discarded += found or NOTHING
                self.failures[str(line["reason"])] += 1
            elif found is None:
                self.silent += 1
                self.unreported += most
            else:
                self.usage += found

    @property
    def most(self) -> Usage:
        """An upper bound on everything that the server can have counted."""
        return self.sure + self.unreported + self.pending

    @property
    def sure(self) -> Usage:
        """What the server has counted, as far as it said."""
        return self.usage + self.discarded

    def fits(self, more: Usage, budget: Budget | None, price: Price | None) -> bool:
        """Whether a request of ``more`` tokens stays within the budget, whatever the server counts."""
        after = self.most + more
        if budget is None:
            return True
        if budget.usd is None:
            return after.total <= (budget.tokens or 0)
        return price is not None and cost_of(after, price) <= budget.usd

    def shown(self, price: Price | None) -> str:
        """The tokens and their cost, for a message."""
        cost = "" if price is None else f", {cost_of(self.most, price):.4f} USD"
        return f"{self.most.total:,} tokens{cost}"

    def as_dict(self, price: Price | None) -> dict[str, Any]:
        """For the sidecar."""
        cost = (
            {}
            if price is None
            else {"cost_usd": cost_of(self.sure, price), "cost_usd_at_most": cost_of(self.most, price)}
        )
        return {
            "attempts": self.attempts,
            "without_reply": self.lost,
            "failures": dict(sorted(self.failures.items())),
            "usage": vars(self.usage),
            "usage_discarded": vars(self.discarded),
            "answers_without_usage": self.silent,
            **({} if price is None else {"price": vars(price)}),
            **cost,
        }


def _usage(counts: Sequence[int]) -> Usage:
    return Usage(*(int(count) for count in counts))
