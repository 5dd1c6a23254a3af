"""``cgbench overlap --report``: the page of an overlap with a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgbench.benchmark.overlap.result import Overlap, SideOverlap
from cgbench.report import charts
from cgbench.report.page import as_table, render_page

MOST = 200
"""Examples of a side that are shown."""
MOST_FILES = 500
DRAWN = (3, 5, 8, 13)
"""Orders whose containment is drawn, where they were counted."""


def overlap_page(found: Overlap, *, command: str = "") -> str:
    """A page about an overlap, as HTML: the same bytes for the same input.

    :param command: what made it, to be shown.
    """
    corpus, figures = found.corpus, found.as_dict()["sides"]
    notes, what = [], corpus.get("source") or f"{corpus['words']:,} {found.unit} of other text"
    if corpus["skipped"]:
        notes.append(("", f"Of the corpus {corpus['skipped']:,} lines or ends of files could not be read: left out."))
    if len(corpus["files"]) > MOST_FILES:
        notes.append(("", f"Of {len(corpus['files']):,} files the first {MOST_FILES} are named below."))
    totals = [
        (name, _shown(one["examples"]), _shown(one[found.unit]), _shown(one["degree"], ".4f"),
         _shown(one["longest_mean"], ".2f"), _shown(one["longest"]), _shown(one["whole"]))
        for name, one in figures.items()
    ]  # fmt: skip
    orders = [
        [order, *(cell for one in figures.values() for cell in _order(one["orders"][order]))]
        for order in map(str, found.orders)
    ]
    files = [
        (one["file"], *(_shown(one.get(key, 0)) for key in ("documents", "words", "skipped")))
        for one in corpus["files"][:MOST_FILES]
    ]
    heads = {
        "totals": ["side", "examples", found.unit, "degree", "longest, mean", "longest", "whole examples"],
        "orders": ["n", *(f"{name}: {key}" for name in figures for key in ("known", "containment", "examples"))],
        "files": ["file", "documents", found.unit, "left out"],
    }
    context = {
        "title": "Overlap with a corpus",
        "lead": f"How much of {len(found.sides[0].lengths):,} examples is in {what}, word for word.",
        "facts": [("files", _shown(len(corpus["files"]))), ("documents", _shown(corpus["documents"]))],
        "sections": [
            ("totals", "Totals"),
            ("histograms", "Histograms"),
            *((f"side{number}", side.name) for number, side in enumerate(found.sides, 1)),
            ("origin", "Origin"),
        ],
        "notes": notes,
        "min_count": found.min_count,
        "unit": found.unit,
        "totals": as_table("Totals", "All examples", heads["totals"], totals),
        "orders": as_table("By order", "N-grams by order; examples: those with a known one", heads["orders"], orders),
        "charts": _charts(found),
        "tables": [_examples(side) for side in found.sides],
        "command": command,
        "files": as_table("Files", "What was read", heads["files"], files),
    }
    return render_page("overlap.html", context, {"rows": None})


def _shown(value: float | None, form: str = ",") -> str:
    return "" if value is None else f"{value:{form}}"


def _order(at: dict[str, Any]) -> tuple[str, str, str]:
    """Of n-grams of one order: known ones of all, their share, and examples with one."""
    return f"{at['known']:,} of {at['ngrams']:,}", _shown(at["containment"], ".4f"), _shown(at["with_known"])


def _charts(found: Overlap) -> list[tuple[Any, str]]:
    drawn = []
    for side in found.sides:
        ngrams = side.ngrams(found.orders)
        series: list[charts.Series] = []
        for at, order in enumerate(found.orders):
            has = ngrams[:, at] > 0
            if order in DRAWN and has.any():
                shares = side.known[has, at] / ngrams[has, at]
                series.append(charts.Series(f"{order}-grams", shares.tolist(), len(series)))
        if series:
            title = f"Containment, {side.name}"
            drawn.append((charts.histograms(series, "containment", title, unit="examples"), title))
    series = [charts.Series(side.name, side.longest.tolist(), at) for at, side in enumerate(found.sides)]
    title = f"Longest known span, {found.unit}"
    drawn.append((charts.histograms(series, found.unit, title, unit="examples"), title))
    return drawn


def _examples(side: SideOverlap) -> dict[str, Any]:
    """The examples most of which is in the corpus in one span; the longer ones, then the first, among equals. One
    without a word is left out.
    """
    shares = side.longest / np.maximum(side.lengths, 1)
    order = np.lexsort((np.arange(len(shares)), -side.longest, -shares))
    order = order[side.lengths[order] > 0][:MOST]
    rows = [
        {
            "number": place + 1,
            "length": int(side.lengths[place]),
            "longest": int(side.longest[place]),
            "degree": float(side.degrees[place]),
            "before": side.around[place][0],
            "span": side.spans[place],
            "after": side.around[place][1],
        }
        for place in order.tolist()
    ]
    return {
        "title": f"Most contained, {side.name}",
        "said": f"{len(rows):,} of {len(shares):,} examples, by the share of them that one span of the corpus is.",
        "rows": rows,
    }
