"""``cgbench overlap --report``: the page of an overlap with a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from cgbench.benchmark.overlap.result import Overlap, SideOverlap
from cgbench.report import charts
from cgbench.report.page import render_page

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
    tables = [_examples(side) for side in found.sides]
    sections = [("totals", "Totals"), ("histograms", "Histograms")]
    sections += [(f"side{number}", side.name) for number, side in enumerate(found.sides, 1)]
    notes = []
    if corpus["skipped"]:
        notes.append(("", f"Of the corpus {corpus['skipped']:,} lines or ends of files could not be read: left out."))
    if len(corpus["files"]) > MOST_FILES:
        notes.append(("", f"Of {len(corpus['files']):,} files the first {MOST_FILES} are named below."))
    context = {
        "title": "Overlap with a corpus",
        "lead": f"How much of {len(found.sides[0].lengths):,} examples is in {_what(found)}, word for word.",
        "facts": [("files", f"{len(corpus['files']):,}"), ("documents", f"{corpus['documents']:,}")],
        "sections": [*sections, ("origin", "Origin")],
        "notes": notes,
        "min_count": found.min_count,
        "unit": found.unit,
        "totals": {
            "label": "Totals",
            "caption": "All examples",
            "head": ["side", "examples", found.unit, "degree", "longest, mean", "longest", "whole examples"],
            "rows": [
                [
                    name,
                    f"{one['examples']:,}",
                    f"{one[found.unit]:,}",
                    "" if one["degree"] is None else f"{one['degree']:.4f}",
                    "" if one["longest_mean"] is None else f"{one['longest_mean']:.2f}",
                    f"{one['longest']:,}",
                    f"{one['whole']:,}",
                ]
                for name, one in figures.items()
            ],
        },
        "orders": {
            "label": "By order",
            "caption": "N-grams by order; examples: those with a known one",
            "head": ["n", *(f"{name}: {what}" for name in figures for what in ("known", "containment", "examples"))],
            "rows": [_order(str(order), figures) for order in found.orders],
        },
        "charts": _charts(found),
        "tables": tables,
        "command": command,
        "files": {
            "label": "Files",
            "caption": "What was read",
            "head": ["file", "documents", found.unit, "left out"],
            "rows": [
                [one["file"], f"{one['documents']:,}", f"{one['words']:,}", f"{one.get('skipped', 0):,}"]
                for one in corpus["files"][:MOST_FILES]
            ],
        },
    }
    return render_page("overlap.html", context, {"rows": None})


def _what(found: Overlap) -> str:
    corpus = found.corpus
    return str(corpus["source"]) if "source" in corpus else f"{corpus['words']:,} {found.unit} of other text"


def _order(order: str, figures: dict[str, Any]) -> list[str]:
    row = [order]
    for one in figures.values():
        at = one["orders"][order]
        share = "" if at["containment"] is None else f"{at['containment']:.4f}"
        row += [f"{at['known']:,} of {at['ngrams']:,}", share, f"{at['with_known']:,}"]
    return row


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
