"""Power analysis: the smallest difference that a test set can show, and the examples and seeds that
a difference needs (:mod:`cgbench.benchmark.score.comparison.power`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from cgbench.argument_types import Kind
from cgbench.benchmark.score.comparison.power import POWER, PowerTest, Variance, variance_of
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.errors import InputError, argument, warn
from cgbench.request import KW_ONLY, Request, accepts, option


@dataclass(frozen=True)
class DifferenceNeeds:
    """What a difference needs: ``examples`` with the pilot's number of runs, or ``runs`` on the
    pilot's examples; and its power with both. None: no number is enough, or the pilot does not show
    it."""

    difference: float
    power: float
    examples: int | None
    runs: int | None


@dataclass(frozen=True)
class PowerResult:
    """The smallest differences by number of units, and what given differences need."""

    metric: str
    variance: Variance
    test: PowerTest
    runs: int
    smallest: tuple[tuple[int | None, float | None], ...]
    """By units (None: any number); a difference is None if none has the required power."""
    needs: tuple[DifferenceNeeds, ...]


Pilot: TypeAlias = Annotated[
    Any,
    Kind(
        "pilot",
        "what evaluate or import_scores returns",
        lambda value: isinstance(value, Evaluation),
    ),
]


class PowerRequest(Request):
    """What :func:`power` is asked for."""

    pilot: Pilot | None = option(
        default=None,
        help="Pilot scores of two systems, from evaluate or import_scores",
    )
    _: KW_ONLY
    variance: float | None = option(
        "--variance",
        default=None,
        help="Variance of the difference on one example, without a pilot",
        group="Variance",
        least=0,
    )
    binary: bool = option(
        "--binary",
        default=False,
        help="The variance is of right or wrong answers, in percent",
        group="Variance",
    )
    seed_variance: float | None = option(
        "--seed-variance",
        default=None,
        help="Variance between seeds, of both systems, without a pilot",
        group="Variance",
        least=0,
    )
    examples: tuple[int, ...] = option(
        "--examples",
        default=(),
        help="Numbers of test examples [default: 0.5, 1, 2, 4 and 10 times the pilot's]",
        least=2,
        group="Design",
    )
    seeds: int | None = option(
        "--seeds",
        default=None,
        help="Number of seeds per system [default: the pilot's]",
        least=1,
        group="Design",
    )
    differences: tuple[float, ...] = option(
        "--difference",
        default=(),
        help="True differences to plan for",
        group="Design",
    )
    power: float = option(
        default=POWER,
        help="Probability that a true difference is significant",
        group="Design",
    )
    level: float = option(
        default=LEVEL,
        help="Probability that equal systems differ significantly",
        group="Design",
    )
    samples: int | None = option(
        default=None,
        help="Number of resamples of the pilot [default: 1000]",
        least=2,
        group="Advanced",
    )


def enough(
    variance: Variance, test: PowerTest, request: PowerRequest, metric: str, units: Sequence[int]
) -> PowerResult:
    """All results of a power analysis.

    :param units: numbers of units (default: half, once, twice, four and ten times those of the
        pilot).
    :raises InputError: a difference is 0, differences do not vary, several runs are requested but
        the pilot has one, or one run of each system with a variance between runs.
    """
    differences = request.differences
    count = variance.runs if request.seeds is None else request.seeds
    if variance.runs == 1 and count > 1 and not variance.between:
        raise InputError(
            f"{argument('seeds', count)}: a pilot with one run per system does not show the"
            f" variance between runs; give several files per system, or {argument('seed_variance')}"
        )
    if count == 1 and variance.between:
        raise InputError(
            "one run of each system is tested by randomisation of the examples, which ignores the"
            f" variance between runs; give {argument('seeds', 2)} or more to include it"
        )
    if variance.of(1, 1) <= 0:
        raise InputError("the variance is 0; give a number above 0")
    if variance.step and (
        bad := [difference for difference in differences if abs(difference) > variance.step]
    ):
        raise InputError(
            f"{argument('differences', bad[0])}: a difference in percent is at most"
            f" {variance.step:g}"
        )
    numbers = sorted(
        set(units) or {max(2, round(variance.units * times)) for times in (0.5, 1, 2, 4, 10)}
    )
    if 0 in differences:
        raise InputError("0: numbers of examples and seeds, and differences, must be above 0")
    sizes: list[int | None] = [
        *numbers,
        *([None] if variance.between else []),
    ]  # more examples cannot remove that
    smallest = tuple((size, test.smallest(variance, size or math.inf, count)) for size in sizes)
    pilot_units = variance.units or numbers[0]
    needs = tuple(
        DifferenceNeeds(
            difference,
            test.power_of(difference, variance, pilot_units, count),
            test.units_for(difference, variance, count),
            test.runs_for(difference, variance, pilot_units) if variance.between else None,
        )
        for difference in differences
    )
    return PowerResult(metric, variance, test, count, smallest, needs)


@accepts(PowerRequest)
def power(request: PowerRequest) -> PowerResult:
    """Compute the smallest difference that a test set can show, and the examples and seeds that
    differences need.

    :raises InputError: not exactly one of a pilot and a variance is given, or a value is invalid.
    """
    test = PowerTest(request.level, request.power)
    pilot, variance, examples = request.pilot, request.variance, request.examples
    if (pilot is None) == (variance is None):
        raise InputError(f"give the scores of a pilot of two systems, or {argument('variance')}")
    if variance is not None:
        if request.binary and variance > 10_000:
            raise InputError(
                f"{argument('variance', variance)} {argument('binary')}: right or wrong, in"
                " percent, has at most 10,000"
            )
        if not examples:
            raise InputError(
                f"{argument('variance')} needs the number of examples: {argument('examples')}"
            )
        step, between = 100.0 if request.binary else 0.0, request.seed_variance or 0.0
        pilot_variance = Variance(
            variance, between=between, units=examples[0], runs=request.seeds or 1, step=step
        )
        return enough(pilot_variance, test, request, "score", examples)
    assert pilot is not None
    for name, is_given in (
        ("seed_variance", request.seed_variance is not None),
        ("binary", request.binary),
    ):
        if is_given:
            raise InputError(f"{argument(name)} needs {argument('variance')}; a pilot has its own")
    metric = pilot.scored.metric
    pilot_variance = variance_of(
        metric, pilot.results, pilot.scored.sampling, samples=request.samples
    )
    if pilot_variance.clusters.name:
        examples = tuple(
            max(2, round(example_count / pilot_variance.clusters.size))
            for example_count in examples
        )
    if pilot_variance.runs == 1:
        message = (
            "one run per system: the variance between seeds is unknown, and more examples do not"
            " reduce it"
        )
        warn(message)
    return enough(pilot_variance, test, request, metric.name, examples)
