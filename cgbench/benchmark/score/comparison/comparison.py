"""Compare systems: every score with its runs, interval, difference and p-value, overall and in
bins.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar

import numpy as np

from cgbench.argument_types import Name
from cgbench.benchmark.measure.metrics.bins import Bin
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.intervals import FEWEST, percentile_interval, score_interval
from cgbench.benchmark.score.comparison.seeds_test import Contrasts
from cgbench.benchmark.score.comparison.significance import (
    SAMPLES,
    SEED,
    SEVERAL_RUNS,
    bootstrap_p,
    calibrated_test,
    holm,
    mcnemar_p,
    randomization_of_pairs,
)
from cgbench.benchmark.score.comparison.variance import (
    DrawnScores,
    ExampleCovariance,
    design_effects,
)
from cgbench.errors import InputError, argument
from cgbench.requests import KW_ONLY, option, request

CALIBRATED: Final = "calibrated"
TestName = Literal["calibrated", "bootstrap", "randomization", "mcnemar"]


@request
class Comparison:
    """Options for intervals and significance tests."""

    _: KW_ONLY
    given: ClassVar[frozenset[str]]  # the names that were given
    paired: TestName | bool | None = option(
        default=None,
        help=(
            "Test differences from the baseline; without a name by the calibrated test (approximate"
            " randomisation for one seed, variance components for several)"
        ),
    )
    baseline: Name | None = option(
        default=None, help="System to compare with [default: the first]", metavar="SYSTEM"
    )
    all_pairs: bool = option(default=False, help="Test all pairs of systems")
    cluster: tuple[str, ...] = option(
        default=(),
        help=(
            "Examples that belong together: source, or a column of the table, such as document (at"
            " most two)"
        ),
        metavar="NAME",
    )
    anytime: bool = option(
        default=False,
        help=(
            "Print differences that stay valid if growing results are scored repeatedly, with"
            " examples in random order"
        ),
        group="Advanced",
    )
    shared_seeds: bool = option(
        default=False,
        help="Compare seed by seed: run i of every system has the same seed or checkpoint",
        group="Advanced",
    )
    samples: int | None = option(
        default=None,
        help="Number of resamples [default: 1000; randomization: 10000]",
        group="Advanced",
        least=1,
    )
    seed: int = option(default=SEED, help="Random seed of the resamples", least=0, is_setting=True)
    confidence: bool = option(default=False, help="Print 95% bootstrap confidence intervals")

    def __post_init__(self) -> None:
        if self.paired is True or (self.all_pairs and not self.paired):
            object.__setattr__(self, "paired", CALIBRATED)
        elif self.paired is False:
            object.__setattr__(self, "paired", None)
        if self.cluster:  # they change nothing but intervals and tests
            object.__setattr__(self, "confidence", True)

    @property
    def test(self) -> TestName | None:
        """The requested test."""
        return None if isinstance(self.paired, bool) else self.paired

    @property
    def without_tests(self) -> "Comparison":
        """The same with intervals, but no test."""
        return replace(self, paired=None, baseline=None, all_pairs=False, confidence=True)

    def count(self, kind: str) -> int:
        """The number of samples of a resampling method."""
        return self.samples or SAMPLES[kind]


class SystemRuns(Protocol):
    """A system and its outputs, such as :class:`cgbench.benchmark.score.outputs.systems.System`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def runs(self) -> Sequence[Sequence[str]]:
        """One list of hypotheses per run (training seed)."""


class Starred:
    """A score or a difference with p-values."""

    p_value: float | None
    p_holm: float | None
    p_calibrated: float | None
    p_calibrated_holm: float | None

    @property
    def p_star(self) -> float | None:
        """The p-value that decides about stars: of the calibrated test, with Holm's correction."""
        return self.p_holm if self.p_calibrated is None else self.p_calibrated_holm


@dataclass(frozen=True)
class Pair(Starred):
    """The difference of a score from that of the system ``against``; fields as in
    :class:`Score`.
    """

    against: str
    difference: float
    p_value: float | None = None
    p_holm: float | None = None
    p_calibrated: float | None = None
    p_calibrated_holm: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


@dataclass(frozen=True)
class Score(Starred):
    """A score of a system: the mean of its runs, with its uncertainty. None: not requested, or not
    defined.

    ``stdev``: sample standard deviation of the runs. ``ci_low``, ``ci_high``: 95% confidence
    interval. ``difference`` and the p-values: from the baseline. ``p_holm``: adjusted for all
    comparisons of its family. ``p_calibrated``: by the calibrated test, if p-values by sacrebleu's
    rule were requested. ``difference_low``, ``difference_high``: 95% confidence interval of the
    difference; for several runs, or clusters, it excludes zero exactly if ``p_value`` is below
    0.05. ``pairs``: differences from each earlier system, if all pairs are compared.
    """

    value: float | None
    runs: tuple[float, ...] = ()
    stdev: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_mean: float | None = None
    difference: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    pairs: tuple[Pair, ...] = ()
    p_calibrated: float | None = None
    p_calibrated_holm: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    design_effect: float | None = None


@dataclass(frozen=True)
class SubsetScores:
    """Scores by name over some examples, with the numbers of examples and units."""

    examples: int
    units: int
    figures: dict[str, Score]


@dataclass(frozen=True)
class SystemScores:
    """The scores of a system; ``statistics`` float64 ``[runs, n, k]``."""

    system: str
    runs: int
    whole: SubsetScores
    bins: tuple[tuple[Bin, SubsetScores], ...]
    statistics: np.ndarray = field(repr=False)

    @property
    def parts(self) -> list[SubsetScores]:
        """The scores over all examples, then those of each bin."""
        return [self.whole, *(scores for _, scores in self.bins)]


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

    p-values are adjusted by Holm's method, separately for each score: over the systems (or pairs of
    systems), and in bins over systems and bins.

    :raises InputError: the baseline is unknown, the test does not suit the metric or the number of
        runs, or a run does not have one hypothesis per example.
    """
    sampling = sampling or Sampling.of(metric)
    _check_test(metric, systems, comparison)
    names = [system.name for system in systems]
    statistics = dict(
        zip(names, statistics_of(metric, [system.runs for system in systems]), strict=True)
    )
    confidence, sets = (
        comparison.confidence or bool(comparison.paired),
        [bin_.rows for bin_ in bins],
    )
    (wholes,) = compare_statistics(metric, sampling, statistics, comparison, confidence=confidence)
    binned = compare_statistics(metric, sampling, statistics, comparison, sets)
    return [
        SystemScores(
            name,
            len(runs),
            wholes[index],
            tuple((bin_, subsets[index]) for bin_, subsets in zip(bins, binned, strict=True)),
            runs,
        )
        for index, (name, runs) in enumerate(statistics.items())
    ]


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
    baseline = _baseline(list(statistics), comparison)
    sets = [np.arange(metric.n)] if sets is None else sets
    groups = [
        _Slice(
            metric, sampling, statistics, rows, comparison, confidence, interval, len(sets)
        ).parts(baseline)
        for rows in sets
    ]
    _adjust([subset for group in groups for subset in group])
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
    if comparison.paired and baseline is None and len(names) < 2:
        raise InputError(
            f"{argument('paired', comparison.paired)} compares systems; give a second"
            f" {argument('systems')}"
        )
    if comparison.all_pairs or not (comparison.paired or baseline):
        return None
    return names.index(baseline) if baseline is not None else 0


def _check_test(metric: Metric, systems: Sequence[SystemRuns], comparison: Comparison) -> None:
    _baseline(
        [system.name for system in systems], comparison
    )  # refuses an unknown one before anything is scored
    runs = {len(system.runs) for system in systems}
    run_counts = ", ".join(f"{system.name} {len(system.runs)}" for system in systems)
    test = argument("paired", comparison.paired)
    if (
        comparison.paired == "mcnemar"
        and metric.outcomes(np.zeros((metric.n, 2)), np.arange(metric.n)) is None
    ):
        raise InputError(
            f"{test} needs examples that are right or wrong; {metric.name} is not binary"
        )
    if comparison.paired not in (None, CALIBRATED) and max(runs) > 1:
        raise InputError(
            f"{test} compares one run with one run (runs: {run_counts}) and ignores the variance"
            f" between seeds; use {argument('paired', CALIBRATED)}"
        )
    if comparison.shared_seeds and (len(runs) > 1 or max(runs) == 1):
        raise InputError(
            f"{argument('shared_seeds')} compares systems run by run, so each needs the same number"
            f" of runs, at least two (runs: {run_counts})"
        )


class _Slice(DrawnScores):
    """The scores of all systems over the same examples, and tests of their differences.

    ``sacrebleu_p``: compute bootstrap p-values by sacrebleu's rule; ``sets``: how many such sets
    p-values are adjusted for together.
    """

    def __init__(
        self,
        metric: Metric,
        sampling: Sampling,
        statistics: Mapping[str, np.ndarray],
        rows: np.ndarray,
        comparison: Comparison,
        confidence: bool,
        interval: IntervalOf | None,
        sets: int,
    ) -> None:
        samples = comparison.count("bootstrap") if confidence else None
        super().__init__(
            metric, sampling, list(statistics.values()), rows, samples, comparison.seed
        )
        self.metric, self.sampling, self.comparison, self.names = (
            metric,
            sampling,
            comparison,
            list(statistics),
        )
        self.interval, self.sets, self.effects = interval, sets, None
        self.sacrebleu_p = (
            metric.as_sacrebleu and comparison.paired == "bootstrap"
        )  # for single runs
        if (
            self.covariance and sampling.clusters and sampling.design is None
        ):  # a design has its own weights
            self.effects = design_effects(metric, self.statistics, self.rows, self.covariance)

    def parts(self, baseline: int | None) -> list[SubsetScores]:
        """The scores of every system, compared with the baseline or with all earlier systems."""
        indices = range(len(self.values))
        pairs = [(index, baseline) for index in indices if baseline not in (None, index)]
        if self.comparison.all_pairs:
            pairs = [(index, rival) for index in indices for rival in range(index)]
        figures = [self._figures(index) for index in indices]
        for (system, rival), tests in zip(pairs, self._tests(pairs), strict=True):
            for name, (p, p_calibrated, low, high) in zip(self.metric.figures, tests, strict=True):
                score, rival_value = figures[system][name], figures[rival][name].value
                if score.value is None or rival_value is None:
                    continue
                fields: dict[str, Any] = {
                    "difference": score.value - rival_value,
                    "p_value": p,
                    "p_calibrated": p_calibrated,
                    "difference_low": low,
                    "difference_high": high,
                }
                if self.comparison.all_pairs:
                    fields = {"pairs": (*score.pairs, Pair(self.names[rival], **fields))}
                figures[system][name] = replace(score, **fields)
        return [SubsetScores(len(self.rows), self.count, scores) for scores in figures]

    def _tests(self, pairs: Sequence[tuple[int, int]]) -> Iterator[list[tuple[float | None, ...]]]:
        """The p-value, that of the calibrated test, and the 95% interval of each score of each
        pair.
        """
        none: list[float | None] = [None] * len(self.metric.figures)
        randomized, contrasts = self._randomized(pairs), self._contrasts(pairs)
        for pair in pairs:
            test = self._test(pair) if self.count > 1 else None
            low, high, p_contrast = contrasts.get(pair, (none, none, none))
            p_values = none
            if test == "randomization":
                p_values = randomized[pair]
            elif test == SEVERAL_RUNS:
                p_values = p_contrast
            elif test == "mcnemar":
                ours, theirs = (
                    self.metric.outcomes(self.statistics[system][0], self.rows) or {}
                    for system in pair
                )
                names = self.metric.figures
                p_values = [
                    mcnemar_p(ours[name], theirs[name]) if name in ours else None for name in names
                ]
            elif test is not None:
                assert self.samples is not None
                samples = [self.samples[system][:, 0].T for system in pair]
                values = [self.values[system].mean(axis=0) for system in pair]
                p_values = [
                    bootstrap_p(sample, rival_sample, difference, as_sacrebleu=self.sacrebleu_p)
                    for sample, rival_sample, difference in zip(
                        *samples, (values[0] - values[1]).tolist(), strict=True
                    )
                ]
            yield list(
                zip(
                    p_values,
                    randomized.get(pair, none) if self.sacrebleu_p else none,
                    low,
                    high,
                    strict=True,
                )
            )

    def _test(self, pair: tuple[int, int]) -> str | None:
        """The test of two systems: the requested one, or the calibrated one for their numbers of
        runs.
        """
        if self.comparison.paired != CALIBRATED:
            return self.comparison.test
        return calibrated_test(
            [len(self.values[system]) for system in pair], not self.sampling.independent
        )

    def _randomized(
        self, pairs: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], list[float | None]]:
        """The p-values of approximate randomisation for all pairs that need it, as the test or for
        the stars.
        """
        pairs = [pair for pair in pairs if self.sacrebleu_p or self._test(pair) == "randomization"]
        if self.count < 2 or not pairs:
            return {}
        samples, seed, tests = (
            self.comparison.count("randomization"),
            self.comparison.seed,
            len(pairs) * self.sets,
        )
        p_values = randomization_of_pairs(
            self.units, pairs, self.metric.compute, samples, seed, tests
        )
        return dict(zip(pairs, p_values, strict=True))

    def _contrasts(
        self, pairs: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], list[list[float | None]]]:
        """The ends of the 95% interval and the p-value of the differences in each score: at once
        for all pairs with the same numbers of runs."""
        if (
            self.covariance is None or not self.comparison.paired
        ):  # all examples are of one cluster, or not requested
            return {}
        contrasts = Contrasts(
            self.values, self.covariance, shared_seeds=self.comparison.shared_seeds
        )
        pairs_of: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for pair in pairs:
            pairs_of.setdefault(tuple(len(self.values[system]) for system in pair), []).append(pair)
        numbers_of: dict[tuple[int, int], list[list[float | None]]] = {}
        for group in pairs_of.values():
            contrast = contrasts.of_pairs(group)
            is_tested = self._test(group[0]) == SEVERAL_RUNS
            p_values = contrast.p_value() if is_tested else np.full(contrast.value.shape, math.nan)
            numbers = np.stack([*contrast.interval(), p_values]).transpose(2, 0, 1).astype(object)
            numbers[numbers != numbers] = None  # NaN
            numbers_of |= dict(zip(group, numbers.tolist(), strict=True))  # [pairs, 3, figures]
        return numbers_of

    def _figures(self, system: int) -> dict[str, Score]:
        figures = {}
        for figure, name in enumerate(self.metric.figures):
            estimate = _estimate(self.values[system][:, figure])
            if bounds := self._interval(system, figure):
                mean = (
                    None
                    if self.samples is None
                    else float(self.samples[system][:, :, figure].mean())
                )
                estimate = replace(estimate, ci_low=bounds[0], ci_high=bounds[1], ci_mean=mean)
            if self.effects is not None and not math.isnan(
                effect := float(self.effects[system, figure])
            ):
                estimate = replace(estimate, design_effect=effect)
            figures[name] = estimate
        return figures

    def _interval(self, system: int, figure: int) -> tuple[float, float] | None:
        """The 95% interval of a figure: sacrebleu's of single runs of its metrics, else one that
        keeps the range.
        """
        if self.samples is not None:
            if self.metric.as_sacrebleu and len(self.values[system]) == 1:
                return percentile_interval(self.samples[system][:, 0, figure])
            if len(self.samples[system]) < FEWEST:
                return None
        if self.covariance is None:
            return None
        runs, design, values = self.runs_of(system), self.sampling.design, self.values[system]
        if design and len(values) == 1 and not self.sampling.clusters and not design.left.any():
            return float(values[0, figure]), float(values[0, figure])  # nothing is unknown
        if self.interval is not None:
            return self.interval(figure, partial(self.covariance.of_runs, runs=runs), values)
        limits = self.metric.limits(self.metric.figures[figure])
        return score_interval(self.covariance.of_runs(figure, runs), values[:, figure], *limits)


def _estimate(values: np.ndarray) -> Score:
    mean = float(values.mean())
    if math.isnan(mean):
        return Score(None)
    return Score(
        mean, tuple(values.tolist()), float(values.std(ddof=1)) if len(values) > 1 else None
    )


def _adjust(subsets: Sequence[SubsetScores]) -> None:
    """Apply Holm's correction over all subsets, separately for each score."""
    for name in subsets[0].figures if subsets else ():
        scores = _adjusted([subset.figures[name] for subset in subsets])
        pairs = iter(_adjusted([pair for score in scores for pair in score.pairs]))
        for subset, score in zip(subsets, scores, strict=True):
            subset.figures[name] = replace(score, pairs=tuple(next(pairs) for _ in score.pairs))


Tested = TypeVar("Tested", Score, Pair)


def _adjusted(tests: Sequence[Tested]) -> list[Tested]:
    p_values = holm([test.p_value for test in tests])
    calibrated = holm([test.p_calibrated for test in tests])
    return [
        replace(test, p_holm=p, p_calibrated_holm=p_star)
        for test, p, p_star in zip(tests, p_values, calibrated, strict=True)
    ]
