"""The metric of external scores: its scale, and which examples have a score."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from cgbench.benchmark.measure.metrics.segment_scores import (
    BEYOND,
    SegmentScores,
    number_of,
    scores_of,
)
from cgbench.benchmark.score.imported.request import ImportedMetric, ImportRequest
from cgbench.benchmark.score.imported.scores import Columns, all_runs
from cgbench.benchmark.score.outputs.score_files import (
    ScoreColumn,
    answered_by_all,
    common_order,
)
from cgbench.errors import InputError, argument
from cgbench.request import leaves_of
from cgbench.text.columns import Column

NAMED = 5  # rows named in a message
NOT_PERCENT = 0.1
"""Smallest share of scores below 1 (except zeros) in a column on a scale that ends at 1."""
MOST_COUNTS = 3  # beside labels of 0 and 1, which may be counts
MOST_NEGATIVE, ENOUGH = 0.25, 20  # share of negative scores beside as many scores without any


def read_scale(
    scale: str | tuple[float, float] | None, name: str = "scale"
) -> tuple[float, float] | None:
    """Parse ``LOW:HIGH``, the value of the argument ``name``.

    :raises InputError: it is not two rising numbers.
    """
    if scale is None:
        return None
    try:
        ends = (
            [number_of(end) for end in scale.split(":")]
            if isinstance(scale, str)
            else map(float, scale)
        )
        low, high = (math.nan if end is None else end for end in ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not -math.inf < low < high < math.inf:
        raise InputError(
            f"{argument(name, scale)}: give the lowest and the highest score, such as 0:1"
        )
    return low, high


@dataclass(frozen=True)
class ExternalScores:
    """External scores as a metric, the runs of each system in its order of examples, and the
    ``columns`` that are known of each example.
    """

    metric: SegmentScores
    runs: Mapping[str, Sequence[Column]]
    columns: Mapping[str, Sequence[str]]


def metric_of(
    systems: Columns,
    request: ImportRequest,
    scale: tuple[float, float] | None,
    more_notes: Sequence[str] = (),
) -> ExternalScores:
    """The metric of these scores.

    :raises InputError: a score is missing or outside the scale.
    """
    options = request.metric
    flat = answered_by_all(all_runs(systems)) if request.comparison.anytime else all_runs(systems)
    # All runs in one order; examples without a score are refused or left out.
    ordered = common_order(flat, request.examples.ids)
    if not len(ordered[0]):
        raise InputError(f"{ordered[0].name}: no scores")
    values = [scores_of(column.values, column.name) for column in ordered]
    missing, notes = _missing(ordered, values, options.drop_missing)
    present = [column_values[~missing] for column_values in values]
    # The scale, if it is known or all scores are 0 and 1.
    zero_or_one = all(bool(np.isin(scores, (0.0, 1.0)).all()) for scores in present)
    scale = scale or ((0.0, 1.0) if zero_or_one else None)
    if scale:
        _check_scale(ordered, values, scale)
    fields = dict.fromkeys(column.field for column in ordered if column.field)
    metric = SegmentScores(
        len(ordered[0]),
        name=_name(options.name, list(fields)),
        statistic=options.statistic,
        scale=scale,
        lower_is_better=options.lower_is_better,
        binary=zero_or_one and scale == (0.0, 1.0),
        missing=missing,
        notes=[*notes, *more_notes],
        reading={
            "field": "+".join(fields) or None,
            "raters": "standardised" if request.judgements.standardise_raters else None,
        },
        largest=max(float(np.quantile(np.abs(scores), 0.99)) for scores in present),
    )
    in_order = iter(ordered)
    runs = {name: list(islice(in_order, len(columns))) for name, columns in systems.items()}
    columns = {**(ordered[0].columns or {}), **(ordered[0].metadata or {})}
    return ExternalScores(metric, runs, columns)


def _missing(
    ordered: Sequence[ScoreColumn], values: Sequence[np.ndarray], drop: bool
) -> tuple[np.ndarray, list[str]]:
    """Which examples have no score in some run, bool ``[n]``, and a line about them.

    :raises InputError: there are some and they are not to be dropped, or no other is left.
    """
    is_missing = np.isnan(values)
    lacking = [
        (run, np.flatnonzero(in_run))
        for run, in_run in zip(ordered, is_missing, strict=True)
        if in_run.any()
    ]
    missing = np.logical_or.reduce(is_missing)
    if not lacking:
        return missing, []
    if not drop:
        _refuse_missing(lacking)
    if missing.all():
        raise InputError("no example is left: for each one, some run has no finite score")
    counts = ", ".join(f"{column.name} {len(rows):,}" for column, rows in lacking)
    line = (
        f"{np.count_nonzero(missing):,} of {len(missing):,} examples are left out of all"
        f" systems, because a score is missing or infinite ({counts})"
    )
    return missing, [line]


def _name(name: str, fields: Sequence[str]) -> str:
    """The name of the metric: the given one, else that of the metric of logs."""
    is_default = name == leaves_of(ImportedMetric)["name"].default
    return fields[0].removesuffix(",none") if is_default and len(fields) == 1 else name


def _refuse_missing(lacking: Sequence[tuple[ScoreColumn, np.ndarray]]) -> None:
    """Refuse runs that lack scores, each with the rows that have none."""
    column, bad = lacking[0]
    rows = ", ".join(f"{row + 1} ({column.values[row] or 'empty'})" for row in bad[:NAMED].tolist())
    further = f" and {len(bad) - NAMED:,} more" if len(bad) > NAMED else ""
    files = len(lacking) - 1
    other_files = (
        f"; {files:,} more {'files lack' if files > 1 else 'file lacks'} some" if files else ""
    )
    raise InputError(
        f"{column.name}: {len(bad):,} of {len(column):,} scores are missing or infinite:"
        f" row{'s' * (len(bad) > 1)} {rows}{further}{other_files}. {argument('drop_missing')}"
        " leaves these examples out of all systems"
    )


def _check_scale(
    columns: Sequence[ScoreColumn], values: Sequence[np.ndarray], scale: tuple[float, float]
) -> None:
    for column, column_values in zip(columns, values, strict=True):
        if len(beyond := np.flatnonzero((column_values < scale[0]) | (column_values > scale[1]))):
            row = int(beyond[0])
            raise InputError(
                f"{column.row(row)}: {column.values[row]} is outside the scale {scale[0]:g} to"
                f" {scale[1]:g} ({len(beyond):,} of {len(column_values):,} scores are); give the"
                f" scale of these scores ({argument('scale')}), or none"
            )


def check_one_scale(columns: Sequence[ScoreColumn]) -> None:
    """Refuse columns whose ranges cannot be those of one metric: from 0 to 1 beside 0 to 10, 1 to
    5, -1 to 1, -25 to 0.

    Zeros are on every scale. Others are compared with each column within 0 to 1, or without
    negative scores.
    """
    ranges = []
    for column in columns:
        values = scores_of(column.values, column.name)
        if len(values := values[~np.isnan(values) & (values != 0)]):
            ranges.append((column, values))
    units = [bounds for bounds in ranges if np.abs(bounds[1]).max() <= 1]
    positive = [bounds for bounds in ranges if bounds[1].min() > 0]
    pairs = [
        (unit, second)
        for unit in units
        for second in ranges
        if np.mean(np.abs(second[1]) < 1) < NOT_PERCENT and np.abs(second[1]).max() > MOST_COUNTS
    ]
    pairs += [
        (bounds, second)
        for bounds in positive
        for second in ranges
        if np.mean(second[1] < 0) >= (MOST_NEGATIVE if len(bounds[1]) >= ENOUGH else 1)
    ]
    if pairs:
        (column, low), (second, high) = pairs[0]
        raise InputError(
            f"{column.name} has scores from {low.min():g} to {low.max():g} but {second.name} from"
            f" {high.min():g} to {high.max():g}: they seem to have different scales; convert them"
            f" to one scale, or give the scale if they have the same ({argument('scale')}, such as"
            " 0:100)"
        )


def skewed_notes(columns: Columns) -> list[str]:
    """A warning if scores are too skewed for intervals of their number (Cochran 1977, *Sampling
    Techniques*, 2.15).
    """
    lines = []
    for name, runs in columns.items():
        values = scores_of(runs[0].values, runs[0].name)
        values = values[np.abs(values) < BEYOND]
        if len(values) < 3 or np.isin(values, (0.0, 1.0)).all() or not values.std():
            continue
        standardised = (values - values.mean()) / values.std()
        needed = math.ceil(25 * float((standardised**3).mean()) ** 2)
        if len(values) < needed:
            lines.append(
                f"{name}: the scores are skewed; with {len(values):,} examples, 95% intervals"
                f" contain the mean less often (about {needed:,} are needed)"
            )
    return lines
