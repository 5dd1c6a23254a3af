"""Classes of commands and options: help under headings, errors in one line; and options that
commands share.
"""

import atexit
import gc
import re
import sys
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from cgbench.commands.click_types import FilesType, ModelType, Option, SettingsOption
from cgbench.commands.lines import (
    Failure,
    Stopped,
    failure_of,
    interruptible,
    text_alone,
    warnings_as_lines,
)
from cgbench.commands.lines import note as note  # read from here by many
from cgbench.commands.lines import print_json as print_json
from cgbench.commands.lines import show as show
from cgbench.numbers_as_text import counted
from cgbench.request_fields import RARE
from cgbench.settings import did_you_mean

FIRST, LAST = ("Input", "Text"), ("Output", "Execution", "Advanced")
"""Headings of ``--help`` that come first and last; the others keep the order of their options."""
IMPORTANT = ("--ref", "--hyp", "--beam")
"""Options that come first under their headings, before required ones."""
FEW = 8  # options that need no headings


def grouped_option(group: str, *declarations: str, **keywords: Any) -> Callable[[Any], Any]:
    """``click.option`` under a heading."""
    return click.option(*declarations, cls=Option, group=group, **keywords)


class Documented(click.Command):
    """A command or group whose help lists options under headings and ends with an example."""

    def __init__(self, *arguments: Any, example: str = "", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.example = example
        self.rare = [param for param in self.params if getattr(param, "group", "") == RARE]
        self.settings = [
            setting
            for param in self.params
            if isinstance(param, SettingsOption)
            for setting in param.settings
        ]
        if self.rare or self.settings:
            hidden = [counted(len(self.rare), "more option")] if self.rare else []
            hidden += [counted(len(self.settings), "setting")] if self.settings else []
            self.params.append(
                Option(
                    ["--help-all"],
                    "Execution",
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_help_all,
                    help=f"Show {' and '.join(hidden)}",
                )
            )

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the words of the command line; an error in them is one line."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise _one_line(error) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options under the headings of their groups; a few options need no headings."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in FIRST}
        hidden = () if ctx.meta.get(_HELP_ALL) else self.rare
        options = [
            param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and param not in hidden
        ]
        for param in options:
            if record := param.get_help_record(ctx):
                group = getattr(param, "group", "Execution") if len(options) > FEW else "Options"
                groups.setdefault(group, []).append(
                    (record[0], " ".join(record[1].split()).rstrip("."))
                )
        for name in [*(name for name in groups if name not in LAST), *LAST]:
            if records := groups.get(name):
                with formatter.section(name):
                    formatter.write_dl(sorted(records, key=_importance))

        if ctx.meta.get(_HELP_ALL) and self.settings:
            with formatter.section("Settings, for --set KEY=VALUE"):
                formatter.write_dl(self.settings)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example, a long one in several lines."""
        super().format_epilog(ctx, formatter)
        lines = [""]
        for words in re.split(" (?=--)", self.example):  # an option and its value stay together
            room = formatter.width - (5 if len(lines) == 1 else 9)
            if lines[-1] and len(lines[-1]) + len(words) > room:
                lines.append("")
            lines[-1] += f" {words}" if lines[-1] else words
        with formatter.section("Example"):
            formatter.write("  " + " \\\n      ".join(lines) + "\n")


def _importance(record: tuple[str, str]) -> tuple[int, bool]:
    option = record[0].split()[0]
    return (IMPORTANT.index(option) if option in IMPORTANT else len(IMPORTANT)), not record[
        1
    ].endswith("[required]")


_HELP_ALL = f"{__name__}.help_all"  # in a context: whether help has every option


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the help with every option, as ``--help`` prints it with the usual ones."""
    if value and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _one_line(error: click.UsageError) -> click.ClickException:
    """A wrong call as one line; a group without a command shows its help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error
    command = error.ctx.command if error.ctx else None
    if isinstance(error, click.NoSuchOption) and isinstance(command, Documented):
        from cgbench.commands.gone import new_way

        settings = [name for name, _ in command.settings]
        commands = error.ctx.command_path.split()[1:] if error.ctx else []
        if way := new_way(error.option_name, commands, settings):
            return Failure(way)
    from cgbench.text.remote import as_given

    text = as_given(error.format_message())
    see = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    return Failure(f"{text[:1].lower()}{text[1:].rstrip('.').replace('. (', ' (')}{see}")


class Command(Documented):
    """A command whose arguments may be addresses of files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fetch the files at addresses; names of models stay. An option with a second value is
        refused if it takes one: which one was meant is unknown.
        """
        options = [] if ctx.resilient_parsing else [word.partition("=")[0] for word in args]
        for param in self.params:
            is_single = isinstance(param, click.Option) and not (param.multiple or param.is_flag)
            times = sum(map(options.count, param.opts))
            if is_single and times > 1:
                ctx.fail(f"{param.opts[0]} is given {times} times; it takes one value")
        left = set(OUTPUTS) | {
            name
            for param in self.params
            if isinstance(param.type, ModelType)
            for name in param.opts
        }
        words = [
            (
                word
                if ctx.resilient_parsing or before in left or word.partition("=")[0] in left
                else _fetched(word)
            )
            for before, word in zip(["", *args], args, strict=False)
        ]
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, words)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the further files of an option that takes several."""
        last = next(
            (word for word in reversed(ctx.meta.get(_WORDS, ())) if word.startswith("--")), ""
        )
        takes_files = any(
            last in param.opts and isinstance(param.type, FilesType) for param in self.params
        )
        if takes_files and not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file")]
        return super().shell_complete(ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with interruptible():
            return super().invoke(ctx)


OUTPUTS = ("--out", "--output", "-o", "--per-example")
"""Options whose file is written; it may be a pipe."""
_WORDS = f"{__name__}.words"  # in a context: the arguments of the command


def command_line() -> str:
    """The command that runs, as one line for a shell."""
    import shlex

    context = click.get_current_context()
    path = context.command_path.removeprefix(context.find_root().command_path).split()
    return shlex.join(["cgbench", *path, *context.meta[_WORDS]])


def _fetched(word: str) -> str:
    """A word of the command line, with an address or a pipe (``FILE``, ``NAME=FILE,FILE``) replaced
    by a file to read.
    """
    from cgbench.text.remote import is_address, is_pipe, local
    from cgbench.text.streams import split_name

    name, sign, value = word.partition("=")
    values = value.split(",") if sign else []
    if any(is_address(text) or is_pipe(split_name(text)[0]) for text in values):
        return f"{name}={','.join(map(local, values))}"
    return local(word)


class Resumable(Command):
    """A command that resumes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped("stopped; the same command resumes from what is saved") from None


class Group(Documented, click.Group):
    """The command line: an error that a user can cause is one line and exit status 2."""

    command_class = Command

    def main(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the command line. Its process ends without a search for garbage, which takes half a
        second after an import of torch.
        """
        atexit.register(gc.freeze)
        return super().main(*arguments, **keywords)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, then the options."""
        self.format_commands(ctx, formatter)
        Documented.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentence of each."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(1000).rstrip("."))
                    for name, command in commands.items()
                    if command
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; an error names the nearest one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no such command '{args[0]}'{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        if (
            sys.stdout is None
        ):  # closed by >&- in a shell; the next opened file would take its place
            raise Failure("standard output is closed; write it to a file, or to /dev/null")
        try:
            with warnings_as_lines(), text_alone(), interruptible():
                return super().invoke(ctx)
        except click.UsageError as error:
            raise _one_line(error) from None
        except KeyboardInterrupt:
            raise Stopped("stopped") from None
        except Exception as error:
            if (failure := failure_of(error, ctx)) is None:
                raise
            raise failure from error


def formats(*forms: str) -> Callable[[Any], Any]:
    """``--format``, the argument ``form``, for these forms."""
    return grouped_option(
        "Output",
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Output format",
    )


format_option = formats("text", "json")
