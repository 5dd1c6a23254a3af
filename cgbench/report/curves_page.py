"""Pages of curves, such as learning curves (``cgbench report`` of a training folder, or of the
folder of an ensemble). A section per curve contains its chart and its table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil, nan
from pathlib import Path
from typing import Any

from cgbench.errors import InputError
from cgbench.plots import Chart, Series
from cgbench.report import charts
from cgbench.report.page import as_table, render_page

LOG = "metrics.jsonl"
MOST_POINTS = 40
CURVES = {
    "valid_bleu": "Validation BLEU",
    "valid_exact_match": "Validation exact match (%)",
    "valid_loss": "Validation loss (nats per token)",
    "loss": "Training loss (nats per token)",
}


def find_logs(folder: Path) -> list[Path]:
    """The log of a training run, or those of an ensemble's members; empty for other folders."""
    return [folder / LOG] if (folder / LOG).is_file() else sorted(folder.glob(f"*/{LOG}"))


def curves_page(logs: Sequence[Path], command: str) -> str:
    """The page as HTML, the same bytes for the same logs: a curve per run, and its last value.

    :raises InputError: a log is not one that ``cgbench train`` wrote, or none contains a report
        yet.
    """
    runs, sections = {}, []
    for path in logs:
        try:
            reports = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            # Updates of a method's first stage are counted separately.
            runs[path.parent.name] = [
                row for row in reports if row.get("update") and "stage" not in row
            ]
        except (ValueError, AttributeError) as error:
            raise InputError(f"{path}: not a log of cgbench train ({error})") from None
    for key, title in CURVES.items():
        values = {
            name: {row["update"]: row[key] for row in rows if key in row}
            for name, rows in runs.items()
        }
        updates = sorted({update for curve in values.values() for update in curve})
        # At most MOST_POINTS updates are drawn, the last one among them; every eighth has a label.
        drawn = updates[:: -max(1, ceil(len(updates) / MOST_POINTS))][::-1]
        labels = [
            f"{update:,}" if (len(drawn) - at) % 8 == 1 else "" for at, update in enumerate(drawn)
        ]
        series = [
            Series(name, [curve.get(update, nan) for update in drawn])
            for name, curve in values.items()
        ]
        table = as_table(
            title, title, ["run", "last"], [[n, f"{c[max(c)]:.3f}"] for n, c in values.items() if c]
        )
        if updates:
            chart = charts.draw(Chart(labels, series, title, title, "updates", decimals=3))
            sections.append({"id": key, "title": title, "chart": chart, "table": table})
    if not sections:
        raise InputError(f"{logs[0]}: contains no report yet; train longer")
    lead = "Scores and losses over updates, from the logs of the training."
    return render_curves(f"Learning curves: {', '.join(list(runs)[:4])}", lead, sections, command)


def render_curves(title: str, lead: str, sections: Sequence[dict[str, Any]], command: str) -> str:
    """A page with a section per curve.

    :param sections: ``id``, ``title``, ``chart`` and ``table`` of each.
    """
    context = {"title": title, "lead": lead, "notes": [], "systems": sections, "command": command}
    return render_page("curves.html", context, {"rows": None})
