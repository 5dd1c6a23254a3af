"""Charts as inline SVG: histograms, curves, points, intervals, bars.

Colours are classes of the style sheet (``c0`` to ``c6``: :data:`cgbench.plots.COLOURS`), so charts follow the page's
dark and print styles. Labels, marks or positions repeat whatever a colour encodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from cgbench.errors import printable

WIDTH = 440
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 3", "10 4", "4 2")


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` as positions from ``start`` to ``end``; ``log``: on a logarithmic scale."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value."""
        low, high, value = (math.log(one) if self.log else one for one in (self.low, self.high, value))
        return self.start + (value - low) / (high - low or 1.0) * (self.end - self.start)

    def edges(self, bins: int) -> np.ndarray:
        """The edges of bins of the same width on paper."""
        return (np.geomspace if self.log else np.linspace)(self.low, self.high, bins + 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values on the scale, about ``most`` at most."""
        span = self.high - self.low
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for factors, every in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), len(powers) // most + 1)):
                values = [factor * 10.0**power for power in powers[::every] for factor in factors]
                found = [value for value in values if self.low <= value <= self.high]
                if len(found) <= most:
                    break
            return found
        if span <= 0:
            return [self.low]
        raw = span / most
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True)
class Series:
    """Named values; ``colour`` is an index of the palette."""

    name: str
    values: Sequence[float]
    colour: int = 0


@dataclass(frozen=True)
class Whisker:
    """A value with its interval, if it has one, and those of its runs."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    runs: tuple[float, ...] = ()
    colour: int = 0

    def said(self, places: int) -> str:
        """All of it in words."""
        text = f"{self.name}: {self.value:.{places}f}"
        if self.low is not None and self.high is not None:
            text += f", 95 %: {self.low:.{places}f} to {self.high:.{places}f}"
        return text + ("; runs: " + ", ".join(f"{run:.{places}f}" for run in self.runs) if len(self.runs) > 1 else "")


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


def _svg(parts: Sequence[Markup], height: float, title: str, width: float = WIDTH, **attributes: Any) -> Markup:
    return _element(
        "svg", Markup("").join(parts), viewBox=f"0 0 {_n(width)} {_n(height)}", role="img", aria_label=title,
        class_="chart", **attributes,
    )  # fmt: skip


def _x_axis(scale: Scale, y: float, label: str, *, top: float | None = None) -> list[Markup]:
    parts = [_element("line", x1=scale.start, x2=scale.end, y1=float(y), y2=float(y), class_="axis")]
    for tick in scale.ticks():
        place = scale(tick)
        if top is not None:
            parts.append(_element("line", x1=place, x2=place, y1=float(top), y2=float(y), class_="grid"))
        parts.append(_text(place, y + 13, number(tick), text_anchor="middle", class_="tick"))
    parts.append(_text(scale.end, y + 28, label, text_anchor="end", class_="label"))
    return parts


def _y_axis(scale: Scale, x: float, right: float, label: str) -> list[Markup]:
    parts = []
    for tick in scale.ticks(5):
        place = scale(tick)
        parts.append(_element("line", x1=float(x), x2=float(right), y1=place, y2=place, class_="grid"))
        parts.append(_text(x - 5, place + 3.5, number(tick), text_anchor="end", class_="tick"))
    parts.append(_text(2, 11, label, class_="label"))
    return parts


def range_of(values: Sequence[float]) -> tuple[float, float]:
    """The minimum and maximum of the finite values; widened if they are equal."""
    kept = [value for value in values if math.isfinite(value)]
    if not kept:
        return 0.0, 1.0
    low, high = min(kept), max(kept)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def axis_of(values: Sequence[float], start: float, end: float) -> Scale:
    """An axis on which the middle half of the values has at least a twelfth: linear, else logarithmic, else cut.

    The cut is at the 99th percentile, if that at least doubles the room.
    """
    low, high = range_of(values)
    kept = np.array([value for value in values if low <= value <= high])
    if len(kept) < 20:
        return Scale(low, high, start, end)
    first, last, most = np.quantile(kept, (0.25, 0.75, 0.99)).tolist()
    for scale in (Scale(low, high, start, end), *([Scale(low, high, start, end, log=True)] if low > 0 else [])):
        if scale(last) - scale(first) >= (end - start) / 12:
            return scale
    return Scale(low, most if low < most < (low + high) / 2 else high, start, end)


def histograms(series: Sequence[Series], label: str, title: str, bins: int = 40, unit: str = "pairs") -> Markup:
    """One histogram per series, above one another on one axis (:func:`axis_of`), each with its own peak as height.

    A dashed line marks the median. Values beyond the axis are counted in the last bin.
    """
    every = [value for one in series for value in one.values]
    x = axis_of(every, 8.0, WIDTH - 12.0)
    edges = x.edges(bins)
    beyond = sum(1 for value in every if x.high < value < math.inf)
    label += " (log scale)" if x.log else f" (last bin: {number(float(edges[-2]))} and more)" if beyond else ""
    row = 68.0
    parts = _x_axis(x, row * len(series) + 4, label, top=4)
    for place, one in enumerate(series):
        values = np.array(one.values, np.float64)
        counts = np.histogram(np.minimum(values[np.isfinite(values)], x.high), edges)[0]
        peak = max(int(counts.max()), 1)
        base = row * (place + 1) + 3
        y = Scale(0, peak, base, base - row + 26)
        path = [f"M{_n(x.start)} {_n(base)}"]
        for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            path.append(f"L{_n(x(left))} {_n(y(count))}L{_n(x(right))} {_n(y(count))}")
        path.append(f"L{_n(x.end)} {_n(base)}Z")
        middle = float(np.median(values)) if len(values) else x.low
        said = f"{one.name}: {len(values):,} {unit}, median {number(middle)}"
        parts.append(_element("path", _element("title", said), d="".join(path), class_=f"area c{one.colour}"))
        if x.low <= middle <= x.high:
            parts.append(
                _element("line", x1=x(middle), x2=x(middle), y1=float(base), y2=base - row + 24, class_="median")
            )
        parts.append(_text(8, base - row + 18, said, class_="name"))
    return _svg(parts, row * len(series) + 38, title)


def curves(series: Sequence[Series], label: str, up: str, title: str) -> Markup:
    """One line of shares per series over 1, 2, 3, ..., with its own dashes and its name at the end."""
    rows = [[Whisker(one.name, value, colour=one.colour) for value in one.values] for one in series]
    bins: list[tuple[str, int | None]] = [(str(step), None) for step in range(1, max(map(len, rows)) + 1)]
    return lines(rows, bins, (label, up), title, places=3, ends=(0.0, 1.0))


def _apart(places: Sequence[float], least: float) -> list[float]:
    """Positions of labels, moved until they are at least ``least`` apart."""
    order = sorted(range(len(places)), key=lambda one: places[one])
    moved = list(places)
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
    parts = [*_y_axis(y, 44, WIDTH - 10, labels[1]), *_x_axis(x, 270, labels[0])]
    across, down = 48, 32
    counts, xs, ys = np.histogram2d(*behind, bins=(across, down), range=((low, high), (bottom, top)))
    most = max(float(counts.max()), 1.0)
    for column, row in np.argwhere(counts > 0).tolist():
        count = counts[column, row]
        shade = 1 + int(5 * math.log1p(count) / math.log1p(most) - 1e-9)
        left, right, upper, lower = x(xs[column]), x(xs[column + 1]), y(ys[row + 1]), y(ys[row])
        parts.append(
            _element("rect", x=left, y=upper, width=right - left, height=lower - upper, class_=f"cell d{shade}")
        )
    dots = [_element("circle", cx=float(x(a)), cy=float(y(b)), r=2.2) for a, b in zip(*points, strict=True)]
    parts.append(_element("g", Markup("").join(dots), class_="dots c0"))
    if pair:
        parts.append(_element("line", x1=x(low), x2=x(high), y1=y(low), y2=y(high), class_="median"))
    parts.append(
        _element("rect", x=44.0, y=20.0, width=WIDTH - 54.0, height=250.0, class_="plot",
                 data_x=f"{low!r} {high!r}", data_y=f"{bottom!r} {top!r}", data_pair=pair)
    )  # fmt: skip
    return _svg(parts, 302, title)


def whiskers(rows: Sequence[Whisker], label: str, title: str, places: int = 1) -> Markup:
    """One line per value: its interval as a bar, its runs as small dots, the number with ``places`` decimals."""
    ends = [end for row in rows for end in (row.value, row.low, row.high, *row.runs) if end is not None]
    low, high = range_of(ends)
    room = 0.06 * (high - low)
    left = 14.0 + 6.6 * max((min(len(row.name), 18) for row in rows), default=0)
    x = Scale(low - room, high + room, left, WIDTH - 46.0)
    y = 14.0
    parts: list[Markup] = []
    for row in rows:
        parts.append(_text(left - 8, y + 4, cut(row.name), text_anchor="end", class_="tick"))
        if row.value is not None:
            parts += _whisker(row, x, y, max(2, places))
        parts.append(_text(WIDTH - 2, y + 4, "–" if row.value is None else f"{row.value:.{places}f}",  # noqa: RUF001
                           text_anchor="end", class_="value"))  # fmt: skip
        y += 19
    return _svg([*_x_axis(x, y, label, top=6), *parts], y + 34, title)


def _whisker(row: Whisker, x: Scale, y: float, places: int) -> list[Markup]:
    assert row.value is not None
    parts = []
    if row.low is not None and row.high is not None:
        parts.append(_element("line", x1=x(row.low), x2=x(row.high), y1=y, y2=y, class_=f"interval c{row.colour}"))
    if len(row.runs) > 1:
        parts += [_element("circle", cx=x(value), cy=y, r=2.4, class_=f"run c{row.colour}") for value in row.runs]
    mark = f"M{_n(x(row.value))} {_n(y - 6)}v12"
    parts.append(_element("path", _element("title", row.said(places)), d=mark, class_=f"mark c{row.colour}"))
    return parts


def lines(
    series: Sequence[Sequence[Whisker]], bins: Sequence[tuple[str, int | None]], labels: tuple[str, str], title: str,
    *, places: int = 1, joined: bool = True, ends: tuple[float, float] | None = None,
) -> Markup:  # fmt: skip
    """Bins from left to right and a line per system: a :class:`Whisker` for each bin, its interval as a bar.

    :param bins: label and number of examples, if any.
    :param labels: of the bins, and of the values.
    :param ends: of the scale; by default those of the values.
    """
    every = [one for row in series for one in row]
    low, high = range_of([end for one in every for end in (one.value, one.low, one.high) if end is not None])
    room, right = 0.06 * (high - low), WIDTH - 8 - 6.8 * max(len(cut(one.name)) for one in every)
    x, y = Scale(-0.5, len(bins) - 0.5, 44.0, right), Scale(*(ends or (low - room, high + room)), 210.0, 20.0)
    parts, lasts = _y_axis(y, 44, right, labels[1]), []
    longest = max(len(cut(label)) for label, _ in bins)
    slanted = 5.9 * longest > (right - 44) / len(bins) - 4
    for place, (label, count) in enumerate(bins):
        at = x(place)
        if slanted:
            turned = f"rotate(-40 {_n(at)} 224)"
            parts.append(_text(at + 4, 224, cut(label), text_anchor="end", class_="tick", transform=turned))
        else:
            parts.append(_text(at, 225, label, text_anchor="middle", class_="tick"))
            if count is not None:
                parts.append(_text(at, 239, f"({count:,})", text_anchor="middle", class_="tick"))
    for number, row in enumerate(series):
        shift = 0.4 * ((number + 0.5) / len(series) - 0.5) if any(one.low is not None for one in every) else 0.0
        points = [(x(place + shift), y(one.value), one) for place, one in enumerate(row) if one.value is not None]
        look = f"c{row[0].colour}"
        for at, _, one in points:
            if one.low is not None and one.high is not None:
                parts.append(_element("line", x1=at, x2=at, y1=y(one.low), y2=y(one.high), class_=f"interval {look}"))
        if joined:
            path = " ".join(f"{_n(at)},{_n(up)}" for at, up, _ in points)
            dashes = DASHES[row[0].colour]
            parts.append(_element("polyline", points=path, class_=f"line {look}", stroke_dasharray=dashes))
        for at, up, one in points:
            said = _element("title", one.said(max(2, places)))
            parts.append(_element("circle", said, cx=at, cy=up, r=3.2, class_=f"dot {look}"))
        lasts.append(points[-1][1] if points else 210.0)
    for row, last in zip(series, _apart(lasts, 13.0), strict=True):
        parts.append(_text(right + 4, last + 4, cut(row[0].name), class_=f"name c{row[0].colour}"))
    down = 232 + 3.8 * longest if slanted else 243
    parts.append(_text(right, down + 14, labels[0], text_anchor="end", class_="label"))
    return _svg(parts, down + 20, title)


def cut(name: str, most: int = 18) -> str:
    """A name as a chart has room for."""
    return name if len(name) <= most else name[: most - 1] + "…"


def bar(parts: Sequence[tuple[float, int]], title: str) -> Markup:
    """A bar from 0 to 1 of parts, each a share and a colour: as wide as the cell of a table that it stands in."""
    found, begin = [], 0.0
    for share, colour in parts:
        found.append(_element("rect", x=100 * begin, y=0.0, width=100 * share, height=10.0, class_=f"area c{colour}"))
        begin += share
    return _element("svg", Markup("").join(found), viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar",
                    role="img", aria_label=title)  # fmt: skip


def shade(value: float | None) -> str:
    """The class of a cell for a value from -1 to 1: ``n5`` to ``n1``, ``z``, ``p1`` to ``p5``."""
    if value is None:
        return ""
    step = min(5, int(abs(value) * 5 + 0.5))
    return "z" if not step else f"{'p' if value > 0 else 'n'}{step}"
