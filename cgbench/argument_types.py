"""Types of arguments that requests share: a text, a corpus, a file, a model, the hypotheses of
systems.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from cgbench.extensions import Registry
from cgbench.records import Record


class Kind(Record):
    """A type of this package: a text, a corpus, the hypotheses of systems.

    :param name: what options of this kind are called on the command line
        (:mod:`cgbench.commands.options`).
    :param what: what it is, in messages: "a file, or a list of strings".
    :param fits: whether a value can be one. What the value holds is checked where it is read.
    :param many: whether the value is several of these, and the option repeatable.
    :param read: makes of a value that fits what the field holds (default: the value itself).
    :param registry: the objects that it names, if it is the name of one of these.
    """

    name: str
    what: str
    fits: Callable[[Any], bool]
    many: bool = False
    read: Callable[[Any], Any] | None = None
    registry: Registry[Any] | None = None

    @property
    def allowed(self) -> str:
        """What a value must be, in words; names are listed when they are needed."""
        return f"one of {', '.join(self.registry.names())}" if self.registry else self.what


def name_in(registry: Registry[Any]) -> Kind:
    """The name of an object of a registry."""
    return Kind("name", registry.what, registry.__contains__, registry=registry)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value))


def is_text(value: Any) -> bool:
    """Whether a value may be a text: the name of a file, or strings."""
    return _is_path(value) or (
        isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    )


def are_paths(value: Any) -> bool:
    """Whether a value is the name of a file or folder, or a list of such names."""
    return _is_path(value) or (isinstance(value, (list, tuple)) and all(map(_is_path, value)))


def _is_bitext(value: Any) -> bool:
    return _is_path(value) or isinstance(value, Sequence) or hasattr(value, "paths")


def are_pairs(value: Any) -> bool:
    """Whether a value is a list of pairs of strings."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and all(isinstance(side, str) for side in pair)
        for pair in value
    )


def _names(value: Any) -> tuple[str, str] | None:
    """The two names of ``de,en``, or of a list; None if there are not two."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or len(names) != 2:
        return None
    valid = all(isinstance(name, (str, int)) and name != "" for name in names)
    return (str(names[0]), str(names[1])) if valid else None


PATH = Kind("path", "the name of a file or folder", _is_path)
AnyPath: TypeAlias = str | os.PathLike[str]
Name: TypeAlias = Annotated[
    str, Kind("name", "a name", lambda value: isinstance(value, str) and bool(value))
]
"""A text that is used as it is, even ``none``."""
File: TypeAlias = Annotated[AnyPath, Kind("file", "the name of a file", _is_path)]
Folder: TypeAlias = Annotated[AnyPath, Kind("folder", "the name of a folder", _is_path)]
AnyRelease: TypeAlias = Annotated[
    Any,
    Kind(
        "folder",
        "a release, or its folder",
        lambda value: _is_path(value) or hasattr(value, "manifest"),
    ),
]
Text: TypeAlias = Annotated[Any, Kind("text", "the name of a file, or a list of strings", is_text)]
"""One text: a file (plain, compressed, ``TABLE:COLUMN``), or its lines in memory (a list, a pandas
Series).
"""
Paths: TypeAlias = Annotated[
    Any, Kind("paths", "the name of a file, or a list of such names", are_paths, many=True)
]
Files: TypeAlias = Annotated[
    Any, Kind("files", "the name of a file, or a list of such names", are_paths, many=True)
]
"""Like :data:`Paths`, but an option takes every word up to the next option."""
Bitext: TypeAlias = Annotated[
    Any, Kind("corpus", "a file with both sides, two files, or two lists of sentences", _is_bitext)
]
"""A text in two languages: a :class:`~cgbench.text.formats.CorpusSpec` or what one is made from."""
Bitexts: TypeAlias = Annotated[
    Any, Kind("corpora", "a corpus, or a list of corpora", _is_bitext, many=True)
]
Pairs: TypeAlias = Annotated[Any, Kind("pairs", "a list of pairs, (source, target)", are_pairs)]
AnyEngine: TypeAlias = Annotated[
    Any, Kind("engine", "an engine of cgbench.engines", lambda value: hasattr(value, "at_once"))
]
AnyFunction: TypeAlias = Annotated[Any, Kind("function", "a function", callable)]
Options: TypeAlias = Annotated[
    Any, Kind("options", "a mapping of names to values", lambda value: isinstance(value, Mapping))
]
Model: TypeAlias = Annotated[AnyPath, Kind("model", "the name of a model", _is_path)]
Models: TypeAlias = Annotated[
    Any, Kind("model", "the name of a model, or a list of such names", are_paths, many=True)
]
NamePair: TypeAlias = Annotated[
    Any,
    Kind(
        "pair",
        "two names, the source's and the target's, such as de,en",
        lambda value: bool(_names(value)),
        read=_names,
    ),
]
Systems: TypeAlias = Annotated[
    Any,
    Kind(
        "systems",
        "a text, a list of texts, or these by system",
        lambda value: isinstance(value, Mapping) or is_text(value),
        many=True,
    ),
]
"""Hypotheses: a text, a list of texts (one per seed), or a mapping of these by system."""


def as_path(value: AnyPath) -> Path:
    """A file's name as a path."""
    return Path(os.fspath(value))
