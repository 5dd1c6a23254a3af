"""What JSON must look like before a program relies on it: types, lists, fields, names of files.

A shape is one of these: a type (``int`` is no bool; ``float`` is any finite number); a tuple of shapes, any of which
will do (``None`` is one); ``[shape]``, a list; ``{str: shape}``, an object with any names
(or those that fit what stands for ``str``); ``{"name": shape}``, an
object with these names and perhaps others, where ``{"name?": shape}`` may be missing; a function from a value to
whether it is right.
"""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any

from cgbench.errors import InputError


def check_shape(value: Any, shape: Any, where: object, remedy: str) -> None:
    """Check that ``value`` has a shape.

    :param where: the file it is from.
    :raises InputError: it has not; the message names the first field that has not.
    """
    if fault := _fault(value, shape, ""):
        raise InputError(f"{where}: {fault}; {remedy}")


def file_name(value: Any) -> bool:
    """Whether ``value`` names a file inside a folder: relative, with no ``..`` and nothing that a system reads
    otherwise."""
    if not isinstance(value, str) or not value or "\0" in value or "\\" in value:
        return False
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts and str(path) == value != "."


def _fault(value: Any, shape: Any, name: str) -> str:
    """The first thing that is wrong, in words; nothing if the shape fits."""
    if isinstance(shape, tuple):
        return "" if any(not _fault(value, one, name) for one in shape) else _wrong(value, name)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _wrong(value, name)
        faults = (_fault(one, shape[0], f"{name}[{number}]") for number, one in enumerate(value))
        return next(filter(None, faults), "")
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return _wrong(value, name)
        if names := next((key for key in shape if not isinstance(key, str)), None):
            faults = (
                _fault(key, names, name) or _fault(one, shape[names], _join(name, key)) for key, one in value.items()
            )
            return next(filter(None, faults), "")
        for key, inner in shape.items():
            key, optional = key.removesuffix("?"), key.endswith("?")
            if key not in value:
                if optional:
                    continue
                return f"there is no {_join(name, key)}"
            if fault := _fault(value[key], inner, _join(name, key)):
                return fault
        return ""
    return "" if _fits(value, shape) else _wrong(value, name)


def _fits(value: Any, shape: Any) -> bool:
    if shape is None:
        return value is None
    if shape is Any:
        return True
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    if shape is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return abs(value) < 1 << 63 if isinstance(value, int) else math.isfinite(value)
    return isinstance(value, shape) if isinstance(shape, type) else bool(shape(value))


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _wrong(value: Any, name: str) -> str:
    text = repr(value)
    return f"{name or 'its content'} is {text if len(text) <= 40 else text[:39] + '…'}, which it cannot be"
