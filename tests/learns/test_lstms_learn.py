"""Tiny LSTMs and syntactic attention must learn to copy, to reverse and to follow commands, from a random start."""

import pytest
import torch
from tasks import learns, tasks

from cgbench.models.config.architectures import ARCHITECTURES

torch.set_num_threads(1)

ONE = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
FORMS = [
    ("lstm_lexicon", {**ONE, "width": 48}),
    ("lstm_lexicon", {**ONE, "width": 48, "lexicon": "uniform"}),
    ("syntactic_attention", {**ONE, "width": 64, "syntax_width": 24, "meaning_width": 24}),
]


RUNS = [
    pytest.param(*form, task, marks=() if (form, task.name) == (FORMS[1], "commands") else pytest.mark.slow)
    for form in FORMS
    for task in tasks()
]


@pytest.mark.parametrize(("architecture", "settings", "task"), RUNS)
def test_learns(architecture, settings, task):
    assert learns(ARCHITECTURES[architecture].config(**settings), task) > 0.8
