"""YAML, read in one place: data alone, of bounded size, with one line that says where what is wrong.

Of YAML this takes mappings with text as keys, lists, text, decimal numbers, true, false and null. The rest of the
language either runs code, grows beyond its file (aliases: 313 bytes can be 2 GB), never ends, or means something else
than it looks like (dates, ``010``, ``1:30``); it is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cgbench.errors import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LARGEST_FILE = 1 << 18  # bytes
DEEPEST = 20  # mappings and lists in one another
LARGEST_NUMBER = 2**63 - 1
_TAG = "tag:yaml.org,2002:"


def load_yaml(path: Path | Traversable, aliases: bool = False) -> Any:
    """What a YAML file says; None if that is nothing.

    :param aliases: read anchors, aliases and ``<<``, too; for files of this package alone.
    :raises InputError: it is missing, too large, not YAML, or more than data.
    """
    import yaml

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InputError(f"{path}: larger than {LARGEST_FILE >> 10} KiB, which is no file of settings")
        text = data.decode("utf-8-sig")
        return _Document(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), path, aliases).value()
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


class _Document:
    """The events of one document as Python values; no event is read further than the first that is refused."""

    def __init__(self, events: Iterator[Any], path: Path | Traversable, aliases: bool) -> None:
        import yaml

        self._events, self._path, self._yaml, self._aliases = events, path, yaml, aliases
        self._anchors: dict[str, Any] = {}  # those that have ended: nothing holds itself
        self._resolver = yaml.resolver.Resolver()

    def value(self) -> Any:
        """The value of the document; there is one, or none."""
        yaml, value = self._yaml, None
        for number, event in enumerate(event for event in self._events if isinstance(event, yaml.NodeEvent)):
            if number:
                self._refuse(event, "a second document; a file has one")
            value = self._node(event, 0)
        return value

    def _node(self, event: Any, depth: int) -> Any:
        yaml, anchor = self._yaml, event.anchor
        if anchor is not None and not self._aliases:
            self._refuse(event, "anchors (&) and aliases (*) are not read; write the values out, or put text in quotes")
        if isinstance(event, yaml.AliasEvent):
            return self._anchors[anchor] if anchor in self._anchors else self._refuse(event, f"no anchor &{anchor}")
        if event.tag is not None:
            self._refuse(event, f"the tag {_shown(event.tag)} is not read; leave it out")
        value = self._value(event, depth)
        if anchor is not None:
            self._anchors[anchor] = value
        return value

    def _value(self, event: Any, depth: int) -> Any:
        yaml = self._yaml
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event) if event.implicit[0] else event.value
        if depth >= DEEPEST:
            self._refuse(event, f"more than {DEEPEST} mappings and lists in one another")
        return self._mapping(depth) if isinstance(event, yaml.MappingStartEvent) else self._list(depth)

    def _list(self, depth: int) -> list[Any]:
        items = []
        while not isinstance(event := next(self._events), self._yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
                self._refuse(event, "a key is plain text")
            key = event.value
            if key in lines:
                self._refuse(event, f"{_shown(key)} is there twice (before in line {lines[key]}); keep one")
            if key == "<<" and not self._aliases:
                self._refuse(event, "<< is not read; write the values out")
            lines[key] = _line(event)
            value = self._node(next(self._events), depth + 1)
            if key == "<<":
                merged = value if isinstance(value, dict) else self._refuse(event, "<< stands before a mapping")
            else:
                found[key] = value
        return {**merged, **found}

    def _scalar(self, event: Any) -> Any:
        """The value of a text without quotes."""
        text = event.value
        kind = self._resolver.resolve(self._yaml.ScalarNode, text, (True, False)).removeprefix(_TAG)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in ("true", "yes", "on")
        if kind == "int":
            if not re.fullmatch(r"[-+]?(0|[1-9][0-9_]{0,30})", text):
                self._refuse(event, f"{_shown(text)}: write a whole number in decimal digits, text in quotes")
            if abs(number := int(text.replace("_", ""))) > LARGEST_NUMBER:
                self._refuse(event, f"{_shown(text)}: whole numbers are below 2^63; put text in quotes")
            return number
        if kind == "float":
            if ":" in text or not math.isfinite(value := float(re.sub(r"_|\.(?=inf|nan)", "", text.lower()))):
                self._refuse(event, f"{_shown(text)}: not a finite decimal number; put text in quotes")
            return value
        if kind == "timestamp":
            self._refuse(event, f"{_shown(text)} is read as a date; put text in quotes")
        return text

    def _refuse(self, event: Any, what: str) -> NoReturn:
        raise InputError(f"{self._path}: line {_line(event)}: {what}")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
