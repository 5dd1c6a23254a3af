"""Charts of the pages as inline SVG: :class:`cgbench.plots.Chart`, histograms, clouds of points, bars.

Colours are classes of the style sheet (``c0`` to ``c6``: :data:`cgbench.plots.COLOURS`), so charts follow the page's
dark and print styles. Labels, marks or positions repeat whatever a colour encodes.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from cgbench.errors import printable
from cgbench.plots import COLOURS, Chart, Series, short_names, shorten

WIDTH = 440
FEW = 5  # examples
LARGEST_DOT = 14.0  # radius of a dot for many points
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 3", "10 4", "4 2")
ROW = 68  # height of a histogram


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` as positions from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a value."""
        return self.start + (value - self.low) / (self.high - self.low or 1.0) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values on the scale, about ``most`` at most."""
        if self.high <= self.low:
            return [self.low]
        raw = (self.high - self.low) / most
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [multiple * step for multiple in range(first, last + 1)]


def histograms(series: Sequence[Series], label: str, title: str, bins: int = 40, unit: str = "pairs") -> Markup:
    """One histogram per series, above one another on one axis, each with its own peak as height.

    Bins of whole numbers hold equally many of them; others would show gaps that are not in the data. A dashed line
    marks the median. If that at least doubles the room, the axis ends at the 99th percentile, and the last bin counts
    the values beyond.
    """
    # One axis and the same bins for all series.
    values = np.array([value for row in series for value in row.values if math.isfinite(value)])
    low, high = _range(values)
    cut_at = float(np.quantile(values, 0.99)) if len(values) else high
    is_cut, is_whole = low < cut_at < (low + high) / 2, len(values) and (values == np.round(values)).all()
    high = cut_at if is_cut else high
    edges: np.ndarray = np.linspace(low, high, bins + 1)
    if is_whole:
        whole_numbers = math.floor(high) - math.ceil(low) + 1
        width = math.ceil(whole_numbers / bins)
        edges = math.ceil(low) - 0.5 + width * np.arange(math.ceil(whole_numbers / width) + 1)
    x = Scale(float(edges[0]), float(edges[-1]), 8, WIDTH - 12)
    label += f" (last bin: {tick_text(float(edges[-2]) + 0.5 * is_whole)} and more)" if is_cut else ""
    elements = _x_axis(x, ROW * len(series) + 4, label, 4)
    for index, row in enumerate(series):
        # The outline of the bins.
        values = np.array(row.values, np.float64)
        counts = np.histogram(np.minimum(values[np.isfinite(values)], x.high), edges)[0]
        base = ROW * (index + 1) + 3
        y = Scale(0, max(int(counts.max()), 1), base, base - ROW + 26)
        corners = [
            (at, y(count)) for count, *ends in zip(counts, edges, edges[1:], strict=False) for at in map(x, ends)
        ]
        path = "L".join(f"{_n(at)} {_n(up)}" for at, up in [(x.start, base), *corners, (x.end, base)])
        # The median, and the name.
        middle = float(np.median(values)) if len(values) else x.low
        text = f"{row.name}: {len(values):,} {unit}, median {tick_text(middle)}"
        elements.append(_element("path", _element("title", text), d=f"M{path}Z", class_=f"area {_class(row)}"))
        if x.low <= middle <= x.high:
            elements.append(_line(x(middle), base, x(middle), base - ROW + 24, "median"))
        elements.append(_text(8, base - ROW + 18, text, "name"))
    return _svg(elements, ROW * len(series) + 38, title)


def scatter(
    behind: tuple[np.ndarray, np.ndarray], points: tuple[np.ndarray, np.ndarray], labels: tuple[str, str], title: str,
    *, pair: str = "",
) -> Markup:  # fmt: skip
    """A grid of cells, darker where there are more points, with some points as dots in front.

    The attributes ``data-x`` and ``data-y`` hold the values at the edges of the plot, for the brush in the script.

    :param pair: for the scores of two systems, their numbers: both axes have one scale, and a diagonal.
    """
    (low, high), (bottom, top) = (_range(np.concatenate(values)) for values in zip(behind, points, strict=True))
    if pair:
        low, high = bottom, top = min(low, bottom), max(high, top)
    x, y = Scale(low, high, 44, WIDTH - 10), Scale(bottom, top, 270, 20)
    elements = [*_y_axis(y, WIDTH - 10, labels[1], 6 if pair else 5), *_x_axis(x, 270, labels[0])]
    # Cells in five shades.
    counts, xs, ys = np.histogram2d(*behind, bins=(48, 32), range=((low, high), (bottom, top)))
    for column, row in np.argwhere(counts > 0).tolist():
        density = math.log1p(counts[column, row]) / math.log1p(max(counts.max(), 1))
        left_edge, upper_edge = x(xs[column]), y(ys[row + 1])
        width, height = x(xs[column + 1]) - left_edge, y(ys[row]) - upper_edge
        elements.append(_rectangle(left_edge, upper_edge, width, height, f"cell d{1 + int(5 * density - 1e-9)}"))
    # Points at the same position are one dot, whose area is their number.
    positions = Counter((round(x(a), 1), round(y(b), 1)) for a, b in zip(*points, strict=True))
    dots = [
        _dot(*at, min(2.2 * math.sqrt(count), LARGEST_DOT), "", f"{count:,} points" if count > 1 else "")
        for at, count in positions.items()
    ]
    elements.append(_element("g", Markup("").join(dots), class_="dots c0"))
    if pair:
        elements.append(_line(x(low), y(low), x(high), y(high), "median"))
    edges = {"data_x": f"{low!r} {high!r}", "data_y": f"{bottom!r} {top!r}", "data_pair": pair}
    return _svg([*elements, _rectangle(44, 20, WIDTH - 54, 250, "plot", **edges)], 302, title)


def intervals(chart: Chart, *, signed: bool = False, notes: Sequence[str] = ()) -> Markup:
    """One line per series: the interval of its last value as a bar, the runs as circles, the value.

    Of two labels, the first value is a circle that a line joins to the last: a dumbbell.

    :param signed: values are differences: a line marks zero, and they have a sign.
    :param notes: text after each value.
    """
    # The scale, between the names and the values.
    low, high = _range([end for series in chart.series for end in (*series.ends, *itertools.chain(*series.runs))]
                       + [0.0] * signed)  # fmt: skip
    room = 0.06 * (high - low)
    names = short_names([series.name for series in chart.series])
    start = 14.0 + 7.2 * max(map(len, names), default=0)
    x = Scale(low - room, high + room, start, WIDTH - 46.0 - 5.5 * max(map(len, notes), default=0))
    bottom = 14 + 19 * len(chart.series)
    elements = [*_x_axis(x, bottom, chart.value_name, 6), *([_line(x(0), 6, x(0), bottom, "median")] * signed)]
    for index, (series, name) in enumerate(zip(chart.series, names, strict=True)):
        value, (first, last), colour, y = series.values[-1], series.interval(-1), _class(series), 14 + 19 * index
        elements.append(_name(start - 8, y + 4, series.name, name, "tick", text_anchor="end"))
        if math.isfinite(first):
            elements.append(_line(x(first), y, x(last), y, f"interval {colour}"))
        if len(series.values) > 1 and math.isfinite(series.values[0]):
            start_at = x(series.values[0])
            elements += [_line(start_at, y, x(value), y, f"line {colour}")] * math.isfinite(value)
            elements.append(_dot(start_at, y, 4, f"start {colour}", _words(chart, series, 0)))
        if series.runs and len(series.runs[0]) > 1:
            elements += [_dot(x(run), y, 2.4, f"run {colour}") for run in series.runs[0]]
        if math.isfinite(value):
            mark, words = f"M{_n(x(value))} {_n(y - 6)}v12", _element("title", _words(chart, series, -1))
            elements.append(_element("path", words, d=mark, class_=f"mark {colour}"))
        text = f"{value:{'+' * signed}.{chart.decimals}f}" if math.isfinite(value) else "–"  # noqa: RUF001
        elements.append(_text(WIDTH - 2, y + 4, text + (notes[index] if notes else ""), "value", text_anchor="end"))
    return _svg(elements, bottom + 34, chart.title)


def lines(chart: Chart) -> Markup:
    """Labels from left to right and a line per series, with intervals as bars and the name at its end.

    Points of fewer than :data:`FEW` examples are grey and not joined.
    """
    low, high = _range([end for series in chart.series for end in series.ends])
    names = short_names([series.name for series in chart.series])
    room, right = 0.06 * (high - low), WIDTH - 8 - 6.8 * max(map(len, names))
    x, y = Scale(-0.5, len(chart.labels) - 0.5, 44, right), Scale(*(chart.ends or (low - room, high + room)), 210, 20)
    label_elements, bottom = _bin_labels(chart, x)
    elements, last_heights = [*_y_axis(y, right, chart.value_name), *label_elements], []
    # Series; those with intervals are next to each other.
    shifted = any(math.isfinite(end) for series in chart.series for end in series.low)
    few = {label for label, count in enumerate(chart.counts) if count < FEW}
    for index, series in enumerate(chart.series):
        shift = chart.offset(index) if shifted else 0.0
        points = [(label, x(label + shift), y(v)) for label, v in enumerate(series.values) if math.isfinite(v)]
        classes = ["few" if label in few else _class(series) for label in range(len(chart.labels))]
        for label, at, _ in points:
            first, last = series.interval(label)
            if math.isfinite(first):
                elements.append(_line(at, y(first), at, y(last), f"interval {classes[label]}"))
        if chart.joined:
            path = " ".join(f"{_n(at)},{_n(up)}" for label, at, up in points if label not in few)
            again, colour = divmod(series.colour, len(COLOURS))  # other dashes for each colour, and for its next use
            dashes = DASHES[(colour + again) % len(DASHES)]
            elements.append(_element("polyline", points=path, class_=f"line {_class(series)}", stroke_dasharray=dashes))
        elements += [
            _dot(at, up, 3.2, f"dot {classes[label]}", _words(chart, series, label)) for label, at, up in points
        ]
        last_heights.append(points[-1][2] if points else 210.0)
    # Names at the ends of the lines, moved down until they are apart.
    order = sorted(range(len(names)), key=lambda index: last_heights[index])
    for before, after in itertools.pairwise(order):
        last_heights[after] = max(last_heights[after], last_heights[before] + 13)
    for series, name, height in zip(chart.series, names, last_heights, strict=True):
        elements.append(_name(right + 4, height + 4, series.name, name, f"name {_class(series)}"))
    elements.append(_text(right, bottom + 14, chart.label_name, "label", text_anchor="end"))
    return _svg(elements, bottom + 20, chart.title)


def share_bar(shares: Sequence[tuple[float, int]], title: str) -> Markup:
    """A bar from 0 to 1 of parts, each a share and a colour: as wide as the cell of a table that it stands in."""
    ends = itertools.accumulate(width for width, _ in shares)
    rectangles = [
        _rectangle(100 * (end - width), 0, 100 * width, 10, f"area c{colour}")
        for end, (width, colour) in zip(ends, shares, strict=True)
    ]
    return _svg(rectangles, 10, title, 100, "bar", preserveAspectRatio="none")


def shade(value: float | None) -> str:
    """The class of a cell for a value from -1 to 1: ``n5`` to ``n1``, ``z``, ``p1`` to ``p5``."""
    if value is None:
        return ""
    step = min(5, int(abs(value) * 5 + 0.5))
    return "z" if not step else f"{'p' if value > 0 else 'n'}{step}"


def tick_text(value: float) -> str:
    """A number on an axis, as short as possible."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _range(values: Any) -> tuple[float, float]:
    """The minimum and maximum of the finite values; widened if they are equal."""
    finite = [value for value in map(float, values) if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _words(chart: Chart, series: Series, position: int) -> str:
    """The value of a series at a label in words, which a browser shows under the pointer."""
    decimals, (low, high) = max(2, chart.decimals), series.interval(position)
    label = f", {chart.labels[position]}" if len(chart.labels) > 1 else ""
    text = f"{series.name}{label}: {series.values[position]:.{decimals}f}"
    text += f", 95%: {low:.{decimals}f} to {high:.{decimals}f}" if math.isfinite(low) else ""
    runs = series.runs[position] if series.runs else ()
    return text + ("; runs: " + ", ".join(f"{run:.{decimals}f}" for run in runs) if len(runs) > 1 else "")


def _class(series: Series) -> str:
    return f"c{series.colour % len(COLOURS)}"


def _x_axis(scale: Scale, y: float, label: str, top: float | None = None) -> list[Markup]:
    elements = [_line(scale.start, y, scale.end, y, "axis")]
    for tick in scale.ticks():
        at = scale(tick)
        elements += [_line(at, top, at, y, "grid")] if top is not None else []
        elements.append(_text(at, y + 13, tick_text(tick), "tick", text_anchor="middle"))
    return [*elements, _text(scale.end, y + 28, label, "label", text_anchor="end")]


def _y_axis(scale: Scale, right: float, label: str, most: int = 5) -> list[Markup]:
    elements = []
    for tick in scale.ticks(most):
        at = scale(tick)
        elements.append(_line(44, at, right, at, "grid"))
        elements.append(_text(39, at + 3.5, tick_text(tick), "tick", text_anchor="end"))
    return [*elements, _text(2, 11, label, "label")]


def _bin_labels(chart: Chart, x: Scale) -> tuple[list[Markup], float]:
    """The labels below a chart with their counts, slanted if they are long; and where they end."""
    short, counts = [shorten(label) for label in chart.labels], [f"({count:,})" for count in chart.counts]
    if 5.9 * max(map(len, [*short, *counts])) <= (x.end - x.start) / len(short) - 4:
        rows = [(225, short), (239, counts)]
        return [
            _text(x(at), y, text, "tick", text_anchor="middle") for y, row in rows for at, text in enumerate(row)
        ], 243
    short = [" ".join(texts) for texts in (zip(short, counts, strict=True) if counts else zip(short, strict=True))]
    elements = [
        _name(x(at) + 4, 224, label, text, "tick", text_anchor="end", transform=f"rotate(-40 {_n(x(at))} 224)")
        for at, (label, text) in enumerate(zip(chart.labels, short, strict=True))
    ]
    return elements, 232 + 3.8 * max(map(len, short))


def _svg(
    elements: Sequence[Markup],
    height: float,
    title: str,
    width: float = WIDTH,
    class_: str = "chart",
    **attributes: Any,
) -> Markup:
    box = f"0 0 {_n(width)} {_n(height)}"
    return _element(
        "svg", Markup("").join(elements), viewBox=box, **attributes, role="img", aria_label=title, class_=class_
    )


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return _element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def _rectangle(x: float, y: float, width: float, height: float, class_: str, **attributes: Any) -> Markup:
    return _element("rect", x=x, y=y, width=width, height=height, class_=class_, **attributes)


def _dot(x: float, y: float, radius: float, class_: str, words: str = "") -> Markup:
    return _element("circle", _element("title", words) if words else "", cx=x, cy=y, r=radius, class_=class_)


def _name(x: float, y: float, name: str, short: str, class_: str, **attributes: Any) -> Markup:
    """A text that was cut, whole under the pointer."""
    whole = _element("title", name) if name != short else ""
    return _text(x, y, Markup("{}{}").format(printable(short), whole), class_, **attributes)


def _text(x: float, y: float, words: str, class_: str, **attributes: Any) -> Markup:
    return _element("text", words, x=x, y=y, class_=class_, **attributes)


def _n(value: float) -> str:
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def _element(name: str, inside: str = "", **attributes: Any) -> Markup:
    """An SVG element. Its text and attributes are escaped; control characters are made visible."""
    words = [
        Markup(' {}="{}"').format(
            key.rstrip("_").replace("_", "-"), printable(value) if isinstance(value, str) else _n(value)
        )
        for key, value in attributes.items()
        if value != ""
    ]
    inside = inside if isinstance(inside, Markup) else printable(inside)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup("").join(words), inside)
