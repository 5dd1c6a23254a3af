"""Settings classes, and values read as the types of their fields or of a request's.

A settings class is a frozen dataclass whose fields are declared by :func:`option`. Each key has
the same name everywhere: as an option, in YAML files, in the manifest. ``__post_init__`` checks
constraints between fields. msgspec converts the values; this module adds values written as text
(``1_000``, ``yes``, ``none``) and refuses numbers that are not finite.
"""

import contextlib
import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cgbench.errors import InputError, shortened

LARGEST_NUMBER = 2**63 - 1
LISTED = 30  # maximum number of names in a message
NONE = type(None)

T = TypeVar("T")
Known = Callable[[], Iterable[str]]
_BOOLS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_KINDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "the name of a file",
    Mapping: "a mapping of names to values",
    dict: "a mapping of names to values",
    Sequence: "a list",
    list: "a list",
    tuple: "a list",
    Any: "a value",
}
_LISTS: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "text"}


class Range(NamedTuple):
    """Limits of a number: ``least`` and ``most`` (inclusive), ``above`` and ``below`` (exclusive);
    None: no limit.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def holds(self, value: object) -> bool:
        """Whether a number, or each in a list (then not empty) or mapping, is finite and within the
        limits.
        """
        if isinstance(value, (list, tuple)):
            return (len(value) > 0 or self == NO_LIMITS) and all(map(self.holds, value))
        if isinstance(value, Mapping):
            return all(map(self.holds, value.values()))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        if (self.above is not None and value <= self.above) or (
            self.below is not None and value >= self.below
        ):
            return False
        within = (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )
        return within and math.isfinite(value)

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:,} to {self.most:,}"
        words = ("at least", "at most", "above", "below")
        limits = " and ".join(
            f"{word} {limit:,}"
            for word, limit in zip(words, self, strict=True)
            if limit is not None
        )
        return f", {limits}" if limits else ""


NO_LIMITS = Range()


def option(default: Any = dataclasses.MISSING, help: str = "", **limits: float | None) -> Any:
    """A field of a settings class: its default, help and limits.

    :param help: an imperative or a noun phrase that stands alone.
    :param limits: range of a number (:class:`Range`): ``least``, ``most``, ``above``, ``below``.
    """
    return dataclasses.field(default=default, metadata={"help": help, "range": Range(**limits)})


@cache
def metadata_of(kind: Any) -> dict[str, Mapping[str, Any]]:
    """The metadata of every field; a field that only changes the default inherits it from the base
    class.
    """
    metadata: dict[str, Mapping[str, Any]] = {}
    for ancestor in reversed(kind.__mro__):
        for field in dataclasses.fields(ancestor) if dataclasses.is_dataclass(ancestor) else ():
            metadata[field.name] = field.metadata or metadata.get(field.name, {})
    return metadata


_types = cache(typing.get_type_hints)


MOST_NAMES, FEW_NAMES = 25, 8
"""Names that an error lists, and those that it lists of more than that."""


def did_you_mean(word: object, choices: Iterable[str]) -> str:
    """``; did you mean X?`` with the nearest choice, ignoring case, else a list of all; of many,
    those with a word in common, or the first.
    """
    names = sorted(choices)
    nearest = _nearest(str(word), names)
    if nearest:
        return f"; did you mean {nearest}?"
    if len(names) <= MOST_NAMES:
        return f"; there is {', '.join(names)}"
    words = {part for part in re.split(r"\W|_", str(word).lower()) if len(part) > 2}
    similar = [name for name in names if words & {*re.split(r"\W|_", name.lower())}]
    listed = (similar or names)[:FEW_NAMES]
    return f"; there is {', '.join(listed)} and {len(names) - len(listed):,} more"


def _nearest(word: str, names: Iterable[str]) -> str | None:
    import difflib

    by_lower = {name.lower(): name for name in names}
    matches = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[matches[0]] if matches else None


def unknown_setting(key: str, known: Iterable[str]) -> InputError:
    """The error for an unknown key.

    The last parts of keys are also compared, since a section is easily forgotten.
    """
    names = sorted(set(known))
    by_last = {name.rpartition(".")[2]: name for name in names}
    last = key.rpartition(".")[2]
    nearest = (
        by_last.get(last) or _nearest(key, names) or by_last.get(_nearest(last, by_last) or "")
    )
    listed = f"; there is {', '.join(names)}" if len(names) <= LISTED else ""
    return InputError(
        f"unknown setting {key}" + (f"; did you mean {nearest}?" if nearest else listed)
    )


def make_settings(
    kind: Callable[..., T], values: Mapping[str, Any], section: str = "", known: Known = tuple
) -> T:
    """A settings class with ``values``, and defaults for the rest; text is converted to the type of
    the field.

    :param section: prefix of keys in messages: ``training`` for ``training.max_updates``.
    :param known: returns more names to suggest for an unknown key.
    :raises InputError: a key is unknown, a value is invalid, or a setting without a default is
        missing.
    """
    cls: Any = kind
    hints, metadata = _types(cls), metadata_of(cls)
    keys = {name: f"{section}.{name}" if section else name for name in [*hints, *values]}
    for name in values:
        if name not in hints:
            raise unknown_setting(keys[name], [*(keys[hint] for hint in hints), *known()])
    for field in dataclasses.fields(cls):
        if (
            field.name not in values
            and field.default is field.default_factory is dataclasses.MISSING
        ):
            raise InputError(f"{keys[field.name]}: missing")
    return kind(
        **{
            name: read_value(keys[name], value, hints[name], metadata[name].get("range", NO_LIMITS))
            for name, value in values.items()
        }
    )


def read_value(key: str, value: Any, hint: Any, limits: Range = NO_LIMITS) -> Any:
    """Convert ``value`` to the type ``hint``; text means the same on the command line and in YAML.

    :param hint: bool, int, float, str, Path, a Literal, a sequence or mapping of these, a settings
        class, Any; or a union of these (None is written ``none``).
    :raises InputError: it cannot be converted, or is not within the limits.
    """
    import msgspec

    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return make_settings(hint, value, key)  # type: ignore[arg-type]
    with contextlib.suppress(msgspec.ValidationError, TypeError, ValueError):
        converted = msgspec.convert(_plain(key, value, hint), hint, dec_hook=_other_type)
        if limits.holds(converted):
            return converted
    raise InputError(f"{key}: {shortened(repr(value))} is not {in_words(hint, limits)}")


def _plain(key: str, value: Any, hint: Any) -> Any:
    """A value for msgspec: numpy numbers, and text that stands for another type, as Python
    values.
    """
    choices = choices_of(hint)
    inner: tuple[Any, ...] = next(filter(None, map(typing.get_args, choices)), (Any,))
    if isinstance(value, (list, tuple)):
        return [_plain(key, item, inner[0]) for item in value]
    if isinstance(value, Mapping):
        return {name: read_value(f"{key}.{name}", item, inner[-1]) for name, item in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str):
        text = value.strip()
        has_literal = any(typing.get_origin(choice) is typing.Literal for choice in choices)
        if NONE in choices and (text in ("none", "null") or not (text or has_literal)):
            return None
        if bool in choices and text.lower() in _BOOLS:
            return _BOOLS[text.lower()]
        if int not in choices or not re.fullmatch(r"[-+]?[0-9][0-9_]*", text):
            return float(text) if float in choices else value
        value = int(text) if len(text) <= 40 else LARGEST_NUMBER + 1
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        raise InputError(f"{key}: too large; whole numbers are below 2^63")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if str in choices and not {int, float} & set(choices):
            return str(value)
        return _BOOLS.get(str(value), value) if bool in choices else value
    return value


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the type itself."""
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return (
        typing.get_args(hint)
        if typing.get_origin(hint) in (types.UnionType, typing.Union)
        else (hint,)
    )


def _other_type(kind: type, value: Any) -> Any:
    """Convert to types unknown to msgspec: a path; other values must have the type already."""
    if kind is Path:
        return Path(value)
    if isinstance(value, kind):
        return value
    raise ValueError


def in_words(hint: Any, limits: Range = NO_LIMITS) -> str:
    """A type in words: "a whole number, at least 1"."""
    names = []
    for choice in choices_of(hint):
        origin, inner = typing.get_origin(choice) or choice, typing.get_args(choice)
        if origin is typing.Literal:
            names.append(f"one of {', '.join(map(str, inner))}")
        elif origin in (list, tuple, Sequence) and inner and inner[0] in _LISTS:
            names.append(f"a list of {_LISTS[inner[0]]}{limits}")
        elif choice is not NONE:
            names.append(
                _KINDS.get(origin, "settings") + (str(limits) if origin in (int, float) else "")
            )
    return " or ".join(dict.fromkeys(names))
