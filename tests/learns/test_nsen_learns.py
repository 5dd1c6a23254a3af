"""The tasks of the paper of Neural Shuffle-Exchange networks, at short lengths: addition, reversal
and sorting must be learned, and whole test sequences be right.

As in the paper (section 4.2): numbers have their lowest digit first, and sequences have symbols
from 1 to 11. One block, as in the authors' settings of these tasks.
"""

import numpy as np
import pytest
import torch
from tasks import Task, share_right

from cgbench.models.config.architectures import ARCHITECTURES, build_model
from cgbench.models.special_ids import EOS
from cgbench.models.training.objective import Objective

torch.set_num_threads(1)

FIRST, LONGEST = 4, 16  # the first id that is a symbol; the padded length
SYMBOLS, PLUS = 11, 15
SIZE = 16  # of both vocabularies


def digits(number, count):
    """The binary digits of a number as ids, lowest first."""
    return [FIRST + (number >> place & 1) for place in range(count)]


def addition(generator):
    """Two binary numbers, each of up to seven digits, and their sum."""
    count = int(generator.integers(1, 8))
    left, right = (int(number) for number in generator.integers(0, 1 << count, 2))
    source = [*digits(left, count), PLUS, *digits(right, count), EOS]
    return source, [*digits(left + right, count + 1), EOS]


def sequence(change):
    """Up to 15 symbols, and what ``change`` makes of them."""

    def draw(generator):
        count = int(generator.integers(1, LONGEST))
        symbols = (FIRST + generator.integers(0, SYMBOLS, count)).tolist()
        return [*symbols, EOS], [*change(symbols), EOS]

    return draw


def trained(task, form, updates, width):
    """The share of whole test sequences that a model gets right after ``updates``."""
    torch.manual_seed(0)
    generator = np.random.default_rng(1)
    config = ARCHITECTURES["nsen"].config(
        architecture="nsen",
        form=form,
        width=width,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        max_length=LONGEST,
    )
    model = build_model(config, SIZE, SIZE)
    objective = Objective(model).train()
    optimizer = torch.optim.Adam(model.parameters(), eps=1e-5, fused=True)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * min(1, (update + 1) / 50, 2 * (updates - update) / updates)
        source, target = task.batch(32, generator)
        loss, _ = objective(source, target)
        optimizer.zero_grad()
        (loss / len(target.ids)).backward()
        optimizer.step()
    return share_right(model, task, generator)


TASKS = {
    "addition": addition,
    "reversal": sequence(lambda symbols: symbols[::-1]),
    "sorting": sequence(sorted),
}
SCHEDULES = {"addition": (1500, 64), "reversal": (1000, 48), "sorting": (1000, 48)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [*((name, "tensor2tensor") for name in TASKS), ("reversal", "original")],
)
def test_learns_the_tasks_of_its_paper(name, form):
    task = Task(name, SIZE, TASKS[name], TASKS[name])
    assert trained(task, form, *SCHEDULES[name]) > 0.9
