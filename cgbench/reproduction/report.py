"""Compare our scores with published ones: mean, standard deviation, difference, and its confidence
interval.
"""

import math
import statistics
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

from cgbench.benchmark.measure.metrics.published import PublishedScore
from cgbench.benchmark.score.comparison.intervals import student_quantile
from cgbench.errors import InputError
from cgbench.files import check_shape, read_json
from cgbench.numbers_as_text import counted, fixed, span
from cgbench.reproduction.running import RESULT, RUNS
from cgbench.reproduction.tables import PublishedTable, all_benchmarks, all_tables
from cgbench.tables import Note, OutputTable

UNDECIDED = 50.0  # points; an interval this wide is compatible with nearly any score


@dataclass(frozen=True)
class Line:
    """One score of a table.

    :param ours: mean over seeds, in percent; ``deviation``: sample standard deviation, None for a
        single seed.
    :param published: as printed, in percent; ``spread``: its standard deviation, if printed.
    :param low, high: the 95% confidence interval of the difference; None if no spread is known, and
        for medians.
    :param within: whether the interval contains zero; None if unknown, for the smoke schedule, and
        if it does because it is wider than :data:`UNDECIDED`.
    :param schedule: of our runs: ``full`` or a fraction, whether the data are the released ones,
        and the pre-trained model; ``best``: the system with this score, if the paper shows the best
        of several; ``ran``: how many of these have runs (``1 of 2``), if not all.
    :param note: of the published score.
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
    note: str = ""


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
                f"{benchmark}, {system}, {scale}: {counted(older, 'older setting')} left out"
            )
    return newest_results, warnings


def _read(path: Path) -> Result:
    data = read_json(path)
    check_shape(data, _RESULT, path, "not a result of cgbench reproduce; remove its folder")
    return Result(
        **{field.name: data[field.name] for field in fields(Result) if field.name in data}
    )


def _is_figure(value: Any) -> bool:
    """Whether this is a number whose sums and squares are finite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e15


_OPTIONAL = {field.name for field in fields(Result) if field.default is not MISSING}
_RESULT = {name + "?" * (name in _OPTIONAL): kind for name, kind in get_type_hints(Result).items()}
_RESULT |= {"figures": {str: _is_figure}, "generated?": [str]}


def compare_runs(
    results: Iterable[Result], scale: str, tables: Sequence[PublishedTable] = ()
) -> list[Line]:
    """Every published score of ``tables`` for which there is a run at ``scale``; by default of all
    tables, and the scores that no table has."""
    runs: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.scale == scale:
            runs[result.benchmark, result.system].append(result)
    chosen = tables or [table for table in all_tables().values() if table.runs]
    lines = [line for table in chosen for row in table.figures if (line := _line(table, row, runs))]
    return lines if tables else [*lines, *_unpublished(runs, lines)]


def _unpublished(
    runs: dict[tuple[str, str], list[Result]], lines: Sequence[Line]
) -> Iterator[Line]:
    """Scores without a published counterpart: our own systems and variants."""
    published = {(line.benchmark, line.best or line.system) for line in lines}
    for (benchmark, system), seeds in runs.items():
        if (benchmark, system) in published:
            continue
        for metric in seeds[0].figures:
            if ":" not in metric and all(metric in run.figures for run in seeds):
                summary = _summary([run.figures[metric] for run in seeds])
                schedule = _schedule(seeds)
                yield Line("", benchmark, system, metric, *summary, len(seeds), schedule, "", "")


def _line(
    table: PublishedTable, row: PublishedScore, runs: dict[tuple[str, str], list[Result]]
) -> Line | None:
    metric, _, statistic = row.metric.partition(" (")  # exact match (median)
    choices: list[tuple[float, list[Result], str]] = []
    for name in table.best_of.get(row.system, (row.system,)):
        system = (
            all_benchmarks()[row.benchmark].systems.get(name)
            if row.benchmark in all_benchmarks()
            else None
        )
        system_runs = [
            run
            for run in runs.get((row.benchmark, system.name if system else name), ())
            if metric in run.figures
        ]
        if system_runs:
            # The best on the compositional test, even if another of its scores is shown.
            chosen_by = "exact match" if metric == "IID exact match" else metric
            choices.append(
                (
                    _summary([run.figures.get(chosen_by, 0.0) for run in system_runs], statistic)[
                        0
                    ],
                    system_runs,
                    name,
                )
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
    within = (
        None if limits is None or system_runs[0].scale == "smoke" else limits[0] <= 0 <= limits[1]
    )
    if within and limits and limits[1] - limits[0] > UNDECIDED:
        within = None
    count = len(table.parts(row.benchmark, row.system))
    return Line(
        *(table.name, row.benchmark, row.system, row.metric, value, deviation, len(system_runs)),
        *(_schedule(system_runs), row.value, row.spread, value - published, low, high, within),
        best=name if name != row.system else "",
        ran=f"{len(choices)} of {count}" if len(choices) < count else "",
        note=row.note,
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
    """The 95% confidence interval of ``runs_sample.mean - published.mean``, widened by half a unit
    in the last digit.

    Welch's interval: the standard error uses the spreads and numbers of runs of both sides, with
    Satterthwaite's degrees of freedom (Welch 1947, *The generalization of "Student's" problem when
    several different population variances are involved*).

    A side with an unknown spread (one run, or none printed) is assumed to have the spread of the
    other. None if both are unknown.
    """
    sides = (runs_sample, published)
    known = [
        (side.deviation**2, side.runs - 1)
        for side in sides
        if side.deviation is not None and side.runs > 1
    ]
    if not known:
        return None
    # A mean of an unknown number of runs is treated as exact.
    first, second = (
        known[at][0] / side.runs if side.runs else 0.0
        for at, side in zip((0, -1), sides, strict=True)
    )
    degrees = float(sum(freedom for _, freedom in known))
    if len(known) == 2 and first + second:
        degrees = (first + second) ** 2 / (first**2 / known[0][1] + second**2 / known[1][1])
    half = (
        student_quantile(degrees) * math.sqrt(first + second)
        + (runs_sample.unit + published.unit) / 2
    )
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
    "In percent; ± is the standard deviation over seeds; Δ: ours minus published; 95%: its"
    " confidence interval, from the spreads and numbers of runs of both; within: it contains zero"
    " (not decided if wider than 50)."
)
TOO_FEW = "too few updates to compare"
HEAD = ("system", "metric", "ours", "seeds", "published", "Δ", "95%", "within")


def tables_of(lines: Sequence[Line], width: int = sys.maxsize) -> list[OutputTable | Note]:
    """One table for each published table, benchmark and schedule, below what all its rows have in
    common.

    :param width: of a line between tables.
    """
    groups: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.table, line.benchmark, line.schedule].append(line)
    blocks: list[OutputTable | Note] = []
    for (table, benchmark, schedule), group in groups.items():
        rows, common = list(map(_cells, group)), [benchmark]
        if len(metrics := {line.metric.partition(": ")[0] for line in group}) == 1:
            common += metrics
            rows = [[row[0], row[1].partition(": ")[2], *row[2:]] for row in rows]
        common.append(f"schedule: {schedule}")
        if {row[-1] for row in rows} == {TOO_FEW}:
            common.append(TOO_FEW)
            rows = [[*row[:-1], ""] for row in rows]
        title = f"{table}: {all_tables()[table].title}" if table else "not in a table"
        blocks += [
            Note(f"{title}\n{textwrap.fill('; '.join(common), width)}"),
            OutputTable(HEAD, rows, keys=2, note="\n".join(_notes(group, width))),
        ]
    return [*blocks, Note(textwrap.fill(LEGEND, width))]


def _notes(lines: Iterable[Line], width: int) -> Iterator[str]:
    for note in dict.fromkeys(f"{line.system}: {line.note}" for line in lines if line.note):
        yield textwrap.fill(note, width)


def _cells(line: Line) -> list[str]:
    ran = f", {line.ran} run" if line.ran else ""
    within = {None: "" if line.low is None else "not decided", True: "yes", False: "no"}[
        line.within
    ]
    digits = 0 if line.metric.startswith("novel") else 3 if line.metric == "degree" else 1
    return [
        line.system + (f" ({line.best}{ran})" if line.best else ""),
        line.metric,
        fixed(line.ours, digits)
        + (f" ± {fixed(line.deviation, digits)}" if line.deviation is not None else ""),
        str(line.seeds),
        line.published + (f" ± {line.spread}" if line.spread else ""),
        fixed(line.difference, digits, "+"),
        span(line.low, line.high, digits, "+"),
        TOO_FEW if line.published and line.schedule.startswith("smoke") else within,
    ]


def lines_as_json(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Lines as JSON values, with scores as numbers."""
    rows = [asdict(line) for line in lines]
    return [
        row | {name: float(row[name]) if row[name] else None for name in ("published", "spread")}
        for row in rows
    ]
