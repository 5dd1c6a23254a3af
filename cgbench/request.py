"""Requests: one class per job, which defines its command, Python signature, YAML keys and table in
the docs.

A request is a subclass of :class:`Request` whose fields are declared by :func:`option`: the
spelling on the command line, type, default, help, group, unit and range. :func:`accepts` turns a
function of a request into one that takes the fields as arguments; :mod:`cgbench.commands.options`
turns the same fields into options. A wrong value raises the same
:class:`~cgbench.errors.InputError` everywhere, which names the field (in Python) or the option (on
the command line); so does a rule between fields, which is the method :meth:`Request.check`.

Requests are composed: a field may be a request itself, a *part*: ``comparison: Comparison =
option(default=Comparison(), ...)``, an instance or a mapping of its arguments. Fields of a part can
also be given directly, by their name alone (``samples``), as the command line and YAML files have
them (:func:`leaves_of`); so names of fields must differ between parts.

Values are converted by msgspec, chosen for its import: 0.016 s, pydantic's 0.063 s (Python 3.11,
2026-11-23).
"""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY as KW_ONLY
from typing import Any, ClassVar, ParamSpec, TypeVar

from cgbench.argument_types import AnyPath, as_path
from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.request_fields import RARE, Field, describe_field, read_field
from cgbench.request_fields import check as check
from cgbench.request_fields import check_path as check_path
from cgbench.request_fields import option as option
from cgbench.settings import choices_of, did_you_mean

P = ParamSpec("P")
R = TypeVar("R", contravariant=True)
T = TypeVar("T", covariant=True)
SomeRequest = TypeVar("SomeRequest", bound="Request")
F = TypeVar("F", bound=Callable[..., Any])


def _once(function: F) -> F:
    """:func:`functools.cache`, for type checkers with the type of the function."""
    return functools.cache(function)  # type: ignore[return-value]


@typing.dataclass_transform(frozen_default=True, field_specifiers=(option,))
class Request(Record):
    """A record that converts and checks its values when it is made.

    The names that were given are in ``given``. A class with ``open_field = "settings"`` takes
    unknown names into its field of that name; ``settings_group`` is the heading of ``--set`` in
    help, empty for a command without it.
    """

    open_field: ClassVar[str] = ""
    settings_group: ClassVar[str] = RARE

    def __init__(self, *values: Any, **keywords: Any) -> None:
        arguments = _arguments(type(self), values, keywords)
        self._set(arguments, _nested(type(self), self.presets(arguments)))

    def _set(self, arguments: Mapping[str, Any], presets: Mapping[str, Any]) -> None:
        """Read and check the values: the arguments, else the presets, else the defaults."""
        values = {
            field.name: _value(field, arguments, presets)
            for field in fields_of(type(self)).values()
        }
        vars(self).update(values, _given=frozenset(arguments))
        vars(self).update(self.implied())
        self.check()

    @classmethod
    def parameters(cls) -> inspect.Signature:
        """The parameters of a call."""
        return _signature(cls)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in given_values(self).items())
        return f"{type(self).__name__}({values})"

    @property
    def given(self) -> frozenset[str]:
        """The names of the fields that were given."""
        names: frozenset[str] = vars(self)["_given"]
        return names

    @classmethod
    def presets(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Defaults that the arguments imply, in place of those of the class: a preset's."""
        return {}

    def implied(self) -> Mapping[str, Any]:
        """Values that other values imply, in place of those given."""
        return {}

    def check(self) -> None:
        """Check the rules between values.

        :raises InputError: values contradict each other.
        """


def _value(field: Field, arguments: Mapping[str, Any], presets: Mapping[str, Any]) -> Any:
    """The value of a field of a request; that of a part has its own arguments and presets."""
    if field.part and field.name in presets:
        part = object.__new__(field.part)
        given = _part_arguments(field, arguments.get(field.name, {}))
        part._set(_arguments(field.part, (), given), _nested(field.part, presets[field.name]))
        return part
    if field.name in arguments:
        return read_field(field, arguments[field.name])
    if field.name in presets:
        return read_field(field, presets[field.name])
    return field.default


def _arguments(
    kind: type[Request], values: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a request by field, not yet converted.

    :raises InputError: a name is unknown, or a value is missing.
    """
    fields = fields_of(kind)
    positional = _positional(kind)
    if len(values) > len(positional):
        last = positional[-1] if positional else "none"
        raise InputError(f"{len(values)} arguments without a name; name those after {last}")
    by_name = dict(zip(positional, values, strict=False))
    if repeated := [name for name in by_name if name in keywords]:
        raise InputError(f"{argument(repeated[0])}: it is given twice")
    arguments = _nested(kind, {**by_name, **keywords})
    unknown = {name: arguments.pop(name) for name in [*arguments] if name not in fields}
    if unknown and not kind.open_field:
        name = next(iter(unknown))
        nearest = did_you_mean(name, leaves_of(kind))
        raise InputError(f"{argument(name)}: there is no such argument{nearest}")
    if unknown:
        arguments[kind.open_field] = {**(arguments.get(kind.open_field) or {}), **unknown}
    for field in fields.values():
        if field.required and field.part:
            arguments.setdefault(field.name, {})
        if field.required and field.name not in arguments:
            raise InputError(f"{argument(field.name)}: it is missing; it must be {field.allowed}")
    return arguments


def _nested(kind: type[Request], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values with the fields of each part in a mapping: ``samples`` (or ``comparison.samples``) of
    ``comparison``.
    """
    fields, owners = fields_of(kind), _owners(kind)
    nested = {name: value for name, value in values.items() if name in fields}
    for name, value in values.items():
        if name in fields:
            continue
        leaf = _leaf_name(kind, name)
        owner = owners.get(leaf)
        if owner is None:
            nested[name] = value
        else:
            nested[owner] = {**_part_arguments(fields[owner], nested.get(owner, {})), leaf: value}
    return nested


def _part_arguments(field: Field, value: Any) -> Mapping[str, Any]:
    """The arguments of a part, which is a request, a mapping, or None.

    :raises InputError: it is something else.
    """
    if isinstance(value, Mapping):
        return value
    part = read_field(field, value)
    return {} if part is None else given_values(part)


@_once
def _positional(kind: Any) -> list[str]:
    """The names of the fields that need no name in a call; a part without a default stands for its
    own.
    """
    names = []
    for field in dataclasses.fields(kind):
        described = fields_of(kind)[field.name]
        if not field.kw_only:
            is_open = described.part and described.required
            names += _positional(described.part) if is_open else [field.name]
    return names


@_once
def fields_of(kind: Any) -> dict[str, Field]:
    """The fields of a request by name, in the order of their declaration."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        parts = [cls for cls in choices_of(hint) if _is_request(cls)]
        fields[field.name] = describe_field(
            field.name, hint, field.default, part=parts[0] if parts else None, **field.metadata
        )
    return fields


def _is_request(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Request)


@_once
def leaves_of(kind: Any) -> dict[str, Field]:
    """The fields of a request as the command line and YAML have them: those of each part instead of
    the part.
    """
    leaves: dict[str, Field] = {}
    for field in fields_of(kind).values():
        for leaf in _leaves_of_part(field) if field.part else [field]:
            if leaf.name in leaves:
                raise TypeError(f"{kind.__name__}: two fields are called {leaf.name}")
            leaves[leaf.name] = leaf
    return leaves


def _leaves_of_part(field: Field) -> list[Field]:
    """The fields of a part, in its group; none is required if the part may be left out."""
    leaves = []
    for leaf in leaves_of(field.part).values():
        leaf = dataclasses.replace(leaf, group=leaf.group or field.group)
        if leaf.required and not field.required:
            leaf = dataclasses.replace(leaf, default=None, required=False)
        leaves.append(leaf)
    return leaves


@_once
def _owners(kind: Any) -> dict[str, str]:
    """The part that has each field of a part, by the name of the field."""
    parts = [field for field in fields_of(kind).values() if field.part]
    return {leaf: field.name for field in parts for leaf in leaves_of(field.part)}


def _leaf_name(kind: Any, name: str) -> str:
    """``samples`` for ``comparison.samples``, a field of a part; other names as they are."""
    part, _, inner = name.partition(".")
    field = fields_of(kind).get(part)
    return _leaf_name(field.part, inner) if inner and field and field.part else name


def given_values(request: Request) -> dict[str, Any]:
    """The values that a request was given, those of parts by their own names: for a manifest, or a
    YAML file.
    """
    values: dict[str, Any] = {}
    for name, field in fields_of(type(request)).items():
        value = getattr(request, name)
        if name not in request.given:
            continue
        if name == request.open_field:
            values |= value
        elif field.part and value is not None:
            values |= given_values(value) or {name: {}}
        else:
            values[name] = value
    return values


def flat_values(request: Request) -> dict[str, Any]:
    """All values of a request, those of parts by their own names."""
    values: dict[str, Any] = {}
    for name, field in fields_of(type(request)).items():
        value = getattr(request, name)
        values |= flat_values(value) if field.part and value is not None else {name: value}
    return values


def read_values(kind: type[Request], path: AnyPath) -> dict[str, Any]:
    """The values of a request in a YAML file by name; ``training: {max_updates: 5}`` is
    ``training.max_updates``.

    :raises InputError: the file is not such YAML, or sets a field twice.
    """
    from cgbench.yaml_text import load_yaml

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


def changed(request: SomeRequest, **values: Any) -> SomeRequest:
    """The same request with some values changed; presets are read again."""
    given = {name: getattr(request, name) for name in request.given}
    return type(request)(**{**given, **values})


class Accepts(typing.Protocol[P, R, T]):
    """A function of a request's fields, of the fields of its parts, or of a request."""

    @typing.overload
    def __call__(self, request: R, /) -> T: ...

    @typing.overload
    def __call__(self, *values: P.args, **named: P.kwargs) -> T: ...

    @typing.overload
    def __call__(self, *values: Any, **options: Any) -> T: ...


def accepts(kind: Callable[P, R]) -> Callable[[Callable[[R], T]], Accepts[P, R, T]]:
    """Make a function of a request one that takes the request's fields as arguments.

    Editors and type checkers see the fields, their types and defaults; so does
    :func:`inspect.signature`. A request may be given instead, as the only argument.
    """
    cls: Any = kind

    def decorate(function: Callable[[R], T]) -> Accepts[P, R, T]:
        @functools.wraps(function)
        def call(*values: Any, **keywords: Any) -> T:
            if len(values) == 1 and isinstance(values[0], cls) and not keywords:
                return function(values[0])
            return function(cls(*values, **keywords))

        result = inspect.signature(function).return_annotation
        help = "\n".join(f":param {field.name}: {field.help}" for field in fields_of(cls).values())
        call.__doc__ = f"{function.__doc__ or ''}\n\n{help}"
        call.__signature__ = cls.parameters().replace(return_annotation=result)  # type: ignore[attr-defined]
        return typing.cast(Accepts[P, R, T], call)

    return decorate


def _signature(kind: Any) -> inspect.Signature:
    """The fields of a request as parameters; ``options`` are those of its parts."""
    positional, leaves, fields = _positional(kind), leaves_of(kind), fields_of(kind)
    shown = {name: fields.get(name) or leaves[name] for name in positional}
    shown |= {name: field for name, field in fields.items() if not (field.part and field.required)}
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD
            if field.name in positional
            else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
            annotation=_plain(field.type),
        )
        for field in shown.values()
    ]
    if kind.open_field or _owners(kind):
        parameters.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _plain(hint: Any) -> Any:
    """A type without the checks of this package."""
    types = [
        getattr(kind, "__origin__", kind) if _is_annotated(kind) else kind
        for kind in choices_of(hint)
    ]
    return functools.reduce(lambda first, second: first | second, types)


def _is_annotated(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Annotated
