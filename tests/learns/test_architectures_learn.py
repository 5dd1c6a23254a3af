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


# The other architectures have slow twins in tests/unit; that they also learn is checked once a week.
RUNS = [
    pytest.param(*form, task, marks=() if (form, task.name) == (FORMS[0], "reverse") else pytest.mark.slow)
    for form in FORMS
    for task in tasks()
]


@pytest.mark.parametrize(("architecture", "changes", "task"), RUNS)
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
