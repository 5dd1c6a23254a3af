"""YAML from anybody: PyYAML's ``safe_load``, which refuses aliases (313 bytes can become 2 GB),
tags, repeated keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cgbench.errors import InputError, shortened

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LARGEST_FILE = 1 << 18  # bytes
DEEPEST = 20  # nested mappings and lists
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


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
                if not isinstance(key.value, str) or (
                    key.tag != _TEXT and (key.tag != _MERGE or not aliases)
                ):
                    _refuse(
                        path,
                        key,
                        f"{shortened(str(key.value), 40)}: a key must be text; put it in quotes",
                    )
                if key.value in lines:
                    _refuse(
                        path,
                        key,
                        f"{shortened(key.value, 40)} is also set in line {lines[key.value]};"
                        " keep one",
                    )
                lines[key.value] = key.start_mark.line + 1
            return super().construct_mapping(node, deep)

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InputError(
                f"{path}: larger than {LARGEST_FILE >> 10} KiB, so it is not a settings file"
            )
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
        fault = " ".join(filter(None, (error.context, error.problem)))
        raise InputError(f"{path}: line {line}: not valid YAML ({fault})") from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(f"{path}: line {line}: not valid YAML ({error.reason})") from None
    except ValueError as error:  # a date that is none, or a number of 5,000 digits
        raise InputError(f"{path}: a value cannot be read ({error}); put text in quotes") from None


def _check_events(path: Path | Traversable, events: Iterable[Any]) -> None:
    """Refuse aliases, which expand without limit, tags, and deep nesting before anything is
    built.
    """
    depth = 0
    for event in events:
        if getattr(event, "anchor", None) is not None:
            _refuse(
                path,
                event,
                "anchors (&) and aliases (*) are not supported; repeat the values, or quote text",
            )
        if getattr(event, "tag", None) is not None:
            _refuse(
                path, event, f"the tag {shortened(event.tag, 40)} is not supported; leave it out"
            )
        name = type(event).__name__
        depth += name.endswith(("SequenceStartEvent", "MappingStartEvent"))
        depth -= name.endswith(("SequenceEndEvent", "MappingEndEvent"))
        if depth > DEEPEST:
            _refuse(path, event, f"more than {DEEPEST} nested mappings and lists")


def _refuse(path: Path | Traversable, node: Any, fault: str) -> NoReturn:
    raise InputError(f"{path}: line {node.start_mark.line + 1}: {fault}")
