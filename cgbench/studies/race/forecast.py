"""How many examples a race is expected to take, before it begins and where it has ended."""

import math

import numpy as np

from cgbench.benchmark.score.comparison.power import POWER
from cgbench.benchmark.score.comparison.requirements import more_in_words
from cgbench.benchmark.score.comparison.sequential import Claim, log_capitals
from cgbench.studies.race.examples import TOP
from cgbench.studies.race.request import RaceRequest

PILOT = 20
"""Examples with answers from which the variance of a difference is estimated."""
GUESSES, GUESSED_UNEQUAL = (2.0, 4.0, 7.0, 10.0), 0.4
"""Differences in points of a dry run, and the share of examples that one system alone gets right,
without answers.
"""
DRAWS = 200
FURTHEST = 20
"""How many times the examples so far a race is continued in simulation."""


def forecast(request: RaceRequest, n: int, level: float, differences: np.ndarray) -> list[str]:
    """The expected number of examples for some true differences, as lines.

    :param differences: between the scores of two systems, of the examples that have answers.
    """
    enough = len(differences) >= PILOT
    unequal = float((differences**2).mean()) / TOP**2 if enough else GUESSED_UNEQUAL
    basis = (
        f"the variance of {len(differences):,} examples with answers"
        if enough
        else f"one of two systems alone being right on {GUESSED_UNEQUAL:.0%} of the examples"
    )
    lines = [f"expected number of {n:,} examples, from {basis}:"]
    for points in GUESSES:
        mean = expected_examples(points / TOP, unequal, n, level, request.batch, request.about)
        lines.append(f"{points:g} points: about {mean:,.0f} ({mean / n:.0%})")
    return lines


def expected_examples(
    difference: float, unequal: float, n: int, level: float, batch: int, about: Claim = "models"
) -> float:
    """The mean number of examples until a race of two systems ends, by simulation with a fixed
    seed.

    :param difference: the true difference, between 0 and 1.
    :param unequal: the mean squared difference of an example.
    :param about: what the difference is that of: the models, or the ``n`` examples.
    """
    rng, unequal = np.random.default_rng(0), min(1.0, max(unequal, difference))
    if about == "models":
        shares = [(unequal + difference) / 2, (unequal - difference) / 2, 1 - unequal]
        units = rng.choice([1.0, 0.0, 0.5], p=shares, size=(DRAWS, n))
    else:
        better, worse = round(n * (unequal + difference) / 2), round(n * (unequal - difference) / 2)
        units = np.repeat([1.0, 0.0, 0.5], [better, worse, max(0, n - better - worse)])[:n]
        units = rng.permuted(np.tile(units, (DRAWS, 1)), axis=1)
    bar = np.log(2 / level)
    reached = log_capitals(units, 0.5, n if about == "test-set" else None) >= bar
    stops = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, n)
    return float(np.minimum(-(-stops // batch) * batch, n).mean())


def more_examples(
    values: np.ndarray, clusters: np.ndarray, level: float, margin: float
) -> tuple[int | None, str]:
    """How many more examples would decide between two systems about models, and this in words.

    The race is continued with clusters drawn again from those so far, with a fixed seed, so the
    true difference is taken to be the present one.

    :param values: their difference on each example so far, in points; ``clusters``: its cluster.
    :param margin: in points.
    :returns: the number after which :data:`POWER` of the races have ended; None if they have not
        after :data:`FURTHEST` times the examples so far.
    """
    labels, of_examples = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(of_examples)
    sums = np.bincount(of_examples, values) / (sizes.max() * TOP)  # from -1 to 1
    further = len(labels)
    while further <= FURTHEST * len(labels):
        drawn = np.random.default_rng(0).choice(sums, size=(DRAWS, further))
        units = (1 + np.concatenate([np.tile(sums, (DRAWS, 1)), drawn], axis=1)) / 2
        ends = _ends(units, level, margin * sizes.mean() / (sizes.max() * TOP))
        needed = float(np.sort(ends)[math.ceil(POWER * DRAWS) - 1]) - len(labels)
        if math.isfinite(needed):
            more = max(1, math.ceil(needed * sizes.mean()))
            return more, more_in_words(more)
        further *= 2
    most = int(float(f"{FURTHEST * len(values):.2g}"))
    return None, f"even {most:,} more examples would not decide, if the true difference is this one"


def _ends(units: np.ndarray, level: float, margin: float) -> np.ndarray:
    """After how many values each race has ended; infinite if it has not.

    :param units: differences, scaled so that 0.5 is none, ``[races, values]``; ``margin``: scaled
        as a difference from -1 to 1.
    """
    bar = np.log(2 / level)
    reached = np.maximum(log_capitals(units, 0.5), log_capitals(1 - units, 0.5)) >= bar
    if margin:
        lowest = np.maximum.accumulate(log_capitals(units, (1 - margin) / 2), axis=1) >= bar
        highest = np.maximum.accumulate(log_capitals(1 - units, (1 - margin) / 2), axis=1) >= bar
        reached |= lowest & highest
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, math.inf)
