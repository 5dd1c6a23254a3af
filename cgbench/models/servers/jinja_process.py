"""Render a Jinja template for many rows, within limits of time, memory and length. It runs in a process of its own.

Jinja's sandbox keeps a template from reaching Python, but not from filling the memory (``"x" * 10**10``) or from
running for ever (nested loops), and neither can be interrupted in the calling process. This file is run by its path
(:func:`cgbench.models.servers.prompt_templates.messages`) and imports nothing of this package.

Standard input is ``{"text": TEMPLATE, "rows": [{NAME: VALUE}], "path": [FOLDER]}`` (the module search path); each line
of the output is the text of a row, or ``{"error": REASON}``, after which nothing follows.
"""

import contextlib
import json
import resource
import sys

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
    """The examples of one prompt. As text, a pair per two lines, with a blank line after each pair."""

    __slots__ = ()

    def __str__(self) -> str:
        return "".join(f"{shot.source}\n{shot.target}\n\n" for shot in self)


def render_rows() -> None:
    """Render the rows until one fails."""
    task = json.load(sys.stdin)
    sys.path[:] = task["path"]
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    with contextlib.suppress(ValueError, OSError):  # macOS does not limit it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    del environment.globals["lipsum"], environment.filters["random"]  # the same text when a run resumes
    template = None
    for row in task["rows"]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS + 1, -1))
        values = {**row, "shots": Shots(Shot(*shot) for shot in row["shots"])}
        try:
            template = template or environment.from_string(task["text"])
            text = str(template.render(values))
            reason = f"a text of more than {LONGEST:,} characters" if len(text) > LONGEST else ""
        except MemoryError:
            reason = f"more than {MEMORY >> 30} GB of memory"
        except Exception as error:
            reason = " ".join(str(error)[:300].split()) or type(error).__name__
        print(json.dumps({"error": reason} if reason else text), flush=True)
        if reason:
            return


if __name__ == "__main__":
    render_rows()
