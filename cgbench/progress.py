"""Progress: tqdm bars on a terminal and in notebooks; elsewhere, at intervals, a line on standard
error.
"""

import contextlib
import math
import os
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from cgbench.errors import InputError, printable

EVERY = "CGBENCH_LOG_EVERY"
"""Environment variable with the seconds between lines, also for worker processes; 0: no lines."""

USUAL = 30.0
BYTES = "B"
"""The unit of sizes."""
_COUNTS = "{n:,.0f} of {total:,.0f}"
_SIZES = "{n_fmt} of {total_fmt}"
"""How far it is: counts as they are, bytes in kB, MB, ..."""
_FORMAT = (
    "{{desc}}: {{percentage:3.0f}}%, {{rate_fmt}}, {{remaining}} left, {}{{postfix}} |{{bar}}|"
)
"""A narrow terminal cuts the end: the bar, then the postfix, such as the loss."""
_LONGEST = 40
"""Characters of a description before a bar: in 80 columns, percentage, rate and time left stay
whole.
"""
_LINE = "{{desc}}: {}, {{rate_fmt}}, {{remaining}} left{{postfix}}"
_LINE_WITHOUT_TOTAL = "{desc}: {n_fmt}, {rate_fmt}, {elapsed} so far{postfix}"

T = TypeVar("T")

_steps: list[str] = []  # of the build that runs
_running: list[str] = []  # the innermost step last


class _Lines:
    """Standard error that is no terminal: each state of a bar becomes a line."""

    def write(self, text: str) -> None:
        if line := text.strip():
            print(printable(line), file=sys.stderr, flush=True)

    def flush(self) -> None:
        """Nothing waits."""


def bar(
    total: float | None, description: str, unit: str = "it", show: bool = True, **options: Any
) -> Any:
    """A tqdm bar with rate and time left (``update(n)``, ``close()``, or as a context manager).

    ``unit`` is the unit of ``total``. A bar is drawn with ``show``, on a terminal or in a notebook
    with ipywidgets. Without a terminal, a line is printed every :func:`lines_every` seconds.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ipywidgets are missing: then there is no bar
        from tqdm import tqdm as plain_tqdm
        from tqdm.autonotebook import tqdm

    if not hasattr(plain_tqdm, "_lock"):
        plain_tqdm.set_lock(
            threading.RLock()
        )  # tqdm's own lock leaves a semaphore behind when killed

    prefix = "".join(f"{step_number(step)}: " for step in _running[-1:] if step in _steps)
    options |= {
        "total": total,
        "desc": printable(prefix + description),
        "unit": unit if unit == BYTES else f" {unit}",
        "unit_scale": True,
    }
    how_far = _SIZES if unit == BYTES else _COUNTS
    if not show or tqdm is not plain_tqdm or (sys.stderr and sys.stderr.isatty()):
        hidden = None if show else True
        options["desc"] = textwrap.shorten(options["desc"], _LONGEST, placeholder="…")
        return tqdm(
            disable=hidden,
            dynamic_ncols=True,
            bar_format=None if total is None else _FORMAT.format(how_far),
            **options,
        )
    every = lines_every()
    lines = _LINE_WITHOUT_TOTAL if total is None else _LINE.format(how_far)
    options |= {
        "disable": not every,
        "file": _Lines(),
        "mininterval": every,
        "maxinterval": every,
        "delay": every,
    }
    return plain_tqdm(bar_format=lines, **{**options, "leave": False})


def track(items: Iterable[T], total: int | None, description: str, unit: str = "it") -> Iterator[T]:
    """Yield ``items`` with a progress bar."""
    with bar(total, description, unit) as progress:
        for item in items:
            yield item
            progress.update(1)


@contextlib.contextmanager
def numbered_steps(steps: Iterable[str]) -> Iterator[None]:
    """Put ``step 5 of 9`` before the bars of these steps, which :func:`working` names."""
    _steps[:] = steps
    try:
        yield
    finally:
        _steps.clear()


def step_number(step: str) -> str:
    """``step 5 of 9``; empty for a step that has no number."""
    return f"step {_steps.index(step) + 1} of {len(_steps)}" if step in _steps else ""


@contextlib.contextmanager
def working(step: str) -> Iterator[None]:
    """Name the step that runs, for its bars."""
    _running.append(step)
    try:
        yield
    finally:
        _running.remove(step)


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
        raise InputError(
            f"{EVERY}={printable(text)}: seconds are needed, such as 60, or 0 for no lines"
        )
    return seconds
