"""Settings from a preset, a YAML file and ``--set key=value``: one definition, typed, unknown keys refused.

A settings class is a frozen dataclass. Its fields are the keys, under the same name in every place: the option,
the YAML file, the manifest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError

T = TypeVar("T")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """``; did you mean X?`` for the nearest of ``choices``, whatever its case, else a list of them."""
    names = sorted(choices)
    by_lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return f"; did you mean {by_lower[near[0]]}?" if near else f"; there is {', '.join(names)}"


def apply_settings(settings: T, changes: Mapping[str, Any]) -> T:
    """A copy of a settings dataclass with ``changes``; text values are read as the field's type.

    :raises InputError: a key is unknown, or a value does not fit.
    """
    hints = typing.get_type_hints(type(settings))
    names = {field.name for field in dataclasses.fields(settings)}  # type: ignore[arg-type]
    values = {}
    for key, value in changes.items():
        if key not in names:
            raise InputError(f"unknown setting {key}{did_you_mean(key, names)}")
        values[key] = convert(key, value, hints[key])
    return dataclasses.replace(settings, **values)  # type: ignore[type-var]


def convert(key: str, value: Any, hint: Any) -> Any:
    """``value`` as the type ``hint`` (bool, int, float, str, a tuple of str, or one of several; ``none`` is None).

    :raises InputError: it cannot be read as that.
    """
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) or _is_union(hint) else (hint,)
    if type(None) in choices and (value is None or value in ("none", "null", "")):
        return None
    for choice in choices:
        if choice is bool:
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value.lower() in ("true", "false"):
                return value.lower() == "true"
        elif choice is int and not isinstance(value, bool):
            if isinstance(value, int):
                return value
            if isinstance(value, str):
                with contextlib.suppress(ValueError):
                    return int(value)
        elif choice is float and not isinstance(value, bool):
            try:
                return float(value)
            except (TypeError, ValueError):
                continue
        elif choice is str and isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return str(value)
        elif typing.get_origin(choice) is tuple and isinstance(value, (list, tuple)):
            return tuple(map(str, value))
        elif typing.get_origin(choice) is tuple and isinstance(value, str):
            return tuple(value.replace(",", " ").split())
    names = " or ".join(getattr(choice, "__name__", str(choice)) for choice in choices if choice is not type(None))
    raise InputError(f"{key}: {value!r} is not a value of type {names}")


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Union


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


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file of settings as a flat dict: ``training: {max_updates: 5}`` becomes ``training.max_updates``.

    :raises InputError: it is missing or not a mapping.
    """
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: settings are written as 'key: value' lines")
    return _flatten(data)


def _flatten(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
