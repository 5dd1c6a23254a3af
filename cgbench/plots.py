"""The description of a chart, and its drawing with matplotlib, in the colours of the report pages."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.files import write_atomic

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito (2008) without its yellow, which is too light on white. The pages have it on dark paper
too, with white for black."""
MARKERS = "osD^vPX*<>"
SPREAD = 0.4  # of the distance between two labels, for the points of all systems
LONG = 8  # characters of a label; longer ones are slanted
# Without the date, the program and random ids, the same figure has the same bytes; text in an SVG stays text.
RC = {"svg.hashsalt": "cgbench", "svg.fonttype": "none", "pdf.fonttype": 42}
METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Heatmap:
    """A table of weights: how much each column takes of each row.

    :param values: [rows, columns]; nan where nothing can be taken.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Series:
    """The values of a system at the labels of a chart, or any values of a histogram; nan where there is none.

    :param low, high: ends of the intervals, if any; ``runs``: for each value those of single runs, if any.
    :param colour: an index of :data:`COLOURS`, which repeat: from the eighth series on, a line has other dashes.
    """

    name: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    runs: Sequence[Sequence[float]] = ()
    colour: int = 0

    @classmethod
    def of(cls, name: str, scores: Sequence[Any], colour: int) -> Series:
        """The series of a system, from scores with ``value``, ``ci_low``, ``ci_high`` and ``runs``."""
        ends = [[score.value, score.ci_low, score.ci_high] for score in scores]
        values, low, high = np.array(ends, float).T.tolist()
        return cls(name, values, low, high, [score.runs for score in scores], colour)

    @property
    def ends(self) -> list[float]:
        """All values and ends of intervals, for a scale."""
        return [*self.values, *self.low, *self.high]

    def interval(self, position: int) -> tuple[float, float]:
        """The ends of the interval at a label; nan if there is none."""
        return (self.low[position], self.high[position]) if self.low and self.high else (math.nan, math.nan)


@dataclass(frozen=True)
class Chart:
    """Series next to each other at the same labels. The pages draw it as SVG, :func:`draw_charts` with matplotlib.

    :param counts: number of examples at each label, if any.
    :param joined: a line joins the values of a series.
    :param down: labels are below one another, and values go from left to right.
    :param decimals: of values in text; ``ends``: of the scale (default: those of the values).
    """

    labels: Sequence[str]
    series: Sequence[Series]
    title: str = ""
    value_name: str = ""
    label_name: str = ""
    counts: Sequence[int] = ()
    joined: bool = True
    down: bool = False
    decimals: int = 1
    ends: tuple[float, float] | None = None

    def offset(self, index: int) -> float:
        """How far a series stands from its label, so that all are next to each other."""
        return SPREAD * ((index + 0.5) / len(self.series) - 0.5)


def is_picture(path: Path, argument: str, endings: Sequence[str] = ()) -> bool:
    """Check, before any work, that ``path``, which ``argument`` names, can be written; whether a picture is.

    :param endings: those of files that are no pictures.
    :raises InputError: its name ends in no known form, or matplotlib is not installed.
    """
    if path.suffix in endings:
        return False
    if path.suffix not in METADATA:
        *first, last = *endings, *METADATA
        raise InputError(f"{argument}: the name must end in {', '.join(first)} or {last}")
    require("matplotlib", "plots")
    return True


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure: the same bytes for the same figure and version of matplotlib.

    :raises InputError: the font of matplotlib lacks a character of it (in an SVG, text stays text).
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _picture(figure, path.suffix)
    if path.suffix != ".svg" and any("missing from font" in str(warning.message) for warning in caught):
        raise InputError(f"{path}: the font of matplotlib lacks some characters of the words; draw to a .svg file")
    write_atomic(path, data)


def draw_heatmaps(panels: Sequence[Heatmap], down: str = "", across: str = "") -> Any:
    """A panel beside another, darker for more, on one scale; ``down`` and ``across`` name their axes."""
    rows, columns = max(len(panel.rows) for panel in panels), max(len(panel.columns) for panel in panels)
    figure = _figure(len(panels) * (1.2 + 0.4 * columns) + 1, 1.2 + 0.4 * rows)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    top = max(float(np.nanmax(panel.values)) for panel in panels)
    colours = require("matplotlib.colors", "plots").LinearSegmentedColormap.from_list("pages", ["white", COLOURS[0]])
    for ax, panel in zip(axes, panels, strict=True):
        image = ax.imshow(panel.values, cmap=colours, vmin=0, vmax=top, origin="upper" if down else "lower")
        ax.set_title(_plain(panel.title))
        ax.set_xticks(range(len(panel.columns)), map(_plain, panel.columns), rotation=90)
        ax.set_yticks(range(len(panel.rows)), map(_plain, panel.rows))
        ax.set_xlabel(across)
        ax.set_ylabel(down)
    figure.colorbar(image, ax=list(axes))
    return figure


def draw_charts(charts: Sequence[Chart]) -> Any:
    """Charts next to each other, or below one another if their labels are; with one legend."""
    down, sizes = charts[0].down, [max(2, len(chart.labels)) for chart in charts]
    if down:
        figure = _figure(7, 0.28 * sum(sizes) + 1.1 * len(charts))
        axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=sizes)[:, 0]
    else:
        width = max(4.0, 1.5 + (0.7 + 0.1 * len(charts[0].series)) * len(charts[0].labels))
        figure = _figure(width * len(charts), 3.4)
        axes = figure.subplots(1, len(charts), squeeze=False)[0]
    for ax, chart in zip(axes, charts, strict=True):
        draw_chart_on(ax, chart)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    return figure


def draw_chart_on(ax: Any, chart: Chart) -> None:
    """Draw a chart on an axes of matplotlib."""
    labels, positions = [_plain(label) for label in chart.labels], np.arange(len(chart.labels))
    if chart.counts:
        labels = [f"{label}\n{count:,}" for label, count in zip(labels, chart.counts, strict=True)]
    for index, series in enumerate(chart.series):
        # An interval that is missing has length 0.
        values, where = np.array(series.values, float), positions + chart.offset(index)
        ends = [values - np.array(series.low or values, float), np.array(series.high or values, float) - values]
        x, y, errors = (values, where, "xerr") if chart.down else (where, values, "yerr")
        ax.errorbar(
            x, y, **{errors: np.nan_to_num(np.array(ends).clip(min=0))}, linestyle="none" if chart.down else "-",
            linewidth=1, color=COLOURS[index % len(COLOURS)], marker=MARKERS[index % len(MARKERS)], markersize=4,
            capsize=2, label=_plain(series.name),
        )  # fmt: skip
    # Labels, names of the axes and a grid.
    label_axis, value_axis = (ax.yaxis, ax.xaxis) if chart.down else (ax.xaxis, ax.yaxis)
    slanted = not chart.down and max(len(label.split("\n")[0]) for label in labels) > LONG
    label_axis.set_ticks(positions, labels, fontsize=8, **({"rotation": 30, "ha": "right"} if slanted else {}))
    if chart.down:
        ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_title(_plain(chart.title), fontsize=8)
    label_axis.set_label_text(_plain(chart.label_name))
    value_axis.set_label_text(_plain(chart.value_name))
    value_axis.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)


def draw_cloud(
    behind: tuple[Any, Any], points: tuple[Any, Any], labels: tuple[str, str], names: tuple[str, str]
) -> Any:
    """Many grey points, and some in colour in front of them; ``names`` are those of the axes."""
    figure = _figure(5.5, 4)
    ax = figure.subplots()
    ax.plot(*behind, ".", color=COLOURS[6], alpha=0.3, markersize=4, label=labels[0], rasterized=True)
    ax.plot(*points, ".", color=COLOURS[0], markersize=5, label=labels[1])
    ax.set_xlabel(_plain(names[0]))
    ax.set_ylabel(_plain(names[1]))
    ax.legend(fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _figure(width: float, height: float) -> Any:
    """A figure without pyplot's windows and global state, which a notebook shows."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_picture, figure, ".png", 90)
    return figure


def _picture(figure: Any, ending: str, dots_per_inch: int = 150) -> bytes:
    buffer = io.BytesIO()
    with require("matplotlib", "plots").rc_context(RC):
        figure.savefig(buffer, format=ending[1:], dpi=dots_per_inch, bbox_inches="tight", metadata=METADATA[ending])
    return buffer.getvalue()


def _plain(text: str) -> str:
    """A text without what matplotlib would read as mathematics."""
    return text.replace("$", r"\$")
