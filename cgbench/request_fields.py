"""The fields of requests: how they are declared, described and read.

A field is declared by :func:`option`, with its spelling on the command line first, so that a search
for ``--by`` finds it. Types are those that :func:`cgbench.settings.read_value` converts, or one of
:mod:`cgbench.argument_types`, whose :class:`~cgbench.argument_types.Kind` checks the value.
"""

import contextlib
import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from cgbench.argument_types import PATH, AnyPath, Kind
from cgbench.errors import InputError, argument
from cgbench.records import Record
from cgbench.settings import (
    NO_LIMITS,
    NONE,
    Range,
    choices_of,
    did_you_mean,
    in_words,
    read_value,
)

SET = "--set "  # the spelling of a field without an option of its own begins with it
RARE = "Advanced"  # the group whose options only ``--help-all`` lists


class Field(Record):
    """One field of a request, as help, documentation and converters need it.

    ``option``: its spelling on the command line, ``--by`` (``is_option``) or ``--set known``
    (``is_setting``); empty if only Python has it. ``types``: the alternatives of its type;
    ``choices``: the values of a ``Literal`` among them, or this package's names of a registry;
    ``kind``: the type of this package, if it
    is one; ``part``: the request class of a part.
    """

    name: str
    type: Any
    types: tuple[Any, ...]
    default: Any
    required: bool
    takes_none: bool
    choices: tuple[Any, ...]
    kind: Kind | None
    part: Any = None
    is_option: bool = False
    is_setting: bool = False
    option: str = ""
    short: str = ""
    help: str = ""
    group: str = ""
    unit: str = ""
    metavar: str | None = None
    range: Range = NO_LIMITS

    @property
    def allowed(self) -> str:
        """What a value must be, in words."""
        if self.part:
            return f"{self.part.__name__}(...), or a mapping of its arguments"
        if self.kind is None:
            return in_words(self.type, self.range)
        return self.kind.allowed + (f" or {in_words(bool)}" if bool in self.types else "")


def option(
    spelling: str = "",
    *,
    short: str = "",
    default: Any = dataclasses.MISSING,
    help: str = "",
    group: str = "",
    unit: str = "",
    metavar: str | None = None,
    **limits: float | None,
) -> Any:
    """Declare a field of a request.

    ``default`` is named, since type checkers know a default by its name alone (PEP 681).

    :param spelling: as users write it on the command line: ``--by``; ``--set known`` for a rare
        setting, without an option of its own; empty for a field of Python only.
    :param short: a second spelling: ``-o``.
    :param help: an imperative or a noun phrase that stands alone, as ``--help`` shows it.
    :param group: the heading that ``--help`` and the reference put it under; options under
        ``Advanced`` are only in ``--help-all``.
    :param unit: of a number: ``words``, ``seconds``.
    :param metavar: what stands for the value in ``--help``.
    :param limits: range of a number (:class:`~cgbench.settings.Range`): ``least``, ``most``,
        ``above``, ``below``.
    """
    declared = {
        "option": spelling,
        "short": short,
        "help": help,
        "group": group,
        "unit": unit,
        "metavar": metavar,
        "range": Range(**limits),
    }
    return dataclasses.field(default=default, metadata=declared)


def describe_field(
    name: str,
    hint: Any,
    default: Any = dataclasses.MISSING,
    *,
    option: str = "",
    **declared: Any,
) -> Field:
    """The field ``name`` of the type ``hint``, with what :func:`option` declares."""
    types = choices_of(hint)
    extras = [extra for kind in (hint, *types) for extra in getattr(kind, "__metadata__", ())]
    literals = [kind for kind in types if typing.get_origin(kind) is typing.Literal]
    kind = next((extra for extra in extras if isinstance(extra, Kind)), None)
    registered = tuple(kind.registry.built_in) if kind and kind.registry else ()
    return Field(
        name=name,
        type=hint,
        types=types,
        default=default,
        required=default is dataclasses.MISSING,
        takes_none=NONE in types or hint is Any,
        choices=typing.get_args(literals[0]) if literals else registered,
        kind=kind,
        is_option=option.startswith("--") and not option.startswith(SET),
        is_setting=option.startswith(SET),
        option=option,
        **declared,
    )


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
    elif field.kind and field.kind.fits(value):
        return field.kind.read(value) if field.kind.read else value
    if not field.part and (not field.kind or bool in field.types):
        with contextlib.suppress(InputError):
            return read_value(field.name, value, bool if field.kind else field.type, field.range)
    text = value if isinstance(value, str) else repr(value)
    nearest = _nearest_choice(field, value)
    raise InputError(f"{argument(field.name, value, text)}: it must be {field.allowed}{nearest}")


def _nearest_choice(field: Field, value: Any) -> str:
    if not field.choices or not isinstance(value, str):
        return ""
    registry = field.kind.registry if field.kind else None
    nearest = did_you_mean(value, registry.names() if registry else map(str, field.choices))
    return nearest if nearest.startswith("; did") else ""


def check(hint: Any, least: float | None = None, **arguments: Any) -> None:
    """Check arguments of a function that has no request; None is an argument that was not given,
    and passes.

    :param hint: the type of all; ``least``: the smallest number allowed.
    :raises InputError: one is of another type, or too small.
    """
    for name, value in arguments.items():
        field = describe_field(name, hint, range=Range(least))
        if isinstance(value, str) and hint in (int, float, bool):
            raise InputError(f"{argument(name, value)}: it must be {field.allowed}")
        if value is not None:
            read_field(field, value)


def check_path(**arguments: Any) -> None:
    """Check that arguments of a function that has no request are names of files or folders.

    :raises InputError: one is not.
    """
    for name, value in arguments.items():
        read_field(describe_field(name, typing.Annotated[AnyPath, PATH]), value)
