"""A picture of a reproduction: our figures, with their spread, beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from cgbench.errors import require
from cgbench.reproduction.report import Line, grouped

WIDTH, ROW, SHIFT = 7.0, 0.28, 0.15  # inches, inches a line, lines


def draw(lines: Sequence[Line], form: str) -> bytes:
    """Draw a panel for each table and benchmark.

    :param form: ``png`` or ``svg``; the same lines give the same bytes.
    :raises InputError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    panels = list(grouped(lines).items())
    heights = [max(2, len(group)) for _, group in panels]
    figure = Figure(figsize=(WIDTH, ROW * sum(heights) + 1.1 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, ((table, benchmark, schedule), group) in zip(axes, panels, strict=True):
        known = [(place, line) for place, line in enumerate(group) if line.published]
        _points(ax, "ours", "o", [(n - SHIFT, line.ours, line.deviation or 0.0) for n, line in enumerate(group)])
        _points(ax, "published", "x", [(n + SHIFT, float(x.published), float(x.spread or 0)) for n, x in known])
        ax.set_yticks(range(len(group)), [_name(line, benchmark) for line in group], fontsize=7)
        ax.set_ylim(len(group) - 0.5, -0.5)
        if all(line.ours <= 100 for line in group):
            ax.set_xlim(-3, 103)
        ax.set_title(" · ".join(filter(None, (table, benchmark, schedule))), fontsize=8)
        ax.grid(axis="x", alpha=0.3)
    axes[0].legend(fontsize=7)
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "cgbench"}):
        if form == "svg":
            FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
        else:
            FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def _points(ax: Any, label: str, marker: str, points: Sequence[tuple[float, float, float]]) -> None:
    """Figures with their spread, one below the other: place, value, standard deviation."""
    places, values, spreads = zip(*points, strict=True) if points else ((), (), ())
    colour = "black" if label == "published" else "tab:blue"
    ax.errorbar(values, places, xerr=spreads, fmt=marker, markersize=4, capsize=2, color=colour, label=label)


def _name(line: Line, benchmark: str) -> str:
    metric = line.metric.removeprefix("exact match").removeprefix(": ")
    return f"{line.best or line.system}" + (f", {metric}" if metric else "")
