"""Records: immutable classes of named values that take no time to import.

A subclass of :class:`Record` is what ``@dataclass(frozen=True)`` makes of a class: annotated names
are its fields, declared with ``field``, ``KW_ONLY`` and ``__post_init__`` of :mod:`dataclasses`,
whose ``fields``, ``replace`` and ``asdict`` take records. But dataclasses compiles six functions
per class, which was half of what ``cgbench score`` did before it read a file. All records share
these functions.

Classes that a command loads at its start are records, which a test checks. Neither can a record
inherit from a frozen dataclass, nor a frozen dataclass from a record.
"""

import dataclasses
import functools
import inspect
import operator
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from typing import Any, ClassVar, NoReturn


class _Parameters:
    """What :func:`inspect.signature` reads of a record's class, made when it is read."""

    def __get__(self, instance: object, kind: "type[Record]") -> inspect.Signature:
        return kind.parameters()


@typing.dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Record:
    """An immutable class of named values; records of one class are equal if their values are."""

    __signature__: ClassVar[Any] = _Parameters()

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, /, *values: Any, **named: Any) -> None:
        kind: Any = type(self)
        layout = _layout_of(kind)
        if named or len(values) != len(layout.positional) or len(values) != len(layout.names):
            values = _all_values(kind, values, named)
        for name, value in zip(layout.names, values, strict=True):
            object.__setattr__(self, name, value)
        if layout.is_checked:
            self.__post_init__()

    def __post_init__(self) -> None:
        """Check the values."""

    def __repr__(self) -> str:
        kind: Any = type(self)
        names = [field.name for field in dataclasses.fields(kind) if field.repr]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{kind.__qualname__}({values})"

    def __eq__(self, other: object) -> bool:
        kind: Any = type(self)
        compared_values = _layout_of(kind).compared_values
        if type(other) is not kind:
            return NotImplemented
        return bool(compared_values(self) == compared_values(other))

    def __hash__(self) -> int:
        kind: Any = type(self)
        return hash(_layout_of(kind).compared_values(self))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    @classmethod
    def parameters(cls) -> inspect.Signature:
        """The parameters of a call."""
        return _signature_of(cls)


class _Layout(typing.NamedTuple):
    """What the shared methods need to know of a class.

    ``names``: of all fields; those that may be ``positional`` come first. ``defaults`` and
    ``factories``: of the fields that have one. ``compared_values``: of a record.
    """

    names: tuple[str, ...]
    positional: tuple[str, ...]
    defaults: dict[str, Any]
    factories: dict[str, Any]
    compared_values: Callable[[Any], Any]
    is_checked: bool


@functools.cache
def _layout_of(kind: Any) -> _Layout:
    fields = sorted(dataclasses.fields(kind), key=lambda field: bool(field.kw_only))
    compared = [field.name for field in fields if field.compare]
    return _Layout(
        names=tuple(field.name for field in fields),
        positional=tuple(field.name for field in fields if not field.kw_only),
        defaults={field.name: field.default for field in fields if field.default is not MISSING},
        factories={
            field.name: field.default_factory
            for field in fields
            if field.default_factory is not MISSING
        },
        compared_values=operator.attrgetter(*compared) if compared else lambda record: (),
        is_checked=kind.__post_init__ is not Record.__post_init__,
    )


def _all_values(kind: Any, values: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of all fields from the arguments of a call.

    :raises TypeError: an argument is unknown, missing or given twice.
    """
    layout = _layout_of(kind)
    unnamed = dict(zip(layout.positional, values, strict=False))
    arguments = {**layout.defaults, **unnamed, **named}
    for name in layout.factories.keys() - arguments.keys():
        arguments[name] = layout.factories[name]()
    fits = len(unnamed) == len(values) and unnamed.keys().isdisjoint(named)
    if not fits or arguments.keys() != {*layout.names}:
        kind.parameters().bind(*values, **named)  # raises the error
    return tuple(arguments[name] for name in layout.names)


class _Factory:
    """The default of a field that is made for each record, in a signature."""

    def __repr__(self) -> str:
        return "<factory>"


def _signature_of(kind: Any) -> inspect.Signature:
    """The fields of a record as parameters."""
    layout = _layout_of(kind)
    hints = {field.name: field.type for field in dataclasses.fields(kind)}
    defaults = {**layout.defaults, **dict.fromkeys(layout.factories, _Factory())}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD
            if name in layout.positional
            else inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name, inspect.Parameter.empty),
            annotation=hints[name],
        )
        for name in layout.names
    ]
    return inspect.Signature(parameters)
