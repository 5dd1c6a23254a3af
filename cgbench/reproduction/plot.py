"""A picture of a reproduction: our figures, with their spread, beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Sequence

from cgbench.errors import require
from cgbench.reproduction.report import Line, grouped

WIDTH, ROW = 7.0, 0.28  # inches; of a figure


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
        places = range(len(group))
        ax.errorbar(
            [line.ours for line in group], places, xerr=[line.deviation or 0 for line in group],
            fmt="o", markersize=4, capsize=2, label="ours",
        )  # fmt: skip
        known = [(float(line.published), place) for place, line in zip(places, group, strict=True) if line.published]
        ax.plot([x for x, _ in known], [y for _, y in known], "x", color="black", markersize=5, label="published")
        ax.set_yticks(list(places), [_name(line, benchmark) for line in group], fontsize=7)
        ax.invert_yaxis()
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
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


def _name(line: Line, benchmark: str) -> str:
    metric = line.metric.removeprefix("exact match").removeprefix(": ")
    return f"{line.best or line.system}" + (f", {metric}" if metric else "")
