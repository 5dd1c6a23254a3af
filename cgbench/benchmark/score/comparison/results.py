"""What a comparison gives: scores and differences with intervals, p-values, and the mark.

Every form of output reads the mark here: whether a difference is significant, how many stars it
has, and which scores are the best. None decides it again.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, field

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Bin
from cgbench.benchmark.score.comparison.significance import LEVEL, MARKS
from cgbench.records import Record


class Tested(Record):
    """A difference, its 95% confidence interval, and its p-values; None: not requested, or there
    was no test.

    ``p_value``: by the requested test; ``p_holm``: adjusted for all comparisons of its family,
    of which there are ``tests``.
    ``p_calibrated``: by the calibrated test, if p-values by sacrebleu's rule were requested;
    ``p_calibrated_holm``: adjusted. ``difference_low``, ``difference_high``: for several runs, or
    clusters, the interval excludes zero exactly if the unadjusted p-value is below 0.05.
    """

    _: KW_ONLY
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    p_calibrated: float | None = None
    p_calibrated_holm: float | None = None
    tests: int | None = None

    @property
    def p_star(self) -> float | None:
        """The p-value that decides: of the calibrated test if there is one, adjusted by Holm's
        method.
        """
        return self.p_holm if self.p_calibrated is None else self.p_calibrated_holm

    @property
    def significant(self) -> bool | None:
        """Whether the difference is significant; None if there was no test."""
        return None if self.p_star is None else self.p_star < LEVEL

    @property
    def mark(self) -> str:
        """The stars of the difference; none without a test."""
        p = self.p_star
        return next((stars for bound, stars in MARKS if p is not None and p < bound), "")

    @property
    def tests_disagree(self) -> bool:
        """Whether sacrebleu's rule and the calibrated test, which decides, say different things."""
        if self.p_holm is None or self.significant is None:
            return False
        return (self.p_holm < LEVEL) != self.significant


class Pair(Tested):
    """The difference of a score from that of the system ``against``."""

    against: str


class Score(Tested):
    """A score of a system: the mean of its runs, with its uncertainty. None: not requested, or not
    defined.

    ``stdev``: sample standard deviation of the runs. ``ci_low``, ``ci_high``: 95% confidence
    interval; ``ci_mean``: mean of the bootstrap samples. ``difference`` and the p-values: from the
    baseline. ``pairs``: differences from each earlier system, if all pairs are compared.
    ``is_best``: the best score, or not significantly worse than the best; None if the tests do not
    tell.
    """

    value: float | None
    runs: tuple[float, ...] = ()
    stdev: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_mean: float | None = None
    pairs: tuple[Pair, ...] = ()
    design_effect: float | None = None
    is_best: bool | None = None


class SubsetScores(Record):
    """Scores by name over some examples, with the numbers of examples and units."""

    examples: int
    units: int
    figures: dict[str, Score]


class SystemScores(Record):
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


def best_of(
    scores: Mapping[str, Score], baseline: str | None, *, lower_is_better: bool
) -> set[str] | None:
    """The system with the best score and those that the tests do not find worse.

    :param scores: of each system, compared with ``baseline``, or in all pairs.
    :returns: None if the best system was not tested against every other: without a test, or if the
        best of three or more systems was compared with the baseline only.
    """
    defined = {system: score.value for system, score in scores.items() if score.value is not None}
    if len(defined) < 2:
        return None
    significant: dict[frozenset[str], bool | None] = {}
    for system in defined:
        score = scores[system]
        if baseline is not None:
            significant[frozenset((system, baseline))] = score.significant
        for pair in score.pairs:
            significant[frozenset((system, pair.against))] = pair.significant
    best = (min if lower_is_better else max)(defined, key=defined.__getitem__)
    others = [system for system in defined if system != best]
    is_worse = {system: significant.get(frozenset((best, system))) for system in others}
    if None in is_worse.values():
        return None
    return {best, *(system for system, worse in is_worse.items() if not worse)}
