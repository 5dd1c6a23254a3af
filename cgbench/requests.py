"""Requests: one class per job, which defines its command, Python signature, YAML keys and table in the docs.

A request is a class with :func:`request` whose fields are made by :func:`option`: type, default, help, group, unit and
range. :func:`accepts` turns a function of a request into one that takes the fields as arguments;
:mod:`cgbench.commands.options` turns the same fields into options. A wrong value raises the same
:class:`~cgbench.errors.InputError` everywhere, which names the field (in Python) or the option (on the command line).

A field may be a request itself, a *part*: ``comparison: Comparison = option(default=Comparison(), ...)``. In Python it
is an instance or a mapping of its arguments. The command line and YAML files have the fields of the part next to those
of the request (:func:`leaves_of`, :func:`from_flat`), so their names must differ.

Values are converted by msgspec. It was chosen over pydantic for its import: 0.016 s against 0.063 s, and 0.02 s more
for each model (msgspec 0.22, pydantic 2.14; Python 3.11, two cores, 2026-11-23).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY as KW_ONLY
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeAlias, TypeVar

from cgbench.errors import InputError, argument
from cgbench.settings import Range, describe, did_you_mean, option, read_value, read_yaml

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Mark a decorator for type checkers; at run time, nothing."""
        return lambda decorator: decorator


P = ParamSpec("P")
R = TypeVar("R", contravariant=True)
T = TypeVar("T", covariant=True)
C = TypeVar("C", bound=type)
T2 = TypeVar("T2")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type of this package: a text, a corpus, the hypotheses of systems.

    :param name: what options of this kind are called on the command line (:mod:`cgbench.commands.options`).
    :param what: what it is, in messages: "a file, or a list of strings".
    :param fits: whether a value can be one. What the value holds is checked where it is read.
    :param many: whether the value is several of these, and the option repeatable.
    :param read: makes of a value that fits what the field holds (default: the value itself).
    """

    name: str
    what: str
    fits: Callable[[Any], bool]
    many: bool = False
    read: Callable[[Any], Any] | None = None


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a request."""

    name: str
    type: Any
    default: Any
    help: str
    group: str
    unit: str
    flag: str
    metavar: str | None
    python_only: bool
    is_setting: bool
    range: Range
    kind: Kind | None
    part: Any = None
    """The request class of a part; None for other fields."""

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is dataclasses.MISSING

    @property
    def takes_none(self) -> bool:
        """Whether None is a value."""
        return type(None) in typing.get_args(self.type) or self.type is Any

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a ``Literal``; else empty."""
        return typing.get_args(
            next((hint for hint in _alternatives(self.type) if typing.get_origin(hint) is typing.Literal), None)
        )

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        if self.part:
            return f"{self.part.__name__}(...), or a mapping of its arguments"
        return self.kind.what if self.kind else describe(self.type, self.range)


@dataclass_transform(frozen_default=True, field_specifiers=(option, dataclasses.field))
def request(cls: C) -> C:
    """Turn a class into a request: an immutable dataclass that converts and checks its values when it is made.

    The names that were given are in ``given``; a class method ``presets(values)`` may return other defaults for the
    rest. A class with ``open_field = "settings"`` takes unknown names into its field of that name. Two requests are
    equal if their values are; paths are compared by name, and tuples with lists.
    """
    made: Any = dataclasses.dataclass(frozen=True, eq=False)(cls)
    plain_init = made.__init__

    @functools.wraps(plain_init)
    def init(self: Any, *values: Any, **named: Any) -> None:
        arguments = _read(made, values, named)
        rest = made.presets(arguments) if hasattr(made, "presets") else {}
        object.__setattr__(self, "given", frozenset(arguments))
        plain_init(self, **{**rest, **arguments})

    def equal(self: Any, other: Any) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_plain(getattr(self, name)) == _plain(getattr(other, name)) for name in fields_of(made))

    made.__init__, made.__eq__, made.is_request = init, equal, True
    made.__hash__ = lambda self: hash(type(self))
    return made


def _plain(value: Any) -> Any:
    """A value of YAML types: a path as its name, a tuple as a list; other objects as they are."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def _read(kind: Any, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a request by name, as their types.

    :raises InputError: a name is unknown, a value is missing, or one does not fit; the message names the field.
    """
    fields = fields_of(kind)
    positional = [field.name for field in dataclasses.fields(kind) if not field.kw_only]
    if len(values) > len(positional):
        last = positional[-1] if positional else "none"
        raise InputError(f"{len(values)} arguments without a name; name those after {last}")
    by_name = dict(zip(positional, values, strict=False))
    if repeated := [name for name in by_name if name in named]:
        raise InputError(f"{argument(repeated[0])}: it is given twice")
    by_name |= named
    if unknown := {name: value for name, value in by_name.items() if name not in fields}:
        name = next(iter(unknown))
        if owner := next((field for field in fields.values() if field.part and name in leaves_of(field.part)), None):
            raise InputError(f"{argument(name)}: write it as {owner.name}={owner.part.__name__}({name}=...)")
        if not hasattr(kind, "open_field"):
            raise InputError(f"{argument(name)}: there is no such argument{did_you_mean(name, fields)}")
        by_name = {name: value for name, value in by_name.items() if name in fields}
        by_name[kind.open_field] = {**(by_name.get(kind.open_field) or {}), **unknown}
    for field in fields.values():
        if field.required and field.name not in by_name:
            raise InputError(f"{argument(field.name)}: it is missing; it must be {field.allowed}")
    return {name: read_field(fields[name], value) for name, value in by_name.items()}


@cache
def fields_of(kind: Any) -> dict[str, Field]:
    """The fields of a request by name, in the order of help and pages: its own, then those that it shares."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {}
    for field in sorted(dataclasses.fields(kind), key=lambda field: field.name not in kind.__annotations__):
        alternatives = _alternatives(hints[field.name])
        extras = [extra for hint in alternatives for extra in getattr(hint, "__metadata__", ())]
        metadata = {**field.metadata, "flag": f"--{field.metadata['flag'] or field.name.replace('_', '-')}"}
        fields[field.name] = Field(
            name=field.name,
            type=hints[field.name],
            default=field.default,
            kind=next((extra for extra in extras if isinstance(extra, Kind)), None),
            part=next((hint for hint in alternatives if getattr(hint, "is_request", False)), None),
            **metadata,
        )
    return fields


@cache
def leaves_of(kind: Any) -> dict[str, Field]:
    """The fields of a request as the command line and YAML have them: those of each part instead of the part."""
    leaves: dict[str, Field] = {}
    for field in fields_of(kind).values():
        for leaf in leaves_of(field.part).values() if field.part else [field]:
            if leaf.name in leaves:
                raise TypeError(f"{kind.__name__}: two fields are called {leaf.name}")
            if field.part:
                default = None if leaf.required and not field.required else leaf.default
                group = leaf.group or field.group
                leaf = dataclasses.replace(leaf, default=default, group=group)
            leaves[leaf.name] = leaf
    return leaves


def from_flat(kind: Callable[..., T2], values: Mapping[str, Any]) -> T2:
    """A request from names of the command line and YAML: ``samples`` or ``comparison.samples`` for a field of a part.

    Of a value that is given twice, the last counts.

    :raises InputError: as :func:`request` does.
    """
    fields = fields_of(kind)
    owners = {leaf: field.name for field in fields.values() if field.part for leaf in leaves_of(field.part)}
    arguments: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        leaf = _leaf_name(kind, name)
        if leaf in owners:
            inner.setdefault(owners[leaf], {})[leaf] = value
        else:
            arguments[name] = value
    for section, part_values in inner.items():
        part = arguments.get(section)
        base = given_values(part) if hasattr(part, "is_request") else part or {}
        arguments[section] = from_flat(fields[section].part, {**base, **part_values})
    return kind(**arguments)


def _leaf_name(kind: Any, name: str) -> str:
    """``samples`` for ``comparison.samples``, a field of a part; other names as they are."""
    section, _, rest = name.partition(".")
    field = fields_of(kind).get(section)
    return _leaf_name(field.part, rest) if rest and field and field.part else name


def read_values(kind: Any, path: AnyPath) -> dict[str, Any]:
    """The values of a request in a YAML file, as :func:`from_flat` takes them.

    :raises InputError: the file is not such YAML, or sets a field twice.
    """
    fields, values = fields_of(kind), {}
    for section, whole in read_yaml(as_path(path), {*fields, *leaves_of(kind)}).items():
        is_part = section in fields and fields[section].part and isinstance(whole, Mapping) and whole
        for name, value in whole.items() if is_part else [(section, whole)]:
            leaf = _leaf_name(kind, name)
            if leaf in values:
                raise InputError(f"{path}: {leaf} is set twice; keep one")
            values[leaf] = value
    return values


def given_values(request: Any) -> dict[str, Any]:
    """The values that a request was given, as :func:`from_flat` takes them: for a manifest, or a YAML file."""
    kind: Any = type(request)
    values: dict[str, Any] = {}
    for name, field in fields_of(kind).items():
        value = getattr(request, name)
        if name not in request.given:
            continue
        if name == getattr(kind, "open_field", None):
            values |= value
        elif field.part and value is not None:
            values |= given_values(value) or {name: {}}
        else:
            values[name] = value
    return values


def to_yaml(request: Any) -> str:
    """The values that a request was given as YAML, which :func:`from_yaml` reads.

    :raises InputError: a value is an object in memory, such as an engine.
    """
    import yaml

    values = _plain(given_values(request))
    for name, value in values.items():
        try:
            yaml.safe_dump(value)
        except yaml.YAMLError:
            raise InputError(f"{argument(name, _short(value))}: cannot be written to YAML") from None
    return str(yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=1000))


def from_yaml(kind: Callable[..., T2], path: AnyPath) -> T2:
    """A request from a YAML file.

    :raises InputError: the file is not such YAML, or a value does not fit.
    """
    return from_flat(kind, read_values(kind, path))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """A type, or those of a union with None."""
    return typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)


def read_field(field: Field, value: Any) -> Any:
    """A value as the type of a field.

    :raises InputError: it does not fit.
    """
    if not field.required and value is field.default:
        return value
    if (field.kind or field.part) and value is None and field.takes_none:
        return value
    if field.part:
        if isinstance(value, field.part):
            return value
        if isinstance(value, Mapping):
            return from_flat(field.part, value)
    elif field.kind:
        if field.kind.fits(value):
            return field.kind.read(value) if field.kind.read else value
    else:
        try:
            return read_value(field.name, value, field.type, field.range)
        except InputError:
            pass
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, str) and field.choices:
        near = did_you_mean(value, map(str, field.choices))
        near = near if near.startswith("; did") else ""
        raise InputError(f"{argument(field.name, value, text=text)}: it must be {field.allowed}{near}")
    raise InputError(f"{argument(field.name, _short(value), text=_short_text(text))}: it must be {field.allowed}")


def check(hint: Any, least: float | None = None, **given: Any) -> None:
    """Check arguments of a function that has no request; None is an argument that was not given, and passes.

    :param hint: the type of all; ``least``: the smallest number allowed.
    :raises InputError: one is of another type, or too small.
    """
    limits = Range(least)
    for name, value in given.items():
        if value is None:
            continue
        try:
            if isinstance(value, str) and hint in (int, float, bool):
                raise InputError("")
            read_value(name, value, hint, limits)
        except InputError:
            shown = argument(name, _short(value), text=_short_text(str(value)))
            raise InputError(f"{shown}: it must be {describe(hint, limits)}") from None


def check_path(**given: Any) -> None:
    """Check that arguments of a function that has no request are names of files or folders.

    :raises InputError: one is not.
    """
    for name, value in given.items():
        if not _is_path(value):
            raise InputError(f"{argument(name, _short(value))}: it must be the name of a file or folder")


def _short_text(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."


class _Shown:
    """A long value as a message shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _short(value: Any) -> Any:
    return _Shown("None") if value is None else _Shown(_short_text(repr(value)))


class Accepts(typing.Protocol[P, R, T]):
    """A function of a request's fields, or of a request."""

    @typing.overload
    def __call__(self, request: R, /) -> T: ...

    @typing.overload
    def __call__(self, *values: P.args, **named: P.kwargs) -> T: ...


def accepts(kind: Callable[P, R]) -> Callable[[Callable[[R], T]], Accepts[P, R, T]]:
    """Make a function of a request one that takes the request's fields as arguments.

    Editors and type checkers see the fields, their types and defaults; so does :func:`inspect.signature`. A request may
    be given instead, as the only argument.
    """
    cls: Any = kind

    def decorate(function: Callable[[R], T]) -> Accepts[P, R, T]:
        @functools.wraps(function)
        def call(*values: Any, **named: Any) -> T:
            ready = len(values) == 1 and isinstance(values[0], cls) and not named
            return function(values[0] if ready else cls(*values, **named))

        signature = inspect.signature(cls).replace(return_annotation=inspect.signature(function).return_annotation)
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = f"{function.__doc__ or ''}\n\n{arguments_of(cls)}"
        return typing.cast(Accepts[P, R, T], call)

    return decorate


def arguments_of(kind: type) -> str:
    """The fields of a request as the parameters of a docstring."""
    return "\n".join(f":param {field.name}: {field.help}" for field in fields_of(kind).values())


def changed(made: T2, **values: Any) -> T2:
    """The same request with some values changed; presets are read again."""
    request: Any = made
    return from_flat(type(made), {name: getattr(request, name) for name in request.given} | values)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value))


def _is_release(value: Any) -> bool:
    return _is_path(value) or hasattr(value, "manifest")


def is_text(value: Any) -> bool:
    """Whether a value may be a text: the name of a file, or strings."""
    return _is_path(value) or (isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)))


def are_paths(value: Any) -> bool:
    """Whether a value is the name of a file or folder, or a list of such names."""
    return _is_path(value) or (isinstance(value, (list, tuple)) and all(map(_is_path, value)))


def _is_bitext(value: Any) -> bool:
    return _is_path(value) or isinstance(value, Sequence) or hasattr(value, "paths")


def are_pairs(value: Any) -> bool:
    """Whether a value is a list of pairs of strings."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(side, str) for side in pair)
        for pair in value
    )


def _is_pair(value: Any) -> bool:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        return False
    return all(isinstance(part, (str, int)) and part != "" for part in parts)


def _seconds(value: Any) -> float | None:
    """The seconds of ``90m``, ``1h30m``, ``45`` or a number; None where it is no time."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    number = "([0-9]{1,9}(?:[.][0-9]+)?)"
    found = re.fullmatch(f"(?:{number}d)?(?:{number}h)?(?:{number}m)?(?:{number}s?)?", str(value).strip())
    parts = zip(found.groups(), (86400, 3600, 60, 1), strict=True) if found else ()
    return sum(float(part or 0) * unit for part, unit in parts) or None


def _is_systems(value: Any) -> bool:
    return isinstance(value, Mapping) or is_text(value)


AnyPath: TypeAlias = str | os.PathLike[str]
Name: TypeAlias = Annotated[str, Kind("name", "a name", lambda value: isinstance(value, str) and bool(value))]
"""A text that is used as it is, even ``none``."""
File: TypeAlias = Annotated[AnyPath, Kind("file", "the name of a file", _is_path)]
Folder: TypeAlias = Annotated[AnyPath, Kind("folder", "the name of a folder", _is_path)]
AnyRelease: TypeAlias = Annotated[Any, Kind("folder", "a release, or its folder", _is_release)]
Text: TypeAlias = Annotated[Any, Kind("text", "the name of a file, or a list of strings", is_text)]
"""One text: a file (plain, compressed, ``TABLE:COLUMN``), or its lines in memory (a list, a pandas Series)."""
Paths: TypeAlias = Annotated[Any, Kind("paths", "the name of a file, or a list of such names", are_paths, many=True)]
Bitext: TypeAlias = Annotated[
    Any, Kind("corpus", "a file with both sides, two files, or two lists of sentences", _is_bitext)
]
"""A text in two languages: a :class:`~cgbench.text.formats.CorpusSpec` or what one is made from."""
Bitexts: TypeAlias = Annotated[Any, Kind("corpora", "a corpus, or a list of corpora", _is_bitext, many=True)]
Pairs: TypeAlias = Annotated[Any, Kind("pairs", "a list of pairs, (source, target)", are_pairs)]
AnyEngine: TypeAlias = Annotated[
    Any, Kind("engine", "an engine of cgbench.engines", lambda value: hasattr(value, "at_once"))
]
AnyFunction: TypeAlias = Annotated[Any, Kind("function", "a function", callable)]
Model: TypeAlias = Annotated[AnyPath, Kind("model", "the name of a model", _is_path)]
Files: TypeAlias = Annotated[Any, Kind("files", "the name of a file, or a list of such names", are_paths, many=True)]
"""Like :data:`Paths`, but an option takes every word up to the next option."""
Duration: TypeAlias = Annotated[
    float | str,
    Kind("duration", "a time such as 90m, 1h30m or 45s", lambda value: _seconds(value) is not None, read=_seconds),
]
"""Seconds: a number, or words such as ``1h30m``."""
Models: TypeAlias = Annotated[Any, Kind("model", "the name of a model, or a list of such names", are_paths, many=True)]
NamePair: TypeAlias = Annotated[
    Any,
    Kind(
        "pair",
        "two names, the source's and the target's, such as de,en",
        _is_pair,
        read=lambda value: tuple(map(str, value.split(",") if isinstance(value, str) else value)),
    ),
]

Systems: TypeAlias = Annotated[
    Any, Kind("systems", "a text, a list of texts, or these by system", _is_systems, many=True)
]
"""Hypotheses: a text, a list of texts (one per seed), or a mapping of these by system."""


def as_path(value: AnyPath) -> Path:
    """A file's name as a path."""
    return Path(os.fspath(value))


@request
class TableOptions:
    """The columns of the two sides in a table."""

    _: KW_ONLY
    columns: NamePair | None = option(
        default=None, help="Source and target columns of a table (TSV: numbers from 1)", metavar="S,T", group="Input"
    )


@request
class CorpusOptions(TableOptions):
    """The columns and languages of a corpus."""

    _: KW_ONLY
    languages: NamePair | None = option(
        default=None, help="Source and target language codes [default: last part of each file name]", metavar="S,T",
        group="Input",
    )  # fmt: skip


@request
class TaskOptions:
    """The engine of a job; on the command line it comes from ``--engine`` and related options."""

    _: KW_ONLY
    jobs: int | None = option(
        default=None, help="Number of parallel tasks, which does not change the output [default: all cores]", least=1,
        python_only=True,
    )  # fmt: skip
    engine: AnyEngine | None = option(
        default=None, help="Engine that runs the tasks [default: local processes]", python_only=True
    )


@request
class StepOptions(TaskOptions):
    """The same, for a job that reports its steps."""

    _: KW_ONLY
    say: AnyFunction | None = option(
        default=None, help="Function that receives one line per step: why it runs or is kept", python_only=True
    )
