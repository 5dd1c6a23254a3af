"""Checks of the arguments of Python functions: the same error for the same mistake, whichever function it is made in.

Each check takes arguments by name and raises an :class:`~cgbench.errors.InputError` that says which one is wrong, what
was given and what is allowed. None is an argument that was not given, and passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

from cgbench.errors import InputError, argument


def check_whole(least: int, **given: object) -> None:
    """Check whole numbers, ``least`` and above."""
    for name, value in given.items():
        if value is not None and not _is_whole(value, least):
            raise InputError(f"{_shown(name, value)}: it must be a whole number, at least {least}")


def check_wholes(least: int, **given: object) -> None:
    """Check lists of whole numbers, ``least`` and above, that are not empty."""
    for name, value in given.items():
        if value is None:
            continue
        found = [] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        if not found or not all(_is_whole(one, least) for one in found):
            shown = argument(name, value, text=",".join(map(str, found)) or str(value))
            raise InputError(f"{shown}: it must be a list of whole numbers, at least {least} each")


def check_number(least: float = -math.inf, **given: object) -> None:
    """Check finite numbers, ``least`` and above."""
    for name, value in given.items():
        is_number = isinstance(value, Real) and not _is_flag(value)
        if value is not None and not (is_number and least <= value < math.inf and value > -math.inf):  # type: ignore[operator]
            limit = f", at least {least:g}" if least > -math.inf else ""
            raise InputError(f"{_shown(name, value)}: it must be a number{limit}")


def check_flag(**given: object) -> None:
    """Check that arguments are True or False."""
    for name, value in given.items():
        if value is not None and not _is_flag(value):
            raise InputError(f"{_shown(name, value)}: it must be True or False")


def check_choice(choices: Sequence[str], **given: object) -> None:
    """Check that arguments are one of some words."""
    for name, value in given.items():
        if value is not None and not (isinstance(value, str) and value in choices):
            raise InputError(f"{_shown(name, value)}: it must be one of {', '.join(choices)}")


def check_names(known: Iterable[str], given: Iterable[str], what: str) -> None:
    """Check that ``what`` has all of the named options."""
    names = list(known)
    for name in given:
        if name not in names:
            raise InputError(f"{argument(name)}: {what} has no such option; there is {', '.join(names)}")


def _is_flag(value: object) -> bool:
    # numpy is not imported for its one class, which has another name in older versions.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not _is_flag(value) and int(value) >= least


def _shown(name: str, value: object) -> str:
    return argument(name, value, text=str(value))
