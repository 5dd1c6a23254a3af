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
    known = [(one.deviation**2, one.runs - 1) for one in (ours, theirs) if one.deviation is not None and one.runs > 1]
    if not known:
        return None
    # A mean of nobody knows how many runs is taken as it is.
    variances = known[0][0], known[-1][0]
    parts = [part / one.runs if one.runs else 0.0 for part, one in zip(variances, (ours, theirs), strict=True)]
    error = math.sqrt(sum(parts))
    degrees = float(sum(freedom for _, freedom in known))
    if len(known) == 2 and error:
        degrees = sum(parts) ** 2 / sum(part**2 / own for part, (_, own) in zip(parts, known, strict=True))
    half = student_quantile(degrees) * error + (ours.unit + theirs.unit) / 2
    difference = ours.mean - theirs.mean
    return difference - half, difference + half
