"""Settings from a preset, a YAML file and ``--set key=value``: one definition, typed, unknown keys refused.

A settings class is a frozen dataclass whose fields are made by :func:`option`. Each key has the same name everywhere:
as an option, in YAML files, in the manifest. ``__post_init__`` checks constraints between fields. msgspec converts the
values; this module adds values written as text (``1_000``, ``yes``, ``none``) and refuses numbers that are not finite.

:func:`load_yaml` is PyYAML's ``safe_load``, which refuses aliases (313 bytes can become 2 GB), tags and repeated keys.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cgbench.errors import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LARGEST_FILE = 1 << 18  # bytes
DEEPEST = 20  # nested mappings and lists
LARGEST_NUMBER = 2**63 - 1
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"

T = TypeVar("T")
Known = Callable[[], Iterable[str]]
LISTED = 30  # maximum number of names in a message
NONE = type(None)
_BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_KINDS: dict[Any, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "the name of a file",
    Mapping: "a mapping of names to values", dict: "a mapping of names to values",
    Sequence: "a list", list: "a list", tuple: "a list", Any: "a value",
}  # fmt: skip
_LISTS: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "text"}


def option(
    default: Any = dataclasses.MISSING,
    help: str = "",
    *,
    group: str = "",
    unit: str = "",
    flag: str = "",
    metavar: str | None = None,
    python_only: bool = False,
    is_setting: bool = False,
    **limits: float | None,
) -> Any:
    """A field of a request or a settings class: its default, help and limits.

    In a request every argument is named, since type checkers know a default by its name alone (PEP 681).

    :param help: an imperative or a noun phrase that stands alone, as ``--help`` shows it.
    :param group: the heading that ``--help`` and the reference put it under.
    :param unit: of a number: ``words``, ``seconds``.
    :param flag: the option's name where it is not the field's: ``ref`` for ``references``.
    :param metavar: what stands for the value in ``--help``.
    :param python_only: there is no such option on the command line.
    :param is_setting: set by ``--set`` and YAML files, without an option of its own.
    :param limits: range of a number (:class:`Range`): ``least``, ``most``, ``above``, ``below``.
    """
    metadata: dict[str, Any] = {"help": help, "group": group, "unit": unit, "flag": flag, "metavar": metavar}
    metadata |= {"python_only": python_only, "is_setting": is_setting, "range": Range(**limits)}
    return dataclasses.field(default=default, metadata=metadata)


def help_texts(kind: type) -> dict[str, str]:
    """The help text of every setting of a class."""
    return {name: metadata["help"] for name, metadata in _metadata(kind).items() if "help" in metadata}


@cache
def _metadata(kind: type) -> dict[str, Mapping[str, Any]]:
    """The metadata of every field; a field that only changes the default inherits it from the base class."""
    found: dict[str, Mapping[str, Any]] = {}
    for ancestor in reversed(kind.__mro__):
        for field in dataclasses.fields(ancestor) if dataclasses.is_dataclass(ancestor) else ():
            found[field.name] = field.metadata or found.get(field.name, {})
    return found


def did_you_mean(word: object, choices: Iterable[str]) -> str:
    """``; did you mean X?`` with the nearest choice, ignoring case, else a list of all."""
    names = sorted(choices)
    near = _nearest(str(word), names)
    return f"; did you mean {near}?" if near else f"; there is {', '.join(names)}"


def _nearest(word: str, names: Iterable[str]) -> str | None:
    by_lower = {name.lower(): name for name in names}
    import difflib

    near = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[near[0]] if near else None


def unknown_setting(key: str, known: Iterable[str]) -> InputError:
    """The error for an unknown key. The last parts of keys are also compared, since a section is easily forgotten."""
    names = sorted(set(known))
    by_last = {name.rpartition(".")[2]: name for name in names}
    last = key.rpartition(".")[2]
    near = by_last.get(last) or _nearest(key, names) or by_last.get(_nearest(last, by_last) or "")
    listed = f"; there is {', '.join(names)}" if len(names) <= LISTED else ""
    return InputError(f"unknown setting {key}" + (f"; did you mean {near}?" if near else listed))


def make_settings(kind: type[T], values: Mapping[str, Any], section: str = "", known: Known = tuple) -> T:
    """A settings class with ``values``, and defaults for the rest.

    :param section: prefix of keys in messages: ``training`` for ``training.max_updates``.
    :param known: returns more names to suggest for an unknown key.
    :raises InputError: a key is unknown, a value is invalid, or a setting without a default is missing.
    """
    read = _read(kind, values, section, known)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name not in read and field.default is field.default_factory is dataclasses.MISSING:
            raise InputError(f"{_dotted(section, field.name)}: missing")
    return kind(**read)


def apply_settings(settings: T, changes: Mapping[str, Any]) -> T:
    """A copy of settings with ``changes``; text is converted to the type of the field.

    :raises InputError: a key is unknown, or a value is invalid.
    """
    return dataclasses.replace(settings, **_read(type(settings), changes, "", tuple))  # type: ignore[type-var]


def _read(kind: type, values: Mapping[str, Any], section: str, known: Known) -> dict[str, Any]:
    hints = _types(kind)
    limits = {name: metadata.get("range") for name, metadata in _metadata(kind).items()}
    for key in values:
        if key not in hints:
            raise unknown_setting(_dotted(section, key), [*(_dotted(section, name) for name in hints), *known()])
    return {key: read_value(_dotted(section, key), value, hints[key], limits[key]) for key, value in values.items()}


@cache
def _types(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


@dataclasses.dataclass(frozen=True)
class Range:
    """Limits of a number: ``least`` and ``most`` (inclusive), ``above`` and ``below`` (exclusive); None: no limit."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def holds(self, value: object) -> bool:
        """Whether a number, or each number of a non-empty list, is within the limits; other values always are."""
        if isinstance(value, (list, tuple)):
            return self == Range() or (len(value) > 0 and all(map(self.holds, value)))
        if isinstance(value, (str, bool)) or not isinstance(value, (int, float)):
            return True
        if (self.above is not None and value <= self.above) or (self.below is not None and value >= self.below):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:,} to {self.most:,}"
        words = ("at least", self.least), ("at most", self.most), ("above", self.above), ("below", self.below)
        said = " and ".join(f"{word} {limit:,}" for word, limit in words if limit is not None)
        return f", {said}" if said else ""


def read_value(key: str, value: Any, hint: Any, limits: Range | None = None) -> Any:
    """Convert ``value`` to the type ``hint``; text means the same on the command line and in YAML.

    :param hint: bool, int, float, str, Path, a Literal, a sequence or mapping of these, a settings class, Any; or a
        union of these (None is written ``none``).
    :raises InputError: it cannot be converted, or is not within the limits.
    """
    import msgspec

    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return make_settings(hint, value, key)  # type: ignore[arg-type]
    limits = limits or Range()
    with contextlib.suppress(msgspec.ValidationError, TypeError, ValueError):
        found = msgspec.convert(_plain(key, value, hint), hint, dec_hook=_own)
        if _is_finite(found) and limits.holds(found):
            return found
    text = repr(value)
    raise InputError(f"{key}: {text if len(text) <= 80 else f'{text[:80]}...'} is not {describe(hint, limits)}")


def _plain(key: str, value: Any, hint: Any) -> Any:
    """A value for msgspec: numpy numbers, and text that stands for another type, as Python values."""
    choices = _choices(hint)
    inner: tuple[Any, ...] = next(filter(None, map(typing.get_args, choices)), (Any,))
    if isinstance(value, (list, tuple)):
        return [_plain(key, item, inner[0]) for item in value]
    if isinstance(value, Mapping):
        return {name: read_value(f"{key}.{name}", item, inner[-1]) for name, item in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        raise _too_large(key)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if str in choices and not {int, float} & set(choices):
            return str(value)
        return _BOOLS.get(str(value), value) if bool in choices else value
    if not isinstance(value, str):
        return value
    text = value.strip()
    if NONE in choices and text in ("none", "null", "") and not (text == "" and _has_literal(choices)):
        return None
    if bool in choices and text.lower() in _BOOLS:
        return _BOOLS[text.lower()]
    if int in choices and re.fullmatch(r"[-+]?[0-9][0-9_]*", text):
        if len(digits := text.replace("_", "")) > 30 or abs(int(digits)) > LARGEST_NUMBER:
            raise _too_large(key)
        return int(digits)
    return float(text) if float in choices else value


def _too_large(key: str) -> InputError:
    return InputError(f"{key}: too large; whole numbers are below 2^63")


def _choices(hint: Any) -> tuple[Any, ...]:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _has_literal(choices: Iterable[Any]) -> bool:
    return any(typing.get_origin(choice) is typing.Literal for choice in choices)


def _own(kind: type, value: Any) -> Any:
    """Convert to types unknown to msgspec: a path; other values must have the type already."""
    if kind is Path:
        return Path(value)
    if isinstance(value, kind):
        return value
    raise ValueError


def _is_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, float) or math.isfinite(value)


def describe(hint: Any, limits: Range | None = None) -> str:
    """A type in words: "a whole number, at least 1"."""
    limits, names = limits or Range(), []
    for choice in _choices(hint):
        origin, inner = typing.get_origin(choice) or choice, typing.get_args(choice)
        if choice is NONE:
            continue
        if origin is typing.Literal:
            names.append(f"one of {', '.join(map(str, inner))}")
        elif origin in (list, tuple, Sequence) and inner and inner[0] in _LISTS:
            names.append(f"a list of {_LISTS[inner[0]]}{limits}")
        else:
            names.append(_KINDS.get(origin, "settings") + (str(limits) if origin in (int, float) else ""))
    return " or ".join(dict.fromkeys(names))


def parse_assignments(items: Iterable[str]) -> dict[str, str]:
    """``key=value`` items as a dict.

    :raises InputError: an item has no ``=``.
    """
    result = {}
    for item in items:
        key, sign, value = item.partition("=")
        if not sign:
            raise InputError(f"--set {item}: write it as key=value")
        result[key.strip()] = value.strip()
    return result


def read_yaml(path: Path, whole: Container[str] = ()) -> dict[str, Any]:
    """A YAML file of settings as a flat dict: ``training: {max_updates: 5}`` becomes ``training.max_updates``.

    :param whole: names whose value may be a mapping.
    :raises InputError: it is missing, not YAML, not a mapping, or sets a key twice.
    """
    data = load_yaml(path)
    if not isinstance(data, dict):
        raise InputError(f"{path}: settings are written as 'key: value' lines")
    flat: dict[str, Any] = {}
    for key, value in _flat(data, whole):
        if key in flat:
            raise InputError(f"{path}: {key} is set twice; keep one")
        flat[key] = value
    return flat


def _flat(data: Mapping[str, Any], whole: Container[str], section: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value and (section or key not in whole):
            yield from _flat(value, whole, _dotted(section, key))
        else:
            yield _dotted(section, key), value


def load_yaml(path: Path | Traversable, aliases: bool = False) -> Any:
    """The content of a YAML file; None if it is empty.

    :param aliases: allow anchors, aliases and ``<<``; only for files of this package.
    :raises InputError: it is missing, too large, not YAML, has aliases or tags, or a key twice.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                if not isinstance(key.value, str) or (key.tag != _TEXT and (key.tag != _MERGE or not aliases)):
                    _refuse(path, key, f"{_shortened(str(key.value))}: a key must be text; put it in quotes")
                if key.value in lines:
                    _refuse(path, key, f"{_shortened(key.value)} is also set in line {lines[key.value]}; keep one")
                lines[key.value] = key.start_mark.line + 1
            return super().construct_mapping(node, deep)

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InputError(f"{path}: larger than {LARGEST_FILE >> 10} KiB, so it is not a settings file")
        text = data.decode("utf-8-sig")
        if not aliases:
            _check_events(path, yaml.parse(text, Loader=base))
        return yaml.load(text, Loader=Loader)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path}: line {line}: not UTF-8 text; save the file as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = " ".join(filter(None, (error.context, error.problem)))
        raise InputError(f"{path}: line {line}: not valid YAML ({what})") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(f"{path}: line {line}: not valid YAML ({error.reason})") from None
    except ValueError as error:  # a date that is none, or a number of 5,000 digits
        raise InputError(f"{path}: a value cannot be read ({error}); put text in quotes") from None


def _check_events(path: Path | Traversable, events: Iterable[Any]) -> None:
    """Refuse aliases, which expand without limit, tags, and deep nesting before anything is built."""
    depth = 0
    for event in events:
        if getattr(event, "anchor", None) is not None:
            _refuse(path, event, "anchors (&) and aliases (*) are not supported; repeat the values, or quote text")
        if getattr(event, "tag", None) is not None:
            _refuse(path, event, f"the tag {_shortened(event.tag)} is not supported; leave it out")
        name = type(event).__name__
        depth += name.endswith(("SequenceStartEvent", "MappingStartEvent"))
        depth -= name.endswith(("SequenceEndEvent", "MappingEndEvent"))
        if depth > DEEPEST:
            _refuse(path, event, f"more than {DEEPEST} nested mappings and lists")


def _refuse(path: Path | Traversable, where: Any, what: str) -> NoReturn:
    raise InputError(f"{path}: line {where.start_mark.line + 1}: {what}")


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
