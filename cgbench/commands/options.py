"""What the commands share: options that take one file or two, errors as one line, the choice of a device."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from cgbench.errors import InputError
from cgbench.settings import parse_assignments, read_yaml
from cgbench.text.formats import CorpusSpec, language_suffixes

LONGEST = 2000  # characters of a message, which may quote a line of the input
SEPARATOR = "\0"  # cannot occur in a file name


class FilesType(click.ParamType):
    """One file or more after an option: ``--train train.de train.en``."""

    name = "files"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Path, ...]:
        """Split what :class:`Command` has joined."""
        if isinstance(value, tuple):
            return value
        return tuple(Path(item) for item in value.split(SEPARATOR))


class Command(click.Command):
    """A command whose :class:`FilesType` options take every word up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Join the words that follow such an option into one."""
        options = {name for param in self.params if isinstance(param.type, FilesType) for name in param.opts}
        joined: list[str] = []
        words = list(args)
        while words:
            word = words.pop(0)
            joined.append(word)
            if word in options:
                group = []
                while words and not words[0].startswith("-"):
                    group.append(words.pop(0))
                if group:
                    joined.append(SEPARATOR.join(group))
        return super().parse_args(ctx, joined)


class Resumable(Command):
    """A command that goes on where it was stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped("stopped; the same command, given again, goes on from what is saved") from None


class Stopped(click.ClickException):
    """Somebody pressed Ctrl-C: one line on standard error, the exit status of shells."""

    exit_code = 130

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"\n{self.message}", file=file or sys.stderr)


class Failure(click.ClickException):
    """The call or its input is wrong: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        text = (
            self.message if len(self.message) <= LONGEST else f"{self.message[: LONGEST - 300]} … {self.message[-300:]}"
        )
        click.echo(f"error: {text}", file=file or sys.stderr)


class Group(click.Group):
    """The command line: turns what a user can cause into one line and status 2."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped("stopped") from None
        except InputError as error:
            raise Failure(str(error)) from error
        except UnicodeEncodeError as error:
            raise Failure(
                f"the output cannot be written in the encoding {error.encoding}; set PYTHONIOENCODING=utf-8"
            ) from error
        except BrokenPipeError:
            raise  # click ends quietly when the reader of a pipe has gone
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Failure(
                    f"{error.filename or 'output'}: the disk is full; free some space and give the same command "
                    "again to go on"
                ) from error
            if error.filename is not None:
                raise Failure(f"{error.filename}: {error.strerror}") from error
            raise


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in the order given."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


text_options = options(
    click.option("--columns", metavar="S,T", help="Source and target column of a file with both sides (TSV: from 1)."),
    click.option("--languages", metavar="S,T", help="Language codes; default: the file names' last parts."),
    click.option("--tokenize", type=click.Choice(["none", "moses"]), help="Normalise all text: Moses tokenisation."),
    click.option("--lowercase", is_flag=True, default=None, help="Normalise all text: lower case."),
)
run_options = options(
    click.option("--config", type=click.Path(path_type=Path), help="Settings from a YAML file."),
    click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change one setting."),
    click.option("--seed", type=click.IntRange(0), help="Seed of every random choice (default 1)."),
    click.option("--jobs", type=click.IntRange(1), help="Worker processes (default: the cores); changes no byte."),
    click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True),
    click.option("--dry-run", is_flag=True, help="Say what would run, and why; write nothing."),
    click.option("--explain", is_flag=True, help="Say of every step why it runs or is kept."),
)
format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What is printed."
)


def corpus(paths: tuple[Path, ...], columns: str | None) -> CorpusSpec:
    """The corpus that an option names."""
    return CorpusSpec(paths, column_pair(columns) if len(paths) == 1 else None)


def column_pair(columns: str | None) -> tuple[str, str] | None:
    """Source and target column, as ``--columns S,T`` names them."""
    if not columns:
        return None
    names = columns.split(",")
    if len(names) != 2 or not all(names):
        raise InputError(f"--columns {columns}: two columns are needed, such as 1,2")
    return names[0], names[1]


def language_pair(languages: str | None, train: CorpusSpec) -> tuple[str, str]:
    """The languages: as given, else from the file names, else ``source`` and ``target``."""
    if not languages:
        return language_suffixes(train) or ("source", "target")
    codes = languages.split(",")
    if len(codes) != 2 or codes[0] == codes[1] or not all(code.replace("-", "").isalnum() for code in codes):
        raise InputError(f"--languages {languages}: two different codes are needed, such as de,en")
    if "parquet" in codes:
        raise InputError(f"--languages {languages}: parquet is the name of another file of the release")
    return codes[0], codes[1]


def changed_settings(config: Path | None, assignments: tuple[str, ...], **given: Any) -> dict[str, Any]:
    """Settings from least to most specific: the YAML file, ``--set``, and options of their own that were given."""
    return {
        **(read_yaml(config) if config else {}),
        **parse_assignments(assignments),
        **{key: value for key, value in given.items() if value is not None},
    }


def choose_device(device: str) -> str:
    """``cpu`` or ``cuda``; ``auto`` takes a GPU where there is one.

    :raises InputError: a GPU is asked for and there is none.
    """
    if device == "cpu":
        return device
    from cgbench.errors import require

    found = require("torch", "models").cuda.is_available()
    if device == "cuda" and not found:
        raise InputError("--device cuda: PyTorch sees no GPU here; use --device cpu")
    return "cuda" if found else "cpu"


def default_jobs(jobs: int | None) -> int:
    """The number of worker processes: as given, else the cores this process may use."""
    import os

    return jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def say_if(wanted: bool) -> Callable[[str], None] | None:
    """What prints a line on standard error, or nothing."""
    return (lambda line: click.echo(line, err=True)) if wanted else None


def read_text(text: Path) -> Iterator[str]:
    """The lines of a plain file (.gz, .zst too), of ``TABLE:COLUMN``, or of standard input for ``-``.

    :raises InputError: it is missing, damaged or not UTF-8.
    """
    from cgbench.text.columns import read_column, split_name
    from cgbench.text.formats import decode_line, form, read_lines

    if str(text) == "-":
        for number, line in enumerate(sys.stdin.buffer, 1):
            yield decode_line(line, Path("standard input"), number)
    elif form(split_name(str(text))[0]) == "plain":
        yield from read_lines(text)
    else:
        yield from read_column(str(text)).values
