"""The width of the terminal, and lines folded to it."""

import os
import re
import sys

UNLIMITED = sys.maxsize  # columns of a file or a pipe


def columns() -> int:
    """The width of the terminal, or ``COLUMNS``; without limit where no terminal shows the output,
    so that ``grep`` finds whole rows.
    """
    if not is_terminal() and not os.environ.get("COLUMNS", "").isdigit():
        return UNLIMITED
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def is_terminal() -> bool:
    """Whether a terminal shows the output."""
    return sys.stdout is not None and sys.stdout.isatty()


def folded(line: str, indent: int, between: str = " ") -> str:
    """A line as lines of the terminal's width, all but the first indented.

    :param between: where it may break: after this.
    """
    room = columns()
    if len(line) <= room:
        return line
    lines = [""]
    for part in re.split(f"(?<={re.escape(between)})", line):
        if len(lines[-1]) + len(part.rstrip()) > room and lines[-1].strip():
            lines.append(" " * indent)
        lines[-1] += part
    return "\n".join(text.rstrip() for text in lines)
