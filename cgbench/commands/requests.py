"""A command from a request: its options, their groups in ``--help``, and the request from what was given."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.commands.lines import REQUEST
from cgbench.commands.options import FilesType, ModelType, changed_settings
from cgbench.requests import Field, fields_of


class RequestOption(click.Option):
    """An option made from a field, under the field's heading in ``--help``."""

    def __init__(self, declarations: Sequence[str], group: str = "", **more: Any) -> None:
        super().__init__(declarations, **more)
        self.group = group


def takes(
    kind: type, *, but: tuple[str, ...] = (), read: Mapping[str, Callable[[Any], Any]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a request, and the request as its first argument.

    A :func:`click.argument` with a field's name is that field. Settings without an option of their own come from
    ``--set`` and ``--config``; of all three, the option is the strongest.

    :param but: fields that the command sets itself; it gets the values given as a mapping, with the class, instead.
    :param read: what turns the words of an option into the field's value.
    """
    fields = {name: field for name, field in fields_of(kind).items() if name not in but}
    own = [field for field in fields.values() if not field.python_only and not field.is_setting]
    settable = hasattr(kind, "open_field") or any(field.is_setting for field in fields.values())

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(config: Path | None = None, assignments: tuple[str, ...] = (), **given: Any) -> Any:
            click.get_current_context().meta[REQUEST] = kind
            values = {name: given.pop(name) for name in [*given] if name in fields}
            values = {name: value for name, value in values.items() if value not in (None, ())}
            for name, value in values.items():
                values[name] = read[name](value) if read and name in read else _value(fields[name], value)
            found = changed_settings(config, assignments, **values) if settable else values
            return function(found if but else kind(**found), **given)

        command: Any = run
        if settable:
            command = click.option(
                "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting; repeatable."
            )(command)
            command = click.option("--config", type=click.Path(path_type=Path), help="Read settings from a YAML file.")(
                command
            )
        for field in reversed(own):
            command = _option(field)(command)
        return command

    return decorate


def _option(field: Field) -> Callable[[Any], Any]:
    more: dict[str, Any] = {"group": field.group, "help": _help(field), "metavar": field.metavar, "cls": RequestOption}
    kinds = {"corpus": FilesType(), "corpora": FilesType(), "files": FilesType(many=True), "model": ModelType()}
    name = field.kind.name if field.kind else ""
    inner = _inner(field)
    if bool in inner:
        declaration, more["is_flag"], more["default"] = field.flag, True, None
        del more["metavar"]
    else:
        declaration = field.flag
        more["type"] = kinds.get(name, str)
        more["multiple"] = _is_repeatable(field)
        if field.choices:
            more["metavar"] = field.metavar or f"[{'|'.join(map(str, field.choices))}]"
        more["metavar"] = more["metavar"] or _metavar(field, name)
    return click.option(declaration, field.name, required=False, **more)


def _inner(field: Field) -> tuple[Any, ...]:
    """The types that a field takes, None left out."""
    hint = field.type
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return tuple(one for one in (typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)))


def _is_repeatable(field: Field) -> bool:
    """Whether an option is given once for each of the field's values; numbers are one word with commas instead."""
    if field.kind:
        return field.kind.many
    return any(typing.get_origin(one) in (list, tuple) and typing.get_args(one)[0] is str for one in _inner(field))


def _metavar(field: Field, kind: str) -> str:
    inner = _inner(field)
    if kind:
        return {"folder": "FOLDER", "model": "MODEL"}.get(kind, "FILE")
    for hint in inner:
        if typing.get_origin(hint) in (list, tuple):
            return "TEXT" if typing.get_args(hint)[0] is str else "N,N,..."
    return field.unit.upper() if field.unit else "N" if int in inner or float in inner else "TEXT"


def _help(field: Field) -> str:
    shown = field.default
    if field.required:
        return f"{field.help} [required]"
    if shown is None or isinstance(shown, bool) or shown in ((), "", []) or "default" in field.help:
        return field.help
    if isinstance(shown, (list, tuple)):
        shown = ",".join(map(str, shown))
    return f"{field.help} [default: {shown}]"


def _value(field: Field, words: Any) -> Any:
    """The words of an option as the field's type reads them."""
    if isinstance(words, str) and not field.kind and not _is_repeatable(field):
        lists = [one for one in _inner(field) if typing.get_origin(one) in (list, tuple)]
        if lists and str not in _inner(field):
            return words.split(",")
    return words
