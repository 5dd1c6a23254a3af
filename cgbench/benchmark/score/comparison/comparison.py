"""Compare systems: every score with its runs, interval, difference and p-value, overall and in
bins.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from cgbench.argument_types import Name, name_in
from cgbench.benchmark.measure.metrics.bins import Bin
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.intervals import FEWEST, percentile_interval, score_interval
from cgbench.benchmark.score.comparison.paired_test import ComparedSystems, SystemPair
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED, TESTS
from cgbench.benchmark.score.comparison.requirements import Requirements, check_names
from cgbench.benchmark.score.comparison.results import (
    Pair,
    Score,
    SubsetScores,
    SystemScores,
    best_of,
)
from cgbench.benchmark.score.comparison.significance import SAMPLES, SEED, holm
from cgbench.benchmark.score.comparison.variance import (
    DrawnScores,
    ExampleCovariance,
    design_effects,
)
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, option

TestName: TypeAlias = Annotated[str, name_in(TESTS)]
"""The name of a test, as ``--paired`` takes it."""


class Comparison(Request):
    """Options for intervals and significance tests."""

    _: KW_ONLY
    paired: TestName | bool | None = option(
        "--paired",
        default=None,
        help=(
            "Test differences from the baseline; without a name by the calibrated test (approximate"
            " randomisation for one seed, variance components for several)"
        ),
    )
    baseline: Name | None = option(
        "--baseline",
        default=None,
        help="System to compare with [default: the first]",
        metavar="SYSTEM",
    )
    all_pairs: bool = option(
        "--all-pairs",
        default=False,
        help="Test all pairs of systems",
    )
    require: Requirements = option(
        "--require",
        default=(),
        help=(
            "Exit with status 1 unless this is shown against the baseline: SYSTEM=better, or"
            " SYSTEM=not-worse:POINTS; repeatable"
        ),
        metavar="SYSTEM=CLAIM",
    )
    cluster: tuple[str, ...] = option(
        "--cluster",
        default=(),
        help=(
            "Examples that belong together: source, or a column of the table, such as document (at"
            " most two)"
        ),
        metavar="NAME",
    )
    anytime: bool = option(
        "--set anytime",
        default=False,
        help=(
            "Print differences that stay valid if growing results are scored repeatedly, with"
            " examples in random order"
        ),
        group="Advanced",
    )
    shared_seeds: bool = option(
        "--set shared_seeds",
        default=False,
        help="Compare seed by seed: run i of every system has the same seed or checkpoint",
        group="Advanced",
    )
    samples: int | None = option(
        "--set samples",
        default=None,
        help="Number of resamples [default: 1000; randomization: 10000]",
        group="Advanced",
        least=1,
    )
    seed: int = option(
        "--set seed",
        default=SEED,
        help="Random seed of the resamples",
        least=0,
    )
    confidence: bool = option(
        "--confidence",
        default=False,
        help="Print 95% bootstrap confidence intervals",
    )

    def implied(self) -> dict[str, Any]:
        """The name of the test, which all pairs and requirements need; and intervals, since
        clusters change nothing but these and tests.
        """
        paired = None if self.paired is False else self.paired
        needs_test = self.all_pairs or bool(self.require)
        if paired is True or (needs_test and paired is None):
            paired = CALIBRATED
        return {"paired": paired, "confidence": self.confidence or bool(self.cluster)}

    @property
    def test(self) -> TestName | None:
        """The requested test."""
        return None if isinstance(self.paired, bool) else self.paired

    @property
    def without_tests(self) -> "Comparison":
        """The same with intervals, but no test."""
        return replace(
            self, paired=None, baseline=None, all_pairs=False, require=(), confidence=True
        )

    def count(self, kind: str) -> int:
        """The number of samples of a resampling method."""
        return self.samples or SAMPLES[kind]


class SystemRuns(Protocol):
    """A system and its outputs, such as
    :class:`cgbench.benchmark.score.outputs.hypotheses.System`.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def runs(self) -> Sequence[Sequence[str]]:
        """One list of hypotheses per run (training seed)."""


def compare(
    metric: Metric,
    systems: Sequence[SystemRuns],
    comparison: Comparison,
    bins: Sequence[Bin] = (),
    sampling: Sampling | None = None,
) -> list[SystemScores]:
    """Score every system. Bins always have intervals; a test compares each bin with that of the
    baseline.

    Without ``sampling``, all examples of the metric are independent.

    p-values are adjusted by Holm's method, separately for each score (over all scores of a metric
    whose scores are ``one_family``): over the systems (or pairs of
    systems), and in bins over systems and bins.

    :raises InputError: the baseline is unknown, the test does not suit the metric or the number of
        runs, or a run does not have one hypothesis per example.
    """
    sampling = sampling or Sampling.of(metric)
    _check_test(metric, systems, comparison)
    runs_of_systems = statistics_of(metric, [system.runs for system in systems])
    names = [system.name for system in systems]
    statistics = dict(zip(names, runs_of_systems, strict=True))
    # All examples are one family of tests, all bins together another.
    confidence = comparison.confidence or bool(comparison.paired)
    (wholes,) = compare_statistics(metric, sampling, statistics, comparison, confidence=confidence)
    rows_of_bins = [bin_.rows for bin_ in bins]
    binned = compare_statistics(metric, sampling, statistics, comparison, rows_of_bins)
    results = []
    for index, (name, runs) in enumerate(statistics.items()):
        bins_of_system = zip(bins, (subsets[index] for subsets in binned), strict=True)
        results.append(SystemScores(name, len(runs), wholes[index], tuple(bins_of_system), runs))
    return results


def statistics_of(metric: Metric, systems: Iterable[Sequence[Sequence[str]]]) -> list[np.ndarray]:
    """The statistics of all runs of each system, ``[runs, n, k]``."""
    systems = list(systems)
    run_statistics = iter(metric.all_statistics([run for runs in systems for run in runs]))
    return [np.stack([next(run_statistics) for _ in runs]) for runs in systems]


IntervalOf = Callable[
    [int, Callable[[int], ExampleCovariance], np.ndarray], tuple[float, float] | None
]
"""The interval of a score of a system: from its place among the metric's, the covariance of the
runs of any score, and the scores of the runs ``[runs, scores]``."""


def compare_statistics(
    metric: Metric,
    sampling: Sampling,
    statistics: Mapping[str, np.ndarray],
    comparison: Comparison,
    sets: Sequence[np.ndarray] | None = None,
    *,
    confidence: bool = True,
    interval: IntervalOf | None = None,
) -> list[list[SubsetScores]]:
    """The scores of systems from the statistics of their runs, tested as in :func:`compare`: one
    list per set of examples with one item per system.

    :param statistics: by system, ``[runs, n, k]``.
    :param sets: the examples of each, by default one set of all; p-values are adjusted over all
        sets.
    :param confidence: with intervals, which ``interval`` may make from clustered covariances.
    """
    names = list(statistics)
    baseline = _baseline(names, comparison)
    sets = [np.arange(metric.n)] if sets is None else sets
    samples = comparison.count("bootstrap") if confidence else None
    groups = []
    for rows in sets:
        drawn = DrawnScores(
            metric, sampling, list(statistics.values()), rows, samples, comparison.seed
        )
        systems = ComparedSystems(
            metric,
            sampling,
            drawn,
            comparison.samples,
            comparison.seed,
            comparison.shared_seeds,
            len(sets),
        )
        scores = _scores_of_systems(systems, interval)
        _add_differences(scores, names, systems, comparison, baseline)
        groups.append([SubsetScores(len(drawn.rows), drawn.count, figures) for figures in scores])
    _adjust([subset for group in groups for subset in group], one_family=metric.one_family)
    for group in groups:
        _mark_best(metric, dict(zip(names, group, strict=True)), baseline)
    return groups


def _baseline(names: Sequence[str], comparison: Comparison) -> int | None:
    baseline = comparison.baseline
    if baseline is not None and baseline not in names:
        raise InputError(
            f"{argument('baseline', baseline)}: no such system; there is {', '.join(names)}"
        )
    if comparison.all_pairs and baseline is not None:
        raise InputError(
            f"{argument('all_pairs')} compares all pairs of systems; leave"
            f" {argument('baseline')} out"
        )
    if comparison.all_pairs and comparison.require:
        raise InputError(
            f"{argument('require', str(comparison.require[0]))} compares with the baseline; leave"
            f" {argument('all_pairs')} out"
        )
    if comparison.paired and baseline is None and len(names) < 2:
        raise InputError(
            f"{argument('paired', comparison.paired)} compares systems; give a second"
            f" {argument('systems')}"
        )
    if comparison.all_pairs or not (comparison.paired or baseline):
        return None
    return names.index(baseline) if baseline is not None else 0


def _check_test(metric: Metric, systems: Sequence[SystemRuns], comparison: Comparison) -> None:
    # An unknown baseline or system is refused before anything is scored.
    names = [system.name for system in systems]
    baseline = _baseline(names, comparison)
    check_names(comparison.require, names, None if baseline is None else names[baseline])
    runs = {len(system.runs) for system in systems}
    run_counts = ", ".join(f"{system.name} {len(system.runs)}" for system in systems)
    if comparison.test is not None:
        test, option = TESTS[comparison.test], argument("paired", comparison.test)
        if problem := test.suits(metric):
            raise InputError(f"{option} {problem}")
        if test.of_single_runs and max(runs) > 1:
            raise InputError(
                f"{option} compares one run with one run (runs: {run_counts}) and ignores the"
                f" variance between seeds; use {argument('paired', CALIBRATED)}"
            )
    if comparison.shared_seeds and (len(runs) > 1 or max(runs) == 1):
        raise InputError(
            f"{argument('shared_seeds')} compares systems run by run, so each needs the same number"
            f" of runs, at least two (runs: {run_counts})"
        )


def _scores_of_systems(
    systems: ComparedSystems, interval: IntervalOf | None
) -> list[dict[str, Score]]:
    """The scores of every system with their intervals, by name."""
    metric, drawn = systems.metric, systems.drawn
    effects = None
    if drawn.covariance and systems.sampling.clusters and systems.sampling.design is None:
        effects = design_effects(metric, drawn.statistics, drawn.rows, drawn.covariance)
    scores = []
    for system, values in enumerate(drawn.values):
        scores_of_system = {}
        for figure, name in enumerate(metric.figures):
            score = _mean_score(values[:, figure])
            if ends := _interval(systems, system, figure, interval):
                score = replace(score, ci_low=ends[0], ci_high=ends[1])
                if drawn.samples is not None:
                    mean = float(drawn.samples[system][:, :, figure].mean())
                    score = replace(score, ci_mean=mean)
            if effects is not None and not math.isnan(effects[system, figure]):
                score = replace(score, design_effect=float(effects[system, figure]))
            scores_of_system[name] = score
        scores.append(scores_of_system)
    return scores


def _mean_score(values: np.ndarray) -> Score:
    mean = float(values.mean())
    if math.isnan(mean):
        return Score(None)
    stdev = float(values.std(ddof=1)) if len(values) > 1 else None
    return Score(mean, tuple(values.tolist()), stdev)


def _interval(
    systems: ComparedSystems, system: int, figure: int, interval: IntervalOf | None
) -> tuple[float, float] | None:
    """The 95% interval of a score: sacrebleu's of single runs of its metrics, else one that keeps
    the range.
    """
    metric, drawn, sampling = systems.metric, systems.drawn, systems.sampling
    values = drawn.values[system]
    if drawn.samples is not None:
        if metric.as_sacrebleu and len(values) == 1:
            return percentile_interval(drawn.samples[system][:, 0, figure])
        if len(drawn.samples[system]) < FEWEST:
            return None
    if drawn.covariance is None:
        return None
    design = sampling.design
    if design and len(values) == 1 and not sampling.clusters and not design.unsampled.any():
        return float(values[0, figure]), float(values[0, figure])  # the whole population is known
    runs = drawn.runs_of(system)
    if interval is not None:
        return interval(figure, partial(drawn.covariance.of_runs, runs=runs), values)
    limits = metric.limits(metric.figures[figure])
    return score_interval(drawn.covariance.of_runs(figure, runs), values[:, figure], *limits)


def _add_differences(
    scores: Sequence[dict[str, Score]],
    names: Sequence[str],
    systems: ComparedSystems,
    comparison: Comparison,
    baseline: int | None,
) -> None:
    """Add to the scores their differences from the baseline, or from all earlier systems."""
    indices = range(len(scores))
    pairs = [(index, baseline) for index in indices if baseline not in (None, index)]
    if comparison.all_pairs:
        pairs = [(index, rival) for index in indices for rival in range(index)]
    p_values: Mapping[SystemPair, Sequence[float | None]] = {}
    p_calibrated: Mapping[SystemPair, Sequence[float | None]] = {}
    if comparison.test is not None and pairs:
        test = TESTS[comparison.test]
        p_values = test.p_values(systems, pairs)
        if not test.decides(systems.metric):
            p_calibrated = TESTS[CALIBRATED].p_values(systems, pairs)
    intervals = systems.intervals(pairs) if comparison.paired else {}
    for pair in pairs:
        system, rival = pair
        for figure, name in enumerate(systems.metric.figures):
            score, rival_value = scores[system][name], scores[rival][name].value
            if score.value is None or rival_value is None:
                continue
            low, high = intervals[pair][figure] if pair in intervals else (None, None)
            tested: dict[str, Any] = {
                "difference": _difference(score.value, rival_value),
                "difference_low": low,
                "difference_high": high,
                "p_value": p_values[pair][figure] if pair in p_values else None,
                "p_calibrated": p_calibrated[pair][figure] if pair in p_calibrated else None,
            }
            if comparison.all_pairs:
                tested = {"pairs": (*score.pairs, Pair(names[rival], **tested))}
            scores[system][name] = replace(score, **tested)


def _difference(first: float, second: float) -> float:
    """The difference of two scores; 0 if only rounding is left, which would have a sign."""
    difference = first - second
    is_rounding = abs(difference) <= 1e-12 * max(abs(first), abs(second))
    return 0.0 if is_rounding else difference


def _adjust(subsets: Sequence[SubsetScores], *, one_family: bool) -> None:
    """Apply Holm's correction over all subsets, separately for each score or over all scores."""
    names = list(subsets[0].figures) if subsets else []
    for family in [names] if one_family else [[name] for name in names]:
        cells = [(subset, name) for subset in subsets for name in family]
        scores = _adjusted([subset.figures[name] for subset, name in cells])
        pairs = iter(_adjusted([pair for score in scores for pair in score.pairs]))
        for (subset, name), score in zip(cells, scores, strict=True):
            subset.figures[name] = replace(score, pairs=tuple(next(pairs) for _ in score.pairs))


AnyTested = TypeVar("AnyTested", Score, Pair)


def _adjusted(tests: Sequence[AnyTested]) -> list[AnyTested]:
    p_values = holm([test.p_value for test in tests])
    calibrated = holm([test.p_calibrated for test in tests])
    count = sum(test.p_value is not None for test in tests)
    return [
        replace(
            test,
            p_holm=p,
            p_calibrated_holm=p_star,
            tests=None if test.p_value is None else count,
        )
        for test, p, p_star in zip(tests, p_values, calibrated, strict=True)
    ]


def _mark_best(metric: Metric, subsets: Mapping[str, SubsetScores], baseline: int | None) -> None:
    """Mark the best systems of each score over the same examples."""
    baseline_name = None if baseline is None else list(subsets)[baseline]
    for name in metric.figures:
        scores = {system: subset.figures[name] for system, subset in subsets.items()}
        best = best_of(scores, baseline_name, lower_is_better=metric.lower_is_better)
        if best is None:
            continue
        for system, score in scores.items():
            subsets[system].figures[name] = replace(score, is_best=system in best)
