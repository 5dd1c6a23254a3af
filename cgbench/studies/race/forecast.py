"""How many examples a race is expected to take."""

import numpy as np

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
