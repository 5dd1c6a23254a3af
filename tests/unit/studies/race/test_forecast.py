"""How many more examples would decide, against races that are run on."""

import numpy as np
import pytest

from cgbench.benchmark.score.comparison.sequential import sequential
from cgbench.studies.race.examples import TOP
from cgbench.studies.race.forecast import more_examples

LEVEL = 0.05
DRAWS = 40


def unequal(n):
    """Differences in points: the first system alone is right on 28%, the second on 20%."""
    shares = np.repeat([TOP, -TOP, 0.0], [28 * n // 100, 20 * n // 100, 52 * n // 100])
    return np.random.default_rng(5).permutation(shares)


@pytest.mark.parametrize("margin", [0.0, 26.0])
def test_the_number_ends_four_of_five_races(margin):
    values = unequal(100)
    assert sequential(values, -TOP, TOP, level=LEVEL, margin=margin).decision == "undecided"
    more, words = more_examples(values, np.arange(100), LEVEL, margin)
    assert words.startswith(f"about {float(f'{more:.2g}'):,.0f} more examples would decide")
    generator = np.random.default_rng(9)
    ends = [
        sequential(
            [*values, *generator.choice(values, more)], -TOP, TOP, level=LEVEL, margin=margin
        ).decision
        for _ in range(DRAWS)
    ]
    assert set(ends) - {"undecided"} == ({"better", "equivalent"} if margin else {"better"})
    # 0.8, whose estimate and whose check are drawn 200 and 40 times.
    assert 0.6 <= 1 - ends.count("undecided") / DRAWS <= 0.95


def test_clusters_count_by_their_sums():
    values = np.repeat(unequal(100), 3)
    of_clusters, _ = more_examples(values, np.repeat(np.arange(100), 3), LEVEL, 0.0)
    alone, _ = more_examples(values[::3], np.arange(100), LEVEL, 0.0)
    assert of_clusters == 3 * alone


def test_equal_systems_are_not_decided():
    values = np.tile([TOP, -TOP], 50)
    assert more_examples(values, np.arange(100), LEVEL, 0.0) == (
        None,
        "even 2,000 more examples would not decide, if the true difference is this one",
    )
