"""Tiny models of Dangle and R-Dangle must learn to copy, to reverse and to follow commands, from a random start."""

import pytest
import torch
from tasks import learns, tasks

from cgbench.models.config.architectures import ARCHITECTURES

torch.set_num_threads(1)

FORMS = {
    "dangle": ("dangle", {"positions": "relative"}),
    "encoder only": ("dangle", {"form": "encoder_only", "mixed_layers": 2, "encoder_layers": 0, "decoder_layers": 0}),
    "shared": ("r_dangle", {"values": "shared"}),
    "interval": ("r_dangle", {"interval": 2}),
}
SMALL = {
    "mixed_layers": 1,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "width": 32,
    "feedforward_width": 64,
    "attention_heads": 2,
    "mixed_attention_heads": 2,
    "dropout": 0.0,
}


# Who can reverse can copy, and R-Dangle with shared values is Dangle but for intervals and a norm.
SKIPPED = {("shared", "reverse"), *((form, "copy") for form in FORMS if form != "dangle")}
RUNS = [
    pytest.param(form, task, id=f"{form}-{task.name}")
    for form in FORMS
    for task in tasks()
    if (form, task.name) not in SKIPPED
]


@pytest.mark.slow  # the definitions in tests/unit hold them to every prefix
@pytest.mark.parametrize(("form", "task"), RUNS)
def test_learns(form, task):
    architecture, changes = FORMS[form]
    config = ARCHITECTURES[architecture].config(**{"architecture": architecture, **SMALL, **changes})
    assert learns(config, task, updates=350) > 0.8
