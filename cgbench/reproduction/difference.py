"""How far apart two means over seeds are: the interval that their difference is in, with 95 % confidence.

Welch's interval: the standard error has the spreads and the numbers of runs of both sides, the degrees of freedom are
Satterthwaite's (Welch 1947, *The generalization of "Student's" problem when several different population variances are
involved*). So more runs of ours make the interval narrower, and a wider spread never makes a difference smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cgbench.benchmark.metrics.intervals import student_quantile


@dataclass(frozen=True)
class Sample:
    """Runs of a system.

    :param mean: of their figures; ``deviation``: their standard deviation, None where nobody has said.
    :param runs: how many, 0 where nobody has said.
    :param unit: of the last digit that is printed, 0 where ``mean`` is exact.
    """

    mean: float
    deviation: float | None
    runs: int
    unit: float = 0.0


def interval(ours: Sample, theirs: Sample) -> tuple[float, float] | None:
    """The interval of ``ours.mean - theirs.mean``, wider by half a unit of the last digit that is printed.

    A side whose spread is not known (one run, or nothing printed) is taken to have the other's. None where neither is.
    """
    first, second = _variance(ours), _variance(theirs)
    if first is None and second is None:
        return None
    freedom = [sample.runs - 1 for sample, known in ((ours, first), (theirs, second)) if known is not None]
    first, second = (first if first is not None else second), (second if second is not None else first)
    assert first is not None and second is not None
    # A mean of nobody knows how many runs is taken as it is.
    parts = [first / ours.runs if ours.runs else 0.0, second / theirs.runs if theirs.runs else 0.0]
    error = math.sqrt(sum(parts))
    if len(freedom) == 2 and error:
        degrees = sum(parts) ** 2 / sum(part**2 / own for part, own in zip(parts, freedom, strict=True))
    else:
        degrees = float(sum(freedom))
    half = student_quantile(degrees) * error + (ours.unit + theirs.unit) / 2
    difference = ours.mean - theirs.mean
    return difference - half, difference + half


def _variance(sample: Sample) -> float | None:
    return None if sample.deviation is None or sample.runs < 2 else sample.deviation**2
