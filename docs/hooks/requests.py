"""mkdocs: ``<!-- request: MODULE.CLASS -->`` in a page becomes the table of that request's fields."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from typing import Any

from cgbench.requests import Field, fields_of

MARK = re.compile(r"<!-- request: ([\w.]+)\.(\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the tables in."""
    return MARK.sub(lambda found: table(getattr(import_module(found[1]), found[2])), markdown)


def table(kind: type) -> str:
    """The fields of a request: option and argument, values, default, help."""
    lines = ["| Option | Argument | Values | Default | |", "|---|---|---|---|---|"]
    for field in fields_of(kind).values():
        option = "" if field.python_only else f"`--set {field.name}=`" if field.is_setting else f"`{field.flag}`"
        help = field.help + (f" (`{field.unit}`)" if field.unit else "")
        cells = [option, f"`{field.name}`", field.allowed, _default(field), help]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _default(field: Field) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    return "" if field.default in (None, "", ()) or field.default == [] else f"`{field.default}`"
