"""``cgbench overlap --report``: the page of an overlap with a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgbench.benchmark.overlap.result import Overlap, SideOverlap
from cgbench.report import charts
from cgbench.report.page import as_table, render_page

MOST = 200
"""Maximum number of examples shown per side."""
MOST_FILES = 500
DRAWN = (3, 5, 8, 13)
"""N-gram orders whose containment is drawn, if they were counted."""


def overlap_page(found: Overlap, *, command: str = "") -> str:
    """The page of an overlap as HTML: the same bytes for the same input.

    :param command: the command that made it, shown on the page.
    """
    corpus, figures = found.corpus, found.as_dict()["sides"]
    notes, what = [], corpus.get("source") or f"{corpus['words']:,} {found.unit} of other text"
    if corpus["skipped"]:
        notes.append(
            ("", f"{corpus['skipped']:,} lines or file ends of the corpus could not be read and were skipped.")
        )
    if len(corpus["files"]) > MOST_FILES:
        notes.append(("", f"Only the first {MOST_FILES} of {len(corpus['files']):,} files are listed below."))
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
        "files": ["file", "documents", found.unit, "skipped"],
    }
    context = {
        "title": "Overlap with a corpus",
        "lead": f"How much of {len(found.sides[0].lengths):,} examples occurs verbatim in {what}.",
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
        "totals": as_table("Table of totals", "All examples", heads["totals"], totals),
        "orders": as_table(
            "By order", "Known n-grams by order; examples: with at least one known n-gram", heads["orders"], orders
        ),
        "charts": _charts(found),
        "tables": [_examples(side) for side in found.sides],
        "command": command,
        "files": as_table("Files", "Files of the corpus", heads["files"], files),
    }
    return render_page("overlap.html", context, {"rows": None})


def _shown(value: float | None, form: str = ",") -> str:
    return "" if value is None else f"{value:{form}}"


def _order(at: dict[str, Any]) -> tuple[str, str, str]:
    """For one order: known n-grams, their share, and examples with at least one."""
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
    """The examples with the largest share in one span of the corpus; ties: the longer span, then the first.

    Empty examples are skipped.
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
        "said": f"{len(rows):,} of {len(shares):,} examples, by the share that occurs in the corpus as one span.",
        "rows": rows,
    }
