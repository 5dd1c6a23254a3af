"""Scores from outside, with everything that our own metrics have: what ``cgbench score import`` does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.arguments import check_flag
from cgbench.benchmark.metrics.evaluate import evaluate
from cgbench.benchmark.metrics.external_scores import common_order, read_systems
from cgbench.benchmark.metrics.features import release_files
from cgbench.benchmark.metrics.inputs import join_texts, read_references, read_runs
from cgbench.benchmark.metrics.inputs import read_systems as read_texts
from cgbench.benchmark.metrics.result import Evaluation
from cgbench.benchmark.metrics.score_files import ScoreColumn, split_field
from cgbench.benchmark.metrics.segment_scores import SegmentScores, number_of, scores_of
from cgbench.errors import InputError, argument
from cgbench.text.columns import Column
from cgbench.text.inputs import AnyPath
from cgbench.text.streams import form

NAMED = 5  # rows named in a message
NOT_PERCENT = 0.1  # share of scores up to 1, zeros apart, from which on a column is not taken to be in percent


@dataclass(frozen=True)
class Kind:
    """What a user says of scores: ``name`` of the metric, ``statistic``, ``scale``, and which end is better."""

    name: str = "scores"
    statistic: str = "mean"
    scale: tuple[float, float] | None = None
    lower_is_better: bool = False
    drop_missing: bool = False


def import_scores(
    systems: Mapping[str, Any],
    *,
    name: str = "scores",
    statistic: str = "mean",
    scale: str | tuple[float, float] | None = None,
    lower_is_better: bool = False,
    drop_missing: bool = False,
    ids: str | None = None,
    control_systems: Mapping[str, Any] | None = None,
    hypotheses: Mapping[str, Any] | None = None,
    **options: Any,
) -> Evaluation:
    """Intervals, tests, bins and seeds for segment scores of any metric.

    :param systems: by name, a file (:mod:`cgbench.benchmark.metrics.score_files`, or a log of a harness) or numbers;
        of several runs a list of these. The order of examples is that of the first.
    :param name: of the metric, in tables and the signature.
    :param statistic: what the scores of a system become: ``mean``, ``rms``, ``geometric``, ``harmonic``, ``share:X``.
    :param scale: the lowest and the highest score that there can be, ``"0:1"``: a score beyond is an error, intervals
        stay within, and 0:1 is given in percent. Scores of which each is 0 or 1 have that scale.
    :param lower_is_better: as of error rates, and MetricX.
    :param drop_missing: leave out, of all systems, examples that some run has no finite score of.
    :param ids: the column of tables (scores, hypotheses, references, sources, ``table``) that says which example a row
        is of: rows are joined by it. Logs of harnesses and pandas Series have ids of their own.
    :param control_systems: the scores of the same systems on a control set.
    :param hypotheses: what the systems said, as :func:`cgbench.evaluate` takes it: to be shown in the report.
    :param options: of :func:`cgbench.evaluate`: references, sources, release, by, paired, all_pairs and others.
    :raises InputError: a file cannot be read, runs are not of the same examples, or a score is missing, or beyond the
        scale.
    """
    check_flag(lower_is_better=lower_is_better, drop_missing=drop_missing)
    kind = Kind(name, statistic, read_scale(scale), lower_is_better, drop_missing)
    columns = read_systems(systems, ids)
    control = None if control_systems is None else read_systems(control_systems, ids)
    blank = _without_scores(columns) if kind.drop_missing else []
    columns = {name: runs for name, runs in columns.items() if name not in blank}
    if kind.scale is None:
        _check_one_scale([one for runs in (columns, control or {}) for each in runs.values() for one in each])
    metric, runs = _metric_of(columns, kind)
    if ids is None and any(one.prints is not None for each in columns.values() for one in each):
        # The ids of a harness; other texts do not have them unless --id says where.
        runs = {name: [replace(one, ids=None) for one in each] for name, each in runs.items()}
    if blank:
        metric.notes = (*metric.notes, f"left out, for there is no score of them at all: {', '.join(blank)}")
    against = next(iter(columns.values()))[0].name
    if control is not None:
        # Both sets have one scale: what is 0 or 1 on one alone is so by chance.
        metric.control, easy = _metric_of(control, replace(kind, scale=metric.scale))
        options["control_systems"] = easy
    _check_length(options, metric.n, against)
    given = any(options.get(key) for key in ("table", "release", "references", "sources"))
    if not given and str(options.get("by")).startswith("column:"):
        options["table"] = _table_of(next(iter(columns.values()))[0])
    said: dict[str, tuple[Sequence[str], ...]] = {}
    if hypotheses:
        joined = join_texts(ids, {}, {"": next(iter(runs.values())), **read_runs(hypotheses, ids)}, leads=True)[1]
        spoken = {name: texts for name, texts in joined.items() if name}
        said = {system.name: system.runs for system in read_texts(spoken, metric.n, against)}
        said = {name: texts for name, texts in said.items() if name not in blank}
        if strange := [one for one in said if one not in columns]:
            raise InputError(f"{argument('systems', strange[0])}: no scores of a system of that name are given")
        for one, texts in said.items():
            if len(texts) not in (1, len(columns[one])):
                raise InputError(f"{one}: {len(texts)} files of hypotheses for {len(columns[one])} runs of scores")
    return evaluate(metric, runs, options.pop("references", None), texts=said, ids=ids, **options)


def _without_scores(systems: Mapping[str, Sequence[ScoreColumn]]) -> list[str]:
    """Systems without any score, as references are in human scores of mt-metrics-eval; none if all are."""
    blank = [
        name
        for name, columns in systems.items()
        if all(len(column) and np.isnan(scores_of(column.values, column.name)).all() for column in columns)
    ]
    return blank if len(blank) < len(systems) else []


def read_scale(given: str | tuple[float, float] | None) -> tuple[float, float] | None:
    """``LOW:HIGH`` as its ends.

    :raises InputError: it is not two rising numbers.
    """
    if given is None:
        return None
    try:
        ends = [number_of(end) for end in given.split(":")] if isinstance(given, str) else map(float, given)
        low, high = (math.nan if end is None else end for end in ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not -math.inf < low < high < math.inf:
        raise InputError(f"{argument('scale', given)}: the lowest and the highest score are needed, such as 0:1")
    return low, high


def _metric_of(
    systems: Mapping[str, Sequence[ScoreColumn]], kind: Kind
) -> tuple[SegmentScores, dict[str, list[Column]]]:
    """The metric of these scores, and the runs of each system as it takes them."""
    flat = [column for columns in systems.values() for column in columns]
    ordered = common_order(flat)
    if not len(ordered[0]):
        raise InputError(f"{ordered[0].name}: there is no score in it")
    values = [scores_of(column.values, column.name) for column in ordered]
    lacking = [np.isnan(one) for one in values]
    missing = np.logical_or.reduce(lacking)
    notes = []
    if missing.any():
        if not kind.drop_missing:
            _refuse_missing(ordered, lacking)
        if missing.all():
            raise InputError("no example is left: of each, some run has no finite score")
        told = ", ".join(
            f"{column.name} {np.count_nonzero(one):,}"
            for column, one in zip(ordered, lacking, strict=True)
            if one.any()
        )
        notes.append(
            f"{np.count_nonzero(missing):,} of {len(missing):,} examples are left out of all systems, for a score of "
            f"them is missing or infinite ({told})"
        )
    kept = ~missing
    zero_or_one = all(bool(np.isin(one[kept], (0.0, 1.0)).all()) for one in values)
    scale = kind.scale or ((0.0, 1.0) if zero_or_one else None)
    if scale:
        _check_scale(ordered, values, scale)
    metric = SegmentScores(
        len(ordered[0]), name=kind.name, statistic=kind.statistic, scale=scale, lower_is_better=kind.lower_is_better,
        binary=zero_or_one and scale == (0.0, 1.0), missing=missing, notes=notes,
        largest=max(float(np.abs(one[kept]).max()) for one in values),
    )  # fmt: skip
    rows = iter(ordered)
    runs = {
        name: [Column(column.name, column.values, column.path, column.ids) for column in islice(rows, len(columns))]
        for name, columns in systems.items()
    }
    return metric, runs


def _refuse_missing(columns: Sequence[ScoreColumn], lacking: Sequence[np.ndarray]) -> None:
    column, bad = next((column, np.flatnonzero(one)) for column, one in zip(columns, lacking, strict=True) if one.any())
    named = ", ".join(f"{row + 1} ({column.values[row] or 'empty'})" for row in bad[:NAMED].tolist())
    more = f" and {len(bad) - NAMED:,} more" if len(bad) > NAMED else ""
    files = sum(bool(one.any()) for one in lacking)
    others = f"; {files - 1:,} more {'files lack' if files > 2 else 'file lacks'} some" if files > 1 else ""
    raise InputError(
        f"{column.name}: {len(bad):,} of {len(column):,} scores are missing or infinite: row{'s' * (len(bad) > 1)} "
        f"{named}{more}{others}. {argument('drop_missing')} leaves these examples out of all systems, and counts them"
    )


def _check_scale(columns: Sequence[ScoreColumn], values: Sequence[np.ndarray], scale: tuple[float, float]) -> None:
    for column, one in zip(columns, values, strict=True):
        beyond = np.flatnonzero((one < scale[0]) | (one > scale[1]))
        if len(beyond):
            row = int(beyond[0])
            raise InputError(
                f"{column.row(row)}: {column.values[row]} is beyond the scale that is stated, {scale[0]:g} to "
                f"{scale[1]:g} ({len(beyond):,} of {len(one):,} scores are); state the scale of these scores "
                f"({argument('scale')}), or none"
            )


def _check_one_scale(columns: Sequence[ScoreColumn]) -> None:
    """Refuse scores of which some are from 0 to 1 and others in percent: a comparison would say nothing.

    In percent are scores from 0 to 100 of which, zeros apart, hardly any is at most 1.
    """
    shares, percents = [], []
    for column in columns:
        values = scores_of(column.values, column.name)
        values = values[~np.isnan(values) & (values != 0)]
        if not len(values) or values.min() < 0 or values.max() > 100:
            continue
        if values.max() <= 1:
            shares.append((column, values))
        elif np.mean(values <= 1) < NOT_PERCENT:
            percents.append((column, values))
    if shares and percents:
        (one, low), (other, high) = shares[0], percents[0]
        raise InputError(
            f"{one.name} has scores up to {low.max():g} and {other.name} up to {high.max():g}: one seems to be from 0 "
            "to 1 and the other in percent; bring them to one scale, or state it if it is one "
            f"({argument('scale')}, such as 0:100)"
        )


def _check_length(options: dict[str, Any], n: int, against: str) -> None:
    """Check that references and sources are of the same examples, by their number; read references stay read."""
    release = options.get("release")
    files = release_files(Path(release)) if release is not None else {}
    references = options.get("references") or files.get("reference")
    if references is not None:
        examples, names = read_references(references)
        if len(examples) != n:
            raise InputError(
                f"{against} has {n:,} scores and {names[0]} has {len(examples):,} lines: check where they part"
            )


def _table_of(column: ScoreColumn) -> AnyPath | None:
    """The file of scores if it is a table: its other columns are about the same examples."""
    path = split_field(column.name)[0]
    return path if form(path) != "plain" and path.is_file() else None
