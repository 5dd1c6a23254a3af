"""Messages of commands: warnings and errors in one line, with options in place of arguments."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from cgbench.errors import (
    InputError,
    InputWarning,
    missing_package,
    printable,
    printable_json,
    warn,
    with_arguments,
)

if TYPE_CHECKING:
    from cgbench.benchmark.score.comparison.requirements import CheckedRequirement
    from cgbench.text.normalisation import Normalisation

LONGEST = 2000  # characters of a message, which may quote a line of a file
SETTINGS = ("case_sensitive",)  # of sacrebleu, which no request has as a field
REQUEST = f"{__name__}.request"  # in a context: the fields of the command's requests
FROM_FILE = f"{__name__}.from_file"  # in a context: the file of each setting that comes from one


class Stopped(click.ClickException):
    """Ctrl-C: one line on standard error, and the exit status of shells."""

    exit_code = 130

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"\n{self.message}", file=file or sys.stderr)


class Failure(click.ClickException):
    """An error in the call or its input: one line on standard error, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        text = (
            self.message
            if len(self.message) <= LONGEST
            else f"{self.message[: LONGEST - 300]} … {self.message[-300:]}"
        )
        click.echo(f"error: {printable(text)}", file=file or sys.stderr)


class NotShown(click.ClickException):
    """A comparison does not show what ``--require`` asks for: exit status 1; the lines are printed
    already.
    """

    exit_code = 1

    def show(self, file: Any = None) -> None:
        """Print nothing more."""


def report_requirements(requirements: Sequence[CheckedRequirement]) -> None:
    """Print a line for each requirement, and end with status 1 unless all are shown."""
    for checked in requirements:
        note(str(checked))
    if not all(requirements):
        raise NotShown("a requirement is not shown")


def failure_of(error: Exception, context: click.Context) -> Failure | None:
    """The line for an error that a user can cause; None for an error of the program."""
    if isinstance(error, InputError):
        from cgbench.text.remote import as_given

        message = as_given(as_options(error.message, context))
        # A message about a setting of a file comes after the name of the file.
        names = (
            f"{path}: "
            for key, path in context.meta.get(FROM_FILE, {}).items()
            if re.match(rf"(unknown setting )?{re.escape(key)}(?![\w.])", message)
        )
        return Failure(next(names, "") + message)
    if isinstance(error, ModuleNotFoundError):
        missing = missing_package(error)
        return Failure(missing.message) if missing else None
    if isinstance(error, UnicodeEncodeError):
        return Failure(
            f"the output cannot be written in the encoding {error.encoding}; set"
            " PYTHONIOENCODING=utf-8"
        )
    if isinstance(error, EOFError):  # click would only print "Aborted!"
        return Failure(f"a file ends in the middle ({error}); it was cut short")
    if not isinstance(error, OSError) or isinstance(
        error, BrokenPipeError
    ):  # click ends quietly after a closed pipe
        return None
    name = error.filename or "output"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        name = error.filename or "standard output or a temporary file"
        return Failure(f"{name}: the disk is full; free some space, then the same command resumes")
    if error.errno == errno.EFBIG:
        return Failure(
            f"{name}: a file would exceed the size limit (ulimit -f); raise it, then the same"
            " command resumes"
        )
    if match := re.search(
        "[0-9]+ requested and [0-9]+ written", str(error.args)
    ):  # numpy does not say why
        return Failure(
            f"{name}: an array was written in part ({match[0]}): the disk is full or the file size"
            " limit (ulimit -f) is reached; fix this, then the same command resumes"
        )
    if error.strerror is None:  # not an error of the system
        return None
    return Failure(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)


class _Plain:
    """Standard output to a terminal, without control characters for as long as a command runs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.plain = stream, True

    def write(self, text: str) -> int:
        # click writes b"" to learn what a stream takes; the stream itself refuses it
        self._stream.write(
            printable(text, "\t\n") if self.plain and isinstance(text, str) else text
        )
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def text_alone() -> Iterator[None]:
    """Escape control characters on a terminal; files and pipes get every byte."""
    if not sys.stdout.isatty():
        yield
        return
    stream = _Plain(sys.stdout)
    try:
        with contextlib.redirect_stdout(cast(TextIO, stream)):
            yield
    finally:
        stream.plain = (
            False  # colorama, which numba starts, keeps the stream and resets its colours at exit
        )


_INTERRUPTED = threading.Event()


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    _INTERRUPTED.set()
    signal.default_int_handler(signal_number, frame)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the work inside as a KeyboardInterrupt, whatever error a library makes of it.

    PyTorch catches the exception while it is imported, and fails later with another error.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    replaces = is_default and threading.current_thread() is threading.main_thread()
    if replaces:
        _INTERRUPTED.clear()
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    except Exception as error:
        if _INTERRUPTED.is_set() and not isinstance(error, Stopped):
            raise KeyboardInterrupt from error
        raise
    finally:
        if replaces:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def as_options(message: str, context: click.Context | None = None) -> str:
    """A message of the library with options in place of arguments: ``--paired mcnemar``."""
    context = context or click.get_current_context(silent=True)
    kinds = context.meta.get(REQUEST, []) if context else []
    from_file = context.meta.get(FROM_FILE, {}) if context else {}

    def say(name: str, value: str | None, written: str | None) -> str:
        field = next((fields[name] for fields in kinds if name in fields), None)
        if name in from_file:
            return name if value is None else f"{name}={value}"
        if field and field.is_option:
            is_flag = value in (None, "True")
            return field.option if is_flag else f"{field.option} {value}"
        if (field and field.is_setting) or name in SETTINGS:
            value = value.lower() if value in ("True", "False") else value
            return f"--set {name}" if value is None else f"--set {name}={value}"
        option = f"--{name.replace('_', '-')}"
        return option if value is None else f"{option} {value}"

    return with_arguments(message, say)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each :class:`~cgbench.errors.InputWarning` as one line, and equal ones once."""
    printed: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str, category: type[Warning], *where: Any, **keywords: Any
        ) -> None:
            if not issubclass(category, InputWarning):
                usual(message, category, *where, **keywords)
                return
            from cgbench.text.remote import as_given

            text = as_given(as_options(getattr(message, "message", str(message))))
            if text not in printed:
                printed.add(text)
                note(f"warning: {printable(text)}")

        warnings.simplefilter("always", InputWarning)
        warnings.showwarning = show
        yield


def note(line: str) -> None:
    """Print a line on standard error, without control characters from files and servers."""
    click.echo(printable(line, "\t\n"), err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    click.echo(printable_json(json.dumps(value, ensure_ascii=False, indent=1)))


def show(form: str, value: Any, text: str) -> None:
    """Print a result on standard output: its value as JSON (``form``), or its text."""
    if form == "json":
        print_json(value)
    else:
        click.echo(text)


def warn_of_texts(
    train: str | Path, texts: Sequence[str | Path], normalisation: Normalisation
) -> None:
    """Print one warning per problem in samples of the texts; scores can still be computed."""
    from cgbench.text.inspection import look_at_texts

    for finding in look_at_texts(train, texts, normalisation):
        warn(finding.text)


def cost_table(times: dict[str, float | None]) -> str:
    """The seconds of the steps of a build, and their sum, as a table."""
    from cgbench.tables import render

    rows = [
        (step, "not estimated" if seconds is None else duration(seconds))
        for step, seconds in times.items()
    ]
    total = duration(sum(filter(None, times.values())))
    return render(("about", "time"), [*rows, ("total", total)])


def duration(seconds: float) -> str:
    """``40 seconds``, ``3 minutes``, ``7.5 hours``, ``31 days``: rounded for an estimate."""
    for unit, length in (("day", 24 * 3600.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * length:
            return (
                f"{seconds / length:,.{int(unit != 'minute' and seconds < 9.95 * length)}f} {unit}s"
            )
    return f"{max(1, round(seconds))} second{'s' if round(seconds) > 1 else ''}"
