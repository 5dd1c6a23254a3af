"""YAML, read in one place: data alone, of bounded size, with one line that says where what is wrong.

Of YAML this takes mappings with text as keys, lists, text, decimal numbers, true, false and null. The rest of the
language either runs code, grows beyond its file (aliases: 313 bytes can be 2 GB), never ends, or means something else
than it looks like (dates, ``010``, ``1:30``); it is refused.
"""

from __future__ import annotations

import math
import re
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
        return yaml.load(text, Loader=_loader(path, aliases))
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


def _loader(path: Path | Traversable, aliases: bool) -> Any:
    """A safe loader that takes data alone; it composes nodes in Python, where each is checked before its content."""
    import yaml

    def refuse(place: Any, what: str) -> NoReturn:
        raise InputError(f"{path}: line {place.start_mark.line + 1}: {what}")

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    bases: Any = (base,) if base is yaml.SafeLoader else (yaml.composer.Composer, base)

    class Loader(*bases):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            base.__init__(self, text)
            self.anchors: dict[str, Any] = {}
            self.depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if event.anchor is not None and not aliases:
                refuse(event, "anchors (&) and aliases (*) are not read; write the values out, or put text in quotes")
            if getattr(event, "tag", None) is not None:
                refuse(event, f"the tag {_shown(event.tag)} is not read; leave it out")
            if self.depth > DEEPEST or (self.depth == DEEPEST and isinstance(event, yaml.CollectionStartEvent)):
                refuse(event, f"more than {DEEPEST} mappings and lists in one another")
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            lines: dict[str, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    refuse(key, "a key is plain text")
                if key.value in lines:
                    refuse(key, f"{_shown(key.value)} is there twice (before in line {lines[key.value]}); keep one")
                if key.value == "<<" and not aliases:
                    refuse(key, "<< is not read; write the values out")
                lines[key.value] = key.start_mark.line + 1
                if key.value != "<<":
                    key.tag = f"{_TAG}str"
            return node

    def whole(loader: Any, node: Any) -> int:
        if not re.fullmatch(r"[-+]?(0|[1-9][0-9_]{0,30})", node.value):
            refuse(node, f"{_shown(node.value)}: write a whole number in decimal digits, text in quotes")
        if abs(number := int(node.value.replace("_", ""))) > LARGEST_NUMBER:
            refuse(node, f"{_shown(node.value)}: whole numbers are below 2^63; put text in quotes")
        return number

    def real(loader: Any, node: Any) -> float:
        text = re.sub(r"_|\.(?=inf|nan)", "", node.value.lower())
        if ":" in text or not math.isfinite(value := float(text)):
            refuse(node, f"{_shown(node.value)}: not a finite decimal number; put text in quotes")
        return value

    def date(loader: Any, node: Any) -> NoReturn:
        refuse(node, f"{_shown(node.value)} is read as a date; put text in quotes")

    text = Loader.construct_yaml_str
    for name, read in {"int": whole, "float": real, "timestamp": date, "merge": text, "value": text}.items():
        Loader.add_constructor(f"{_TAG}{name}", read)
    return Loader


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
