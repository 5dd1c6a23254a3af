"""The description of a chart, and its drawing with matplotlib, in the colours of the report pages."""

from __future__ import annotations

import contextlib
import io
import math
import re
import textwrap
import warnings
from collections import Counter
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
MOST_LETTERS = 18  # of a name
COLUMN = 3.3  # inches: the width of a column of a paper
# Without the date, the program and random ids, the same figure has the same bytes; text in an SVG stays text.
RC = {"svg.hashsalt": "cgbench", "svg.fonttype": "none", "pdf.fonttype": 42, "font.family": "serif", "font.size": 8,
      "axes.titlesize": 8, "axes.labelsize": 8}  # fmt: skip
METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


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
    :param joined: a line joins the values of a series; ``places``: of the labels, for :func:`draw_charts` (default: in
        equal steps).
    :param down: labels are below one another, and values go from left to right.
    :param decimals: of values in text; ``ends``: of the scale (default: those of the values); ``note``: what bars mean.
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
    note: str = ""
    places: Sequence[float] = ()

    def offset(self, index: int) -> float:
        """How far a series stands from its label, so that all are next to each other."""
        return SPREAD * ((index + 0.5) / len(self.series) - 0.5)


def check_picture(path: Path, argument: str) -> None:
    """Check, before any work, that the picture ``path``, which ``argument`` names, can be written.

    :raises InputError: its name ends in no known form, or matplotlib is not installed.
    """
    if path.suffix not in METADATA:
        raise InputError(f"{argument}: the name must end in .svg, .png or .pdf")
    require("matplotlib", "plots")


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


def draw_charts(charts: Sequence[Chart], width: float = COLUMN) -> Any:
    """Charts below one another, ``width`` inches wide, in the font of a paper, with what their bars mean."""
    heights = [0.6 + 0.24 * len(chart.labels) if chart.down else 2.2 for chart in charts]
    with require("matplotlib", "plots").rc_context(RC):
        figure = _figure(width, sum(heights) + 0.2)
        axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=heights)[:, 0]
        for ax, chart in zip(axes, charts, strict=True):
            draw_chart_on(ax, chart)
        figure.supxlabel(textwrap.fill(charts[0].note, int(18 * width)), fontsize=7)
    return figure


def draw_chart_on(ax: Any, chart: Chart) -> None:
    """Draw a chart on an axes of matplotlib: labels below one another have their values at the points, other series
    their names at the end."""
    # Names as rows wrap, so that they leave room for the values.
    labels = [_plain(textwrap.fill(label, 22) if chart.down else label) for label in chart.labels]
    positions = np.array(chart.places or range(len(labels)), float)
    if chart.counts:
        labels = [f"{label}\n({count:,})" for label, count in zip(labels, chart.counts, strict=True)]
    ends: list[tuple[float, str, str]] = []
    for index, (series, name) in enumerate(
        zip(chart.series, short_names([row.name for row in chart.series]), strict=True)
    ):
        # An interval that is missing has length 0.
        values, where = np.array(series.values, float), positions + chart.offset(index)
        lengths = [values - np.array(series.low or values, float), np.array(series.high or values, float) - values]
        x, y, errors = (values, where, "xerr") if chart.down else (where, values, "yerr")
        colour, style = COLOURS[index % len(COLOURS)], "-" if chart.joined and not chart.down else "none"
        ax.errorbar(
            x, y, **{errors: np.nan_to_num(np.array(lengths).clip(min=0))}, linestyle=style, linewidth=1, color=colour,
            marker=MARKERS[index % len(MARKERS)], markersize=4, capsize=2, label=_plain(series.name),
        )  # fmt: skip
        # The value above each point, or the name after the last one.
        points = [(value, at) for value, at in zip(values, where, strict=True) if np.isfinite(value)]
        ends += [(value, name, colour) for value, _ in points[-1:]]
        for value, at in points if chart.down else ():
            ax.annotate(f"{value:.{chart.decimals}f}", (value, at), (0, 3), textcoords="offset points", ha="center")
    if not chart.down:
        _name_lines(ax, sorted(ends))
    # Labels, names of the axes and a grid.
    label_axis, value_axis = (ax.yaxis, ax.xaxis) if chart.down else (ax.xaxis, ax.yaxis)
    slanted = not chart.down and max(len(label.split("\n")[0]) for label in labels) > LONG
    label_axis.set_ticks(positions, labels, **({"rotation": 30, "ha": "right"} if slanted else {}))
    if chart.down:
        ax.set_ylim(len(labels) - 0.5, -0.7)
    ax.set_title(_plain(chart.title))
    label_axis.set_label_text(_plain(chart.label_name))
    value_axis.set_label_text(_plain(chart.value_name))
    value_axis.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)


def _name_lines(ax: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names right of the axes at the last values, lowest first, moved up until they are apart."""
    (bottom, top), at = ax.get_ylim(), -np.inf
    for value, name, colour in ends:
        at = max(at + 0.07 * (top - bottom), value)
        ax.annotate(
            _plain(name), (1, at), xycoords=("axes fraction", "data"), color=colour, va="center", annotation_clip=False
        )


def shorten(name: str) -> str:
    """A name as a chart has room for."""
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


def short_names(names: Sequence[str]) -> list[str]:
    """Names as a chart has room for, and still different: those that would be cut alike are cut in the middle."""
    alike, half = Counter(map(shorten, names)), MOST_LETTERS // 2
    short = [name[: half - 1] + "…" + name[-half:] if alike[shorten(name)] > 1 else shorten(name) for name in names]
    again = Counter(short)
    return [f"{index}: {name}" if again[name] > 1 else name for index, name in enumerate(short, 1)]


def inches(text: str, option: str) -> float:
    """A width such as ``3.3in``, ``84mm`` or ``8.4cm`` in inches.

    :raises InputError: it is none, or less than an inch or more than 20 inches; ``option`` is its name with it.
    """
    match = re.fullmatch(r"([0-9.]+)(in|mm|cm)", text)
    with contextlib.suppress(ValueError):
        if match and 1 <= (width := float(match[1]) / {"in": 1, "mm": 25.4, "cm": 2.54}[match[2]]) <= 20:
            return width
    raise InputError(f"{option}: give a width from 1in to 20in, such as {COLUMN}in, 84mm or 17cm")


def _figure(width: float, height: float) -> Any:
    """A figure without pyplot's windows and global state, which a notebook shows."""
    figure = require("matplotlib.figure", "plots").Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_picture, figure, ".png", 90)
    return figure


def _picture(figure: Any, ending: str, dots_per_inch: int = 150) -> bytes:
    buffer = io.BytesIO()
    with require("matplotlib", "plots").rc_context(RC):
        figure.savefig(buffer, format=ending[1:], dpi=dots_per_inch, metadata=METADATA[ending])
    return buffer.getvalue()


def _plain(text: str) -> str:
    """A text without what matplotlib would read as mathematics."""
    return text.replace("$", r"\$")
