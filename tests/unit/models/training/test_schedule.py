import pytest

from cgbench.models.config.common import TrainingConfig
from cgbench.models.training.loop import learning_rate


def rates(updates, width=64, **settings):
    config = TrainingConfig(**{"learning_rate": 2.0, "warmup_updates": 10, **settings})
    return [learning_rate(config, update, width) for update in updates]


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "linear", "constant"])
def test_the_rate_rises_linearly_to_the_highest(schedule):
    assert rates((1, 5, 10), schedule=schedule) == pytest.approx([0.2, 1.0, 2.0])
    assert rates((1,), schedule=schedule, warmup_updates=0) == [2.0]


def test_then_it_falls_with_the_square_root_linearly_or_not_at_all():
    assert rates((40, 90)) == pytest.approx([1.0, 2 / 3])
    assert rates((20, 29), schedule="linear", max_updates=29) == pytest.approx([1.0, 0.1])
    assert rates((11, 100_000), schedule="constant") == [2.0, 2.0]


def test_noam_is_the_formula_of_vaswani_et_al():
    # devil.md: lr / sqrt(d) · min((s + 1)^-0.5, (s + 1) · warm^-1.5), s from 0
    formula = [2 / 8 * min((s + 1) ** -0.5, (s + 1) * 10**-1.5) for s in range(100)]
    assert rates(range(1, 101), schedule="noam") == pytest.approx(formula)
    assert max(formula) == formula[9]
    assert rates((5,), schedule="noam", width=256)[0] == pytest.approx(formula[4] / 2)
