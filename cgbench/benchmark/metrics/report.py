"""What ``cgbench score`` prints: sacrebleu's line for one system, tables for more, signatures below."""

from __future__ import annotations

import json
from typing import Any

from cgbench.benchmark.metrics.base import Estimate
from cgbench.benchmark.metrics.evaluation import Part, Result
from cgbench.benchmark.metrics.published import PAPERS
from cgbench.benchmark.metrics.scoring import Scored, as_json, describe, rounded
from cgbench.tables import render

REASONS = 10


def report(scored: Scored, form: str, width: int, show_reasons: bool = False) -> str:
    """All of it in one of the forms ``text``, ``json``, ``tsv``, ``markdown``, ``latex``."""
    if form == "json":
        rows = as_json(scored)
        return json.dumps(rows[0] if len(rows) == 1 else rows, ensure_ascii=False, indent=1)
    if form == "tsv":
        return _long_table(scored)
    parts = []
    line = _one_line(scored, width) if form == "text" else None
    if line:
        parts.append(line)
    else:
        parts.append(_systems_table(scored, form, width))
    parts += [_bins_table(scored, name, form, width) for name in scored.metric.figures] if scored.by else []
    parts += _cter_tables(scored, form, width, show_reasons)
    if scored.published:
        parts.append(_published_table(scored, form, width))
    if not line:
        parts.append(_signatures(scored, form))
    return "\n\n".join(part for part in parts if part)


def values_only(scored: Scored, width: int) -> str:
    """The figures alone: a line a system, its figures separated by tabs."""
    return "\n".join(
        "\t".join(_number(result.whole.figures[name].value, width) for name in scored.metric.figures)
        for result in scored.results
    )


def _one_line(scored: Scored, width: int) -> str | None:
    """sacrebleu's line, for one system with one run."""
    if len(scored.results) > 1 or scored.results[0].runs > 1:
        return None
    result = scored.results[0]
    figures = []
    for name in scored.metric.figures:
        estimate = result.whole.figures[name]
        text = _number(estimate.value, width)
        if estimate.ci_low is not None and estimate.ci_high is not None:
            half = (estimate.ci_high - estimate.ci_low) / 2
            text += f" (μ = {estimate.ci_mean:.{width}f} ± {half:.{width}f})"
        figures.append(f"{name} {text}" if len(scored.metric.figures) > 1 else text)
    more = describe(scored.metric, result)
    name = scored.metric.name
    line = f"{name}|{scored.signature} = {' '.join(figures)}" + (f" {more}" if more else "")
    return line + f"\nshort: {name}|{scored.signature.format(short=True)}"


def _number(value: float | None, width: int) -> str:
    return "-" if value is None else f"{value:.{width}f}"


def _signed(value: float | None, width: int) -> str:
    return "" if value is None else f"{value:+.{width}f}"


def _p(value: float | None) -> str:
    return "" if value is None else "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _cells(estimate: Estimate, width: int) -> list[str]:
    """Figure, spread, interval, difference, p and adjusted p."""
    interval = ""
    if estimate.ci_low is not None and estimate.ci_high is not None:
        interval = f"{estimate.ci_low:.{width}f} to {estimate.ci_high:.{width}f}"
    return [
        _number(estimate.value, width),
        "" if estimate.stdev is None else f"{estimate.stdev:.{max(width, 2)}f}",
        interval,
        _signed(estimate.difference, width),
        _p(estimate.p_value),
        _p(estimate.p_holm),
    ]


def _head(name: str) -> list[str]:
    return [name, "stdev", "95 % interval", "Δ", "p", "p (Holm)"]


def _systems_table(scored: Scored, form: str, width: int) -> str:
    metric = scored.metric
    head = ["system", "n", "runs"]
    several = len(metric.figures) > 1
    for name in metric.figures:
        head += _head(f"{metric.name} {name}" if several else metric.name)
    rows = []
    for result in scored.results:
        row = [_name(scored, result), f"{result.whole.examples:,}", str(result.runs)]
        for name in metric.figures:
            row += _cells(result.whole.figures[name], width)
        rows.append(row)
    return render(head, rows, form)


def _name(scored: Scored, result: Result) -> str:
    return f"{result.system} (baseline)" if result.system == scored.baseline else result.system


def _bins_table(scored: Scored, figure: str, form: str, width: int) -> str:
    metric = scored.metric
    name = f"{metric.name} {figure}" if len(metric.figures) > 1 else metric.name
    head = [f"{scored.by}", "n", "system", *_head(name)]
    rows = []
    for number, (one, part) in enumerate(scored.results[0].bins):
        for place, result in enumerate(scored.results):
            part = result.bins[number][1]
            first = [one.label, f"{part.examples:,}"] if not place else ["", ""]
            rows.append([*first, _name(scored, result), *_cells(part.figures[figure], width)])
    if all(row[3] == "-" for row in rows):
        return ""  # CTER aggregate where the bins divide groups
    return render(head, rows, form)


def _cter_tables(scored: Scored, form: str, width: int, show_reasons: bool) -> list[str]:
    if not scored.more[0]:
        return []
    head = ["type", "n", "system", "instance", "aggregate"]
    rows = []
    for kind in scored.more[0]["by_type"]:
        for place, (result, more) in enumerate(zip(scored.results, scored.more, strict=True)):
            found = more["by_type"][kind]
            cells = [_number(None if found[key] is None else 100 * found[key], width) for key in head[3:]]
            first = [kind, f"{found['n']:,}"] if not place else ["", ""]
            rows.append([*first, result.system, *cells])
    parts = [render(head, rows, form)] if len(scored.more[0]["by_type"]) > 1 else []
    if human := scored.more[0]["human"]:
        names = {"precision": "precision of the errors found", "recall": "recall of the errors found"}
        names |= {"instance": "instance, as humans judge", "aggregate": "aggregate, as humans judge"}
        shares = [
            [text, _number(None if human[key] is None else 100 * human[key], width)] for key, text in names.items()
        ]
        parts.append(render(["against human judgements", "%"], shares, form))
    if show_reasons:
        for result, more in zip(scored.results, scored.more, strict=True):
            found = [
                [f"{'no translation of' if kind == 'missing' else 'order'} {one}", f"{count:,}"]
                for kind in ("missing", "order")
                for one, count in list(more["errors"][kind].items())[:REASONS]
            ]
            counted = f"rows of {result.runs} runs" if result.runs > 1 else "rows"
            parts.append(render([f"why rows are wrong: {result.system}", counted], found, form))
    return parts


def _published_table(scored: Scored, form: str, width: int) -> str:
    """Ours first, then published figures: a line a system and table, a column a metric."""
    rows = scored.published
    benchmarks = {row.benchmark for row in rows}
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for result, more in zip(scored.results, scored.more, strict=True):
        lines[result.system, "", "yours"] = _own_figures(scored, result, more, width)
    for row in rows:
        text = row.value + (f" ± {row.spread}" if row.spread else "")
        lines.setdefault((row.system, row.benchmark, row.source), {})[row.metric] = text
    metrics = list(dict.fromkeys(name for found in lines.values() for name in found))
    several = len(benchmarks) > 1
    head = ["beside published results", *(["benchmark"] if several else [])]
    head += [name.removeprefix("CTER ") for name in metrics] + ["source"]
    cells = [
        [system, *([benchmark] if several else []), *(found.get(one, "") for one in metrics), source]
        for (system, benchmark, source), found in lines.items()
    ]
    papers = sorted({row.source.split()[0] for row in rows})
    comment = "% " if form == "latex" else ""
    notes = "\n".join(f"{comment}{paper}: {PAPERS[paper]}" for paper in papers if paper in PAPERS)
    return render(head, cells, form) + "\n" + ("\n" if form == "markdown" else "") + notes


def _own_figures(scored: Scored, result: Result, more: dict[str, Any], width: int) -> dict[str, str]:
    """A system's figures under the names of the published table."""
    figures = result.whole.figures
    if not more:
        name = "exact match" if scored.metric.name == "exact" else scored.metric.name
        return {name: _number(figures[scored.metric.figures[0]].value, width)}
    own = {f"CTER {name}": _number(figures[name].value, width) for name in figures}
    for kind, found in more["by_type"].items():
        own |= {
            f"CTER {name} {kind}": _number(None if found[name] is None else 100 * found[name], width)
            for name in figures
        }
    return own


def _signatures(scored: Scored, form: str) -> str:
    mark = "% " if form == "latex" else ""
    lines = [
        f"{mark}signature  {scored.metric.name}|{scored.signature}",
        f"{mark}short      {scored.metric.name}|{scored.signature.format(short=True)}",
    ]
    return "```\n" + "\n".join(lines) + "\n```" if form == "markdown" else "\n".join(lines)


LONG = (
    "metric", "figure", "system", "by", "bin", "n", "runs", "value", "stdev", "ci_low", "ci_high", "difference",
    "p_value", "p_holm", "baseline", "signature", "signature_short",
)  # fmt: skip


def _long_table(scored: Scored) -> str:
    """A row a figure, system and bin: what other programs read."""
    rows = []
    for result, more in zip(scored.results, scored.more, strict=True):
        parts: list[tuple[str, str, Part]] = [("", "", result.whole)]
        parts += [(scored.by or "", one.label, part) for one, part in result.bins]
        for by, label, part in parts:
            for name in scored.metric.figures:
                rows.append(_long_row(scored, result, by, label, part, name))
        rows += _findings(scored, result, more)
    for one in scored.published:
        first = [scored.metric.name, one.metric, one.system, "published", one.benchmark, "", one.runs]
        rows.append([*first, one.value, one.spread, *[""] * 6, one.source, one.source])
    return render(LONG, rows, "tsv")


def _findings(scored: Scored, result: Result, more: dict[str, Any]) -> list[list[str]]:
    """What CTER finds beside its figures, as rows of the long table: types, reasons, human judgements."""
    found = []
    for kind, counts in more.get("by_type", {}).items():
        found += [("type", kind, name, counts["n"], counts[name]) for name in scored.metric.figures]
    for kind, names in more.get("errors", {}).items():
        found += [("errors", name, kind, scored.metric.n * result.runs, count) for name, count in names.items()]
    for name, share in (more.get("human") or {}).items():
        found.append(("human", "", name, scored.metric.n, share))
    signatures = [str(scored.signature), scored.signature.format(short=True)]
    rows = []
    for by, label, name, n, value in found:
        number = "" if value is None else repr(value if by == "errors" else rounded(100 * value))
        first = [scored.metric.name, name, result.system, by, label, str(n), str(result.runs), number]
        rows.append([*first, *[""] * 6, scored.baseline or "", *signatures])
    return rows


def _long_row(scored: Scored, result: Result, by: str, label: str, part: Part, name: str) -> list[str]:
    estimate: Any = part.figures[name]
    numbers = [estimate.value, estimate.stdev, estimate.ci_low, estimate.ci_high]
    numbers += [estimate.difference, estimate.p_value, estimate.p_holm]
    return [
        scored.metric.name, name, result.system, by, label, str(part.examples), str(result.runs),
        *("" if number is None else repr(rounded(number)) for number in numbers),
        scored.baseline or "", str(scored.signature), scored.signature.format(short=True),
    ]  # fmt: skip
