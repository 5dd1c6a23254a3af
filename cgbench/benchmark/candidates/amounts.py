"""Amounts in settings: a number of items, or a share of them."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from cgbench.argument_types import Kind
from cgbench.errors import InputError


def _fits(least: Fraction) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        try:
            amount = parse_amount("amount", value)
        except InputError:
            return False
        return amount >= least and not isinstance(value, bool)

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


def parse_amount(key: str, value: int | str) -> Fraction:
    """``value`` as an exact fraction, of a number or a share (:func:`is_share`).

    :raises InputError: it is neither a whole number nor a fraction of at most 1.
    """
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
    """Whether an amount is a share: written as a fraction. ``1/1`` means all, ``1`` means one."""
    return "/" in str(value) or "." in str(value)


def resolve_amount(key: str, value: int | str, total: int) -> int:
    """``value`` as a number of items: a share of ``total`` is rounded to the nearest (half up)."""
    amount = parse_amount(key, value)
    return int(amount * total + Fraction(1, 2)) if is_share(value) else int(amount)
