"""A command made from a request class: its options, and the request from their values."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from cgbench.commands.click_types import FilesType, ModelType, split_systems
from cgbench.commands.command import grouped_option, options
from cgbench.commands.lines import FROM_FILE, REQUEST
from cgbench.errors import InputError, argument
from cgbench.requests import Field, leaves_of, read_values
from cgbench.settings import NONE, choices_of

TYPES = {
    "corpus": FilesType(),
    "corpora": FilesType(),
    "files": FilesType(many=True),
    "model": ModelType(),
}
"""Types of options by the name of a field's kind; others are text."""
METAVARS = {
    "name": "TEXT",
    "folder": "FOLDER",
    "model": "MODEL",
    "systems": "SYSTEM=FILE[,FILE...]",
}


def takes(
    kind: type,
    *,
    but: Collection[str] = (),
    only: Collection[str] = (),
    read: Mapping[str, Callable[[Any], Any]] | None = None,
    settings: Mapping[str, Field] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a request, and the request as its first argument.

    A :func:`click.argument` with a field's name is that field. Other settings come from ``--set``
    and ``--config``; an option overrides both. With several requests, the first decorator's is the
    first argument. The fields of a part are options as well.

    :param but: fields without an option.
    :param only: the only fields to take, without settings; the command receives a mapping instead
        of the request.
    :param settings: more fields, whose values go into the request's open field; ``defaults``:
        values of the command.
    :param read: functions that convert the words of an option, by field.
    """
    fields = {
        name: field
        for name, field in leaves_of(kind).items()
        if name not in but and (not only or name in only)
    }
    fields |= settings or {}
    visible = [field for field in fields.values() if not field.python_only and not field.is_setting]
    changeable = [field for field in fields.values() if field.is_setting]
    is_open = hasattr(kind, "open_field") and getattr(kind, "has_settings", True)
    settable = not only and (is_open or bool(changeable))
    listed = ["each that --help-settings lists"] if changeable else []
    if hasattr(kind, "open_field") and "model" in fields:
        listed.append("those of the model preset (see `cgbench models NAME`)")
    group = "Selection" if hasattr(kind, "presets") else "Advanced"

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(
            *first: Any,
            config: Path | None = None,
            assignments: Sequence[str] = (),
            **arguments: Any,
        ) -> Any:
            context = click.get_current_context()
            context.meta.setdefault(REQUEST, []).append({**leaves_of(kind), **fields})
            words = {name: arguments.pop(name) for name in [*arguments] if name in fields}
            readers = read or {}
            values = parse_assignments(assignments) | {
                name: readers[name](value) if name in readers else _value(fields[name], value)
                for name, value in words.items()
                if value not in (None, ())
            }
            if config:
                in_file = read_values(kind, config)
                context.meta[FROM_FILE] = {key: config for key in in_file if key not in values}
                values = in_file | values
            metavars = {param.name: param.metavar for param in context.command.params}
            for field in () if only else visible:
                if field.required and field.name not in values:
                    raise InputError(
                        f"{argument(field.name)} is missing; give {field.flag}"
                        f" {metavars[field.name]}"
                    )
            return function(
                *first, values if only else kind(**{**(defaults or {}), **values}), **arguments
            )

        config_option = grouped_option(
            group,
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Read settings from a YAML file",
        )
        decorators = [_option(field, required=field.required and not only) for field in visible]
        more = [config_option, set_option(group, "; ".join(listed))] if settable else []
        return options(
            *decorators,
            *more,
            *([_help_settings(group, changeable)] if settable and changeable else []),
        )(run)

    return decorate


def set_option(group: str, names: str = "") -> Callable[[Any], Any]:
    """``--set KEY=VALUE``, the argument ``assignments`` for :func:`parse_assignments`."""
    help = f"Change a setting (repeatable){': ' if names else ''}{names}"
    return grouped_option(
        group, "--set", "assignments", multiple=True, metavar="KEY=VALUE", help=help
    )


def _help_settings(group: str, fields: Sequence[Field]) -> Callable[[Any], Any]:
    """``--help-settings``: print each setting with its meaning and default."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            formatter = click.HelpFormatter(max_width=80)
            with formatter.section("Settings, for --set KEY=VALUE"):
                formatter.write_dl([(field.name, _help_of(field)) for field in fields])
            click.echo(formatter.getvalue().rstrip())
            ctx.exit()

    return grouped_option(
        group,
        "--help-settings",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show the settings for --set with meanings and defaults",
    )


def parse_assignments(items: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE`` items as a dict.

    :raises InputError: an item has no ``=``.
    """
    pairs = [item.partition("=") for item in items]
    for key, sign, _ in pairs:
        if not sign:
            raise InputError(f"--set {key}: write it as key=value")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _option(field: Field, required: bool) -> Callable[[Any], Any]:
    """The option of a field; numbers of a list may also be separated by commas."""
    types, kind = [*choices_of(field.type)], field.kind
    help = f"{field.help} [required]" if required else _help_of(field)
    keywords: dict[str, Any] = {"help": help, "shell_complete": _completion_of(field)}
    if {*types} - {NONE} == {bool}:
        keywords |= {"is_flag": True, "default": None}
    else:
        lists = [choice for choice in types if get_origin(choice) in (list, tuple)]
        choices = f"[{'|'.join(map(str, field.choices))}]" if field.choices else None
        keywords |= {
            "type": TYPES.get(kind.name, str) if kind else str,
            "multiple": kind.many if kind else bool(lists),
            "metavar": field.metavar or choices or _metavar(field, types, lists),
        }
        if bool in types:  # the option alone, without a value
            keywords |= {"is_flag": False, "flag_value": "true"}
    short = ("-o",) if field.name == "output" else ()
    return grouped_option(field.group, field.flag, *short, field.name, required=False, **keywords)


def _completion_of(field: Field) -> Callable[[Any, Any, str], list[CompletionItem]] | None:
    """How a shell completes the value of an option: choices, or files; None if it may be any
    text.
    """
    if field.choices:
        items = [CompletionItem(str(choice)) for choice in field.choices]
        return lambda context, param, start: [
            item for item in items if item.value.startswith(start)
        ]
    if field.kind and field.kind.name != "name":
        return lambda context, param, start: [CompletionItem(start, type="file")]
    return None


def _help_of(field: Field) -> str:
    """The help of a field with its default."""
    default, help = field.default, field.help
    if field.required or default in (None, "", (), []) or default is False or "default" in help:
        return help
    return (
        f"{help} [default:"
        f" {','.join(map(str, default)) if isinstance(default, (list, tuple)) else default}]"
    )


def _metavar(field: Field, types: Sequence[Any], lists: Sequence[Any]) -> str:
    if field.flag in ("--model", "--arch", "--method") and (
        field.kind is None or field.kind.name == "name"
    ):
        return "NAME"
    if field.kind:
        return METAVARS.get(field.kind.name, "FILE")
    if lists:
        return "TEXT" if get_args(lists[0])[0] is str else "N,N,..."
    return field.unit.upper() if field.unit else "N" if {int, float} & {*types} else "TEXT"


def _value(field: Field, words: Any) -> Any:
    """The words of an option as the field's type reads them."""
    if field.kind and field.kind.name == "systems":
        return {
            name: list(map(Path, paths)) for name, paths in split_systems(words, field.flag).items()
        }
    if field.kind and field.kind.name == "references":
        return list(map(Path, words))
    lists = [choice for choice in choices_of(field.type) if get_origin(choice) in (list, tuple)]
    if (
        isinstance(words, tuple)
        and not field.kind
        and any(get_args(choice)[0] is not str for choice in lists)
    ):
        return [text for word in words for text in word.split(",")]
    return words
