"""Render a Jinja template for one row after another, within limits of time, memory and length, in a
child process.

Jinja's sandbox keeps a template from reaching Python, but not from filling the memory (``"x" *
10**10``) or from running for ever (nested loops), and neither can be interrupted in the calling
process.
"""

import functools
import resource
from typing import Any

from cgbench.engines.child import Answer
from cgbench.errors import InputError, reason_of

SECONDS = 5
"""Processor time per row."""
MEMORY = 1 << 30
"""Bytes of address space."""
LONGEST = 1 << 20
"""Characters of a text."""


class Shot:
    """An example: ``source`` and ``target``."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target


class Shots(tuple[Shot, ...]):
    """The examples of one prompt.

    As text, a pair per two lines, with a blank line after each pair.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "".join(f"{shot.source}\n{shot.target}\n\n" for shot in self)


def sandbox() -> Any:
    """A Jinja environment whose templates give the same text in every run."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    del environment.globals["lipsum"], environment.filters["random"]
    return environment


def renderer() -> Answer:
    """The handler of the child process: a template, a row and seconds become the text of the
    row.
    """
    parse = functools.cache(sandbox().from_string)

    def answer(question: Any) -> tuple[str, bytes]:
        text, row, seconds = question
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, -1)
        )
        try:
            rendered = str(
                parse(text).render({**row, "shots": Shots(Shot(*shot) for shot in row["shots"])})
            )
        except MemoryError:
            raise InputError(f"more than {MEMORY >> 30} GB of memory") from None
        except Exception as error:
            raise InputError(reason_of(error)) from None
        if len(rendered) > LONGEST:
            raise InputError(f"a text of more than {LONGEST:,} characters")
        return rendered, b""

    return answer
