"""Figures of matplotlib as bytes: the same figure gives the same bytes with the same version of matplotlib."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, require

# What a file would otherwise say of when and by what it was made.
METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def check_picture(path: Path, argument: str) -> None:
    """Check, before any work, that a picture can be drawn to ``path``, which ``argument`` names.

    :raises InputError: its name ends in no known form, or matplotlib is not installed.
    """
    if path.suffix[1:] not in METADATA:
        raise InputError(f"{argument}: the name must end in .svg, .png or .pdf")
    require("matplotlib", "plots")


def picture_bytes(figure: Any, form: str, *, dpi: int = 150) -> bytes:
    """A figure of matplotlib, its margins cut, as ``svg`` (ids do not change, text stays text), ``png`` or ``pdf``."""
    matplotlib = require("matplotlib", "plots")
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "cgbench", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(buffer, format=form, dpi=dpi, bbox_inches="tight", metadata=METADATA[form])
    return buffer.getvalue()
