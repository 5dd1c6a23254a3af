"""``cgbench score --by ... --plot FILE``: a line a system over the bins, with 95 % intervals; a panel a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgbench.benchmark.metrics.base import Estimate
from cgbench.benchmark.metrics.scoring import Scored
from cgbench.errors import InputError, argument, require
from cgbench.picture import picture_bytes

MARKERS = "osD^vPX*<>"
SPREAD = 0.4  # of the distance between bins: what the points of all systems take, side by side
LONG = 8  # signs of a label, from which on labels are slanted


def draw(scored: Scored, form: str) -> bytes:
    """Draw what was scored in bins, as ``svg``, ``png`` or ``pdf``; the same figures give the same bytes.

    :raises InputError: there are no bins, or matplotlib is not installed.
    """
    names = _figures(scored)
    bins = [one for one, _ in scored.results[0].bins]
    figures = require("matplotlib.figure", "plots")
    width = max(4.0, 1.5 + (0.7 + 0.1 * len(scored.results)) * len(bins))
    figure = figures.Figure(figsize=(width * max(1, len(names)), 3.4), layout="constrained")
    axes = figure.subplots(1, max(1, len(names)), squeeze=False)[0]
    for ax, name in zip(axes, names, strict=False):
        _panel(ax, scored, name)
    handles, systems = axes[0].get_legend_handles_labels()
    figure.legend(handles, systems, loc="outside upper center", ncols=3, fontsize=8)
    return picture_bytes(figure, form)


def draw_on(scored: Scored, ax: Any) -> None:
    """Draw the first figure of a metric on an axes of matplotlib, with a legend.

    :raises InputError: there are no bins, or ``ax`` is no axes.
    """
    if not hasattr(ax, "errorbar"):
        raise InputError(f"{argument('ax', ax)}: it must be an axes of matplotlib")
    for name in _figures(scored)[:1]:
        _panel(ax, scored, name)
    ax.legend(fontsize=8)


def _figures(scored: Scored) -> list[str]:
    """The figures of the metric that a bin has."""
    if not scored.by:
        raise InputError(f"a plot has the bins of {argument('by')} side by side; give it")
    return [
        name
        for name in scored.metric.figures
        if any(part.figures[name].value is not None for result in scored.results for _, part in result.bins)
    ]


def _panel(ax: Any, scored: Scored, name: str) -> None:
    """A figure of the metric over the bins."""
    bins = [one for one, _ in scored.results[0].bins]
    labels = [f"{_plain(one.label)}\n{len(one.rows):,}" for one in bins]
    slanted = max(len(one.label) for one in bins) > LONG
    for place, result in enumerate(scored.results):
        estimates = [part.figures[name] for _, part in result.bins]
        _points(ax, _plain(result.system), place, len(scored.results), estimates)
    turned = {"rotation": 30, "ha": "right"} if slanted else {}
    ax.set_xticks(range(len(bins)), labels, fontsize=8, **turned)
    ax.set_xlabel(_plain(f"{scored.by} (examples below)"))
    several = len(scored.metric.figures) > 1
    ax.set_ylabel(_plain(f"{scored.metric.name} {name}" if several else scored.metric.name))
    ax.grid(axis="y", alpha=0.3)


def _points(ax: Any, label: str, place: int, systems: int, estimates: Sequence[Estimate]) -> None:
    """A system's figures, a bit beside those of the others, joined where a bin and the next have one."""
    shift = SPREAD * ((place + 0.5) / systems - 0.5)
    nan = float("nan")
    values = [nan if one.value is None else one.value for one in estimates]
    low = [_length(one, one.ci_low, -1) for one in estimates]
    high = [_length(one, one.ci_high, 1) for one in estimates]
    ax.errorbar(
        [number + shift for number in range(len(values))], values, yerr=[low, high], label=label,
        marker=MARKERS[place % len(MARKERS)], markersize=4, linewidth=1, capsize=2, color=f"C{place % 10}",
    )  # fmt: skip


def _length(estimate: Estimate, end: float | None, sign: int) -> float:
    """From a figure to an end of its interval; 0 where there is none."""
    return 0.0 if estimate.value is None or end is None else max(0.0, sign * (end - estimate.value))


def _plain(text: str) -> str:
    """A text without what matplotlib would read as mathematics."""
    return text.replace("$", r"\$")
