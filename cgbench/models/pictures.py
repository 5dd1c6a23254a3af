"""Draw tables of weights; the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgbench.errors import require
from cgbench.picture import picture_bytes

FORMS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Panel:
    """One table: which layer (columns) takes how much of what (rows).

    :param values: [rows, columns]; nan is where nothing can be taken.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray


def draw(panels: Sequence[Panel], form: str) -> bytes:
    """Return a picture with a panel beside another, darker for more.

    :param form: one of :data:`FORMS`.
    :raises InputError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib", "plots")
    figures = require("matplotlib.figure", "plots")
    # A figure without pyplot: no window system is asked for, and nothing outlives the call.
    with matplotlib.rc_context({"svg.hashsalt": "cgbench", "svg.fonttype": "none"}):
        rows, columns = max(len(panel.rows) for panel in panels), max(len(panel.columns) for panel in panels)
        figure = figures.Figure(
            figsize=(len(panels) * (1.2 + 0.4 * columns) + 1, 1.2 + 0.4 * rows), layout="constrained"
        )
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        top = max(float(np.nanmax(panel.values)) for panel in panels)
        for axis, panel in zip(axes, panels, strict=True):
            image = axis.imshow(panel.values, cmap="Reds", vmin=0, vmax=top, origin="lower")
            axis.set_title(panel.title)
            axis.set_xticks(range(len(panel.columns)), panel.columns, rotation=90)
            axis.set_yticks(range(len(panel.rows)), panel.rows)
        figure.colorbar(image, ax=list(axes))
        return picture_bytes(figure, form)
