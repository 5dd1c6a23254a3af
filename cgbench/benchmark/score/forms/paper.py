"""A paragraph for a paper: what was scored, what differs, and by which intervals and tests
(``--format paper``).

Every statement is read from the results and their signature, so it is true of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cgbench.benchmark.score.comparison.paired_tests import TESTS
from cgbench.benchmark.score.comparison.results import Score, Tested
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.numbers_as_text import counted, decimals_of, fixed


def paragraph(evaluation: Any, width: int, reasons: bool) -> str:
    """The sentences, the signatures last."""
    of_metrics: list[ScoredSystems] = [part.scored for part in evaluation.by_metric]
    sentences = [_what_is_scored(evaluation, of_metrics)]
    for scored in of_metrics:
        for figure in scored.metric.figures:
            sentences.append(_what_differs(scored, figure, width))
    sentences.append(_intervals(of_metrics[0]))
    sentences.append(_tests(evaluation, of_metrics))
    signatures = [f"{scored.metric.name}|{scored.signature}" for scored in of_metrics]
    name = "Signature" if len(signatures) == 1 else "Signatures"
    sentences.append(f"{name}: {'; '.join(signatures)}.")
    return " ".join(filter(None, sentences))


def _listed(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _what_is_scored(evaluation: Any, of_metrics: Sequence[ScoredSystems]) -> str:
    """The systems with their seeds, the metrics and the examples."""
    first = of_metrics[0]
    runs = [result.runs for result in first.results]
    if len(set(runs)) == 1:
        systems = _listed(result.system for result in first.results)
        each = " each" if len(runs) > 1 else ""
        seeds = f" ({counted(runs[0], 'seed')}{each})" if runs[0] > 1 else ""
        systems += seeds
    else:
        systems = _listed(
            f"{result.system} ({counted(result.runs, 'seed')})" for result in first.results
        )
    metrics = _listed(scored.metric.name for scored in of_metrics)
    examples = counted(first.results[0].whole.examples, "example")
    benchmark = evaluation.inputs.benchmark if evaluation.inputs else "test set"
    population = ""
    if first.sampling.design is not None:
        population = f", as an estimate for {first.sampling.design.description()}"
    return f"We score {systems} by {metrics} on {examples} of {benchmark}{population}."


def _what_differs(scored: ScoredSystems, figure: str, width: int) -> str:
    """The scores, and which differences from the baseline are significant."""
    label = scored.metric.label(figure)
    scores = {result.system: result.whole.figures[figure] for result in scored.results}
    if any(score.pairs for score in scores.values()):
        pairs = [pair for score in scores.values() for pair in score.pairs]
        count = sum(bool(pair.significant) for pair in pairs)
        return f"By {label}, {count:,} of {counted(len(pairs), 'pair')} of systems differ."
    values = {name: fixed(score.value, width, none="undefined") for name, score in scores.items()}
    baseline = scored.baseline
    compared = {name: score for name, score in scores.items() if score.difference is not None}
    if baseline is None or not compared:
        texts = (f"{name} scores {value}" for name, value in values.items())
        return f"By {label}, {_listed(texts)}."
    decimals = decimals_of([score.difference for score in compared.values()], width)
    groups: dict[str, list[str]] = {}
    for name, score in compared.items():
        change = fixed(score.difference, decimals, "+")
        text = f"{name} ({values[name]}, {change}{_p_text(score)})"
        groups.setdefault(_verdict(score, scored.metric.lower_is_better), []).append(text)
    texts = (
        f"{_listed(systems)} {'is' if len(systems) == 1 else 'are'} {verdict}"
        for verdict, systems in groups.items()
    )
    return f"By {label}, compared with {baseline} ({values[baseline]}), {'; '.join(texts)}."


def _p_text(score: Score) -> str:
    if score.p_star is None:
        return ""
    return ", p < 0.001" if score.p_star < 0.001 else f", p = {score.p_star:.3f}"


def _verdict(score: Score, lower_is_better: bool) -> str:
    """What the test says of a difference."""
    difference = score.difference or 0.0
    if score.significant is None:
        return "better" if (difference > 0) != lower_is_better and difference else "not better"
    if not score.significant:
        return "not significantly different"
    return f"significantly {'better' if (difference > 0) != lower_is_better else 'worse'}"


def _intervals(scored: ScoredSystems) -> str:
    """What the intervals are over; empty if there are none."""
    scores = [score for result in scored.results for score in result.whole.figures.values()]
    if all(score.ci_low is None and score.difference_low is None for score in scores):
        return ""
    over = "examples"
    if scored.sampling.clusters is not None:
        over = f"clusters of examples ({scored.sampling.clusters.description()})"
    if any(result.runs > 1 for result in scored.results):
        over += " and seeds"
    items = scored.signature.items
    samples = f", from {items['bs']:,} bootstrap samples" if "bs" in items else ""
    return f"Intervals are 95% confidence intervals over {over}{samples}."


def _tests(evaluation: Any, of_metrics: Sequence[ScoredSystems]) -> str:
    """The test that decides, and its correction; empty if nothing is tested."""
    first = of_metrics[0]
    test, tested = first.star_test, _tested(first)
    if test is None or not tested:
        return ""
    samples = evaluation.inputs.comparison.samples if evaluation.inputs else None
    runs = [result.runs for result in first.results]
    method = TESTS[test].in_words(first.metric, runs, first.sampling, samples)
    families = {result.tests for result in tested if result.tests}
    correction = ""
    if max(families) > 1:
        counts = " and ".join(f"{count:,}" for count in sorted(families))
        apart = ", for each metric" if len(of_metrics) > 1 else ""
        correction = f", with p-values adjusted by Holm's method over {counts} tests{apart}"
    return f"Differences are tested by {method}{correction} (significant: p < {LEVEL:g})."


def _tested(scored: ScoredSystems) -> list[Tested]:
    """Every score and pair with a p-value, over all examples and in bins."""
    scores = [
        score
        for result in scored.results
        for subset in result.parts
        for score in subset.figures.values()
    ]
    both: list[Tested] = [*scores, *(pair for score in scores for pair in score.pairs)]
    return [result for result in both if result.p_star is not None]
