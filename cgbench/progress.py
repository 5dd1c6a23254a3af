"""Progress: bars on a terminal and in notebooks; elsewhere one line on standard error every half minute.

Only commands print these lines (:func:`said_aloud`). They describe the open bars and the work that has a name
(:func:`working`).
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from cgbench.errors import InputError, printable

EVERY = "CGBENCH_LOG_EVERY"
"""Environment variable with the seconds between lines, also for worker processes; 0: no lines."""

USUAL = 30.0
_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}, {rate_fmt}]"
"""The postfix, such as the loss, comes before the rate because a narrow terminal cuts the end."""

T = TypeVar("T")

_open: list[Bar | Work] = []  # the innermost last
_steps: list[str] = []  # of the build that runs


class Work:
    """Work that has a name but no count."""

    visible = False

    def __init__(self, description: str) -> None:
        self.description, self.began = description, time.monotonic()
        _open.append(self)

    def close(self) -> None:
        """End the work."""
        if self in _open:
            _open.remove(self)

    def line(self) -> str:
        """The line to print."""
        return f"{_place(self)}{self.description}: {_clock(time.monotonic() - self.began)} so far"


class Bar(Work):
    """A tqdm bar that counts even if it is not drawn."""

    def __init__(self, drawn: Any, total: float | None, description: str, unit: str, initial: float) -> None:
        self.drawn, self.total, self.unit, self.initial = drawn, total, unit, initial
        self.n, self.postfix = initial, ""
        self.visible = not getattr(drawn, "disable", True)
        super().__init__(description)

    def update(self, n: float = 1) -> None:
        """Add ``n`` to the count."""
        self.n += n
        self.drawn.update(n)

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Set the text behind the counts."""
        self.postfix = text
        self.drawn.set_postfix_str(text, refresh)

    def close(self) -> None:
        """End the work."""
        super().close()
        self.drawn.close()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def line(self) -> str:
        """The line to print: ``train member 1 of 4: 1,200 of 2,000 updates, 10.0/s, 1:20 left, loss 3.1``."""
        passed, done = time.monotonic() - self.began, self.n - self.initial
        rate = done / passed if passed > 0 else 0.0
        scale, unit = (1e6, "MB") if self.unit == "B" else (1.0, f"{self.unit}s")
        digits = ",.1f" if scale > 1 else ",.0f"
        of = "" if self.total is None else f" of {self.total / scale:{digits}}"
        parts = [f"{self.n / scale:{digits}}{of} {unit}"]
        if rate:
            parts.append(f"{rate / scale:.3g}/s" if rate < 1000 * scale else f"{rate / scale:,.0f}/s")
        if rate and self.total is not None and self.total >= self.n:
            parts.append(f"{_clock((self.total - self.n) / rate)} left")
        else:
            parts.append(f"{_clock(passed)} so far")
        return f"{_place(self)}{self.description}: " + ", ".join([*parts, *([self.postfix] if self.postfix else [])])


def bar(total: float | None, description: str, unit: str = "it", show: bool = True, **options: Any) -> Bar:
    """A tqdm bar with rate and time left (``update(n)``, ``close()``, or as a context manager).

    ``unit`` is the unit of ``total``. A bar is drawn with ``show``, on a terminal or in a notebook with ipywidgets.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ipywidgets are missing: then there is no bar
        from tqdm.auto import tqdm

    hidden = None if show else True
    drawn = tqdm(
        total=total, desc=printable(_place() + description), unit=unit, unit_scale=True, disable=hidden,
        dynamic_ncols=True, bar_format=_FORMAT if total is not None else None, **options,
    )  # fmt: skip
    made = Bar(drawn, total, description, unit, options.get("initial", 0))
    if not show:
        Work.close(made)  # another process shows it
    return made


def track(items: Iterable[T], total: int | None, description: str, unit: str = "it") -> Iterator[T]:
    """Yield ``items`` with a progress bar."""
    with bar(total, description, unit) as progress:
        for item in items:
            yield item
            progress.update(1)


@contextlib.contextmanager
def numbered(steps: Iterable[str]) -> Iterator[None]:
    """Put ``step 5 of 9`` before the bars and lines of these steps, which :func:`working` names."""
    _steps[:] = steps
    try:
        yield
    finally:
        _steps.clear()


def number_of(step: str) -> str:
    """``step 5 of 9``; empty for a step that has no number."""
    return f"step {_steps.index(step) + 1} of {len(_steps)}" if step in _steps else ""


def _place(shown: Work | None = None) -> str:
    """The step that runs; its name too, where ``shown`` is a line about something inside it."""
    step = next((work for work in reversed(_open) if work.description in _steps), None)
    inside = f", {step.description}" if step and shown not in (None, step) else ""
    return f"{number_of(step.description)}{inside}: " if step else ""


@contextlib.contextmanager
def working(description: str) -> Iterator[None]:
    """Name the work inside, which has no bar, for the lines."""
    work = Work(description)
    try:
        yield
    finally:
        work.close()


def lines_every() -> float:
    """Seconds between lines; 0: none.

    :raises InputError: the environment variable is not such a number.
    """
    text = os.environ.get(EVERY, "")
    try:
        seconds = float(text) if text else USUAL
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise InputError(f"{EVERY}={printable(text)}: seconds are needed, such as 60, or 0 for no lines")
    return seconds


@contextlib.contextmanager
def said_aloud(description: str) -> Iterator[None]:
    """Print the progress of the work inside on standard error at intervals, unless a bar shows it.

    :param description: printed if nothing inside has a name.
    """
    every = lines_every()
    if not every:
        yield
        return
    over = threading.Event()
    whole = Work(description)
    # A thread, because the work may be one long call.
    threading.Thread(target=_speak, args=(every, over, Work), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        whole.close()


def say_bars() -> None:
    """Let a worker process print the progress of its bars; the command that started it prints the rest."""
    if every := lines_every():
        threading.Thread(target=_speak, args=(every, threading.Event(), Bar), daemon=True).start()


def _speak(every: float, over: threading.Event, kind: type[Work]) -> None:
    while not over.wait(every):
        say_line(kind)


def say_line(kind: type[Work] = Work) -> None:
    """Print the progress of the innermost work, unless a bar shows it."""
    current = [work for work in list(_open) if isinstance(work, kind)]
    if current and not any(work.visible for work in current):
        print(printable(current[-1].line()), file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    """``1:02:03`` or ``2:03``."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
