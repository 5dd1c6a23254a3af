"""Classes of commands and options: help under headings, errors in one line; and options that commands share."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from cgbench.commands.lines import (
    FROM_FILE,
    Failure,
    Stopped,
    as_options,
    interruptible,
    text_alone,
    warnings_as_lines,
    with_file,
)
from cgbench.commands.lines import note as note  # read from here by many
from cgbench.errors import InputError, InputWarning, argument, missing_package, printable
from cgbench.requests import read_values
from cgbench.settings import parse_assignments
from cgbench.text.remote import as_given, is_address, local
from cgbench.text.streams import STDIN, form

if TYPE_CHECKING:
    from cgbench.benchmark.react.cost import Forecast
    from cgbench.text.inspection import Finding

FIRST, LAST = ("Input", "Text"), ("Output", "Execution", "Advanced")
"""Headings of ``--help`` that come first and last; the others keep the order of their options."""
FEW = 8  # options that need no headings
MOST = 38  # options in a ``--help``; of a command with more, those of the group "Advanced" are under ``--help-all``


class FilesType(click.ParamType):
    """One file or more after an option: ``--train train.de train.en``.

    :param many: any number of files; else they are those of a corpus: one that holds both sides, or two.
    """

    name = "files"

    def __init__(self, many: bool = False) -> None:
        self.many = many

    def takes(self, files: list[str], word: str) -> bool:
        """Whether ``word`` may follow ``files`` as a file of the option."""
        if self.many or not files:
            return True
        return len(files) == 1 and all(form(Path(file)) == "plain" for file in (files[0], word))

    def is_file(self, word: str) -> bool:
        """Whether a word may name a file; ``-``, standard input, is a text."""
        return not word.startswith("-") or (word == STDIN and not self.many)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Path, ...]:
        """The words of the option (a tuple, by :class:`Option`) as paths."""
        names = (value,) if isinstance(value, str) else value
        if not all(map(os.fspath, names)):
            self.fail("a file name is empty", param, ctx)
        if str(names[0]).startswith("--"):
            self.fail(f"a file name is expected before {names[0]}", param, ctx)
        return tuple(map(Path, names))


class ModelType(click.ParamType):
    """The name of a model: one word, which is not fetched even if it looks like an address."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name unchanged."""
        return str(value)


class Option(click.Option):
    """An option under a heading of ``--help``; one of :class:`FilesType` takes every word up to the next option.

    Where the command has arguments of its own, a corpus takes the words that can be its own and leaves the others:
    ``--out new.tsv train.de train.en``.
    """

    def __init__(self, declarations: Sequence[str], group: str = "", **more: Any) -> None:
        super().__init__(declarations, **more)
        self.group = group

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let click's parser give the option its further words."""
        super().add_to_parser(parser, ctx)
        kind = self.type
        if not isinstance(kind, FilesType):
            return
        takes_all = not any(isinstance(param, click.Argument) for param in ctx.command.params)
        parser_option = parser._long_opt[self.opts[0]]
        process = parser_option.process

        def process_all(value: str, state: Any) -> None:
            files = [value]
            while state.rargs and kind.is_file(state.rargs[0]) and (takes_all or kind.takes(files, state.rargs[0])):
                files.append(state.rargs.pop(0))
            process(tuple(files), state)

        parser_option.process = process_all

    def get_help_extra(self, ctx: click.Context) -> Any:
        """The default, but not the range, which the message of a wrong value has."""
        return {name: value for name, value in super().get_help_extra(ctx).items() if name != "range"}


def grouped(group: str, *declarations: str, **more: Any) -> Callable[[Any], Any]:
    """``click.option`` under a heading."""
    return click.option(*declarations, cls=Option, group=group, **more)


class Documented(click.Command):
    """A command or group whose help has options under headings, and an example at its end."""

    def __init__(self, *arguments: Any, example: str = "", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.example = example
        options = [param for param in self.params if isinstance(param, click.Option)]
        self.rare = [param for param in options if len(options) >= MOST and getattr(param, "group", "") == "Advanced"]
        self.params.append(
            Option(
                ["--help-all"], "Execution", is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                hidden=not self.rare, help=f"Show {len(self.rare)} more options",
            )
        )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options under the headings of their groups; a few options need no headings."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in FIRST}
        hidden = () if ctx.meta.get(_HELP_ALL) else self.rare
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in hidden]
        for param in options:
            if record := param.get_help_record(ctx):
                group = getattr(param, "group", "Execution") if len(options) > FEW else "Options"
                groups.setdefault(group, []).append((record[0], " ".join(record[1].split()).rstrip(".")))
        for name in [*(name for name in groups if name not in LAST), *LAST]:
            if records := groups.get(name):
                with formatter.section(name):
                    formatter.write_dl(sorted(records, key=lambda record: not record[1].endswith("[required]")))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example, a long one in several lines."""
        super().format_epilog(ctx, formatter)
        lines = [""]
        for part in re.split(" (?=--)", self.example):  # an option and its value stay together
            room = formatter.width - (5 if len(lines) == 1 else 9)
            if lines[-1] and len(lines[-1]) + len(part) > room:
                lines.append("")
            lines[-1] += f" {part}" if lines[-1] else part
        with formatter.section("Example"):
            formatter.write("  " + " \\\n      ".join(lines) + "\n")


_HELP_ALL = f"{__name__}.help_all"  # in a context: whether help has every option


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the help with every option, as ``--help`` prints it with the usual ones."""
    if value and not ctx.resilient_parsing:
        ctx.meta[_HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(Documented):
    """A command whose arguments may be addresses of files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fetch the files at addresses; names of models stay."""
        models = {name for param in self.params if isinstance(param.type, ModelType) for name in param.opts}
        words = [
            word if ctx.resilient_parsing or before in models or word.partition("=")[0] in models else _fetched(word)
            for before, word in zip(["", *args], args, strict=False)
        ]
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, words)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the further files of an option that takes several."""
        last = next((word for word in reversed(ctx.meta.get(_WORDS, ())) if word.startswith("--")), "")
        if not incomplete.startswith("-") and isinstance(self._option(last), FilesType):
            return [CompletionItem(incomplete, type="file")]
        return super().shell_complete(ctx, incomplete)

    def _option(self, name: str) -> click.ParamType | None:
        return next((param.type for param in self.params if name in param.opts), None)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with interruptible():
            return super().invoke(ctx)


_WORDS = f"{__name__}.words"  # in a context: the arguments of the command


def command_line() -> str:
    """The command that runs, as one line for a shell."""
    import shlex

    context = click.get_current_context()
    path = context.command_path.removeprefix(context.find_root().command_path).split()
    return shlex.join(["cgbench", *path, *context.meta[_WORDS]])


def _fetched(word: str) -> str:
    """A word of the command line, with an address (``ADDRESS``, ``NAME=ADDRESS``) replaced by the fetched file."""
    name, sign, value = word.partition("=")
    return f"{name}={local(value)}" if sign and is_address(value) else local(word)


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

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, then the options."""
        self.format_commands(ctx, formatter)
        Documented.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first sentence of each."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(1000).rstrip(".")) for name, one in commands.items() if one]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; an error names the nearest one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            import difflib

            near = difflib.get_close_matches(args[0].lower(), self.list_commands(ctx), 1, 0.6)
            if near:
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        if sys.stdout is None:  # closed by >&- in a shell; the next opened file would take its place
            raise Failure("standard output is closed; write it to a file, or to /dev/null")
        try:
            with warnings_as_lines(), text_alone(), interruptible():
                return super().invoke(ctx)
        except click.UsageError as error:
            said = error.format_message()
            if (shown := printable(said, "\t\n")) == said:
                raise
            raise click.UsageError(shown, error.ctx) from error
        except KeyboardInterrupt:
            raise Stopped("stopped") from None
        except InputError as error:
            raise Failure(with_file(as_given(as_options(error.message, ctx)), ctx)) from error
        except ModuleNotFoundError as error:
            if (missing := missing_package(error)) is None:
                raise
            raise Failure(missing.message) from error
        except UnicodeEncodeError as error:
            raise Failure(
                f"the output cannot be written in the encoding {error.encoding}; set PYTHONIOENCODING=utf-8"
            ) from error
        except BrokenPipeError:
            raise  # click ends quietly when the reader of a pipe has gone
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                where = error.filename or "standard output or a temporary file"
                raise Failure(f"{where}: the disk is full; free some space, then the same command resumes") from error
            if error.errno == errno.EFBIG:
                raise Failure(
                    f"{error.filename or 'output'}: a file would exceed the size limit (ulimit -f); raise it, then the "
                    "same command resumes"
                ) from error
            if found := re.search("[0-9]+ requested and [0-9]+ written", str(error.args)):  # numpy does not say why
                raise Failure(
                    f"{error.filename or 'output'}: an array was written in part ({found[0]}): the disk is full or the "
                    "file size limit (ulimit -f) is reached; fix this, then the same command resumes"
                ) from error
            if error.strerror is None:
                raise  # not an error of the system
            raise Failure(f"{error.filename}: {error.strerror}" if error.filename else error.strerror) from error
        except EOFError as error:
            # click would only print "Aborted!"
            raise Failure(f"a file ends in the middle ({error}); it was cut short") from error


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine options into one decorator."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for an engine, which the command receives as the argument ``engine``; it is closed at the end."""

    @functools.wraps(command)
    def run(
        *arguments: Any,
        jobs: int | None,
        engine: str | None,
        **given: Any,
    ) -> Any:
        from cgbench.engines import open_engine

        with open_engine(engine, jobs) as opened:
            return command(*arguments, engine=opened, **given)

    return options(
        grouped("Execution", "--jobs", type=click.IntRange(1), metavar="N", help=JOBS),
        grouped(
            "Execution", "--engine", metavar="local|ray[:ADDRESS]",
            help="Where tasks run: here, or on a Ray cluster (HOST:PORT, or auto) [default: local, "
            "or CGBENCH_ENGINE]",
        ),
    )(run)  # fmt: skip


JOBS = "Number of parallel tasks, which does not change the output [default: all cores]"
DRY_RUN = "Print the plan and write nothing"
EXPLAIN = "Print for each step why it runs or is kept"
format_option = grouped(
    "Output", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Output format",
)  # fmt: skip
work_option = grouped(
    "Advanced", "--work", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Workspace of the release, with texts, models and finished steps [default: RELEASE.work]",
)  # fmt: skip


def corpus_words(paths: tuple[Path, ...]) -> Any:
    """The corpus that an option names: two files, one file, or a folder of ``cgbench split`` (its training set)."""
    if len(paths) != 1 or not paths[0].is_dir():
        return paths
    from cgbench.benchmark.splits.split import corpus_or_split

    return corpus_or_split(paths, None)


def corpora_words(given: tuple[tuple[Path, ...], ...]) -> list[Any]:
    """The corpora of a repeatable option."""
    return [corpus_words(paths) for paths in given]


def ranges(given: Sequence[str]) -> list[int]:
    """The numbers of ``1-3,13``, in one word or several.

    :raises InputError: the text is not such a list.
    """
    words = ",".join(given)
    numbers: set[int] = set()
    for part in words.split(","):
        first, sign, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not sign)) or len(part) > 12:
            raise InputError(f"{argument('orders', words, text=words)}: numbers are needed, such as 1-13 or 2,3,13")
        if not 1 <= int(first) <= int(last or first) <= 1000:
            raise InputError(f"{argument('orders', words, text=words)}: lengths go from 1 to 1000, the lower first")
        numbers.update(range(int(first), int(last or first) + 1))
    return sorted(numbers)


def warn_of(findings: Iterable[Finding]) -> None:
    """Print one warning per finding about texts; scores can still be computed."""
    for finding in findings:
        warnings.warn(InputWarning(finding.text), stacklevel=2)


def changed_settings(kind: type, config: Path | None, assignments: tuple[str, ...], /, **given: Any) -> dict[str, Any]:
    """Values of a request, later ones first: dedicated options, ``--set``, the YAML file."""
    read = read_values(kind, config) if config else {}
    changed = parse_assignments(assignments) | {key: value for key, value in given.items() if value is not None}
    if context := click.get_current_context(silent=True):
        context.meta[FROM_FILE] = {key: config for key in read if key not in changed}
    return {**read, **changed}


def print_cost(cost: Forecast) -> None:
    """Print the cost of a build on standard error."""
    note(f"\n{cost}\n" + (f"\nwarning: {cost.advice}" if cost.advice else ""))


def say_if(wanted: bool) -> Callable[[str], None] | None:
    """A function that prints a line on standard error, or None."""
    return note if wanted else None
