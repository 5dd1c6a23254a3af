"""A command made from request classes: its options, and the requests from their words."""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from cgbench.commands.click_types import FilesType, ModelType, SettingsOption, split_systems
from cgbench.commands.command import grouped_option
from cgbench.commands.lines import FROM_FILE, REQUEST
from cgbench.errors import InputError, argument
from cgbench.request import Request, leaves_of, read_values
from cgbench.request_fields import Field, read_field
from cgbench.settings import NONE

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
Callback = Callable[..., Any]
Readers = Mapping[str, Callable[[Any], Any]]


def takes(
    *kinds: type[Request],
    but: Collection[str] = (),
    read: Readers | None = None,
    more: Mapping[str, Field] | None = None,
    fixed: Mapping[str, Any] | None = None,
    required: Collection[str] = (),
) -> Callable[[Callback], Callback]:
    """Give a command the options of requests, and the requests as arguments.

    A :func:`click.argument` with a field's name is that field. Fields without an option of their
    own come from ``--set`` and ``--config``; an option overrides both. The fields of a part are
    options as well.

    :param but: fields that this command does not have.
    :param read: functions that convert the words of an option, by field.
    :param more: fields whose values go into the open field of the first request.
    :param fixed: values that the command gives to the first request.
    :param required: fields that only the command line needs.
    """
    fields = {name: field for kind in kinds for name, field in leaves_of(kind).items()}
    fields = {name: field for name, field in fields.items() if name not in but} | dict(more or {})
    fields |= {name: replace(fields[name], required=True) for name in required}
    words = Words(fields, read or {})

    def decorate(command: Callback) -> Callback:
        @functools.wraps(command)
        def run(*others: Any, **arguments: Any) -> Any:
            values = {**(fixed or {}), **words.values(arguments, kinds[0])}
            words.check_required(values)
            if "engine" in fields:
                values["engine"] = _opened_engine(values, fields)
            return command(*others, *_requests(kinds, values), **arguments)

        run.kinds = kinds  # type: ignore[attr-defined]
        return words.add_options(run, kinds[0])

    return decorate


def takes_values(kind: type[Request], *names: str) -> Callable[[Callback], Callback]:
    """Give a command some options of a request, and a mapping of their values as an argument; with
    several decorators, those of the first one come first.
    """
    fields = {name: replace(leaves_of(kind)[name], required=False) for name in names}
    words = Words(fields, {})

    def decorate(command: Callback) -> Callback:
        @functools.wraps(command)
        def run(*others: Any, **arguments: Any) -> Any:
            return command(*others, words.values(arguments), **arguments)

        return words.add_options(run)

    return decorate


def _requests(kinds: Sequence[type[Request]], values: Mapping[str, Any]) -> list[Request]:
    """The requests of a command, each with the values that it has a field for; the first one has
    the unknown ones.
    """
    owners = {name: kind for kind in kinds for name in leaves_of(kind)}
    return [
        kind(
            **{name: value for name, value in values.items() if owners.get(name, kinds[0]) is kind}
        )
        for kind in kinds
    ]


def _opened_engine(values: Mapping[str, Any], fields: Mapping[str, Field]) -> Any:
    """The engine of ``--engine`` and ``--jobs``, which is closed when the command ends."""
    from cgbench.engines import open_engine

    jobs = read_field(fields["jobs"], values.get("jobs"))
    return click.get_current_context().with_resource(open_engine(values.get("engine"), jobs))


class Words:
    """The options of fields, and the values of the fields from the words of a command line."""

    def __init__(self, fields: Mapping[str, Field], read: Readers) -> None:
        self.fields = fields
        self.read = read
        self.visible = [field for field in fields.values() if field.is_option]
        self.settings = [field for field in fields.values() if field.is_setting]

    def add_options(self, command: Callback, kind: type[Request] | None = None) -> Callback:
        """Add the options of the fields; for the settings of a request also ``--set`` and
        ``--config``.
        """
        decorators = [_option(field) for field in self.visible]
        if kind and kind.settings_group and (kind.open_field or self.settings):
            decorators += self._setting_options(kind)
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    def _setting_options(self, kind: type[Request]) -> list[Callable[[Callback], Callback]]:
        listed = ["each that --help-all lists"] if self.settings else []
        if kind.open_field and "model" in self.fields:
            listed.append("those of the model preset (see `cgbench models NAME`)")
        config = grouped_option(
            kind.settings_group,
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Read settings from a YAML file",
        )
        assignments = click.option(
            "--set",
            "assignments",
            cls=SettingsOption,
            group=kind.settings_group,
            settings=[(field.name, _help_of(field)) for field in self.settings],
            help=f"Change a setting (repeatable): {'; '.join(listed) or 'see the documentation'}",
        )
        return [config, assignments]

    def values(
        self, arguments: dict[str, Any], kind: type[Request] | None = None
    ) -> dict[str, Any]:
        """The values of the fields, taken out of the arguments of the command; those of a file of
        settings come last.
        """
        context = click.get_current_context()
        fields = leaves_of(kind) if kind else {}
        context.meta.setdefault(REQUEST, []).append({**fields, **self.fields})
        values: dict[str, Any] = dict(parse_assignments(arguments.pop("assignments", ())))
        for name in [name for name in arguments if name in self.fields]:
            words = arguments.pop(name)
            if words not in (None, ()):
                values[name] = self._value(name, words)
        if kind and (config := arguments.pop("config", None)):
            in_file = read_values(kind, config)
            context.meta[FROM_FILE] = {key: config for key in in_file if key not in values}
            values = in_file | values
        return values

    def _value(self, name: str, words: Any) -> Any:
        reader = self.read.get(name)
        return reader(words) if reader else _value(self.fields[name], words)

    def check_required(self, values: Mapping[str, Any]) -> None:
        """:raises InputError: an option is missing."""
        for field in self.visible:
            if field.required and field.name not in values:
                raise InputError(
                    f"{argument(field.name)} is missing; give {field.option} {_metavar(field)}"
                )


def parse_assignments(items: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE`` items as a dict; of two with one key, the last counts.

    :raises InputError: an item has no ``=``.
    """
    pairs = [item.partition("=") for item in items]
    for key, sign, _ in pairs:
        if not sign:
            raise InputError(f"--set {key}: write it as key=value")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _option(field: Field) -> Callable[[Any], Any]:
    """The option of a field; numbers of a list may also be separated by commas."""
    keywords: dict[str, Any] = {"help": _help_of(field), "shell_complete": _completion_of(field)}
    if {*field.types} - {NONE} == {bool}:
        keywords |= {"is_flag": True, "default": None}
    else:
        keywords |= {
            "type": TYPES.get(field.kind.name, str) if field.kind else str,
            "multiple": field.kind.many if field.kind else bool(_lists(field)),
            "metavar": _metavar(field),
        }
        if bool in field.types:  # the option alone, without a value
            keywords |= {"is_flag": False, "flag_value": "true"}
    short = (field.short,) if field.short else ()
    return grouped_option(field.group, field.option, *short, field.name, required=False, **keywords)


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
    if field.required:
        return f"{help} [required]"
    if default in (None, "", (), []) or default is False or "default" in help:
        return help
    shown = ",".join(map(str, default)) if isinstance(default, (list, tuple)) else default
    return f"{help} [default: {shown}]"


def _metavar(field: Field) -> str:
    """What stands for the value of an option in help."""
    if field.metavar:
        return field.metavar
    if field.choices:
        return f"[{'|'.join(map(str, field.choices))}]"
    if field.kind:
        return METAVARS.get(field.kind.name, "FILE")
    if lists := _lists(field):
        return "TEXT" if get_args(lists[0])[0] is str else "N,N,..."
    if field.unit:
        return field.unit.upper()
    return "N" if {int, float} & {*field.types} else "TEXT"


def _lists(field: Field) -> list[Any]:
    return [hint for hint in field.types if get_origin(hint) in (list, tuple)]


def _value(field: Field, words: Any) -> Any:
    """The words of an option as the field's type reads them."""
    if field.kind and field.kind.name == "systems":
        systems = split_systems(words, field.option)
        return {name: list(map(Path, paths)) for name, paths in systems.items()}
    if field.kind and field.kind.name == "references":
        return list(map(Path, words))
    has_numbers = any(get_args(hint)[0] is not str for hint in _lists(field))
    if isinstance(words, tuple) and not field.kind and has_numbers:
        return [text for word in words for text in word.split(",")]
    return words
