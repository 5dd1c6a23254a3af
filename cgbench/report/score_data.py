"""What the score page computes: intervals, breakdowns, the outputs of each example, compounds never
right.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.bins import make_bins
from cgbench.benchmark.measure.metrics.cter import Cter
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.evaluation.features import FEATURES, make_feature
from cgbench.benchmark.score.evaluation.result import Evaluation, EvaluationInputs
from cgbench.benchmark.score.outputs.hypotheses import outputs_of
from cgbench.errors import InputError
from cgbench.plots import COLOURS

MOST_ROWS = 20
"""Systems in a chart with a row for each."""
MOST_LINES = len(COLOURS)
"""Systems in a chart with a line, a histogram or a plot for each: one per colour."""


def ranked(evaluation: Evaluation) -> Evaluation:
    """With more than :data:`MOST_LINES` systems: the one that others are compared with first, then
    the best.
    """
    scored, systems = evaluation.scored, evaluation.systems
    if len(systems) <= MOST_LINES:
        return evaluation
    sign, base, name = (
        -1 if scored.metric.lower_is_better else 1,
        base_of(scored),
        scored.metric.figures[0],
    )

    def key(index: int) -> tuple[bool, float]:
        value = scored.results[index].whole.figures[name].value
        return index != base, inf if value is None else -sign * value

    order = sorted(range(len(systems)), key=key)
    results, more = (
        tuple(scored.results[at] for at in order),
        tuple(scored.more[at] for at in order),
    )
    scored = replace(scored, results=results, more=more)
    return replace(evaluation, scored=scored, systems=tuple(systems[at] for at in order))


def base_of(scored: ScoredSystems) -> int:
    """The number of the system that the others are compared with."""
    return [scored.baseline in (None, result.system) for result in scored.results].index(True)


def drawn(scored: ScoredSystems, most: int) -> str:
    """Which ``most`` systems are shown, as a sentence; empty if all."""
    systems = len(scored.results)
    text = (
        f"Shown: {scored.results[0].system} and the best {most - 1} of the other {systems - 1:,}"
        " systems."
    )
    return text if systems > most else ""


def with_intervals(evaluation: Evaluation, inputs: EvaluationInputs) -> ScoredSystems:
    """The scores, over all examples with intervals and tests of all pairs even if not requested."""
    scored = evaluation.scored
    test = (scored.test or CALIBRATED) if len(scored.results) > 1 else None
    comparison = replace(
        inputs.comparison,
        paired=test,
        baseline=None,
        all_pairs=test is not None,
        require=(),
        confidence=True,
    )
    (subsets,) = scored.on(None, comparison)
    results = []
    for result, subset in zip(scored.results, subsets, strict=True):
        figures = {}
        for name, score in result.whole.figures.items():
            added = subset.figures[name]
            figures[name] = replace(
                score,
                ci_low=added.ci_low,
                ci_high=added.ci_high,
                ci_mean=added.ci_mean,
                pairs=added.pairs,
                is_best=added.is_best if score.is_best is None else score.is_best,
            )
        results.append(replace(result, whole=replace(result.whole, figures=figures)))
    return replace(scored, results=tuple(results))


def breakdowns(evaluation: Evaluation, inputs: EvaluationInputs) -> list[ScoredSystems]:
    """The systems in the requested bins, and in those of every other feature that the inputs
    allow.
    """
    scored = evaluation.scored
    binned = [scored] if scored.by else []
    of_metric = scored.metric.feature_units
    on_page = [name for name, feature in FEATURES.built_in.items() if feature.on_page]
    names = [*of_metric, "length"] if of_metric else on_page
    for name in names:
        if name == scored.by:
            continue
        try:
            bins = make_bins(make_feature(name, scored.metric.n, inputs.features), None)
        except InputError:
            continue  # nothing to make it from was given
        if len(bins) > 1:
            by_bin = scored.on([bin_.rows for bin_ in bins], inputs.comparison.without_tests)
            results = [
                replace(result, bins=tuple(zip(bins, of_system, strict=True)))
                for result, of_system in zip(scored.results, zip(*by_bin, strict=True), strict=True)
            ]
            binned.append(replace(scored, by=name, results=tuple(results)))
    return binned


def outputs(
    evaluation: Evaluation, scores: Sequence[np.ndarray], index: int
) -> list[list[list[Any]]]:
    """The different outputs of each system for an example, worst first: ``[text, seeds, score,
    reason]``.

    :param scores: of every example, ``[runs, n]`` per system.
    """
    metric, systems, by_system = evaluation.scored.metric, evaluation.systems, []
    flip = -1 if metric.lower_is_better and not isinstance(metric, Cter) else 1
    for system, texts, of_runs in zip(systems, outputs_of(metric, systems), scores, strict=True):
        runs = (
            texts or system.runs
        )  # external scores are shown as they are where there are no texts
        seeds_of: dict[tuple[str, float], list[int]] = {}
        for run, score in enumerate(of_runs[:, index].tolist()):
            seeds_of.setdefault((runs[min(run, len(runs) - 1)][index], round(score, 2)), []).append(
                run + 1
            )
        rows = sorted(seeds_of.items(), key=lambda item: (flip * item[0][1], item[1]))
        by_system.append(
            [[text, seeds, score, metric.reason(index, text)] for (text, score), seeds in rows]
        )
    return by_system


def most_telling(scores: np.ndarray, most: int) -> np.ndarray:
    """The examples on which systems differ most, at most ``most``, in their order; none that lacks
    a score.
    """
    known = np.flatnonzero(np.isfinite(scores).all(axis=0))
    spread = scores.max(axis=0)[known] - scores.min(axis=0)[known]
    return np.sort(known[np.argsort(-spread, kind="stable")[:most]])


def never_right(evaluation: Evaluation, system_index: int) -> list[list[str]]:
    """The compounds of which a system gets no row right in any seed: their type, rows, and
    commonest reason.
    """
    metric, system = evaluation.scored.metric, evaluation.systems[system_index]
    if not isinstance(metric, Cter):
        return []
    rows, right = Counter(metric.compounds), set()
    reasons: dict[str, Counter[str]] = {compound: Counter() for compound in rows}
    kinds = dict(zip(metric.compounds, metric.kinds, strict=True))
    for run in system.runs:
        for compound, judged in zip(metric.compounds, metric.judge_all(run), strict=True):
            reasons[compound].update(judged.reasons)
            if not judged.wrong:
                right.add(compound)
    return [
        [
            compound,
            kinds[compound],
            f"{count:,}",
            min(reasons[compound].items(), key=lambda item: (-item[1], item[0]))[0],
        ]
        for compound, count in rows.items()
        if compound not in right
    ]
