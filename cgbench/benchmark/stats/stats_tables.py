"""The output of ``cgbench stats`` and its notebook display: tables, with signatures below."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cgbench.benchmark.stats.text_statistics import StatsRow, statistics_as_json
from cgbench.tables import as_html, render


def stats_report(rows: Sequence[StatsRow], form: str) -> str:
    """The output in one of the forms ``text``, ``json``, ``tsv``, ``markdown``, ``latex``, ``html``."""
    if form == "json":
        values = list(map(statistics_as_json, rows))
        return json.dumps(values[0] if len(values) == 1 else values, ensure_ascii=False, indent=1)
    blocks = [_main_table(rows, form)]
    if any(row.divergence for row in rows):
        blocks.append(_divergences(rows, form))
    if form != "tsv":  # there the signature is a column
        blocks.append(_notes(rows, form))
    return "\n\n".join(block for block in blocks if block)


def _main_table(rows: Sequence[StatsRow], form: str) -> str:
    """The rows of Table 2; TSV also has the quantiles of the degree."""
    exact = form == "tsv"
    orders = list(rows[0].words)
    head = ["test", "examples", "mean length", "degree"]
    unit = " share" if exact else " %"
    head += [f"{label} {order}{figure}" for label in ("word", "POS") for order in orders for figure in ("", unit)]
    quantiles = list(rows[0].quantiles) if exact else []
    head += [*(f"degree {name}" for name in quantiles), *(["signature", "signature_short"] if exact else [])]
    lines = []
    for row in rows:
        cells = [row.name, _count(row.examples, exact), _number(row.mean_length, exact, 2)]
        cells += [_number(row.degree, exact, 3)]
        for counts in (row.words, row.pos):
            for order in orders:
                order_counts = counts[order] if counts else None
                cells += (
                    [_count(order_counts.novel, exact), _share(order_counts.share, exact)] if order_counts else ["", ""]
                )
        cells += [_number(row.quantiles[name], exact, 3) for name in quantiles]
        lines.append(cells + ([str(row.signature), row.signature.format(short=True)] if exact else []))
    return render(head, lines, form)


def _divergences(rows: Sequence[StatsRow], form: str) -> str:
    exact = form == "tsv"
    head = ["test", "elements"]
    for name in ("atom", "compound"):
        head += [
            f"{name} divergence",
            *([f"random {name} {statistic}" for statistic in ("mean", "sd", "z")] if exact else ["random"]),
        ]
    head += ["atoms", "not in training", "compounds", "not in training"]
    lines = []
    for row in rows:
        if measured := row.divergence:
            values = []
            for value, chance in ((measured.atom, measured.atom_chance), (measured.compound, measured.compound_chance)):
                values.append(_number(value, exact, 4))
                drawn = (chance.mean, chance.sd, chance.z) if chance else (None, None, None)
                values += [_number(drawn_value, exact, 4) for drawn_value in drawn] if exact else [str(chance or "-")]
            counts = (measured.atoms, len(measured.lone_atoms), measured.compounds, measured.novel_compounds)
            lines.append([row.name, measured.elements, *values, *(_count(count, exact) for count in counts)])
    return render(head, lines, form)


def _count(count: int, exact: bool) -> str:
    return str(count) if exact else f"{count:,}"


def _number(value: float | None, exact: bool, width: int) -> str:
    if value is None:
        return "" if exact else "-"
    return repr(value) if exact else f"{value:.{width}f}"


def _share(value: float | None, exact: bool) -> str:
    """From 0 to 1 in TSV, otherwise in percent."""
    if value is None:
        return "" if exact else "-"
    return repr(value) if exact else f"{100 * value:.1f}"


def _notes(rows: Sequence[StatsRow], form: str) -> str:
    """Signatures."""
    lines = []
    for row in rows:
        name = f"{row.name}  " if len(rows) > 1 else ""
        lines.append(f"{name}signature  STATS|{row.signature}")
        lines.append(f"{name}short      STATS|{row.signature.format(short=True)}")
    if form == "latex":
        lines = [f"% {line}" for line in lines]
    text = "\n".join(lines)
    return {"markdown": f"```\n{text}\n```", "html": as_html(text)}.get(form, text)
