"""Amounts in settings: a number of items, or a share of them."""

from __future__ import annotations

import re
from fractions import Fraction

from cgbench.errors import InputError

Amount = int | str


def parse_amount(key: str, value: Amount) -> Fraction:
    """``value`` exactly: below 1 it is a share, from 1 on a number.

    :raises InputError: it is neither a whole number nor a fraction below 1.
    """
    try:
        if not re.fullmatch(r"[0-9_]+([./][0-9]+)?|\.[0-9]+", str(value)):
            raise ValueError
        amount = Fraction(str(value).replace("_", ""))
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{key}: {value!r} is not a number or a fraction such as 1/30") from None
    if amount >= 1 and amount.denominator != 1:
        raise InputError(f"{key}: {value!r} must be a whole number, or a share below 1")
    return amount


def resolve_amount(key: str, value: Amount, total: int) -> int:
    """``value`` as a number of items: a share is one of ``total``, rounded to the nearest (half up)."""
    amount = parse_amount(key, value)
    return int(amount) if amount >= 1 or amount == 0 else int(amount * total + Fraction(1, 2))
