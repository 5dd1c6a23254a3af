"""Compare our scores with published ones: mean, standard deviation, difference, and its confidence interval."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

from cgbench.benchmark.comparison.intervals import student_quantile
from cgbench.benchmark.metrics.published import PublishedScore
from cgbench.errors import InputError
from cgbench.files import check_shape, read_json
from cgbench.reproduction.running import RESULT, RUNS
from cgbench.reproduction.tables import PublishedTable, all_benchmarks, all_tables
from cgbench.tables import columns, render

IID = "IID exact match"
UNDECIDED = 50.0  # points; an interval this wide is compatible with nearly any score


@dataclass(frozen=True)
class Line:
    """One score of a table.

    :param ours: mean over seeds, in percent; ``deviation``: sample standard deviation, None for a single seed.
    :param published: as printed, in percent; ``spread``: its standard deviation, if printed.
    :param low, high: the 95 % confidence interval of the difference; None if no spread is known, and
        for medians.
    :param within: whether the interval contains zero; None if unknown, for the smoke schedule, and if it does because
        it is wider than :data:`UNDECIDED`.
    :param schedule: of our runs: ``full`` or a fraction, whether the data are the released ones, and the pre-trained
        model; ``best``: the system with this score, if the paper shows the best of several; ``ran``: how many of these
        have runs (``1 of 2``), if not all.
    """

    table: str
    benchmark: str
    system: str
    metric: str
    ours: float
    deviation: float | None
    seeds: int
    schedule: str
    published: str
    spread: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    within: bool | None = None
    best: str = ""
    ran: str = ""


@dataclass(frozen=True)
class Result:
    """The ``result.json`` of a run."""

    benchmark: str
    system: str
    scale: str
    fraction: float
    seed: int
    updates: int
    settings: str
    rows: int
    ended: int
    seconds: int
    device: str
    figures: dict[str, float]
    precision: str = ""
    preset: str = ""
    generated: Sequence[str] = ()
    init: str = ""


def read_results(out: Path) -> tuple[list[Result], list[str]]:
    """The newest results of each system, with warnings about older ones with other settings.

    A file that is not a result is skipped with a warning.

    :raises InputError: the folder has no run.
    """
    results_read, newest_results, warnings = [], [], []
    for path in sorted((out / RUNS).glob(f"*/*/{RESULT}")):
        if not path.parent.name.endswith(".partial"):
            try:
                results_read.append(_read(path))
            except InputError as error:
                warnings.append(str(error))
    if not results_read and warnings:
        raise InputError(warnings[0])
    if not results_read:
        raise InputError(f"{out}: no finished runs; run cgbench reproduce run TABLE --out {out}")
    groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results_read:
        groups[result.benchmark, result.system, result.scale].append(result)
    for (benchmark, system, scale), results in groups.items():
        newest = max(results, key=lambda result: (result.ended, result.settings)).settings
        ordered = sorted(results, key=lambda result: result.ended)
        chosen = {result.seed: result for result in ordered if result.settings == newest}
        newest_results += [chosen[seed] for seed in sorted(chosen)]
        if older := len({result.settings for result in results}) - 1:
            warnings.append(
                f"{benchmark}, {system}, {scale}: {older} older {'setting' if older == 1 else 'settings'} left out"
            )
    return newest_results, warnings


def _read(path: Path) -> Result:
    data = read_json(path)
    check_shape(data, _RESULT, path, "not a result of cgbench reproduce; remove its folder")
    return Result(**{field.name: data[field.name] for field in fields(Result) if field.name in data})


def _is_figure(value: Any) -> bool:
    """Whether this is a number whose sums and squares are finite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e15


_OPTIONAL = {field.name for field in fields(Result) if field.default is not MISSING}
_RESULT = {name + "?" * (name in _OPTIONAL): kind for name, kind in get_type_hints(Result).items()}
_RESULT |= {"figures": {str: _is_figure}, "generated?": [str]}


def compare_runs(results: Iterable[Result], scale: str, tables: Sequence[PublishedTable] = ()) -> list[Line]:
    """Every published score of ``tables`` (default: all that can be run) for which there is a run at ``scale``."""
    runs: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.scale == scale:
            runs[result.benchmark, result.system].append(result)
    chosen = tables or [table for table in all_tables().values() if table.runs]
    return [line for table in chosen for row in table.figures if (line := _line(table, row, runs))]


def extra_lines(results: Iterable[Result], scale: str, lines: Sequence[Line]) -> list[Line]:
    """Scores of runs at ``scale`` without a published counterpart: our own systems and variants."""
    published = {(line.benchmark, line.best or line.system) for line in lines}
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.scale == scale and (result.benchmark, result.system) not in published:
            groups[result.benchmark, result.system].append(result)
    lines_found = []
    for (benchmark, system), runs in groups.items():
        for metric in runs[0].figures:
            if ":" not in metric and all(metric in run.figures for run in runs):
                summary = _summary([run.figures[metric] for run in runs])
                lines_found.append(Line("", benchmark, system, metric, *summary, len(runs), _schedule(runs), "", ""))
    return lines_found


def _line(table: PublishedTable, row: PublishedScore, runs: dict[tuple[str, str], list[Result]]) -> Line | None:
    metric, _, statistic = row.metric.partition(" (")  # exact match (median)
    choices: list[tuple[float, list[Result], str]] = []
    for name in table.best_of.get(row.system, (row.system,)):
        system = all_benchmarks()[row.benchmark].systems.get(name) if row.benchmark in all_benchmarks() else None
        system_runs = [
            run for run in runs.get((row.benchmark, system.name if system else name), ()) if metric in run.figures
        ]
        if system_runs:
            # The best on the compositional test, even if another of its scores is shown.
            chosen_by = "exact match" if metric == IID else metric
            choices.append(
                (_summary([run.figures.get(chosen_by, 0.0) for run in system_runs], statistic)[0], system_runs, name)
            )
    if not choices:
        return None
    _, system_runs, name = max(choices, key=lambda entry: entry[0])
    value, deviation = _summary([run.figures[metric] for run in system_runs], statistic)
    published = float(row.value)
    limits = None
    if not statistic:
        spread = float(row.spread) if row.spread else None
        published_sample = Sample(published, spread, int(row.runs or 0), last_unit(row.value))
        limits = welch_interval(Sample(value, deviation, len(system_runs)), published_sample)
    low, high = limits or (None, None)
    within = None if limits is None or system_runs[0].scale == "smoke" else limits[0] <= 0 <= limits[1]
    if within and limits and limits[1] - limits[0] > UNDECIDED:
        within = None
    count = len(table.parts(row.benchmark, row.system))
    return Line(
        *(
            table.name,
            row.benchmark,
            row.system,
            row.metric,
            value,
            deviation,
            len(system_runs),
            _schedule(system_runs),
        ),
        *(row.value, row.spread, value - published, low, high, within),
        best=name if name != row.system else "",
        ran=f"{len(choices)} of {count}" if len(choices) < count else "",
    )


@dataclass(frozen=True)
class Sample:
    """Runs of a system.

    :param mean: mean score; ``deviation``: standard deviation, None if unknown.
    :param runs: number of runs, 0 if unknown.
    :param unit: unit of the last printed digit, 0 if ``mean`` is exact.
    """

    mean: float
    deviation: float | None
    runs: int
    unit: float = 0.0


def welch_interval(runs_sample: Sample, published: Sample) -> tuple[float, float] | None:
    """The 95 % confidence interval of ``runs_sample.mean - published.mean``, widened by half a unit in the last digit.

    Welch's interval: the standard error uses the spreads and numbers of runs of both sides, with Satterthwaite's
    degrees of freedom (Welch 1947, *The generalization of "Student's" problem when several different population
    variances are involved*).

    A side with an unknown spread (one run, or none printed) is assumed to have the spread of the other. None if both
    are unknown.
    """
    known = [
        (sample.deviation**2, sample.runs - 1)
        for sample in (runs_sample, published)
        if sample.deviation is not None and sample.runs > 1
    ]
    if not known:
        return None
    # A mean of an unknown number of runs is treated as exact.
    variances = known[0][0], known[-1][0]
    variances_of_means = [
        variance / sample.runs if sample.runs else 0.0
        for variance, sample in zip(variances, (runs_sample, published), strict=True)
    ]
    error = math.sqrt(sum(variances_of_means))
    degrees = float(sum(freedom for _, freedom in known))
    if len(known) == 2 and error:
        degrees = sum(variances_of_means) ** 2 / sum(
            variance**2 / freedom for variance, (_, freedom) in zip(variances_of_means, known, strict=True)
        )
    half = student_quantile(degrees) * error + (runs_sample.unit + published.unit) / 2
    difference = runs_sample.mean - published.mean
    return difference - half, difference + half


def last_unit(text: str) -> float:
    """The unit of the last digit of a number as printed: 0.1 of ``61.5``."""
    exponent = Decimal(text).as_tuple().exponent
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def _summary(values: Sequence[float], statistic: str = "") -> tuple[float, float | None]:
    middle = statistics.median(values) if statistic == "median)" else statistics.fmean(values)
    return middle, statistics.stdev(values) if len(values) > 1 else None


def _schedule(runs: Sequence[Result]) -> str:
    first = runs[0]
    data = f"; {'generated' if any(run.generated for run in runs) else 'released'} data"
    if first.init:
        data += f"; from {first.init}"
    if precision := ", ".join(sorted({run.precision for run in runs if run.precision})):
        data += f"; {precision}"
    if first.scale == "full":
        return "full" + data
    rows = f", {first.rows:,} rows" if first.rows else ""
    percent = f" ({first.fraction:.1%})" if first.fraction else ""
    return f"{first.scale}: {first.updates:,} updates{percent}{rows}{data}"


LEGEND = (
    "In percent; ± is the standard deviation over seeds; Δ: ours minus published; 95 %: its confidence interval, from\n"
    "the spreads and numbers of runs of both; *within*: it contains zero (not decided if wider than 50)."
)
TOO_FEW = "too few updates to compare"
HEAD = ("system", "metric", "ours", "seeds", "published", "Δ", "95 %", "within")


def line_cells(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """Lines as rows of text, for a table of one benchmark and schedule."""
    return [
        (
            line.system + (f" ({line.best}{f', {line.ran} run' if line.ran else ''})" if line.best else ""),
            line.metric,
            _text(line, line.ours) + ("" if line.deviation is None else f" ± {_text(line, line.deviation)}"),
            str(line.seeds),
            line.published + (f" ± {line.spread}" if line.spread else ""),
            "" if line.difference is None else _text(line, line.difference, "+"),
            "" if line.low is None else f"{_text(line, line.low, '+')} to {_text(line, line.high or 0.0, '+')}",
            _within(line),
        )
        for line in lines
    ]


def text_table(lines: Sequence[Line]) -> str:
    """A table of one benchmark and schedule for a terminal: above it what all its rows have in common."""
    rows = line_cells(lines)
    common = [lines[0].benchmark]
    metrics = {line.metric.partition(": ")[0] for line in lines}
    if len(metrics) == 1:
        common += metrics
        rows = [(row[0], row[1].partition(": ")[2], *row[2:]) for row in rows]
    common.append(f"schedule: {lines[0].schedule}")
    if {row[-1] for row in rows} == {TOO_FEW}:
        common.append(TOO_FEW)
        rows = [(*row[:-1], "") for row in rows]
    return f"{textwrap.fill('; '.join(common), columns())}\n\n{render(HEAD, rows, left=2)}"


def _within(line: Line) -> str:
    if line.published and line.schedule.startswith("smoke"):
        return TOO_FEW
    return {None: "" if line.low is None else "not decided", True: "yes", False: "no"}[line.within]


def _text(line: Line, value: float, sign: str = "") -> str:
    digits = 0 if line.metric.startswith("novel") else 3 if line.metric == "degree" else 1
    return f"{value:{sign},.{digits}f}"


def grouped(lines: Iterable[Line]) -> dict[tuple[str, str, str], list[Line]]:
    """Lines by table, benchmark and schedule."""
    groups: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.table, line.benchmark, line.schedule].append(line)
    return dict(groups)


def markdown(lines: Sequence[Line]) -> str:
    """A report in Markdown, with one table per published table and benchmark."""
    sections = [f"# Reproduction\n\n{LEGEND}\n"]
    for (table, benchmark, schedule), group in grouped(lines).items():
        title = f"{table}: {all_tables()[table].title}" if table else "Other forms"
        sections.append(f"## {title}\n\n{benchmark}; schedule: {schedule}\n")
        sections.append(_pipes([HEAD, *line_cells(group)]) + "\n")
    return "\n".join(sections)


def _pipes(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def lines_as_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Lines as JSON values, with scores as numbers."""
    rows = [asdict(line) for line in lines]
    return [row | {name: float(row[name]) if row[name] else None for name in ("published", "spread")} for row in rows]
