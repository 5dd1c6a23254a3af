"""Scores as a long table (``--format tsv``, pandas) and as JSON (``docs/reference/formats.md``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from cgbench.benchmark.metrics.comparison import Pair, Score, SubsetScores, SystemScores
from cgbench.benchmark.metrics.drop import Drop
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.ranks import ranks
from cgbench.benchmark.metrics.scored import ScoredSystems, describe

LONG = (
    "metric", "figure", "system", "by", "bin", "n", "runs", "value", "stdev", "ci_low", "ci_high", "difference",
    "p_value", "p_holm", "baseline", "signature", "signature_short", "p_calibrated", "p_calibrated_holm",
    "difference_low", "difference_high",
)  # fmt: skip
FLOATS = (*LONG[7:14], *LONG[17:])
NUMBERS = {"n": "Int64", "runs": "Int64", **dict.fromkeys(FLOATS, "float64")}
"""Columns with numbers, and their types in pandas."""


def long_rows(scored: ScoredSystems) -> list[list[str]]:
    """One row of :data:`LONG` per score, system and bin. Missing values are empty."""
    return as_rows(_records(scored))


def as_rows(records: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Records by the names of :data:`LONG` as rows of texts."""
    return [[_cell(record.get(name)) for name in LONG] for record in records]


def _records(scored: ScoredSystems) -> Iterator[dict[str, Any]]:
    for result, more in zip(scored.results, scored.more, strict=True):
        own = system_record(scored, result)
        yield from part_records(own, result.whole)
        for bin, part in result.bins:
            yield from part_records(own | {"by": scored.by, "bin": bin.label}, part)
        for name, lost in scored.drops.get(result.system, {}).items():
            row = own | {"by": "control", "n": scored.control, "figure": name}
            yield row | {"bin": "control", "value": lost.control, "baseline": None}
            yield row | {"bin": "drop", **floats(lost)}
        for kind, counts in more.get("by_type", {}).items():
            row = own | {"by": "type", "bin": kind, "n": counts["n"]}
            yield from (row | {"figure": name, "value": _percent(counts[name])} for name in scored.metric.figures)
        for kind, counts in more.get("errors", {}).items():
            row = own | {"by": "errors", "figure": kind, "n": scored.metric.n * result.runs}
            yield from (row | {"bin": name, "value": count} for name, count in counts.items())
        for name, share in (more.get("human") or {}).items():
            yield own | {"by": "human", "n": scored.metric.n, "figure": name, "value": _percent(share)}
    for of in scored.published:
        row = _shared(scored) | {"system": of.system, "by": "published", "bin": of.benchmark, "figure": of.metric}
        row |= {"runs": of.runs, "value": of.value, "stdev": of.spread}
        yield row | {"signature": of.source, "signature_short": of.source}


def _shared(scored: ScoredSystems) -> dict[str, Any]:
    long, short = (scored.signature.format(short=short) for short in (False, True))
    return {"metric": scored.metric.name, "signature": long, "signature_short": short}


def system_record(scored: ScoredSystems, result: SystemScores) -> dict[str, Any]:
    """What all records of a system have."""
    return _shared(scored) | {"system": result.system, "runs": result.runs, "baseline": scored.baseline}


def part_records(own: dict[str, Any], part: SubsetScores) -> Iterator[dict[str, Any]]:
    """``own`` with each score over some examples, and with its differences from other systems."""
    for name, one in part.figures.items():
        row = own | {"n": part.examples, "figure": name, **floats(one)}
        yield row
        for pair in one.pairs:  # the other system is in the column ``baseline``
            yield row | dict.fromkeys(FLOATS) | floats(pair) | {"value": one.value, "baseline": pair.against}


def floats(one: Score | Pair | Drop) -> dict[str, float | None]:
    """The columns of a score."""
    return {name: getattr(one, name) for name in FLOATS if hasattr(one, name)}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _cell(value: float | str | None) -> str:
    if isinstance(value, float):
        return repr(rounded(value))
    return "" if value is None else str(value)


def rounded(value: float | None) -> float | None:
    """Twelve digits: further digits of sums of fractions (TER) may depend on the number of threads."""
    return None if value is None else float(f"{value:.12g}")


def as_json(scored: ScoredSystems) -> list[dict[str, Any]]:
    """The results as JSON values, one per system."""
    rows = [_system(scored, result, more) for result, more in zip(scored.results, scored.more, strict=True)]
    for one in ranks(scored.metric, scored.results):
        rows[one.number] |= {"rank": [one.best, one.worst], "tier": one.tier}
    return rows


def _system(scored: ScoredSystems, result: SystemScores, more: dict[str, Any]) -> dict[str, Any]:
    metric = scored.metric
    values: dict[str, Any] = {
        "metric": metric.name,
        "system": result.system,
        **_part(metric, result.whole),
        "runs": result.runs,
        "lower_is_better": metric.lower_is_better,
        "baseline": scored.baseline,
        "test": scored.test,
        "signature": str(scored.signature),
        "signature_short": scored.signature.format(short=True),
        "by": scored.by,
        "bins": [
            {"label": one.label, "low": one.low, "high": one.high, **_part(metric, part)} for one, part in result.bins
        ],
        **more,
    }
    if result.system in scored.generation:
        values["generation"] = scored.generation[result.system]
    if result.runs == 1:
        values["verbose"] = describe(metric, result)
    if scored.control is not None:
        found = {
            name: {
                "value": rounded(one.control),
                "drop": rounded(one.value),
                **_rounded(one, "control", "value", "runs"),
                "drops": [rounded(value) for value in one.runs],
            }
            for name, one in scored.drops[result.system].items()
        }
        values["control"] = {"n": scored.control, **found[metric.figures[0]]}
        values["control"] |= {"figures": found} if len(found) > 1 else {}
    if people := [one for one in scored.people if one.system == result.system]:
        values["people"] = [asdict(one) | {"narrower": one.narrower} for one in people]
    if scored.published:
        values["published"] = [
            {key: getattr(row, key) for key in ("benchmark", "system", "metric", "source")}
            | {"value": float(row.value), "spread": float(row.spread) if row.spread else None, "runs": int(row.runs)}
            for row in scored.published
        ]
    return values


def _part(metric: Metric, part: SubsetScores) -> dict[str, Any]:
    """The main score, and all scores under ``figures``; those of CTER also as fractions."""
    figures = {name: figure_values(part.figures[name]) for name in metric.figures}
    values: dict[str, Any] = {"n": part.examples, **figures[metric.figures[0]]}
    if len(figures) > 1:
        values["groups"] = part.units
        for name in figures:
            value = part.figures[name].value
            values[name] = None if value is None else rounded(value / 100)
        values["figures"] = figures
    return values


def figure_values(one: Score) -> dict[str, Any]:
    """A score as JSON values."""
    values: dict[str, Any] = _rounded(one, "runs", "pairs")
    values["values"] = [rounded(value) for value in one.runs]
    if one.pairs:
        values["pairs"] = [{"against": pair.against, **_rounded(pair, "against")} for pair in one.pairs]
    return values


def _rounded(one: Score | Pair | Drop, *but: str) -> dict[str, float | None]:
    return {name: rounded(getattr(one, name)) for name in one.__dataclass_fields__ if name not in but}
