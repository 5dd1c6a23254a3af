"""Requests: one class per job, which defines its command, Python signature, YAML keys and table in
the docs.

A request is a class with :func:`request` whose fields are made by :func:`option`: type, default,
help, group, unit and range. :func:`accepts` turns a function of a request into one that takes the
fields as arguments; :mod:`cgbench.commands.options` turns the same fields into options. A wrong
value raises the same :class:`~cgbench.errors.InputError` everywhere, which names the field (in
Python) or the option (on the command line).

A field may be a request itself, a *part*: ``comparison: Comparison = option(default=Comparison(),
...)``, an instance or a mapping of its arguments. Fields of a part can also be given directly, by
their name alone (``samples``), as the command line and YAML files have them (:func:`leaves_of`); so
names of fields must differ between parts. A field of the request with the name of one of a part is
the same, in the signature (``paired``); it is declared with its default alone.

Values are converted by msgspec, chosen for its import: 0.016 s, pydantic's 0.063 s (Python 3.11,
2026-11-23).
"""

import contextlib
import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY as KW_ONLY
from functools import cache
from typing import Any, ParamSpec, TypeVar

from cgbench.argument_types import PATH, AnyPath, Kind, as_path
from cgbench.errors import InputError, argument
from cgbench.settings import (
    NO_LIMITS,
    NONE,
    Range,
    choices_of,
    did_you_mean,
    in_words,
    option,
    read_value,
)
from cgbench.yaml_text import load_yaml

P = ParamSpec("P")
R = TypeVar("R", contravariant=True)
T = TypeVar("T", covariant=True)
C = TypeVar("C", bound=type)
T2 = TypeVar("T2")


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a request; ``part`` is the request class of a part."""

    name: str
    type: Any
    default: Any
    help: str = ""
    group: str = ""
    unit: str = ""
    flag: str = ""
    metavar: str | None = None
    python_only: bool = False
    is_setting: bool = False
    range: Range = NO_LIMITS
    kind: Kind | None = None
    part: Any = None

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is dataclasses.MISSING

    @property
    def takes_none(self) -> bool:
        """Whether None is a value."""
        return NONE in typing.get_args(self.type) or self.type is Any

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a ``Literal``; else empty."""
        return typing.get_args(
            next(
                (
                    hint
                    for hint in choices_of(self.type)
                    if typing.get_origin(hint) is typing.Literal
                ),
                None,
            )
        )

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        if self.part:
            return f"{self.part.__name__}(...), or a mapping of its arguments"
        return self.kind.what if self.kind else in_words(self.type, self.range)


@typing.dataclass_transform(frozen_default=True, field_specifiers=(option, dataclasses.field))
def request(cls: C) -> C:
    """Turn a class into a request: an immutable dataclass that converts and checks its values when
    it is made.

    The names that were given are in ``given``; a class method ``presets(values)`` may return other
    defaults for the rest. A class with ``open_field = "settings"`` takes unknown names into its
    field of that name.
    """
    kind: Any = dataclasses.dataclass(frozen=True)(cls)
    plain_init = kind.__init__

    @functools.wraps(plain_init)
    def init(self: Any, *values: Any, **keywords: Any) -> None:
        fields, arguments = fields_of(kind), _arguments(kind, values, keywords)
        converted = {name: read_field(fields[name], value) for name, value in arguments.items()}
        for section, name in short_ways(kind):
            if name in getattr(converted.get(section), "given", ()):
                converted[name] = getattr(converted[section], name)
        object.__setattr__(self, "given", frozenset(arguments))
        plain_init(self, **_with_preset(kind, converted) if hasattr(kind, "presets") else converted)

    kind.__init__, kind.is_request = init, True
    return kind


@cache
def short_ways(kind: Any) -> tuple[tuple[str, str], ...]:
    """The fields of a request that are also fields of a part, each after the name of the part."""
    fields = fields_of(kind)
    sections = [
        (field.name, leaf)
        for field in fields.values()
        if field.part
        for leaf in fields_of(field.part)
    ]
    return tuple(
        (section, leaf) for section, leaf in sections if leaf in fields and not fields[leaf].part
    )


def _arguments(kind: Any, values: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a request by field, not yet converted.

    :raises InputError: a name is unknown, or a value is missing.
    """
    fields = fields_of(kind)
    positional = [field.name for field in dataclasses.fields(kind) if not field.kw_only]
    if len(values) > len(positional):
        last = positional[-1] if positional else "none"
        raise InputError(f"{len(values)} arguments without a name; name those after {last}")
    by_name = dict(zip(positional, values, strict=False))
    if repeated := [name for name in by_name if name in keywords]:
        raise InputError(f"{argument(repeated[0])}: it is given twice")
    arguments = _nested(kind, {**by_name, **keywords})
    if unknown := {name: arguments.pop(name) for name in [*arguments] if name not in fields}:
        if not hasattr(kind, "open_field"):
            name = next(iter(unknown))
            raise InputError(
                f"{argument(name)}: there is no such argument{did_you_mean(name, leaves_of(kind))}"
            )
        arguments[kind.open_field] = {**(arguments.get(kind.open_field) or {}), **unknown}
    for field in fields.values():
        if field.required and field.name not in arguments:
            raise InputError(f"{argument(field.name)}: it is missing; it must be {field.allowed}")
    return arguments


def _nested(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with the fields of each part in a mapping: ``samples`` (or ``comparison.samples``) of
    ``comparison``.
    """
    parts = [field for field in fields_of(kind).values() if field.part]
    owners = {leaf: field.name for field in parts for leaf in leaves_of(field.part)}
    fields = fields_of(kind).keys() - {name for _, name in short_ways(kind)}
    arguments = {name: value for name, value in values.items() if name in fields}
    for name, value in values.items():
        if name not in fields:
            leaf = _leaf_name(kind, name)
            owner = owners.get(leaf)
            arguments |= (
                {owner: {**_as_mapping(arguments.get(owner)), leaf: value}}
                if owner
                else {name: value}
            )
    return arguments


def _as_mapping(section: Any) -> Mapping[str, Any]:
    return given_values(section) if hasattr(section, "is_request") else section or {}


def _with_preset(kind: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, with the defaults that a preset gives to other fields and to fields of parts."""
    values = dict(arguments)
    for name, default in _nested(kind, kind.presets(arguments)).items():
        field = fields_of(kind)[name]
        if field.part:
            arguments_of_part = _as_mapping(values.get(name))
            values[name] = read_field(field, {**default, **arguments_of_part})
            object.__setattr__(
                values[name], "given", frozenset(_nested(field.part, arguments_of_part))
            )
        elif name not in values:
            values[name] = read_field(field, default)
    return values


@cache
def fields_of(kind: Any) -> dict[str, Field]:
    """The fields of a request by name, in the order of help and pages: its own, then those that it
    shares.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {}
    for field in sorted(
        dataclasses.fields(kind), key=lambda field: field.name not in kind.__annotations__
    ):
        hint = hints[field.name]
        alternatives = typing.get_args(hint) if NONE in typing.get_args(hint) else (hint,)
        extras = [extra for hint in alternatives for extra in getattr(hint, "__metadata__", ())]
        metadata = {
            **field.metadata,
            "flag": f"--{field.metadata['flag'] or field.name.replace('_', '-')}",
        }
        fields[field.name] = Field(
            name=field.name,
            type=hint,
            default=field.default,
            kind=next((extra for extra in extras if isinstance(extra, Kind)), None),
            part=next((hint for hint in alternatives if getattr(hint, "is_request", False)), None),
            **metadata,
        )
    for part in [field.part for field in fields.values() if field.part]:
        fields |= {name: leaf for name, leaf in fields_of(part).items() if name in fields}
    return fields


@cache
def leaves_of(kind: Any) -> dict[str, Field]:
    """The fields of a request as the command line and YAML have them: those of each part instead of
    the part.
    """
    leaves: dict[str, Field] = {}
    short = {name for _, name in short_ways(kind)}
    for field in fields_of(kind).values():
        if field.name in short:
            continue
        for leaf in leaves_of(field.part).values() if field.part else [field]:
            if leaf.name in leaves:
                raise TypeError(f"{kind.__name__}: two fields are called {leaf.name}")
            if field.part:
                default = None if leaf.required and not field.required else leaf.default
                leaf = dataclasses.replace(leaf, default=default, group=leaf.group or field.group)
            leaves[leaf.name] = leaf
    return leaves


def _leaf_name(kind: Any, name: str) -> str:
    """``samples`` for ``comparison.samples``, a field of a part; other names as they are."""
    section, _, inner = name.partition(".")
    field = fields_of(kind).get(section)
    return _leaf_name(field.part, inner) if inner and field and field.part else name


def given_values(request: Any) -> dict[str, Any]:
    """The values that a request was given, those of parts by their own names: for a manifest, or a
    YAML file.
    """
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


def flat_values(request: Any) -> dict[str, Any]:
    """All values of a request, those of parts by their own names."""
    values: dict[str, Any] = {}
    for name, field in fields_of(request.__class__).items():
        value = getattr(request, name)
        values |= flat_values(value) if field.part and value is not None else {name: value}
    return values


def read_values(kind: Any, path: AnyPath) -> dict[str, Any]:
    """The values of a request in a YAML file by name; ``training: {max_updates: 5}`` is
    ``training.max_updates``.

    :raises InputError: the file is not such YAML, or sets a field twice.
    """
    data = load_yaml(as_path(path))
    if not isinstance(data, dict):
        raise InputError(f"{path}: settings are written as 'key: value' lines")
    fields, leaves, values = fields_of(kind), leaves_of(kind), {}

    def add(name: str, value: Any) -> None:
        is_part = name in fields and fields[name].part
        if isinstance(value, dict) and value and (is_part or name not in leaves):
            for key, inner in value.items():
                add(key if is_part else f"{name}.{key}", inner)
            return
        leaf = _leaf_name(kind, name)
        if leaf in values:
            raise InputError(f"{path}: {leaf} is set twice; keep one")
        values[leaf] = value

    for name, value in data.items():
        add(name, value)
    return values


def read_field(field: Field, value: Any) -> Any:
    """A value as the type of a field.

    :raises InputError: it does not fit.
    """
    if not field.required and value is field.default:
        return value
    if (field.kind or field.part) and value is None and field.takes_none:
        return value
    if isinstance(value, str) and field.type == tuple[str, ...]:
        value = (value,)
    if field.part:
        if isinstance(value, field.part):
            return value
        if isinstance(value, Mapping):
            return field.part(**value)
    elif field.kind:
        if field.kind.fits(value):
            return field.kind.read(value) if field.kind.read else value
    else:
        with contextlib.suppress(InputError):
            return read_value(field.name, value, field.type, field.range)
    nearest = (
        did_you_mean(value, map(str, field.choices))
        if isinstance(value, str) and field.choices
        else ""
    )
    nearest = nearest if nearest.startswith("; did") else ""
    text = value if isinstance(value, str) else repr(value)
    raise InputError(f"{argument(field.name, value, text)}: it must be {field.allowed}{nearest}")


def check(hint: Any, least: float | None = None, **arguments: Any) -> None:
    """Check arguments of a function that has no request; None is an argument that was not given,
    and passes.

    :param hint: the type of all; ``least``: the smallest number allowed.
    :raises InputError: one is of another type, or too small.
    """
    for name, value in arguments.items():
        field = Field(name, hint, dataclasses.MISSING, range=Range(least))
        if isinstance(value, str) and hint in (int, float, bool):
            raise InputError(f"{argument(name, value)}: it must be {field.allowed}")
        if value is not None:
            read_field(field, value)


def check_path(**arguments: Any) -> None:
    """Check that arguments of a function that has no request are names of files or folders.

    :raises InputError: one is not.
    """
    for name, value in arguments.items():
        read_field(Field(name, AnyPath, dataclasses.MISSING, kind=PATH), value)


class Accepts(typing.Protocol[P, R, T]):
    """A function of a request's fields, or of a request."""

    @typing.overload
    def __call__(self, request: R, /) -> T: ...

    @typing.overload
    def __call__(self, *values: P.args, **named: P.kwargs) -> T: ...


def accepts(kind: Callable[P, R]) -> Callable[[Callable[[R], T]], Accepts[P, R, T]]:
    """Make a function of a request one that takes the request's fields as arguments.

    Editors and type checkers see the fields, their types and defaults; so does
    :func:`inspect.signature`. A request may be given instead, as the only argument.
    """
    cls: Any = kind

    def decorate(function: Callable[[R], T]) -> Accepts[P, R, T]:
        @functools.wraps(function)
        def call(*values: Any, **keywords: Any) -> T:
            ready = len(values) == 1 and isinstance(values[0], cls) and not keywords
            return function(values[0] if ready else cls(*values, **keywords))

        signature = inspect.signature(cls).replace(
            return_annotation=inspect.signature(function).return_annotation
        )
        call.__signature__ = signature  # type: ignore[attr-defined]
        help = "\n".join(f":param {field.name}: {field.help}" for field in fields_of(cls).values())
        call.__doc__ = f"{function.__doc__ or ''}\n\n{help}"
        return typing.cast(Accepts[P, R, T], call)

    return decorate


def changed(request: T2, **values: Any) -> T2:
    """The same request with some values changed; presets are read again."""
    return type(request)(
        **{name: getattr(request, name) for name in getattr(request, "given", ())} | values
    )
