"""What a report shows of scores beside the figures: pairs and clusters, bins, examples, compounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from cgbench.benchmark.metrics.bins import Bin, make_bins
from cgbench.benchmark.metrics.comparison import CALIBRATED, SubsetScores, parts_of
from cgbench.benchmark.metrics.cter import Cter
from cgbench.benchmark.metrics.features import make_feature
from cgbench.benchmark.metrics.result import Evaluation, EvaluationInputs
from cgbench.errors import InputError

FEATURES = ("length", "degree", "uncertainty", "perplexity", "frequency", "one-shot")
OF_COMPOUNDS = ("type", "compound-length", "context-length", "modifier")


def wholes(evaluation: Evaluation, asked: EvaluationInputs) -> list[SubsetScores]:
    """Every system's figures over all examples with their intervals, and with tests of all pairs of systems.

    What was asked for is as it was; intervals and tests are added where they were not.
    """
    scored = evaluation.scored
    results = scored.results
    test = (scored.test or CALIBRATED) if len(results) > 1 else None
    comparison = replace(asked.comparison, paired=test, baseline=None, all_pairs=test is not None, confidence=True)
    (found,) = parts_of(scored.metric, results, comparison, [Bin("all", np.arange(scored.metric.n))])
    return [
        replace(
            result.whole,
            figures={
                name: replace(
                    estimate,
                    **{key: getattr(part.figures[name], key) for key in ("ci_low", "ci_high", "ci_mean", "pairs")},
                )
                for name, estimate in result.whole.figures.items()
            },
        )
        for result, part in zip(results, found, strict=True)
    ]


@dataclass(frozen=True)
class Breakdown:
    """The figures of every system in the bins of a feature: ``parts`` a list a bin, of a part a system."""

    name: str
    bins: list[Bin]
    parts: list[list[SubsetScores]]

    def has(self, figure: str) -> bool:
        """Whether the figure is defined anywhere: CTER aggregate is not where bins divide groups."""
        return any(part.figures[figure].value is not None for parts in self.parts for part in parts)


def breakdowns(evaluation: Evaluation, asked: EvaluationInputs) -> list[Breakdown]:
    """By the feature that was asked for, and by every other that can be made from what was given."""
    scored, found = evaluation.scored, []
    comparison = replace(asked.comparison, paired=None, baseline=None, all_pairs=False, confidence=True)
    if scored.by:
        bins = [one for one, _ in scored.results[0].bins]
        parts = [[result.bins[place][1] for result in scored.results] for place in range(len(bins))]
        found.append(Breakdown(scored.by, bins, parts))
    names = (*OF_COMPOUNDS, "length") if isinstance(scored.metric, Cter) else FEATURES
    for name in names:
        if name == scored.by:
            continue
        try:
            bins = make_bins(make_feature(name, scored.metric.n, asked.features), None)
        except InputError:
            continue  # nothing to make it from was given
        if len(bins) > 1:
            found.append(Breakdown(name, bins, parts_of(scored.metric, scored.results, comparison, bins)))
    return found


def most_telling(scores: np.ndarray, most: int) -> np.ndarray:
    """The examples on which systems differ most, at most so many, in their order; none that lacks a score."""
    known = np.flatnonzero(np.isfinite(scores).all(axis=0))
    spread = scores.max(axis=0)[known] - scores.min(axis=0)[known]
    return np.sort(known[np.argsort(-spread, kind="stable")[:most]])


@dataclass(frozen=True)
class NeverRight:
    """A compound of which a system gets no row right in any run: its type, its rows, and the commonest reason."""

    compound: str
    kind: str
    rows: int
    reason: str


def never_right(evaluation: Evaluation, number: int) -> list[NeverRight]:
    """The compounds that the system with this number never gets right, in the order of the test set."""
    metric, system = evaluation.scored.metric, evaluation.systems[number]
    if not isinstance(metric, Cter):
        return []
    rows: dict[str, int] = {}
    right: set[str] = set()
    reasons: dict[str, Counter[str]] = {}
    kinds = dict(zip(metric.compounds, metric.kinds, strict=True))
    for run in system.runs:
        for compound, judged in zip(metric.compounds, metric.judge_all(run), strict=True):
            rows[compound] = rows.get(compound, 0) + 1
            if not judged.wrong:
                right.add(compound)
            said = [f"no translation of {name}" for name in judged.missing] + [f"order {rule}" for rule in judged.order]
            reasons.setdefault(compound, Counter()).update(said)
    return [
        NeverRight(
            compound,
            kinds[compound],
            count // len(system.runs),
            min(reasons[compound].items(), key=lambda item: (-item[1], item[0]))[0],
        )
        for compound, count in rows.items()
        if compound not in right
    ]
