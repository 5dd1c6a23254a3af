"""A command made from a request class: its options, and the request from their values."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cgbench.commands.command import FilesType, ModelType, Option, changed_settings, grouped
from cgbench.commands.completion import completion_of
from cgbench.commands.lines import REQUEST
from cgbench.errors import InputError, argument
from cgbench.requests import Field, from_flat, leaves_of


def takes(
    kind: type,
    *,
    but: Collection[str] = (),
    only: Collection[str] = (),
    read: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a request, and the request as its first argument.

    A :func:`click.argument` with a field's name is that field. Other settings come from ``--set`` and
    ``--config``; an option overrides both. With several requests, the first decorator's is the first
    argument. The fields of a part are options as well.

    :param but: fields that the command sets itself; it then receives a mapping of values instead of the request.
    :param only: the only fields to take, without settings; the command receives a mapping.
    :param read: functions that convert the words of an option, by field.
    """
    fields = {name: field for name, field in leaves_of(kind).items() if name not in but and (not only or name in only)}
    own = [field for field in fields.values() if not field.python_only and not field.is_setting]
    known = [", ".join(field.name for field in fields.values() if field.is_setting)]
    if hasattr(kind, "open_field") and "model" in fields:
        known.append("those of the model preset (see `cgbench models NAME`)")
    set_help = ": ".join(filter(None, ("Change a setting (repeatable)", "; ".join(filter(None, known)))))
    settable = not only and (hasattr(kind, "open_field") or any(field.is_setting for field in fields.values()))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*first: Any, config: Path | None = None, assignments: tuple[str, ...] = (), **given: Any) -> Any:
            click.get_current_context().meta.setdefault(REQUEST, []).append(kind)
            values = {name: given.pop(name) for name in [*given] if name in fields}
            values = {name: value for name, value in values.items() if value not in (None, ())}
            for name, value in values.items():
                values[name] = read[name](value) if read and name in read else _value(fields[name], value)
            found = changed_settings(kind, config, assignments, **values) if settable else values
            if not only:
                _check_required(own, found)
            return function(*first, found if but or only else from_flat(kind, found), **given)

        command: Any = run
        if settable:
            command = grouped(
                "Selection" if hasattr(kind, "presets") else "Advanced",
                "--set", "assignments", multiple=True, metavar="KEY=VALUE", help=set_help,
            )(command)  # fmt: skip
            command = grouped(
                "Selection" if hasattr(kind, "presets") else "Advanced",
                "--config", type=click.Path(path_type=Path), metavar="FILE", help="Read settings from a YAML file",
            )(command)  # fmt: skip
        for field in reversed(own):
            command = _option(field, required=field.required and not only)(command)
        return command

    return decorate


def _option(field: Field, required: bool) -> Callable[[Any], Any]:
    help = f"{field.help} [required]" if required else _help(field)
    more: dict[str, Any] = {"group": field.group, "help": help, "metavar": field.metavar, "cls": Option}
    more["shell_complete"] = completion_of(field)
    kinds = {"corpus": FilesType(), "corpora": FilesType(), "files": FilesType(many=True), "model": ModelType()}
    name = field.kind.name if field.kind else ""
    inner = _inner(field)
    if bool in inner and len(inner) == 1:
        declaration, more["is_flag"], more["default"] = field.flag, True, None
        del more["metavar"]
    else:
        declaration = field.flag
        more["type"] = kinds.get(name, str)
        more["multiple"] = _is_repeatable(field)
        if field.choices:
            more["metavar"] = field.metavar or f"[{'|'.join(map(str, field.choices))}]"
        if bool in inner:  # the option alone, without a value
            more |= {"is_flag": False, "flag_value": "true"}
        more["metavar"] = more["metavar"] or _metavar(field, name)
    short = ("-o",) if field.name == "output" else ()
    return click.option(declaration, *short, field.name, required=False, **more)


def _check_required(fields: Iterable[Field], given: Container[str]) -> None:
    metavars = {one.name: one.metavar for one in click.get_current_context().command.params}
    for field in fields:
        if field.required and field.name not in given:
            raise InputError(f"{argument(field.name)} is missing; give {field.flag} {metavars[field.name]}")


def _inner(field: Field) -> tuple[Any, ...]:
    """The types that a field takes, None left out."""
    hint = field.type
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return tuple(one for one in (typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)))


def _is_repeatable(field: Field) -> bool:
    """Whether an option is repeated for several values; numbers may also be separated by commas."""
    return field.kind.many if field.kind else any(typing.get_origin(one) in (list, tuple) for one in _inner(field))


def _metavar(field: Field, kind: str) -> str:
    inner = _inner(field)
    if kind and kind != "name":
        return {"folder": "FOLDER", "model": "MODEL", "systems": "SYSTEM=FILE[,FILE...]"}.get(kind, "FILE")
    for hint in inner:
        if typing.get_origin(hint) in (list, tuple):
            return "TEXT" if typing.get_args(hint)[0] is str else "N,N,..."
    if field.flag in ("--model", "--arch", "--method"):
        return "NAME"
    return field.unit.upper() if field.unit else "N" if int in inner or float in inner else "TEXT"


def _help(field: Field) -> str:
    shown = field.default
    if field.required or shown is None or isinstance(shown, bool) or shown in ((), "", []) or "default" in field.help:
        return field.help
    if isinstance(shown, (list, tuple)):
        shown = ",".join(map(str, shown))
    return f"{field.help} [default: {shown}]"


def _value(field: Field, words: Any) -> Any:
    """The words of an option as the field's type reads them."""
    if field.kind and field.kind.name == "systems":
        return {name: list(map(Path, paths)) for name, paths in split_systems(words, field.flag).items()}
    if field.kind and field.kind.name == "references":
        return list(map(Path, words))
    if isinstance(words, tuple) and not field.kind and any(_is_numbers(one) for one in _inner(field)):
        return [number for word in words for number in word.split(",")]
    return words


def _is_numbers(hint: Any) -> bool:
    return typing.get_origin(hint) in (list, tuple) and typing.get_args(hint)[0] is not str


def split_systems(items: Sequence[str], option: str = "--hyp", *, bare: bool = False) -> dict[str, list[str]]:
    """``SYSTEM=FILE[,FILE2...]``, a file per run, as names of files by system.

    :param bare: keep ``""`` as the name of a system where there is no ``SYSTEM=``; else it is that of the file.
    :raises InputError: a system or a file is given twice, or a name is empty.
    """
    from cgbench.text.columns import short_name
    from cgbench.text.streams import is_there, split_name

    systems: dict[str, list[str]] = {}
    for item in items:
        name, sign, names = item.partition("=")
        if not sign or is_there(split_name(item)[0]):
            name, names = "", item
        paths = [names] if is_there(split_name(names)[0]) else names.split(",")
        name = name or ("" if bare else short_name(paths[0]))
        if name in systems:
            raise InputError(
                f"{option} {item}: the system {name} is given twice; join its runs ({name}=FILE1,FILE2), or name "
                "systems apart (OTHER=FILE)"
            )
        if len({Path(path).absolute() for path in paths}) < len(paths) or not all(paths):
            raise InputError(f"{option} {item}: {'a file is given twice' if all(paths) else 'a file name is empty'}")
        systems[name] = paths
    return systems
