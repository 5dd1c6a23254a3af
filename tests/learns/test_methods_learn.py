"""Every training method must learn a task from a random seed, as training without one does."""

import numpy as np
import pytest
import torch
from tasks import share_right, tasks

from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TrainingConfig, TransformerConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.training.objective import build_objectives

torch.set_num_threads(1)
UPDATES = 240
SETTINGS = {"creg": {"ramp_updates": 100, "beta": 1.0}}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seqmix", "creg", "bow"])
def test_a_method_learns_to_reverse(name):
    task = next(task for task in tasks() if task.name == "reverse")
    config = TransformerConfig(
        encoder_layers=2,
        decoder_layers=2,
        width=32,
        feedforward_width=64,
        attention_heads=2,
        dropout=0.02,
    )
    torch.manual_seed(0)
    model = build_model(config, task.size, task.size)
    method = METHODS[name].config(name, **SETTINGS.get(name, {}))
    generator = np.random.default_rng(1)
    first = last = 0.0
    for objective in build_objectives(
        model, TrainingConfig(label_smoothing=0.0), method, task.size, False
    ):
        optimizer = torch.optim.Adam(objective.parameters(), betas=(0.9, 0.98), fused=True)
        updates = UPDATES if objective.epochs is None else UPDATES // 5
        for update in range(1, updates + 1):
            objective.update = update
            for group in optimizer.param_groups:
                group["lr"] = 6e-3 * min(1, update / 50, 2 * (updates + 1 - update) / updates)
            source, target = task.batch(32, generator)
            loss, _ = objective(source, target)
            last = loss.item() / objective.count(target.layout.lengths)
            first = last if update == 1 else first
            optimizer.zero_grad()
            (loss / objective.count(target.layout.lengths)).backward()
            optimizer.step()
        assert last < 0.7 * first
    assert share_right(model, task, generator) > 0.8
