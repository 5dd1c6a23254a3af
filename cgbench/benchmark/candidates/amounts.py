"""Amounts in settings: a number of items, or a share of them; how many are dropped as noise may be
decided by how much noise there is (``auto``).
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from cgbench.argument_types import Kind
from cgbench.errors import InputError

AUTO, AUTO_AT_MOST = "auto", "1/20"
"""An amount to drop that depends on the estimated noise, and what it is without an estimate."""


def _fits(least: Fraction) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        try:
            amount = parse_amount("amount", value)
        except InputError:
            return False
        return value != AUTO and amount >= least and not isinstance(value, bool)

    return fits


def _read(value: Any) -> int | str:
    text = str(value).strip()
    return int(text) if text.replace("_", "").isdigit() else text


Amount: TypeAlias = Annotated[
    int | str,
    Kind("amount", "a whole number, or a share such as 1/30", _fits(Fraction(0)), read=_read),
]
PositiveAmount: TypeAlias = Annotated[
    int | str,
    Kind(
        "amount",
        "a whole number above 0, or a share such as 1/30",
        _fits(Fraction(1, 1 << 63)),
        read=_read,
    ),
]


CutAmount: TypeAlias = Annotated[
    int | str,
    Kind(
        "amount",
        f"a whole number, a share such as 1/30, or {AUTO}",
        lambda value: value == AUTO or _fits(Fraction(0))(value),
        read=_read,
    ),
]
"""How many to drop as noise: an amount, or by how much noise there is (:mod:`.noise_share`)."""


def parse_amount(key: str, value: int | str) -> Fraction:
    """``value`` as an exact fraction, of a number or a share (:func:`is_share`); ``auto`` is the
    most that it can be.

    :raises InputError: it is neither a whole number nor a fraction of at most 1.
    """
    value = AUTO_AT_MOST if value == AUTO else value
    try:
        if not re.fullmatch(r"[0-9_]+([./][0-9]+)?|\.[0-9]+", str(value)):
            raise ValueError
        amount = Fraction(str(value).replace("_", ""))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{key}: {value!r} is not a number or a fraction such as 1/30") from None
    if amount > 1 and is_share(value):
        raise InputError(f"{key}: {value!r} must be a whole number, or a share of at most 1")
    return amount


def is_share(value: int | str) -> bool:
    """Whether an amount is a share: written as a fraction, or ``auto``. ``1/1`` means all, ``1``
    means one.
    """
    return value == AUTO or "/" in str(value) or "." in str(value)


def resolve_amount(key: str, value: int | str, total: int) -> int:
    """``value`` as a number of items: a share of ``total`` is rounded to the nearest (half up)."""
    amount = parse_amount(key, value)
    return int(amount * total + Fraction(1, 2)) if is_share(value) else int(amount)
