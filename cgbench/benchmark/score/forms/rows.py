"""The long table: one row per score, system and subset, of every analysis
(``docs/reference/formats.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.score.comparison.results import Pair, Score, SubsetScores, Tested
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.forms.columns import COLUMNS, names, of_results

if TYPE_CHECKING:
    from cgbench.benchmark.score.comparison.drop import Drop
    from cgbench.benchmark.score.comparison.found_differences import Differences


class Row(Tested):
    """A value and its uncertainty; None: not requested, or not defined. The fields are the columns
    of the TSV.

    ``by`` and ``bin`` name the subset of examples, ``baseline`` the system of ``difference`` and
    the p-values. ``analysis`` names the analysis that added the row: ``scores``, ``bins``,
    ``pairs``, ``drop``, ...
    """

    metric: str
    figure: str
    system: str
    by: str | None = None
    bin: str | None = None
    n: int | None = None
    runs: int | str | None = None
    value: Any = None
    stdev: Any = None
    ci_low: float | None = None
    ci_high: float | None = None
    baseline: str | None = None
    signature: str = ""
    signature_short: str = ""
    q_value: float | None = None
    is_best: bool | None = None
    analysis: str = "scores"

    def cells(self) -> list[str]:
        """The row as texts of twelve digits; missing values are empty."""
        return [_cell(column.of_result(self)) for column in COLUMNS]


LONG = tuple(names())
"""The names of the columns of the long table."""
_RESULT_FIELDS = {column.name for column in of_results("score", "difference")}


def rows_of(scored: ScoredSystems) -> Iterator[Row]:
    """The rows of some systems with their scores."""
    metric = scored.metric
    long, short = (scored.signature.format(short=short) for short in (False, True))
    shared = Row(metric.name, "", "", signature=long, signature_short=short)
    for result, more in zip(scored.results, scored.more, strict=True):
        system = replace(shared, system=result.system, runs=result.runs, baseline=scored.baseline)
        yield from subset_rows(system, result.whole)
        for bin, subset in result.bins:
            yield from subset_rows(
                replace(system, by=scored.by, bin=bin.label, analysis="bins"), subset
            )
        for name, drop in scored.drops.get(result.system, {}).items():
            row = replace(system, by="control", n=scored.control, figure=name, analysis="drop")
            yield replace(row, bin="control", value=drop.control, baseline=None)
            yield replace(row, bin="drop", **_numbers(drop))
        yield from _of_compounds(system, scored, more)
    for published in scored.published:
        yield replace(
            shared,
            system=published.system,
            by="published",
            bin=published.benchmark,
            figure=published.metric,
            runs=published.runs,
            value=published.value,
            stdev=published.spread,
            signature=published.source,
            signature_short=published.source,
            analysis="published",
        )
    for mean in scored.people:
        row = Row(
            "human mean", "", mean.system, by="people", baseline=mean.against, analysis="people"
        )
        alone = (mean.alone, mean.alone_low, mean.alone_high)
        yield replace(
            row, figure="judgements alone", n=mean.judged, **_estimate(*alone, mean.against)
        )
        powered = _estimate(mean.powered, mean.powered_low, mean.powered_high, mean.against)
        yield replace(
            row, figure="with the metric", n=mean.examples, p_value=mean.p_value, **powered
        )


def _estimate(
    value: float, low: float | None, high: float | None, against: str | None
) -> dict[str, Any]:
    """An estimate and its interval: of a score, or of the difference from a system."""
    names = (
        ("difference", "difference_low", "difference_high")
        if against
        else ("value", "ci_low", "ci_high")
    )
    return dict(zip(names, (value, low, high), strict=True))


def subset_rows(shared: Row, subset: SubsetScores) -> Iterator[Row]:
    """``shared`` with each score over some examples, and with its differences from other
    systems.
    """
    for name, score in subset.figures.items():
        row = replace(shared, n=subset.examples, figure=name)
        yield replace(row, **_numbers(score))
        for pair in score.pairs:
            yield replace(
                row, value=score.value, baseline=pair.against, analysis="pairs", **_numbers(pair)
            )


def _of_compounds(system: Row, scored: ScoredSystems, more: dict[str, Any]) -> Iterator[Row]:
    """CTER by type of compound, its reasons, and its agreement with human judgements."""
    n = scored.metric.n
    for kind, counts in more.get("by_type", {}).items():
        row = replace(system, by="type", bin=kind, n=counts["n"], analysis="type")
        yield from (
            replace(row, figure=name, value=_percent(counts[name]))
            for name in scored.metric.figures
        )
    for kind, counts in more.get("errors", {}).items():
        row = replace(
            system, by="errors", figure=kind, n=n * int(system.runs or 1), analysis="errors"
        )
        yield from (replace(row, bin=name, value=count) for name, count in counts.items())
    for name, fraction in (more.get("human") or {}).items():
        yield replace(
            system, by="human", n=n, figure=name, value=_percent(fraction), analysis="human"
        )


def differences_rows(scored: ScoredSystems, pair: Differences) -> Iterator[Row]:
    """Where a system differs from the baseline; the score is what the analysis compares, the bin
    what it is of.
    """
    shared = Row(scored.metric.name, "", pair.system, baseline=pair.against, analysis="differences")
    for by, entries in (
        ("n-gram", pair.ngrams),
        ("count in training", pair.words),
        ("kind", pair.kinds),
    ):
        for entry in entries:
            yield replace(
                shared,
                figure="right" if by == "n-gram" else "score",
                by=by,
                bin=entry.what,
                n=entry.count,
                value=entry.ours,
                difference=entry.ours - entry.theirs,
                p_value=entry.p_value,
                q_value=entry.q_value,
            )
    for example in pair.examples:
        row = replace(shared, figure="score", by="example", bin=str(example.row), n=1)
        yield replace(row, value=example.ours, difference=example.ours - example.theirs)


def _numbers(result: Score | Pair | Drop) -> dict[str, Any]:
    """The fields of a row that a score or a difference has."""
    return {
        field.name: getattr(result, field.name)
        for field in fields(Row)
        if field.name in _RESULT_FIELDS and hasattr(result, field.name)
    }


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _cell(value: float | str | None) -> str:
    if isinstance(value, float):
        return repr(rounded(value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def rounded(value: float | None) -> float | None:
    """Twelve digits: further digits of sums of fractions (TER) may depend on the number of
    threads.
    """
    return None if value is None else float(f"{value:.12g}")
