"""Charts of the pages as inline SVG: :class:`cgbench.plots.Chart`, histograms, clouds of points.

Colours are classes of the style sheet (``c0`` to ``c6``: :data:`cgbench.plots.COLOURS`), so charts
follow the page's dark and print styles. Labels, marks or positions repeat whatever a colour
encodes.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from cgbench.errors import printable
from cgbench.numbers_as_text import typeset
from cgbench.plots import COLOURS, Chart, Mark, Series, finite_range, short_names, shorten

WIDTH = 340
"""Of a chart, in the pixels of its text: a phone, or a third of a wide page."""
HISTOGRAM = 68  # its height
RADIUS = {"dot": 3.2, "start": 4.0, "run": 2.4}
LARGEST_DOT = 14.0  # radius of a dot for many points
WIDTH_OF_LETTER = 7.6
WIDTH_OF_LABEL = 6.0  # of a letter in the name of an axis
WIDTH_OF_DIGIT = 7.2
WIDTH_OF_HEAD = 6.6  # of a letter above a histogram
ROOM_OF_TICK = 36  # of the text of a tick on an axis from left to right
HALF_END = 3.5  # of the short line at an end of an interval
STEPS = [factor * 10.0**power for power in range(-12, 300) for factor in (1, 2, 2.5, 5)]
"""Distances of ticks."""
CORNERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)),
    ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0), (0, -1.4)),
)
"""Of a dot, from its middle, in radii: a circle, a square, a diamond."""
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
        return self.start + (value - self.low) / (self.high - self.low or 1.0) * (
            self.end - self.start
        )

    def ticks(self) -> list[float]:
        """Round values on the scale, six or fewer, with room for their texts."""
        most = max(1, min(6, int(abs(self.end - self.start) / ROOM_OF_TICK)))
        step = next(step for step in STEPS if (self.high - self.low) / step <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [multiple * step for multiple in range(first, last + 1)]


class LogScale(Scale):
    """A scale on which equal ratios are equally far apart."""

    def __call__(self, value: float) -> float:
        """The position of a value above zero."""
        share = math.log(value / self.low) / (math.log(self.high / self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten, with their double and fivefold where there is room."""
        tenths = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1,)):
            ticks = [factor * 10.0**power for power in tenths for factor in factors]
            visible = [tick for tick in ticks if self.low <= tick <= self.high]
            places = [self(tick) for tick in visible]
            if all(after - before >= ROOM_OF_TICK for before, after in pairwise(places)):
                return visible
        return visible


def draw(chart: Chart) -> Markup:
    """A chart with its marks, names and axes, and the values of rows."""
    return draw_rows(chart) if chart.rows else draw_lines(chart)


def draw_rows(chart: Chart) -> Markup:
    """Each series as a row, with its name to the left and its value to the right."""
    names = short_names([series.name for series in chart.series])
    room_for_names = WIDTH_OF_LETTER * max(map(len, names), default=0)
    room_for_notes = 5.5 * max((len(series.note) for series in chart.series), default=0)
    x = Scale(*chart.scale(), 14 + room_for_names, WIDTH - 46 - room_for_notes)
    y = Scale(0, 1, 14, 33)
    bottom = y(len(names))
    elements = _x_axis(x, 6, bottom, chart.value_name)
    if chart.signed:
        elements.append(_line([(x(0), 6), (x(0), bottom)], "median"))
    for index, (series, name) in enumerate(zip(chart.series, names, strict=True)):
        for mark in chart.marks(index):
            points = [(x(value), y(row)) for row, value in mark.points]
            elements += _mark(mark, points, end=(0.0, HALF_END))
        name_y = y(index) + 4
        elements.append(_text(x.start - 8, name_y, name, "tick", series.name, text_anchor="end"))
        value = chart.value_text(series) or "–"  # noqa: RUF001
        elements.append(_text(WIDTH - 2, name_y, value, "value", text_anchor="end"))
    return _svg(elements, bottom + 34, chart.title)


def draw_lines(chart: Chart) -> Markup:
    """Each series as points over the labels, which a line may join, with its name at the end."""
    names = short_names([series.name for series in chart.series])
    room_for_names = WIDTH_OF_LETTER * max(map(len, names), default=0)
    x = Scale(-0.5, len(chart.labels) - 0.5, 44, WIDTH - 8 - room_for_names)
    y = Scale(*chart.scale(), 210, 20)
    elements, bottom = _labels(chart, x)
    elements += _y_axis(y, x.end, chart.value_name)
    elements.append(_name_of_axis(chart.label_name, x.end, bottom + 14))
    for index, (series, name, height) in enumerate(
        zip(chart.series, names, chart.name_heights(), strict=True)
    ):
        colour = series.colour_at(index)
        use = sum(divmod(colour, len(COLOURS)))  # a colour that is used again has other dashes
        for mark in chart.marks(index):
            points = [(x(place), y(value)) for place, value in mark.points]
            elements += _mark(mark, points, end=(HALF_END, 0.0), dashes=DASHES[use % len(DASHES)])
        class_ = f"name {_class(colour)}"
        elements.append(_text(x.end + 4, y(height) + 4, name, class_, series.name))
    return _svg(elements, bottom + 20, chart.title)


def _mark(
    mark: Mark, points: Sequence[tuple[float, float]], end: tuple[float, float], dashes: str = ""
) -> list[Markup]:
    """The elements of a mark at these points.

    :param end: half of the short line at each end of an interval. ``dashes``: of lines.
    """
    class_ = f"{mark.shape} {_class(mark.colour)}{' few' if mark.is_hollow else ''}"
    if mark.shape in RADIUS:
        (x, y), radius = points[0], RADIUS[mark.shape]
        # A colour that is used again has another shape.
        corners = CORNERS[mark.colour // len(COLOURS) % len(CORNERS)] if mark.shape == "dot" else ()
        if corners:
            outline = [(x + across * radius, y + down * radius) for across, down in corners]
            return [_line(outline, class_, mark.words)]
        return [_element("circle", title=mark.words, cx=x, cy=y, r=radius, class_=class_)]
    if mark.shape == "line":
        return [_line(points, class_, stroke_dasharray=dashes)]
    ends = [
        _line([(x - end[0], y - end[1]), (x + end[0], y + end[1])], f"end {_class(mark.colour)}")
        for x, y in points
    ]
    return [_line(points, class_), *ends]


def histograms(
    series: Sequence[Series],
    label: str,
    title: str,
    bins: int = 40,
    unit: str = "pairs",
    *,
    is_log: bool = False,
) -> Markup:
    """One histogram per series, above one another on one axis, each with its own peak as height.

    Bins of whole numbers hold equally many of them; others would show gaps that are not in the
    data. A dashed line marks the median. If that at least doubles the room, the axis ends at the
    99th percentile, and the last bin counts the values beyond.

    :param is_log: the axis is logarithmic, if all values are above zero.
    """
    values = np.array([value for row in series for value in row.values if math.isfinite(value)])
    is_log = is_log and len(values) > 0 and values.min() > 0
    edges, is_cut = _edges(values, bins, is_log)
    x = (LogScale if is_log else Scale)(float(edges[0]), float(edges[-1]), 8, WIDTH - 12)
    if is_cut:
        whole_number = math.ceil(edges[-2]) if _are_whole(values) else float(edges[-2])
        label += f" (last bin: {tick_text(whole_number)} and more)"
    elements = _x_axis(x, 4, HISTOGRAM * len(series) + 4, label)
    medians = [_median(row) for row in series]
    decimals = _decimals_of_medians([median for median in medians if median is not None])
    for index, row in enumerate(series):
        values = np.array(row.values, np.float64)
        counts = np.histogram(np.minimum(values[np.isfinite(values)], x.high), edges)[0]
        base = HISTOGRAM * (index + 1) + 3
        y = Scale(0, max(int(counts.max()), 1), base, base - HISTOGRAM + 26)
        # The outline: each edge twice, at the heights of the bins before and after it.
        outline = zip(
            map(x, np.repeat(edges, 2)), map(y, [0, *np.repeat(counts, 2), 0]), strict=True
        )
        middle = medians[index]
        count = f": {len(values):,} {unit}"
        count += "" if middle is None else f", median {typeset(f'{middle:,.{decimals}f}')}"
        text = shorten(row.name, int((WIDTH - 8) / WIDTH_OF_HEAD) - len(count)) + count
        elements.append(_line(list(outline), f"area {_class(row.colour_at(index))}", text))
        if middle is not None and x.low <= middle <= x.high:
            elements.append(_line([(x(middle), base), (x(middle), y.end - 2)], "median"))
        elements.append(_text(8, base - HISTOGRAM + 18, text, "name"))
    return _svg(elements, HISTOGRAM * len(series) + 38, title)


def _edges(values: np.ndarray, bins: int, is_log: bool) -> tuple[np.ndarray, bool]:
    """The edges of the bins of a histogram, and whether the last bin counts values beyond it."""
    low, high = finite_range(values)
    if is_log:
        return np.geomspace(low, high, bins + 1), False
    cut_at = float(np.quantile(values, 0.99)) if len(values) else high
    is_cut = low < cut_at < (low + high) / 2
    high = cut_at if is_cut else high
    if _are_whole(values):
        first, last = math.ceil(low), math.floor(high)
        width = math.ceil((last - first + 1) / bins)
        return np.arange(first - 0.5, last + 0.5 + width, width), is_cut
    if is_cut:  # at round numbers, one of which is in the label of the axis
        step = next(step for step in STEPS if (high - low) / step <= bins)
        return step * np.arange(math.floor(low / step), math.ceil(high / step) + 1), is_cut
    return np.linspace(low, high, bins + 1), is_cut


def _are_whole(values: np.ndarray) -> bool:
    return bool((values == np.round(values)).all())


def _median(series: Series) -> float | None:
    values = np.array(series.values, np.float64)
    values = values[~np.isnan(values)]
    return float(np.median(values)) if len(values) else None


def _decimals_of_medians(medians: Sequence[float]) -> int:
    """The same for all medians of a chart: four digits of the largest, none of whole numbers."""
    largest = max(map(abs, medians), default=0.0)
    if not largest or all(median == round(median) for median in medians):
        return 0
    return max(0, 3 - math.floor(math.log10(largest)))


def scatter(
    behind: tuple[np.ndarray, np.ndarray],
    points: tuple[np.ndarray, np.ndarray],
    labels: tuple[str, str],
    title: str,
    *,
    pair: str = "",
) -> Markup:
    """A grid of cells, darker where there are more points, with some points as dots in front.

    The attributes ``data-x`` and ``data-y`` hold the values at the edges of the plot, for the brush
    in the script.

    :param pair: for the scores of two systems, their numbers: both axes have one scale, and a
        diagonal.
    """
    (low, high), (bottom, top) = (
        finite_range(np.concatenate(values)) for values in zip(behind, points, strict=True)
    )
    if pair:
        low, high = bottom, top = min(low, bottom), max(high, top)
    x, y = Scale(low, high, 44, WIDTH - LARGEST_DOT - 2), Scale(bottom, top, 270, 20)
    elements = [*_y_axis(y, x.end, labels[1]), *_x_axis(x, y.end, y.start, labels[0])]
    # Cells in five shades.
    counts, xs, ys = np.histogram2d(*behind, bins=(48, 32), range=((low, high), (bottom, top)))
    for column, row in np.argwhere(counts > 0).tolist():
        shade = math.ceil(5 * math.log1p(counts[column, row]) / math.log1p(counts.max()) - 1e-9)
        left, right, lower, upper = x(xs[column]), x(xs[column + 1]), y(ys[row]), y(ys[row + 1])
        elements.append(
            _element(
                "rect",
                x=left,
                y=upper,
                width=right - left,
                height=lower - upper,
                class_=f"cell d{shade}",
            )
        )
    # Points at the same position are one dot, whose area is their number.
    positions = Counter((round(x(a), 1), round(y(b), 1)) for a, b in zip(*points, strict=True))
    dots = [
        _element(
            "circle",
            title=f"{n:,} points" * (n > 1),
            cx=at,
            cy=up,
            r=min(2.2 * math.sqrt(n), LARGEST_DOT),
        )
        for (at, up), n in positions.items()
    ]
    elements.append(_element("g", *dots, class_="dots c0"))
    if pair:
        elements.append(_line([(x(low), y(low)), (x(high), y(high))], "median"))
    edges = {"data_x": f"{low!r} {high!r}", "data_y": f"{bottom!r} {top!r}", "data_pair": pair}
    plot = _element(
        "rect",
        x=44,
        y=20,
        width=x.end - x.start,
        height=y.start - y.end,
        class_="plot",
        tabindex=0,
        role="application",
        aria_label=f"Choose a rectangle: {title}",
        **edges,
    )
    return _svg([*elements, plot], 302, title, role="group")  # with a part that takes the focus


def shade(value: float | None) -> str:
    """The class of a cell for a value from -1 to 1: ``n5`` to ``n1``, ``z``, ``p1`` to ``p5``."""
    if value is None:
        return ""
    step = min(5, int(abs(value) * 5 + 0.5))
    return "z" if not step else f"{'p' if value > 0 else 'n'}{step}"


def tick_text(value: float) -> str:
    """A number on an axis, of six digits, or four if it is below 1,000."""
    return typeset(f"{value:z,.{6 if abs(value) >= 1000 else 4}g}")


def _x_axis(x: Scale, top: float, bottom: float, label: str) -> list[Markup]:
    """A line below a chart with ticks, grid lines and the name of the axis."""
    elements = [_line([(x.start, bottom), (x.end, bottom)], "axis")]
    for tick in x.ticks():
        elements.append(_line([(x(tick), top), (x(tick), bottom)], "grid"))
        text = tick_text(tick)
        middle = min(x(tick), WIDTH - WIDTH_OF_DIGIT * len(text) / 2)  # within the chart
        elements.append(_text(middle, bottom + 13, text, "tick", text_anchor="middle"))
    return [*elements, _name_of_axis(label, x.end, bottom + 28)]


def _name_of_axis(name: str, end: float, y: float) -> Markup:
    """The name of an axis from left to right: it ends with the axis, or with the chart if it needs
    the room.
    """
    letters = int(end / WIDTH_OF_LABEL)
    if len(name) > letters:
        end, letters = WIDTH - 2, int((WIDTH - 2) / WIDTH_OF_LABEL)
    return _text(end, y, shorten(name, letters), "label", name, text_anchor="end")


def _y_axis(y: Scale, right: float, label: str) -> list[Markup]:
    elements = [_text(2, 11, label, "label")]
    for tick in y.ticks():
        elements.append(_line([(44, y(tick)), (right, y(tick))], "grid"))
        elements.append(_text(39, y(tick) + 3.5, tick_text(tick), "tick", text_anchor="end"))
    return elements


def _labels(chart: Chart, x: Scale) -> tuple[list[Markup], float]:
    """The labels below a chart with their counts, slanted if they are long; and where they end."""
    rows = [[shorten(label) for label in chart.labels], [f"({count:,})" for count in chart.counts]]
    is_slanted = 5.9 * max(len(text) for row in rows for text in row) > x(1) - x(0) - 4
    if is_slanted:
        rows = [[" ".join(texts) for texts in zip(*filter(None, rows), strict=True)]]
    elements, anchor = [], "end" if is_slanted else "middle"
    for line, row in enumerate(rows):
        for place, (label, text) in enumerate(zip(chart.labels, row, strict=False)):
            slant = f"rotate(-40 {_n(x(place))} 224)" if is_slanted else ""
            y = 225 + 14 * line
            elements.append(
                _text(x(place), y, text, "tick", label, text_anchor=anchor, transform=slant)
            )
    return elements, 232 + 3.8 * max(map(len, rows[0])) if is_slanted else 243


def _class(colour: int) -> str:
    return f"c{colour % len(COLOURS)}"


def _svg(elements: Sequence[Markup], height: float, title: str, role: str = "img") -> Markup:
    box = f"0 0 {WIDTH} {_n(height)}"
    return _element("svg", *elements, viewBox=box, role=role, aria_label=title, class_="chart")


def _line(
    points: Sequence[tuple[float, float]], class_: str, title: str = "", **attributes: Any
) -> Markup:
    """A line, or an outline to be filled."""
    places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return _element("polyline", title=title, points=places, class_=class_, **attributes)


def _text(
    x: float, y: float, words: str, class_: str, whole: str = "", **attributes: Any
) -> Markup:
    """A text; one that was cut is ``whole`` under the pointer."""
    return _element(
        "text", words, title=whole if whole != words else "", x=x, y=y, class_=class_, **attributes
    )


def _n(value: float) -> str:
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def _element(name: str, *inside: str, title: str = "", **attributes: Any) -> Markup:
    """An SVG element; a browser shows its title under the pointer.

    Text and attributes are escaped, and control characters are made visible; attributes that are
    empty are left out.
    """
    texts = {
        key.rstrip("_").replace("_", "-"): (
            _n(value) if isinstance(value, float | int) else printable(value)
        )
        for key, value in attributes.items()
    }
    words = Markup("").join(
        Markup(' {}="{}"').format(key, value) for key, value in texts.items() if value
    )
    within = [part if isinstance(part, Markup) else printable(part) for part in inside]
    within += [_element("title", title)] if title else []
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), words, Markup("").join(within))
