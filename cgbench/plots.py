"""The description of a chart, and its drawing with matplotlib; the report pages draw it as SVG, in
the same colours.
"""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgbench.errors import InputError, argument, require
from cgbench.files import write_atomic
from cgbench.numbers_as_text import fixed, span, typeset
from cgbench.records import Record

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b270a4", "#c7864b", "#3e95fa", "#000000")
"""The palette of Okabe and Ito (2008) without its yellow. Its purple, orange and sky blue are
changed so that every colour has a contrast of 3 on white; on dark paper, the pages have the
original ones and white for black."""
MARKERS = "osD^vPX*<>"
SPREAD = 0.4  # of the distance between two labels, for the points of all systems
FEW = 5
"""Points of fewer examples are hollow and not joined."""
LETTER = 0.62  # the width of a letter over the size of its font
POINTS = 72  # in an inch
SLANTED = {"rotation": 40, "ha": "right", "va": "center", "rotation_mode": "anchor"}
MOST_LETTERS = 18  # of a name
COLUMN = 3.3  # inches: the width of a column of a paper
# Without the date, the program and random ids, the same figure has the same bytes; text in an SVG
# stays text.
RC = {
    "svg.hashsalt": "cgbench",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "serif",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
}
LEFT_OUT = {".svg": ["Date"], ".png": ["Software"], ".pdf": ["CreationDate", "Creator", "Producer"]}
PICTURES = tuple(LEFT_OUT)
"""The suffixes of pictures."""


class Series(Record):
    """The values of a system at the labels of a chart, or any values of a histogram; nan where
    there is none.

    :param low, high: ends of the intervals, if any; ``runs``: for each value those of single runs,
        if any.
    :param colour: an index of :data:`COLOURS`, which repeat (default: the number of the series in
        its chart).
    :param note: text after the value of a row.
    """

    name: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    runs: Sequence[Sequence[float]] = ()
    colour: int | None = None
    note: str = ""

    @classmethod
    def of(cls, name: str, scores: Sequence[Any]) -> Series:
        """The series of a system, from scores with ``value``, ``ci_low``, ``ci_high`` and
        ``runs``.
        """
        ends = [[score.value, score.ci_low, score.ci_high] for score in scores]
        values, low, high = np.array(ends, float).T.tolist()
        return cls(name, values, low, high, [score.runs for score in scores])

    @classmethod
    def of_difference(cls, name: str, score: Any, colour: int) -> Series:
        """The difference of a system from the baseline, with its stars."""
        ends = [[score.difference, score.difference_low, score.difference_high]]
        values, low, high = np.array(ends, float).T.tolist()
        return cls(name, values, low, high, colour=colour, note=score.mark)

    def colour_at(self, index: int) -> int:
        """The colour of the series, which is number ``index`` of its chart."""
        return index if self.colour is None else self.colour


class Mark(NamedTuple):
    """Part of a chart: an ``interval``, a ``line``, the ``dot`` of a value; in rows also the
    ``start`` of a dumbbell, a circle, and a smaller one for each ``run``.

    ``points`` are pairs of a place on the axis of labels or rows, and a value; ``is_hollow``: of
    fewer than :data:`FEW` examples.
    """

    shape: str
    points: Sequence[tuple[float, float]]
    colour: int
    words: str = ""
    is_hollow: bool = False


class Chart(Record):
    """Series at the same labels, which go from left to right: a line for each, with its name at the
    end.

    :param counts: number of examples at each label, if any; ``places``: of the labels (default: in
        equal steps).
    :param joined: a line joins the values of a series.
    :param rows: labels are not shown: each series is a row, with values from left to right. Of two
        labels, the first value is a circle that a line joins to the last: a dumbbell.
    :param signed: values are differences: a line marks zero, and they have a sign.
    :param decimals: of values in text; ``note``: what bars mean.
    """

    labels: Sequence[str]
    series: Sequence[Series]
    title: str = ""
    value_name: str = ""
    label_name: str = ""
    counts: Sequence[int] = ()
    joined: bool = True
    rows: bool = False
    signed: bool = False
    decimals: int = 1
    note: str = ""
    places: Sequence[float] = ()

    def scale(self) -> tuple[float, float]:
        """The ends of the axis of values, with some room."""
        values = [
            end for series in self.series for end in (*series.values, *series.low, *series.high)
        ]
        values += (
            [run for series in self.series for runs in series.runs for run in runs]
            if self.rows
            else []
        )
        low, high = finite_range([*values, *[0.0] * self.signed])
        return low - 0.06 * (high - low), high + 0.06 * (high - low)

    def marks(self, index: int) -> Iterator[Mark]:
        """The marks of a series, what is behind first; series with intervals are next to each
        other.
        """
        series, dots = self.series[index], []
        colour = series.colour_at(index)
        has_intervals = any(isfinite(low) for series in self.series for low in series.low)
        shift = SPREAD * ((index + 0.5) / len(self.series) - 0.5) if has_intervals else 0.0
        decimals, sign = max(2, self.decimals), "+" * self.signed
        places = self.places or range(len(series.values))
        for label, value in enumerate(series.values):
            position = index if self.rows else places[label] + shift
            is_hollow = bool(self.counts) and self.counts[label] < FEW
            low, high = (series.low[label], series.high[label]) if series.low else (nan, nan)
            runs = series.runs[label] if series.runs and len(series.runs[label]) > 1 else ()
            words = f"{series.name}, {self.labels[label]}" if len(self.labels) > 1 else series.name
            words += f": {typeset(fixed(value, decimals, sign))}{series.note * self.signed}"
            if isfinite(low):
                words += f", 95%: {typeset(span(low, high, decimals, sign))}"
                yield Mark("interval", [(position, low), (position, high)], colour)
            if runs:
                words += "; runs: " + ", ".join(typeset(fixed(run, decimals)) for run in runs)
            if isfinite(value):
                shape = "start" if self.rows and label + 1 < len(self.labels) else "dot"
                dots.append(Mark(shape, [(position, value)], colour, words, is_hollow))
        solid = [dot.points[0] for dot in dots if not dot.is_hollow]
        if self.joined and len(solid) > 1:
            yield Mark("line", solid, colour)
        if self.rows:
            yield from (Mark("run", [(index, run)], colour) for run in runs)
        yield from dots

    def value_text(self, series: Series) -> str:
        """The value of a row, with its note; empty if it has none."""
        value = series.values[-1]
        if not isfinite(value):
            return ""
        return typeset(fixed(value, self.decimals, "+" * self.signed)) + series.note

    def name_heights(self) -> list[float]:
        """Where the names of lines stand on the axis of values: at the last values, moved until
        they are apart.
        """
        low, high = self.scale()
        last = np.array([[low, *filter(isfinite, series.values)][-1] for series in self.series])
        order, steps = (
            np.argsort(-last, kind="stable"),
            (high - low) * min(0.07, 1 / len(last)) * np.arange(len(last)),
        )
        heights = np.empty(len(last))
        heights[order] = np.maximum(
            np.minimum.accumulate(last[order] + steps) - steps, low + steps[::-1]
        )
        return heights.tolist()


def with_systems(chart: Chart, systems: Sequence[str]) -> Chart:
    """The chart with these series only, in this order; ``name=label`` has another name.

    :raises InputError: a system is not in the chart.
    """
    if not systems:
        return chart
    by_name = {series.name: series for series in chart.series}
    chosen = []
    for system in systems:
        name, _, label = (system, "", "") if system in by_name else system.partition("=")
        if name in by_name:
            chosen.append(replace(by_name[name], name=label or name))
        elif not chart.signed:  # differences lack the baseline
            raise InputError(
                f"{argument('systems', system)}: no such system; they are {', '.join(by_name)}"
            )
    return replace(chart, series=chosen)


def finite_range(values: Iterable[float]) -> tuple[float, float]:
    """The minimum and maximum of the finite values; widened if they are equal."""
    finite = [float(value) for value in values if isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def check_picture(path: Path, argument: str) -> None:
    """Check, before any work, that the picture ``path``, which ``argument`` names, can be written.

    :raises InputError: its name ends in no known form, or matplotlib is not installed.
    """
    if path.suffix not in LEFT_OUT:
        raise InputError(f"{argument}: the name must end in .svg, .png or .pdf")
    require("matplotlib", "plots")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure, with the title and the description of :func:`draw_charts`: the same bytes for
    the same figure and version of matplotlib.

    :raises InputError: the font of matplotlib lacks a character of it (in an SVG, text stays text).
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = _picture(figure, path.suffix)
    if path.suffix != ".svg" and any(
        "missing from font" in str(warning.message) for warning in caught
    ):
        raise InputError(
            f"{path}: the font of matplotlib lacks some characters of the words; draw to a .svg"
            " file"
        )
    write_atomic(path, data)


def draw_charts(
    charts: Sequence[Chart], width: float = COLUMN, font: str = "serif", size: float = 8
) -> Any:
    """Charts below one another, ``width`` inches wide, in the font of a paper, with what their bars
    mean.

    The figure is without pyplot's windows and global state; a notebook shows it.

    :param font: a family that matplotlib knows. ``size``: of the text, in points.
    """
    scale = size / 8
    heights = [scale * (0.6 + 0.24 * len(chart.series)) if chart.rows else 2.2 for chart in charts]
    sizes = dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), size)
    with require("matplotlib", "plots").rc_context({**RC, **sizes, "font.family": font}):
        figures = require("matplotlib.figure", "plots")
        # Room for the note, and for names of axes that fill two lines.
        note = textwrap.fill(charts[0].note, int(18 * width / scale))
        room = 0.2 + scale * 0.15 * (note.count("\n") + sum(chart.rows for chart in charts))
        figure = figures.Figure(figsize=(width, sum(heights) + room), layout="constrained")
        axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=heights)[:, 0]
        for ax, chart in zip(axes, charts, strict=True):
            draw_chart_on(ax, chart)
        figure.supxlabel(note, fontsize=size - 1)
    # What a screen reader says, and the name of a PDF.
    figure.title_text = "; ".join(chart.title or chart.value_name for chart in charts)
    figure.description = ". ".join(
        mark.words
        for chart in charts
        for index in range(len(chart.series))
        for mark in chart.marks(index)
        if mark.words
    )
    figure._repr_png_ = partial(_picture, figure, ".png", 90)
    return figure


def draw_chart_on(ax: Any, chart: Chart) -> None:
    """Draw a chart on an axes of matplotlib: rows have their values at the points, lines their
    names at the end.
    """
    names, heights = short_names([series.name for series in chart.series]), chart.name_heights()
    font_size = ax.xaxis.label.get_fontsize()
    shapes = {"interval": "|" if chart.rows else "_", "line": "", "start": "o", "run": "."}
    at_end = {"xycoords": ("axes fraction", "data"), "annotation_clip": False, "va": "center"}
    for index, (series, name) in enumerate(zip(chart.series, names, strict=True)):
        colour_number, legend = series.colour_at(index), series.name
        colour = COLOURS[colour_number % len(COLOURS)]
        for mark in chart.marks(index):
            ax.plot(
                *zip(
                    *((point[::-1] if chart.rows else point) for point in mark.points), strict=True
                ),
                linewidth=1,
                color=colour,
                markersize=4,
                label=legend,
                marker=shapes.get(mark.shape, MARKERS[colour_number % len(MARKERS)]),
                fillstyle="none" if mark.is_hollow or mark.shape in ("start", "run") else "full",
            )
            legend = "_"  # once per series
        if chart.rows:
            last = (series.values[-1], index)
            ax.annotate(
                chart.value_text(series), last, (0, 3), textcoords="offset points", ha="center"
            )
        else:
            ax.annotate(name, (1, heights[index]), color=colour, **at_end)
    # Labels, names of the axes and a grid. Names of rows wrap, so that they leave room for the
    # values.
    label_axis, value_axis = (ax.yaxis, ax.xaxis) if chart.rows else (ax.xaxis, ax.yaxis)
    labels = (
        [textwrap.fill(series.name, 22) for series in chart.series] if chart.rows else chart.labels
    )
    is_slanted = not chart.rows and not _labels_fit(ax, chart, names)
    if chart.counts:
        between = " " if is_slanted else "\n"  # slanted lines of two labels would cross
        labels = [
            f"{label}{between}({count:,})"
            for label, count in zip(labels, chart.counts, strict=True)
        ]
    label_axis.set_ticks(
        chart.places or range(len(labels)), labels, **(SLANTED if is_slanted else {})
    )
    if chart.rows:
        ax.set_ylim(len(labels) - 0.5, -0.7)
    if chart.signed and chart.rows:
        ax.axvline(0, color="black", linewidth=0.8, linestyle=":")
    ax.set_title(chart.title)
    label_axis.set_label_text(chart.label_name)
    share_of_width = 0.7 if chart.rows else 1
    letters = int(ax.figure.get_figwidth() * POINTS / LETTER / font_size * share_of_width)
    value_axis.set_label_text(textwrap.fill(chart.value_name, letters))
    value_axis.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    for text in ax.findobj(lambda artist: hasattr(artist, "set_parse_math")):
        text.set_parse_math(False)  # a name may contain dollars


def _labels_fit(ax: Any, chart: Chart, names: Sequence[str]) -> bool:
    """Whether the labels of a chart fit side by side, beside the values and the names of lines."""
    size = ax.xaxis.label.get_fontsize()
    texts = [*chart.labels, *(f"({count:,})" for count in chart.counts)]
    room = ax.figure.get_figwidth() * POINTS - LETTER * size * (6 + max(map(len, names)))
    return LETTER * size * (max(map(len, texts)) + 1) * len(chart.labels) <= room


def shorten(name: str, letters: int = MOST_LETTERS) -> str:
    """A name as a chart has room for: cut in the middle."""
    half = letters // 2
    return name if len(name) <= letters else f"{name[: half - 1]}…{name[-half:]}"


def short_names(names: Sequence[str]) -> list[str]:
    """Names as a chart has room for; those that would be cut to the same letters are numbered."""
    short = [shorten(name) for name in names]
    return [
        f"{index}: {name}" if short.count(name) > 1 else name for index, name in enumerate(short, 1)
    ]


def inches(text: str, option: str) -> float:
    """A width such as ``3.3in``, ``84mm`` or ``8.4cm`` in inches.

    :raises InputError: it is none, or less than an inch or more than 20 inches; ``option`` is its
        name with it.
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(in|mm|cm)", text)
    width = float(match[1]) / {"in": 1, "mm": 25.4, "cm": 2.54}[match[2]] if match else 0.0
    if not 1 <= width <= 20:
        raise InputError(
            f"{option}: give a width from 1in to 20in, such as {COLUMN}in, 84mm or 17cm"
        )
    return width


def _picture(figure: Any, ending: str, dots_per_inch: int = 150) -> bytes:
    buffer = io.BytesIO()
    title = getattr(figure, "title_text", "")
    metadata = dict.fromkeys(LEFT_OUT[ending]) | ({"Title": title} if title else {})
    with require("matplotlib", "plots").rc_context(RC):
        figure.savefig(buffer, format=ending[1:], dpi=dots_per_inch, metadata=metadata)
    if ending != ".svg" or not title:
        return buffer.getvalue()
    description = f"<desc>{html.escape(figure.description, quote=False)}</desc>"
    text = buffer.getvalue().decode("utf-8").replace("</title>", f"</title>\n {description}", 1)
    return text.replace("<svg ", '<svg role="img" ', 1).encode("utf-8")
