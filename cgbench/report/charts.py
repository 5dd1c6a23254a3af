"""Charts of the pages as inline SVG: :class:`cgbench.plots.Chart`, histograms, clouds of points, bars.

Colours are classes of the style sheet (``c0`` to ``c6``: :data:`cgbench.plots.COLOURS`), so charts follow the page's
dark and print styles. Labels, marks or positions repeat whatever a colour encodes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from cgbench.errors import printable
from cgbench.plots import COLOURS, Chart, Series

WIDTH = 440
FEW = 5  # examples
MOST_LETTERS = 18
LARGEST_DOT = 14.0  # radius of a dot for many points
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 3", "10 4", "4 2")


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


def _title(chart: Chart, series: Series, position: int) -> Markup:
    """The value of a series at a label in words, which a browser shows under the pointer."""
    decimals = max(2, chart.decimals)
    low, high = _interval(series, position)
    text = f"{series.name}: {series.values[position]:.{decimals}f}"
    text += f", 95 %: {low:.{decimals}f} to {high:.{decimals}f}" if math.isfinite(low) else ""
    runs = series.runs[position] if series.runs else ()
    return _element(
        "title", text + ("; runs: " + ", ".join(f"{run:.{decimals}f}" for run in runs) if len(runs) > 1 else "")
    )


def _interval(series: Series, position: int) -> tuple[float, float]:
    """The ends of an interval; nan if there is none."""
    return (series.low[position], series.high[position]) if series.low and series.high else (math.nan, math.nan)


def _class(series: Series) -> str:
    return f"c{series.colour % len(COLOURS)}"


def _dashes(series: Series) -> str:
    """Other dashes for each colour, and for a colour that is used again."""
    again, first = divmod(series.colour, len(COLOURS))
    return DASHES[(first + again) % len(DASHES)]


def number(value: float) -> str:
    """A number on an axis, as short as possible."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _n(value: float) -> str:
    """A coordinate."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def _element(name: str, inside: Markup | str = "", **attributes: Any) -> Markup:
    """An SVG element. Its text and attributes are escaped; control characters are made visible."""
    words = [
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _n(value) if isinstance(value, float) else value)
        for key, value in ((key, _visible(value)) for key, value in attributes.items())
        if value not in (None, "")
    ]
    body = Markup("").join(words)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), body, _visible(inside))


def _visible(value: Any) -> Any:
    return printable(value) if type(value) is str else value


def _text(x: float, y: float, words: str, **attributes: Any) -> Markup:
    return _element("text", words, x=float(x), y=float(y), **attributes)


def _svg(elements: Sequence[Markup], height: float, title: str, width: float = WIDTH, **attributes: Any) -> Markup:
    return _element(
        "svg", Markup("").join(elements), viewBox=f"0 0 {_n(width)} {_n(height)}", role="img", aria_label=title,
        class_="chart", **attributes,
    )  # fmt: skip


def _x_axis(scale: Scale, y: float, label: str, *, top: float | None = None) -> list[Markup]:
    elements = [_element("line", x1=scale.start, x2=scale.end, y1=float(y), y2=float(y), class_="axis")]
    for tick in scale.ticks():
        at = scale(tick)
        if top is not None:
            elements.append(_element("line", x1=at, x2=at, y1=float(top), y2=float(y), class_="grid"))
        elements.append(_text(at, y + 13, number(tick), text_anchor="middle", class_="tick"))
    elements.append(_text(scale.end, y + 28, label, text_anchor="end", class_="label"))
    return elements


def _y_axis(scale: Scale, x: float, right: float, label: str, most: int = 5) -> list[Markup]:
    elements = []
    for tick in scale.ticks(most):
        at = scale(tick)
        elements.append(_element("line", x1=float(x), x2=float(right), y1=at, y2=at, class_="grid"))
        elements.append(_text(x - 5, at + 3.5, number(tick), text_anchor="end", class_="tick"))
    elements.append(_text(2, 11, label, class_="label"))
    return elements


def range_of(values: Sequence[float]) -> tuple[float, float]:
    """The minimum and maximum of the finite values; widened if they are equal."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _edges(values: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    """Edges of about ``bins`` bins. If the values are whole, each bin has the same number of whole numbers."""
    if not len(values) or not (values == np.round(values)).all():
        return np.linspace(low, high, bins + 1)
    width = math.ceil((math.floor(high) - math.ceil(low) + 1) / bins)
    count = math.ceil((math.floor(high) - math.ceil(low) + 1) / width)
    return math.ceil(low) - 0.5 + width * np.arange(count + 1)


def histograms(series: Sequence[Series], label: str, title: str, bins: int = 40, unit: str = "pairs") -> Markup:
    """One histogram per series, above one another on one axis, each with its own peak as height.

    Bins of whole numbers hold equally many of them; others would show gaps that are not in the data. A dashed line
    marks the median. If that at least doubles the room, the axis ends at the 99th percentile, and the last bin counts
    the values beyond.
    """
    # One axis and the same bins for all series.
    values = np.array([value for row in series for value in row.values if math.isfinite(value)])
    low, high = range_of(values.tolist())
    cut_at = float(np.quantile(values, 0.99)) if len(values) else high
    is_cut = low < cut_at < (low + high) / 2
    edges = _edges(values, low, cut_at if is_cut else high, bins)
    x = Scale(float(edges[0]), float(edges[-1]), 8.0, WIDTH - 12.0)
    is_whole = len(values) and (values == np.round(values)).all()
    label += f" (last bin: {number(float(edges[-2]) + 0.5 * is_whole)} and more)" if is_cut else ""
    row_height = 68.0
    elements = _x_axis(x, row_height * len(series) + 4, label, top=4)
    for index, of_series in enumerate(series):
        # The outline of the bins.
        values = np.array(of_series.values, np.float64)
        counts = np.histogram(np.minimum(values[np.isfinite(values)], x.high), edges)[0]
        base = row_height * (index + 1) + 3
        y = Scale(0, max(int(counts.max()), 1), base, base - row_height + 26)
        path = [f"M{_n(x.start)} {_n(base)}"]
        for count, begin, stop in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            path.append(f"L{_n(x(begin))} {_n(y(count))}L{_n(x(stop))} {_n(y(count))}")
        path.append(f"L{_n(x.end)} {_n(base)}Z")
        # The median, and the name.
        middle = float(np.median(values)) if len(values) else x.low
        text = f"{of_series.name}: {len(values):,} {unit}, median {number(middle)}"
        elements.append(_element("path", _element("title", text), d="".join(path), class_=f"area {_class(of_series)}"))
        if x.low <= middle <= x.high:
            elements.append(
                _element("line", x1=x(middle), x2=x(middle), y1=base, y2=base - row_height + 24, class_="median")
            )
        elements.append(_text(8, base - row_height + 18, text, class_="name"))
    return _svg(elements, row_height * len(series) + 38, title)


def _apart(positions: Sequence[float], least: float) -> list[float]:
    """Positions of labels, moved until they are at least ``least`` apart."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    moved = list(positions)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    return moved


def scatter(
    behind: tuple[np.ndarray, np.ndarray], points: tuple[np.ndarray, np.ndarray], labels: tuple[str, str], title: str,
    *, pair: str = "",
) -> Markup:  # fmt: skip
    """A grid of cells, darker where there are more points, with some points as dots in front.

    The attributes ``data-x`` and ``data-y`` hold the values at the edges of the plot, for the brush in the script.

    :param pair: for the scores of two systems, their numbers: both axes have one scale, and a diagonal.
    """
    (low, high), (bottom, top) = (range_of(np.concatenate([behind[side], points[side]]).tolist()) for side in (0, 1))
    if pair:
        low, high = bottom, top = min(low, bottom), max(high, top)
    x, y = Scale(low, high, 44.0, WIDTH - 10.0), Scale(bottom, top, 270.0, 20.0)
    elements = [*_y_axis(y, 44, WIDTH - 10, labels[1], 6 if pair else 5), *_x_axis(x, 270, labels[0])]
    across, down = 48, 32
    counts, xs, ys = np.histogram2d(*behind, bins=(across, down), range=((low, high), (bottom, top)))
    most = max(float(counts.max()), 1.0)
    for column, row in np.argwhere(counts > 0).tolist():
        count = counts[column, row]
        shade = 1 + int(5 * math.log1p(count) / math.log1p(most) - 1e-9)
        left, right, upper, lower = x(xs[column]), x(xs[column + 1]), y(ys[row + 1]), y(ys[row])
        elements.append(
            _element("rect", x=left, y=upper, width=right - left, height=lower - upper, class_=f"cell d{shade}")
        )
    # Points at the same position are one dot, whose area is their number.
    positions = Counter((round(x(a), 1), round(y(b), 1)) for a, b in zip(*points, strict=True))
    dots = [
        _element(
            "circle", _element("title", f"{count:,} points") if count > 1 else "", cx=float(column), cy=float(row),
            r=min(2.2 * math.sqrt(count), LARGEST_DOT),
        )
        for (column, row), count in positions.items()
    ]  # fmt: skip
    elements.append(_element("g", Markup("").join(dots), class_="dots c0"))
    if pair:
        elements.append(_element("line", x1=x(low), x2=x(high), y1=y(low), y2=y(high), class_="median"))
    elements.append(
        _element("rect", x=44.0, y=20.0, width=WIDTH - 54.0, height=250.0, class_="plot",
                 data_x=f"{low!r} {high!r}", data_y=f"{bottom!r} {top!r}", data_pair=pair)
    )  # fmt: skip
    return _svg(elements, 302, title)


def intervals(chart: Chart, *, signed: bool = False, stars: Sequence[str] = ()) -> Markup:
    """One line per series of a chart with one label: the interval as a bar, the runs as circles, the value.

    :param signed: values are differences: a line marks zero, and they have a sign.
    :param stars: text after each value.
    """
    low, high = range_of([*(end for series in chart.series for end in _ends(series)), *[0.0] * signed])
    room = 0.06 * (high - low)
    names = cut_names([series.name for series in chart.series])
    start = 14.0 + 6.6 * max(map(len, names), default=0)
    x = Scale(low - room, high + room, start, WIDTH - 46.0 - 5.0 * max(map(len, stars), default=0))
    y = 14.0
    elements: list[Markup] = []
    if signed:
        bottom = y + 19 * len(chart.series)
        elements.append(_element("line", x1=x(0), x2=x(0), y1=6.0, y2=bottom, class_="median"))
    for index, series in enumerate(chart.series):
        value, (first, last), colour = series.values[0], _interval(series, 0), _class(series)
        elements.append(_name(start - 8, y + 4, series.name, names[index], text_anchor="end", class_="tick"))
        if math.isfinite(first):
            elements.append(_element("line", x1=x(first), x2=x(last), y1=y, y2=y, class_=f"interval {colour}"))
        if series.runs and len(series.runs[0]) > 1:
            elements += [_element("circle", cx=x(run), cy=y, r=2.4, class_=f"run {colour}") for run in series.runs[0]]
        if math.isfinite(value):
            mark = f"M{_n(x(value))} {_n(y - 6)}v12"
            elements.append(_element("path", _title(chart, series, 0), d=mark, class_=f"mark {colour}"))
        text = f"{value:{'+' * signed}.{chart.decimals}f}" if math.isfinite(value) else "–"  # noqa: RUF001
        text += stars[index] if stars else ""
        elements.append(_text(WIDTH - 2, y + 4, text, text_anchor="end", class_="value"))
        y += 19
    return _svg([*_x_axis(x, y, chart.value_name, top=6), *elements], y + 34, chart.title)


def _ends(series: Series) -> list[float]:
    return [*series.values, *series.low, *series.high, *(run for runs in series.runs for run in runs)]


def lines(chart: Chart) -> Markup:
    """Labels from left to right and a line per series, with intervals as bars and the name at its end.

    Points of fewer than :data:`FEW` examples are grey and not joined.
    """
    low, high = range_of([end for series in chart.series for end in (*series.values, *series.low, *series.high)])
    names = cut_names([series.name for series in chart.series])
    room, right = 0.06 * (high - low), WIDTH - 8 - 6.8 * max(map(len, names))
    x = Scale(-0.5, len(chart.labels) - 0.5, 44.0, right)
    y = Scale(*(chart.ends or (low - room, high + room)), 210.0, 20.0)
    elements, last_heights = _y_axis(y, 44, right, chart.value_name), []
    label_elements, bottom = _bin_labels(chart, x)
    elements += label_elements
    # Series; those with intervals are next to each other.
    shifted = any(math.isfinite(end) for series in chart.series for end in series.low)
    for index, series in enumerate(chart.series):
        shift = 0.4 * ((index + 0.5) / len(chart.series) - 0.5) if shifted else 0.0
        points = [(label, x(label + shift), y(v)) for label, v in enumerate(series.values) if math.isfinite(v)]
        few = {label for label, _, _ in points if chart.counts and chart.counts[label] < FEW}
        colour = _class(series)
        for label, at, _ in points:
            first, last = _interval(series, label)
            if math.isfinite(first):
                colour_of = "few" if label in few else colour
                elements.append(_element("line", x1=at, x2=at, y1=y(first), y2=y(last), class_=f"interval {colour_of}"))
        if chart.joined:
            path = " ".join(f"{_n(at)},{_n(up)}" for label, at, up in points if label not in few)
            dashes = _dashes(series)
            elements.append(_element("polyline", points=path, class_=f"line {colour}", stroke_dasharray=dashes))
        for label, at, up in points:
            colour_of = "few" if label in few else colour
            elements.append(
                _element("circle", _title(chart, series, label), cx=at, cy=up, r=3.2, class_=f"dot {colour_of}")
            )
        last_heights.append(points[-1][2] if points else 210.0)
    for series, name, height in zip(chart.series, names, _apart(last_heights, 13.0), strict=True):
        elements.append(_name(right + 4, height + 4, series.name, name, class_=f"name {_class(series)}"))
    elements.append(_text(right, bottom + 14, chart.label_name, text_anchor="end", class_="label"))
    return _svg(elements, bottom + 20, chart.title)


def _bin_labels(chart: Chart, x: Scale) -> tuple[list[Markup], float]:
    """The labels below a chart with their counts, slanted if they are long; and where they end."""
    counts = [f"({count:,})" for count in chart.counts]
    short, room = [cut(label) for label in chart.labels], (x.end - x.start) / len(chart.labels) - 4
    longest = max(map(len, [*short, *counts]))
    if 5.9 * longest <= room:
        elements = [
            _text(x(index), 225, label, text_anchor="middle", class_="tick") for index, label in enumerate(short)
        ]
        elements += [
            _text(x(index), 239, count, text_anchor="middle", class_="tick") for index, count in enumerate(counts)
        ]
        return elements, 243.0
    short = [f"{label} {count}" for label, count in zip(short, counts, strict=True)] if counts else short
    elements = [
        _name(
            x(index) + 4,
            224,
            label,
            text,
            text_anchor="end",
            class_="tick",
            transform=f"rotate(-40 {_n(x(index))} 224)",
        )
        for index, (label, text) in enumerate(zip(chart.labels, short, strict=True))
    ]
    return elements, 232 + 3.8 * max(map(len, short))


def cut(name: str, most: int = MOST_LETTERS) -> str:
    """A name as a chart has room for."""
    return name if len(name) <= most else name[: most - 1] + "…"


def cut_names(names: Sequence[str], most: int = MOST_LETTERS) -> list[str]:
    """Names as a chart has room for, and still different: those that would be cut alike are cut in the middle."""
    short = [cut(name, most) for name in names]
    alike = Counter(short)
    tail = most // 2
    ends = [
        name[: most - 1 - tail] + "…" + name[-tail:] if alike[text] > 1 else text
        for name, text in zip(names, short, strict=True)
    ]
    again = Counter(ends)
    return [f"{index}: {end}" if again[end] > 1 else end for index, end in enumerate(ends, 1)]


def _name(x: float, y: float, name: str, short: str, **attributes: Any) -> Markup:
    """A text that was cut, whole under the pointer."""
    if name == short:
        return _text(x, y, name, **attributes)
    words = Markup("{}{}").format(_visible(short), _element("title", name))
    return _element("text", words, x=float(x), y=float(y), **attributes)


def bar(shares: Sequence[tuple[float, int]], title: str) -> Markup:
    """A bar from 0 to 1 of parts, each a share and a colour: as wide as the cell of a table that it stands in."""
    rectangles, begin = [], 0.0
    for width, colour in shares:
        rectangles.append(
            _element("rect", x=100 * begin, y=0.0, width=100 * width, height=10.0, class_=f"area c{colour}")
        )
        begin += width
    return _element("svg", Markup("").join(rectangles), viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar",
                    role="img", aria_label=title)  # fmt: skip


def shade(value: float | None) -> str:
    """The class of a cell for a value from -1 to 1: ``n5`` to ``n1``, ``z``, ``p1`` to ``p5``."""
    if value is None:
        return ""
    step = min(5, int(abs(value) * 5 + 0.5))
    return "z" if not step else f"{'p' if value > 0 else 'n'}{step}"
