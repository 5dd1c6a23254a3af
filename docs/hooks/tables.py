"""mkdocs: marks in a page become tables, made from the code; search finds guides before measurements.

``<!-- request: MODULE.CLASS -->``: the fields of a request. ``<!-- settings -->``: the settings of models, one section
per architecture and method. ``<!-- presets -->``: the presets.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import cgbench
from cgbench.requests import Field, leaves_of

MARK = re.compile(r"<!-- request: ([\w.]+)\.(\w+) -->")


BOOST = {"how-to/add-": 4.0, "tutorial/": 1.3, "how-to/": 1.2, "explanation/": 1.3, "lab/": 0.2}
"""Weights in the search, by the beginning of a page's path."""


def on_startup(**_: Any) -> None:
    """Let the API show the arguments of functions, not the request that they become."""
    for name in cgbench.__all__:
        if hasattr(function := getattr(cgbench, name), "__wrapped__"):
            del function.__wrapped__


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the tables in."""
    boosts = (boost for start, boost in BOOST.items() if page.file.src_uri.startswith(start))
    page.meta["search"] = {"boost": next(boosts, 1.0)}
    for mark, made in (("<!-- settings -->", settings), ("<!-- presets -->", presets)):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return MARK.sub(lambda found: table(getattr(import_module(found[1]), found[2])), markdown)


def table(kind: type) -> str:
    """The fields of a request: option and argument, values, default, help."""
    lines = []
    for field in leaves_of(kind).values():
        option = "" if field.python_only else f"`--set {field.name}=`" if field.is_setting else f"`{field.flag}`"
        help = field.help + (f" (`{field.unit}`)" if field.unit else "")
        lines.append([option, f"`{field.name}`", field.allowed, _default(field), help])
    return _markdown(("Option", "Argument", "Values", "Default", "Meaning"), lines)


def settings() -> str:
    """All settings of models: those of training and text, then what each architecture and method adds."""
    from cgbench.models.catalogue import catalogue, describe

    known = {row["name"]: row for row in describe("tiny", None, False)["settings"]}
    parts = [("Text", "", known.values(), "text."), ("Training", "", known.values(), "training.")]
    for kind in ("architectures", "methods"):
        for row in catalogue(None, False)[kind]:
            about = f"{row['summary'].capitalize()} ({row['paper']})."
            parts.append((f"`{row['name']}`", about, describe(row["name"], None, False)["settings"], ""))
    sections, seen = [], set()
    for title, about, rows, start in parts:
        new = [row for row in rows if row["name"].startswith(start) and row["name"] not in seen]
        seen |= {row["name"] for row in new}
        cells = [(f"`{row['name']}`", f"`{row['default']}`", row["help"].replace("``", "`")) for row in new]
        tables = _markdown(("Setting", "Default", "Meaning"), cells) if cells else "No settings beyond those above."
        sections.append("\n\n".join(filter(None, (f"## {title}", about, tables))))
    return "\n\n".join(sections)


def presets() -> str:
    """The presets of models."""
    from cgbench.models.catalogue import catalogue

    names = ("name", "architecture", "method", "paper")
    rows = catalogue(None, False)["presets"]
    return _markdown(("Preset", "Architecture", "Method", "From"), [[str(row[name]) for name in names] for row in rows])


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _default(field: Field) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    return "" if field.default in (None, "", ()) or field.default == [] else f"`{field.default}`"
