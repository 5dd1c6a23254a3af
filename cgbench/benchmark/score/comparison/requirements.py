"""What a system must be shown to be, such as ``mine=better`` or ``mine=not-worse:0.5``, and whether
a comparison shows it.

``better`` is the mark of the table: the test that decides, adjusted by Holm's method. ``not-worse``
is read from the 95% interval of the difference, as in trials of non-inferiority: shown if all of it
lies above the margin. Several requirements hold only together, so their level needs no further
correction (intersection-union test; Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import Kind
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.results import SystemScores, Tested
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import counted, decimals_of, fixed, p_text, span
from cgbench.records import Record

if TYPE_CHECKING:
    from cgbench.benchmark.score.comparison.prediction_powered import HumanMean

State: TypeAlias = Literal["shown", "refuted", "not shown"]


class Requirement(Record):
    """What a system must be shown to be, compared with the baseline: better, or worse by less than
    ``margin`` points (None: better).
    """

    system: str
    margin: float | None = None

    @property
    def claim(self) -> str:
        """The claim, as it is written."""
        return "better" if self.margin is None else f"not-worse:{self.margin:g}"

    def __str__(self) -> str:
        return f"{self.system}={self.claim}"

    def in_words(self, baseline: str) -> str:
        """The claim, in words."""
        if self.margin is None:
            return f"{self.system} is better than {baseline}"
        return f"{self.system} is at most {self.margin:g} worse than {baseline}"

    def state(
        self, gain: float | None, low: float | None, high: float | None, *, significant: bool | None
    ) -> State:
        """What a comparison shows.

        :param gain: by how much the system is better than the baseline, with its 95% interval;
            None where there is none.
        :param significant: whether the test finds a difference.
        """
        if gain is None or low is None or high is None:
            return "not shown"
        if self.margin is None:
            if not significant:
                return "not shown"
            return "shown" if gain > 0 else "refuted"
        if low > -self.margin:
            return "shown"
        return "refuted" if high < -self.margin else "not shown"


def read_requirement(text: str) -> Requirement:
    """``SYSTEM=better`` or ``SYSTEM=not-worse:MARGIN``.

    :raises InputError: the text is neither.
    """
    system, _, claim = text.rpartition("=")
    name, _, words = claim.partition(":")
    if system and claim == "better":
        return Requirement(system)
    try:
        margin = float(words) if system and name == "not-worse" else math.nan
    except ValueError:
        margin = math.nan
    if not 0 < margin < math.inf:
        raise InputError(
            f"{argument('require', text)}: write SYSTEM=better, or SYSTEM=not-worse:0.5 with the"
            " largest loss in points that is acceptable"
        )
    return Requirement(system, margin)


def _read(value: Any) -> tuple[Requirement, ...]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return tuple(
        item if isinstance(item, Requirement) else read_requirement(item) for item in items
    )


Requirements: TypeAlias = Annotated[
    Any,
    Kind(
        "name",
        "a requirement such as mine=better or mine=not-worse:0.5, or a list of these",
        lambda value: isinstance(value, (str, list, tuple, Requirement)),
        many=True,
        read=_read,
    ),
]


class CheckedRequirement(Record):
    """A requirement, and whether a comparison shows it: ``shown``, ``refuted`` or ``not shown``.

    True if it is shown. ``gain``: by how much the system is better than the baseline (for error
    rates, how much lower), with the 95% interval. ``advice``: what would decide, if it is not
    shown; ``more_examples``: how many more examples would, None if unknown or if none would.
    """

    requirement: Requirement
    baseline: str
    metric: str
    state: State
    gain: float | None
    low: float | None
    high: float | None
    p_value: float | None = None
    more_examples: int | None = None
    advice: str = ""

    def __bool__(self) -> bool:
        return self.state == "shown"

    def __str__(self) -> str:
        words = self.requirement.in_words(self.baseline)
        if self.gain is None:
            return f"{self.state}: {words} ({self.metric}: not compared)"
        decimals = decimals_of([self.gain, self.low, self.high], 1)
        text = f"{self.state}: {words} (gain in {self.metric} {fixed(self.gain, decimals, '+')}"
        if self.low is not None:
            text += f", 95% {span(self.low, self.high, decimals, '+')}"
        if self.p_value is not None:
            text += f", p {p_text(self.p_value)}"
        return f"{text})" + (f"; {self.advice}" if self.advice else "")

    def to_json(self) -> dict[str, Any]:
        """The requirement and its state as values of JSON."""
        return {
            "require": str(self.requirement),
            "baseline": self.baseline,
            "metric": self.metric,
            "state": self.state,
            "gain": self.gain,
            "low": self.low,
            "high": self.high,
            "p_value": self.p_value,
            "more_examples": self.more_examples,
        }


def check_names(
    requirements: Sequence[Requirement], systems: Sequence[str], baseline: str | None
) -> None:
    """Check the systems of requirements.

    :param baseline: the system that others are compared with; None if there is none.
    :raises InputError: there is no such system, or it is the baseline.
    """
    for requirement in requirements:
        if requirement.system not in systems:
            raise InputError(
                f"{argument('require', str(requirement))}: no system {requirement.system}; there is"
                f" {', '.join(systems)}"
            )
        if requirement.system == baseline:
            raise InputError(
                f"{argument('require', str(requirement))}: {baseline} is the baseline itself; name"
                f" another system as {argument('baseline')}"
            )


def check_requirement(
    requirement: Requirement,
    metric: Metric,
    results: Sequence[SystemScores],
    baseline: str,
    sampling: Sampling,
) -> CheckedRequirement:
    """Whether the comparison of a system with the baseline shows a requirement, by the first score
    of the metric over all examples.
    """
    by_name = {result.system: result for result in results}
    subset = by_name[requirement.system].whole
    score = subset.figures[metric.figures[0]]
    sign = -1.0 if metric.lower_is_better else 1.0
    gain, low, high = _gain(score, sign)
    state = requirement.state(gain, low, high, significant=score.significant)
    more, advice = None, ""
    if state == "not shown" and gain is not None:
        tests = len(results) - 1 if requirement.margin is None else 1
        pair = (by_name[requirement.system], by_name[baseline])
        distance = gain + (requirement.margin or 0.0)
        more, advice = _more_examples(distance, metric, pair, sampling, LEVEL / tests)
    return CheckedRequirement(
        requirement,
        baseline,
        metric.label(metric.figures[0]),
        state,
        gain,
        low,
        high,
        score.p_star,
        more,
        advice,
    )


def check_by_people(requirement: Requirement, mean: HumanMean) -> CheckedRequirement:
    """Whether human judgements, with the metric, show a requirement."""
    p_value = mean.p_value
    state = requirement.state(
        mean.powered,
        mean.powered_low,
        mean.powered_high,
        significant=None if p_value is None else p_value < LEVEL,
    )
    return CheckedRequirement(
        requirement,
        str(mean.against),
        "human mean",
        state,
        mean.powered,
        mean.powered_low,
        mean.powered_high,
        p_value,
    )


def _gain(tested: Tested, sign: float) -> tuple[float | None, float | None, float | None]:
    """By how much a system is better than the baseline, with the interval."""
    ends = (tested.difference_low, tested.difference_high)
    low, high = ends if sign > 0 else ends[::-1]
    gain, low, high = (
        None if value is None else sign * value + 0.0 for value in (tested.difference, low, high)
    )
    return gain, low, high


NO_NUMBER = "no number of examples would show it if the true difference is this one"


def _more_examples(
    distance: float,
    metric: Metric,
    pair: Sequence[SystemScores],
    sampling: Sampling,
    level: float,
) -> tuple[int | None, str]:
    """How many more examples a test of a distance needs, and this in words."""
    from cgbench.benchmark.score.comparison.power import PowerTest, variance_of

    if distance <= 0:
        return None, NO_NUMBER
    try:
        variance = variance_of(metric, pair, sampling)
    except InputError:  # different numbers of seeds, or nothing varies
        return None, ""
    test = PowerTest(level=level)
    if variance.step:
        distance = min(distance, variance.step)
    units = test.units_for(distance, variance, variance.runs)
    if units is None:
        runs = test.runs_for(distance, variance, variance.units)
        return None, f"more examples would not decide, but {runs:,} seeds would" if runs else ""
    examples_per_unit = pair[0].whole.examples / variance.units
    more = max(1, math.ceil((units - variance.units) * examples_per_unit))
    return more, more_in_words(more)


def more_in_words(more: int) -> str:
    """A number of examples with two digits, as advice."""
    from cgbench.benchmark.score.comparison.power import POWER

    rounded = int(float(f"{more:.2g}"))
    return (
        f"about {counted(rounded, 'more example')} would decide (power {POWER:.0%}, if the true"
        " difference is this one)"
    )
