"""The output of ``cgbench score``, also in notebooks: a line like sacrebleu's, or tables and signatures."""

from __future__ import annotations

from functools import partial
from typing import Any

from cgbench.benchmark.metrics import latex
from cgbench.benchmark.metrics.comparison import Pair, Score, SystemScores
from cgbench.benchmark.metrics.drop import Drop
from cgbench.benchmark.metrics.people import table_rows
from cgbench.benchmark.metrics.published import PAPERS
from cgbench.benchmark.metrics.ranks import ranks
from cgbench.benchmark.metrics.scored import ScoredSystems, describe
from cgbench.benchmark.metrics.significance import stars
from cgbench.tables import as_html, fixed, p_text, render

REASONS = 10


def report(scored: ScoredSystems, form: str, width: int, show_reasons: bool = False) -> str:
    """The whole output as ``text``, ``markdown``, ``latex`` or ``html``."""
    line = _one_line(scored, width) if form == "text" else None
    parts = [line or _systems_table(scored, form, width)]
    in_bins = latex.bins_table if form == "latex" else partial(_bins_table, form=form)
    parts += [in_bins(scored, name, width=width) for name in scored.metric.figures] if scored.by else []
    if scored.control is not None:
        parts.append(_drops(scored, form, width))
    parts += [_pairs_table(scored, name, form, width) for name in scored.metric.figures] if scored.all_pairs else []
    parts.append(_ranks_table(scored, form, width))
    parts += _cter_tables(scored, form, width, show_reasons)
    if scored.published:
        parts.append(_published_table(scored, form, width))
    if scored.people:
        parts.append(render(*table_rows(scored.people, max(width, 1)), form))
    if design := scored.metric.design:
        words = f"estimate for {design.description()}"
        parts.append({"latex": f"% {words}", "html": as_html(words)}.get(form, words))
    if scored.clusters:
        shown = {"latex": f"% {scored.clusters}", "html": as_html(scored.clusters)}
        parts.append(shown.get(form, scored.clusters))
    if not line:
        parts.append(_signatures(scored, form))
    return "\n\n".join(part for part in parts if part)


def _one_line(scored: ScoredSystems, width: int) -> str | None:
    """sacrebleu's line, for one system with one run."""
    if len(scored.results) > 1 or scored.results[0].runs > 1:
        return None
    result = scored.results[0]
    figures = []
    for name in scored.metric.figures:
        estimate = result.whole.figures[name]
        text = number(estimate.value, width)
        if estimate.ci_low is not None and estimate.ci_high is not None:
            half = (estimate.ci_high - estimate.ci_low) / 2
            text += (
                f" (μ = {estimate.ci_mean:.{width}f} ± {half:.{width}f})"
                if scored.metric.as_sacrebleu and estimate.ci_mean is not None
                else f" (95 %: {estimate.ci_low:.{width}f} to {estimate.ci_high:.{width}f})"
            )
        figures.append(f"{name} {text}" if len(scored.metric.figures) > 1 else text)
    more = describe(scored.metric, result)
    name = scored.metric.name
    line = f"{name}|{scored.signature} = {' '.join(figures)}" + (f" {more}" if more else "")
    return line + f"\nshort: {name}|{scored.signature.format(short=True)}"


def number(value: float | None, width: int) -> str:
    """A score with ``width`` decimals; ``-`` if undefined."""
    return fixed(value, width, none="-")


def _percent(share: float | None, width: int) -> str:
    return number(None if share is None else 100 * share, width)


def _difference(one: Score | Pair, form: str, width: int) -> str:
    """A difference with the stars of the calibrated test."""
    if form == "latex":
        return latex.difference(one, width)
    return fixed(one.difference, width, "+") + stars(one.p_star)


def _bounds(one: Score | Pair | Drop, width: int) -> str:
    return span(one.difference_low, one.difference_high, width, "+")


def span(low: float | None, high: float | None, places: int, sign: str = "") -> str:
    """An interval, if there is one."""
    return "" if low is None or high is None else f"{fixed(low, places, sign)} to {fixed(high, places, sign)}"


def _cells(estimate: Score, form: str, width: int) -> list[str]:
    """Score, spread, interval, difference, p and adjusted p."""
    return [
        number(estimate.value, width),
        "" if estimate.stdev is None else f"{estimate.stdev:.{max(width, 2)}f}",
        span(estimate.ci_low, estimate.ci_high, width),
        _difference(estimate, form, width),
        _bounds(estimate, width),
        p_text(estimate.p_value),
        p_text(estimate.p_holm),
        p_text(estimate.p_calibrated_holm),
    ]


def _head(name: str) -> list[str]:
    return [name, "stdev", "95 % interval", "Δ", "95 % of Δ", "p", "p (Holm)", "p (calibrated)"]


def _systems_table(scored: ScoredSystems, form: str, width: int) -> str:
    metric = scored.metric
    head = ["system", "n", "runs"]
    for name in metric.figures:
        head += _head(metric.label(name))
    rows = []
    for result in scored.results:
        row = [scored.title(result.system), f"{result.whole.examples:,}", str(result.runs)]
        for name in metric.figures:
            row += _cells(result.whole.figures[name], form, width)
        rows.append(row)
    if form == "latex":
        for place, name in enumerate(metric.figures):
            for row, cell in zip(rows, latex.bold_best(scored, name, width), strict=True):
                row[3 + len(_head(name)) * place] = cell
    return render(head, rows, form)


def _bins_table(scored: ScoredSystems, figure: str, width: int, form: str) -> str:
    head = [f"{scored.by}", "n", "system", *_head(scored.metric.label(figure))]
    rows = []
    for number, (one, part) in enumerate(scored.results[0].bins):
        for place, result in enumerate(scored.results):
            part = result.bins[number][1]
            first = [one.label, f"{part.examples:,}"] if not place else ["", ""]
            rows.append([*first, scored.title(result.system), *_cells(part.figures[figure], form, width)])
    if all(row[3] == "-" for row in rows):
        return ""  # CTER aggregate where the bins divide groups
    return render(head, rows, form, keys=3)


def _drops(scored: ScoredSystems, form: str, width: int) -> str:
    """The drop of every system from the control set to the test set, in a table and in words."""
    metric = scored.metric
    rows, lines = [], []
    for result in scored.results:
        lost = scored.drops[result.system]
        for name, one in lost.items():
            figure, interval = metric.label(name), span(one.ci_low, one.ci_high, width)
            row = [figure, scored.title(result.system), number(one.control, width)]
            row += [number(result.whole.figures[name].value, width), number(one.value, width), interval]
            row += ["" if one.ratio is None else f"{one.ratio:.2f}", fixed(one.difference, width, "+")]
            rows.append([*row, _bounds(one, width), p_text(one.p_value), p_text(one.p_holm)])
            if one.value is not None:
                verb = "rises" if metric.lower_is_better else "falls"
                line = f"{figure} {verb} by {one.value:.{width}f}"
                if one.ci_low is not None:
                    line += f" [{one.ci_low:.{width}f}, {one.ci_high:.{width}f}]"
                line += f" from the control set ({scored.control:,} examples) to the test set"
                lines.append(line if len(scored.results) == 1 else f"{result.system}: {line}")
    head = ["control to test", "system", "control", "test", "drop", "95 % interval", "test / control"]
    table = render([*head, "Δ", "95 % of Δ", "p", "p (Holm)"], rows, form, keys=2)
    if form == "latex":
        return table
    words = "\n".join(lines)
    shown = {"markdown": "\n\n".join(lines), "html": as_html(words)}.get(form, words)
    return f"{table}\n\n{shown}"


def _pairs_table(scored: ScoredSystems, figure: str, form: str, width: int) -> str:
    """One row per pair of systems: over all examples, then in each bin."""
    rows = []
    for place, label in enumerate(["", *(one.label for one, _ in scored.results[0].bins)]):
        for result in scored.results:
            for pair in result.parts[place].figures[figure].pairs:
                difference = [_difference(pair, form, width), _bounds(pair, width)]
                p_values = (pair.p_value, pair.p_holm, pair.p_calibrated_holm)
                rows.append([result.system, pair.against, label, *difference, *map(p_text, p_values)])
    head = [f"{scored.metric.label(figure)}: all pairs", "against", scored.by or "", *_head("")[3:]]
    return render(head, rows, form, keys=3) if rows else ""


def _ranks_table(scored: ScoredSystems, form: str, width: int) -> str:
    """The range of each system's rank and its tier, if all pairs are compared."""
    rows = []
    for one in ranks(scored.metric, scored.results):
        result = scored.results[one.number]
        places = f"{one.best}" if one.best == one.worst else f"{one.best}-{one.worst}"
        value = number(result.whole.figures[scored.metric.figures[0]].value, width)
        rows.append([result.system, value, places, str(one.tier)])
    return render(["best first", scored.metric.name, "rank", "tier"], rows, form) if rows else ""


def _cter_tables(scored: ScoredSystems, form: str, width: int, show_reasons: bool) -> list[str]:
    if not scored.more[0]:
        return []
    head = ["type", "n", "system", "instance", "aggregate"]
    rows = []
    for kind in scored.more[0]["by_type"]:
        for place, (result, more) in enumerate(zip(scored.results, scored.more, strict=True)):
            found = more["by_type"][kind]
            cells = [_percent(found[key], width) for key in head[3:]]
            first = [kind, f"{found['n']:,}"] if not place else ["", ""]
            rows.append([*first, result.system, *cells])
    parts = [render(head, rows, form, keys=3)] if len(scored.more[0]["by_type"]) > 1 else []
    if human := scored.more[0]["human"]:
        names = {"precision": "precision of the errors found", "recall": "recall of the errors found"}
        names |= {"instance": "instance, as humans judge", "aggregate": "aggregate, as humans judge"}
        shares = [[text, _percent(human[key], width)] for key, text in names.items()]
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


def _published_table(scored: ScoredSystems, form: str, width: int) -> str:
    """Our scores, then the published ones: one row per system and table, one column per metric."""
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
    notes = as_html(notes) if form == "html" else notes
    return render(head, cells, form) + "\n" + ("\n" if form == "markdown" else "") + notes


def _own_figures(scored: ScoredSystems, result: SystemScores, more: dict[str, Any], width: int) -> dict[str, str]:
    """A system's scores under the names of the published table."""
    figures = result.whole.figures
    if not more:
        name = "exact match" if scored.metric.name == "exact" else scored.metric.name
        return {name: number(figures[scored.metric.figures[0]].value, width)}
    own = {f"CTER {name}": number(figures[name].value, width) for name in figures}
    for kind, found in more["by_type"].items():
        own |= {f"CTER {name} {kind}": _percent(found[name], width) for name in figures}
    return own


def _signatures(scored: ScoredSystems, form: str) -> str:
    mark = "% " if form == "latex" else ""
    lines = [f"{mark}{latex.legend(scored)}"] if scored.test else []
    lines += [
        f"{mark}signature  {scored.metric.name}|{scored.signature}",
        f"{mark}short      {scored.metric.name}|{scored.signature.format(short=True)}",
    ]
    text = "\n".join(lines)
    return {"markdown": f"```\n{text}\n```", "html": as_html(text)}.get(form, text)
