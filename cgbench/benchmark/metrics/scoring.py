"""What ``cgbench score`` does between its options and its report: read the systems, score them, say what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.metrics.base import Estimate, Metric, Signature
from cgbench.benchmark.metrics.buckets import Bin, Feature, make_bins, table_6_bins
from cgbench.benchmark.metrics.cter import KINDS, Cter, agreement, reasons
from cgbench.benchmark.metrics.evaluation import Comparison, Part, Result, System, as_sacrebleu, evaluate
from cgbench.benchmark.metrics.published import Published
from cgbench.benchmark.metrics.significance import FEWEST
from cgbench.errors import InputError
from cgbench.files import write_atomic
from cgbench.tables import render
from cgbench.text.columns import Column, is_there, read_column, short_name, split_name


@dataclass(frozen=True)
class Breakdown:
    """The bins that are asked for. ``groups``: put COGS' categories together as in Table 6."""

    feature: Feature
    how: str | None = None
    groups: bool = False

    def bins(self) -> list[Bin]:
        """The bins."""
        return table_6_bins(self.feature) if self.groups else make_bins(self.feature, self.how)


@dataclass(frozen=True)
class Scored:
    """Everything a report needs: the results, their signature, and what else was asked for."""

    metric: Metric
    results: tuple[Result, ...]
    signature: Signature
    baseline: str | None
    test: str | None
    by: str | None
    more: tuple[dict[str, Any], ...]
    """A system's further findings: for CTER ``by_type``, ``errors``, ``human``."""
    published: tuple[Published, ...] = ()


def read_systems(given: Sequence[str], n: int, against: str) -> list[System]:
    """Read ``SYSTEM=FILE[,FILE2...]``, a file a run; without ``SYSTEM=`` the file's name is the system's.

    :param n: the number of examples; ``against`` names the file that has them.
    :raises InputError: a system or a file is given twice, or a file has another number of lines.
    """
    systems: list[System] = []
    for item in given:
        name, sign, names = item.partition("=")
        if not sign or is_there(split_name(item)[0]):
            name, names = "", item
        paths = [names] if is_there(split_name(names)[0]) else names.split(",")
        name = name or short_name(paths[0])
        if any(system.name == name for system in systems):
            raise InputError(
                f"--hyp {item}: the system {name} is given twice; join its runs ({name}=FILE1,FILE2), or name systems "
                "apart (OTHER=FILE)"
            )
        if len({Path(path).absolute() for path in paths}) < len(paths) or not all(paths):
            raise InputError(f"--hyp {item}: {'a file is given twice' if all(paths) else 'a file name is empty'}")
        runs = [read_column(path, "hypothesis", "prediction") for path in paths]
        for run in runs:
            if len(run) != n:
                raise InputError(
                    f"{run.name} has {len(run):,} lines and {against} has {n:,}: a hypothesis is needed for each; "
                    "check where they part"
                )
        systems.append(System(name, tuple(run.values for run in runs)))
    return systems


def warnings_of(metric: Metric, systems: Sequence[System], comparison: Comparison, breakdown: bool) -> list[str]:
    """Lines about what looks wrong, or limits what the figures say."""
    lines = []
    for system in systems:
        empty = sum(not text.strip() for run in system.runs for text in run)
        if empty:
            many = "hypotheses are" if empty > 1 else "hypothesis is"
            lines.append(f"{system.name}: {empty:,} {many} empty and {'count' if empty > 1 else 'counts'} as wrong")
        pieces = sum("@@ " in text for run in system.runs for text in run)
        if pieces and not metric.joins_pieces:
            lines.append(
                f"{system.name}: {pieces:,} lines hold '@@ ', the mark of BPE pieces; join them before scoring"
            )
        ended = sum(text.endswith(" .") for run in system.runs for text in run)
        if metric.tokenises and ended >= 100:
            lines.append(
                f"{system.name}: {ended:,} lines end in ' .', so the text looks tokenised and will be tokenised again; "
                "detokenise it, or choose --tokenize none (--preset react)"
            )
    if metric.n == 1:
        lines.append("one example: there is nothing to resample, so there are no intervals and no tests")
    if comparison.count("bootstrap") < FEWEST:
        lines.append(f"{comparison.samples} samples are too few for an interval of 95 %; take {FEWEST} at least")
    compared = len(systems) > 1 or comparison.confidence or comparison.paired or breakdown
    if compared and any(len(system.runs) == 1 for system in systems):
        lines.append(
            "one run a system: intervals and tests know nothing of the variance between seeds, which is large on "
            "these benchmarks"
        )
    if comparison.paired == "randomization" and any(len(system.runs) > 1 for system in systems):
        lines.append(
            "approximate randomisation compares these very runs, and knows nothing of other seeds; --paired bootstrap "
            "draws runs, too"
        )
    if comparison.paired == "mcnemar" and isinstance(metric, Cter) and metric.group_size > 1:
        lines.append(
            "McNemar's test of CTER instance takes the rows of a compound for independent, which they are not, and "
            "rejects too often; --paired bootstrap resamples compounds"
        )
    return lines


def score(
    metric: Metric,
    systems: Sequence[System],
    comparison: Comparison,
    breakdown: Breakdown | None = None,
    human: Column | None = None,
    published: Sequence[Published] = (),
) -> Scored:
    """Score the systems and gather what belongs to the figures.

    :raises InputError: judgements, test or bins do not fit.
    """
    if human is not None and (len(systems) > 1 or len(systems[0].runs) > 1):
        raise InputError("--human judges the hypotheses of one file; give one --hyp with one file")
    bins = breakdown.bins() if breakdown else []
    results = evaluate(metric, systems, comparison, bins)
    baseline = comparison.baseline
    if baseline is None and comparison.paired:
        baseline = systems[0].name
    signature = _signature(metric, systems, comparison, breakdown)
    more = [_more(metric, system, result, human) for system, result in zip(systems, results, strict=True)]
    by = breakdown.feature.name if breakdown else None
    return Scored(metric, tuple(results), signature, baseline, comparison.paired, by, tuple(more), tuple(published))


def _signature(
    metric: Metric, systems: Sequence[System], comparison: Comparison, breakdown: Breakdown | None
) -> Signature:
    signature = metric.signature()
    items = signature.items
    if comparison.confidence or comparison.paired or breakdown:
        items["bs"] = comparison.count("bootstrap")
        items["seed"] = comparison.seed
    if comparison.paired == "bootstrap" and not as_sacrebleu(metric, systems):
        items["paired"] = "two-sided"
    if comparison.paired == "randomization":
        items["ar"] = comparison.count("randomization")
    if comparison.paired == "mcnemar":
        items["mcnemar"] = "exact"
    runs = {len(system.runs) for system in systems}
    if runs != {1}:
        items["runs"] = "+".join(str(len(system.runs)) for system in systems) if len(runs) > 1 else runs.pop()
    if breakdown:
        items["by"] = breakdown.feature.name.replace(":", "-")
        items["bins"] = "table6" if breakdown.groups else breakdown.how.replace(":", "-") if breakdown.how else None
    return signature


def _more(metric: Metric, system: System, result: Result, human: Column | None) -> dict[str, Any]:
    if not isinstance(metric, Cter):
        return {}
    kinds = np.array(metric.kinds)
    by_type = {}
    for kind in KINDS:
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            sums = np.stack([metric.collect(run, rows).sum(axis=0) for run in result.statistics])
            values = metric.compute(sums).mean(axis=0) / 100
            counts: dict[str, Any] = {"n": len(rows), "groups": len(np.unique(metric.groups[rows]))}
            by_type[kind] = counts | {name: _number(value) for name, value in zip(metric.figures, values, strict=True)}
    found = [metric.per_example(run, run_statistics) for run, run_statistics in _runs(system, result)]
    return {
        "by_type": by_type,
        "errors": reasons([row for rows in found for row in rows]),
        "human": agreement(found[0], human, metric.groups) if human else None,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _runs(system: System, result: Result) -> list[tuple[Sequence[str], np.ndarray]]:
    return list(zip(system.runs, result.statistics, strict=True))


def as_json(scored: Scored) -> list[dict[str, Any]]:
    """The results as JSON values, one a system; ``docs/formats.md`` has the schema."""
    return [_system_json(scored, result, more) for result, more in zip(scored.results, scored.more, strict=True)]


def _system_json(scored: Scored, result: Result, more: dict[str, Any]) -> dict[str, Any]:
    metric = scored.metric
    values: dict[str, Any] = {
        "metric": metric.name,
        "system": result.system,
        **_part_json(metric, result.whole),
        "runs": result.runs,
        "lower_is_better": metric.lower_is_better,
        "baseline": scored.baseline,
        "test": scored.test,
        "signature": str(scored.signature),
        "signature_short": scored.signature.format(short=True),
        "by": scored.by,
        "bins": [
            {"label": one.label, "low": one.low, "high": one.high, **_part_json(metric, part)}
            for one, part in result.bins
        ],
        **more,
    }
    if result.runs == 1:
        values["verbose"] = describe(metric, result)
    if scored.published:
        values["published"] = [
            {key: getattr(row, key) for key in ("benchmark", "system", "metric", "source")}
            | {"value": float(row.value), "spread": float(row.spread) if row.spread else None, "runs": int(row.runs)}
            for row in scored.published
        ]
    return values


def _part_json(metric: Metric, part: Part) -> dict[str, Any]:
    """The headline figure on its own, all of them below ``figures``; CTER's two also as fractions."""
    values: dict[str, Any] = {"n": part.examples, **_estimate_json(part.figures[metric.figures[0]])}
    if len(metric.figures) > 1:
        values["groups"] = part.units
        for name in metric.figures:
            value = part.figures[name].value
            values[name] = None if value is None else rounded(value / 100)
        values["figures"] = {name: _estimate_json(part.figures[name]) for name in metric.figures}
    return values


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    values = {key: rounded(getattr(estimate, key)) for key in Estimate.__dataclass_fields__ if key != "runs"}
    return {**values, "values": [rounded(value) for value in estimate.runs]}


def rounded(value: float | None) -> float | None:
    """Twelve digits: sums of fractions (TER) may differ behind them from one number of threads to another."""
    return None if value is None else float(f"{value:.12g}")


def describe(metric: Metric, result: Result) -> str:
    """What the metric says of the figures of a system with one run."""
    return metric.describe(metric.collect(result.statistics[0], np.arange(metric.n)).sum(axis=0))


def write_per_example(path: Path, scored: Scored, systems: Sequence[System]) -> None:
    """Write a tab-separated row for each example, system and run, with a header. Rows and runs count from 1."""
    rows = []
    for system, result in zip(systems, scored.results, strict=True):
        for run, (texts, statistics) in enumerate(_runs(system, result), 1):
            for number, row in enumerate(scored.metric.per_example(texts, statistics), 1):
                rows.append({"row": number, "system": system.name, "run": run, **row})
    head = list(rows[0])
    cells = [[str(row[key]) for key in head] for row in rows]
    write_atomic(path, render(head, cells, "tsv") + "\n")
