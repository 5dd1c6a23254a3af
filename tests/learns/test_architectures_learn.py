"""Tiny models of every architecture must learn to copy, to reverse and to follow commands, from a random start."""

import pytest
import torch
from tasks import learns, tasks

from cgbench.models.config.architectures import ARCHITECTURES

torch.set_num_threads(1)

CSORDAS = {"attention_bias": False, "output_bias": True, "begin_source": True, "initialization": "csordas"}
FORMS = [
    ("transformer", {}),
    ("transformer", {**CSORDAS, "positions": "interleaved", "embedding": "ped"}),
    ("universal", {**CSORDAS, "positions": "transformer_xl", "embedding": "xavier", "embedding_dropout": False}),
    ("composition", {}),
    ("lrf", {}),
    ("transformer_accu", {}),
    ("dlcl", {}),
]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
@pytest.mark.parametrize(("architecture", "changes"), FORMS)
def test_learns(architecture, changes, task):
    config = ARCHITECTURES[architecture].config(
        architecture=architecture,
        encoder_layers=2,
        decoder_layers=2,
        width=32,
        feedforward_width=64,
        attention_heads=2,
        dropout=0.0,
        **changes,
    )
    assert learns(config, task) > 0.8
