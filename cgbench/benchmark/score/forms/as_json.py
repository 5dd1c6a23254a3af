"""Scores as JSON (``docs/reference/formats.md``): one object per system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.results import Score, SubsetScores, SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems, describe
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.comparison.tiers import ranks
from cgbench.benchmark.score.forms.columns import of_results
from cgbench.benchmark.score.forms.rows import Row, rounded

if TYPE_CHECKING:
    from cgbench.benchmark.score.comparison.found_differences import Differences


def as_json(scored: ScoredSystems) -> list[dict[str, Any]]:
    """The results as JSON values, one per system."""
    rows = [
        _system(scored, result, more)
        for result, more in zip(scored.results, scored.more, strict=True)
    ]
    for rank in ranks(scored.metric, scored.results):
        rows[rank.number] |= {"rank": [rank.best, rank.worst], "tier": rank.tier}
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
            {"label": bin_.label, "low": bin_.low, "high": bin_.high, **_part(metric, subset)}
            for bin_, subset in result.bins
        ],
        **more,
    }
    if result.system in scored.generation:
        values["generation"] = scored.generation[result.system]
    if result.runs == 1:
        values["verbose"] = describe(scored, result)
    if scored.control is not None:
        drops = {
            name: {
                **_columns(drop, "score", "difference"),
                "value": rounded(drop.control),
                "drop": rounded(drop.value),
                "drops": [rounded(value) for value in drop.runs],
                "ratio": rounded(drop.ratio),
            }
            for name, drop in scored.drops[result.system].items()
        }
        values["control"] = {"n": scored.control, **drops[metric.figures[0]]}
        values["control"] |= {"figures": drops} if len(drops) > 1 else {}
    if people := [mean for mean in scored.people if mean.system == result.system]:
        values["people"] = [asdict(mean) | {"narrower": mean.narrower} for mean in people]
    requirements = [
        _rounded(checked.to_json())
        for checked in scored.requirements
        if checked.requirement.system == result.system
    ]
    if requirements:
        values["requirements"] = requirements
    if scored.published:
        values["published"] = [
            {key: getattr(row, key) for key in ("benchmark", "system", "metric", "source", "note")}
            | {
                "value": float(row.value),
                "spread": float(row.spread) if row.spread else None,
                "runs": int(row.runs) if row.runs else None,
            }
            for row in scored.published
        ]
    return values


def _part(metric: Metric, subset: SubsetScores) -> dict[str, Any]:
    """The main score, and all scores under ``figures``; those of CTER also as fractions."""
    from cgbench.benchmark.measure.metrics.cter import Cter

    figures = {name: _score(subset.figures[name]) for name in metric.figures}
    values: dict[str, Any] = {"n": subset.examples, **figures[metric.figures[0]]}
    if len(figures) > 1:
        values["figures"] = figures
    if isinstance(metric, Cter):
        values["groups"] = subset.units
        for name in figures:
            value = subset.figures[name].value
            values[name] = None if value is None else rounded(value / 100)
    return values


def _score(score: Score) -> dict[str, Any]:
    values = _columns(score, "score", "difference")
    values |= {
        "ci_mean": rounded(score.ci_mean),
        "design_effect": rounded(score.design_effect),
        "values": [rounded(value) for value in score.runs],
    }
    if score.pairs:
        values["pairs"] = [
            {"against": pair.against, **_columns(pair, "difference")} for pair in score.pairs
        ]
    return values


def _columns(result: Any, *kinds: str) -> dict[str, Any]:
    """The columns of a result, with rounded numbers."""
    return _rounded({column.name: column.of_result(result) for column in of_results(*kinds)})


def _values(entry: Any, *but: str) -> dict[str, Any]:
    """The fields of a dataclass ``but`` some, with rounded numbers."""
    names = [name for name in entry.__dataclass_fields__ if name not in but]
    return _rounded({name: getattr(entry, name) for name in names})


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, with rounded numbers."""
    return {
        name: rounded(value) if isinstance(value, float) else value
        for name, value in values.items()
    }


def differences_as_json(pair: Differences) -> dict[str, Any]:
    """The differences of a system from the baseline."""
    entries = {
        name: [
            {"what": entry.what, "examples": entry.count, **_values(entry, "what", "count")}
            for entry in getattr(pair, name)
        ]
        for name in ("ngrams", "words", "kinds")
    }
    return {
        "against": pair.against,
        "level": LEVEL,
        "tested_ngrams": pair.tested,
        "seeds_tested": pair.seeds_tested,
        **entries,
        "examples": [_values(example) for example in pair.examples],
    }


def row_as_json(row: Row) -> dict[str, Any]:
    """The columns of a row that have a value, without the signature."""
    values = _columns(row, "row", "score", "difference")
    for name in ("signature", "signature_short", "analysis"):
        del values[name]
    return {name: value for name, value in values.items() if value not in (None, "")}
