"""The options of commands that ask a server."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import File, Kind, Paths
from cgbench.request import KW_ONLY, Request, option

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens; ``cached``: of input that the server had in its cache."""

    input: float
    output: float
    cached: float


@dataclass(frozen=True)
class SpendingLimit:
    """The most that may be spent: dollars, or tokens of input and output."""

    amount: float
    unit: Literal["USD", "tokens"]

    def __str__(self) -> str:
        return f"{self.amount:.10g}{self.unit}"


def read_price(text: Any) -> Price | None:
    """Read ``in=2.5,out=10`` or ``in=2.5,out=10,cached=1.25``; None if it is not a price."""
    if isinstance(text, Price):
        return text
    match = re.fullmatch(
        rf"in=({_NUMBER}),out=({_NUMBER})(?:,cached=({_NUMBER}))?", str(text), re.ASCII
    )
    return Price(float(match[1]), float(match[2]), float(match[3] or match[1])) if match else None


def read_budget(text: Any) -> SpendingLimit | None:
    """Read ``5USD``, ``5`` (dollars) or ``100000tokens``; None if it is not a budget."""
    if isinstance(text, SpendingLimit):
        return text
    match = re.fullmatch(rf"({_NUMBER}) ?(?:USD)?|([0-9]+) ?tokens", str(text), re.ASCII)
    if not match:
        return None
    return (
        SpendingLimit(float(match[1]), "USD")
        if match[1]
        else SpendingLimit(int(match[2]), "tokens")
    )


def _kind(meaning: str, read: Any) -> Kind:
    return Kind("name", meaning, lambda value: read(value) is not None, read=read)


AnyPrice: TypeAlias = Annotated[Any, _kind("a price such as in=2.5,out=10", read_price)]
AnyLimit: TypeAlias = Annotated[Any, _kind("a limit such as 5USD or 100000tokens", read_budget)]


class ServerOptions(Request):
    """What a server may cost, and how requests and answers travel."""

    _: KW_ONLY
    price: AnyPrice | None = option(
        "--price",
        default=None,
        help="Price in US dollars per million tokens, such as in=2.5,out=10 (and ,cached=1.25)",
        group="Server",
        metavar="in=USD,out=USD",
    )
    budget: AnyLimit | None = option(
        "--budget",
        default=None,
        help="Stop before more than this is spent: 5USD (needs --price) or 100000tokens",
        group="Server",
        metavar="USD|TOKENS",
    )
    dry_run: bool = option(
        "--dry-run",
        default=False,
        help="Print the number of requests and a bound on tokens and cost, and send nothing",
        group="Server",
    )
    batch_out: File | None = option(
        "--batch-out",
        default=None,
        help="Write the requests without answers as a batch file of OpenAI, and send nothing",
        group="Server",
    )
    batch_in: Paths = option(
        "--batch-in",
        default=(),
        help="Read answers from a batch output file; repeatable",
        group="Server",
    )

    @property
    def sends_nothing(self) -> bool:
        """Whether requests are only counted or written to a file."""
        return self.dry_run or self.batch_out is not None
