"""How two systems of a race compare after some examples, and what this shows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cgbench.benchmark.score.comparison.requirements import CheckedRequirement, Requirement
from cgbench.numbers_as_text import fixed, p_text
from cgbench.plots import Chart, Series, draw_charts, save_figure

LOSERS = {"better": "second", "worse": "first"}
"""The system of a pair that is asked no more, by decision."""


@dataclass(frozen=True)
class Standing:
    """Two systems after some ``examples``: the interval of the difference in points, the p-value
    (NaN if a test set is known to its end), the decision, and the difference on these examples.

    A race stops when the difference happens to be large, so where it stopped, the difference on
    these examples is too large on average. The interval holds at any stop.
    """

    first: str
    second: str
    examples: int
    difference: float
    low: float
    high: float
    p: float
    decision: str

    def __str__(self) -> str:
        interval = f"[{fixed(self.low, 1, '+')}, {fixed(self.high, 1, '+')}]"
        p_value = "" if math.isnan(self.p) else f", p {p_text(self.p)}"
        text = (
            f"{self.first} - {self.second} {interval}{p_value}"
            f" ({fixed(self.difference, 1, '+')} so far)"
        )
        return text if self.decision == "undecided" else f"{text}: {self.decision}"


def check_requirement(
    requirement: Requirement,
    other: str,
    metric: str,
    trajectory: Sequence[Standing],
    active: Sequence[str],
    advice: tuple[int | None, str] = (None, ""),
) -> CheckedRequirement:
    """A requirement against another system, from their last interval, which holds at any stop.

    A system is also better than another that lost to a third, if it alone is left (``active``).

    :param advice: how many more examples would decide between the two, and this in words.
    """
    names, system = {requirement.system, other}, requirement.system
    pairs = [pair for pair in trajectory if {pair.first, pair.second} == names]
    if not pairs:
        return CheckedRequirement(requirement, other, metric, "not shown", None, None, None)
    last = pairs[-1]
    gain, low, high = last.difference, last.low, last.high
    if last.first == other:
        gain, low, high = -gain, -high, -low
    significant = last.decision in LOSERS
    state = requirement.state(gain, low, high, significant=significant)
    if requirement.margin is None and list(active) == [system]:
        state = "shown"
    p_value = None if math.isnan(last.p) else last.p
    more = advice if state == "not shown" else (None, "")
    return CheckedRequirement(requirement, other, metric, state, gain, low, high, p_value, *more)


def draw_trajectory(
    path: Path, pairs: Sequence[tuple[str, str]], trajectory: Sequence[Standing], level: float
) -> None:
    """Draw the difference of each pair of systems, with its interval, after each batch."""
    labels = [str(examples) for examples in dict.fromkeys(pair.examples for pair in trajectory)]
    series: list[Series] = []
    for first, second in pairs:
        of_pair = [pair for pair in trajectory if (pair.first, pair.second) == (first, second)]
        missing = [math.nan] * (len(labels) - len(of_pair))
        values, low, high = (
            [*(getattr(pair, name) for pair in of_pair), *missing]
            for name in ("difference", "low", "high")
        )
        series.append(Series(f"{first} - {second}", values, low, high))
    note = f"Bars: {100 * (1 - level):g}% intervals, of all pairs after any batch."
    chart = Chart(labels, series, "", "difference (points)", "examples asked", note=note)
    save_figure(draw_charts([chart]), path)
