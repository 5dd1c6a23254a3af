"""Tiny models of every architecture must learn to copy, to reverse and to follow commands, from a
random start.
"""

import pytest
import torch
from tasks import learns, tasks

from cgbench.models.config.architectures import ARCHITECTURES

torch.set_num_threads(1)

CSORDAS = {
    "attention_bias": False,
    "output_bias": True,
    "begin_source": True,
    "initialization": "csordas",
}
TENSOR2TENSOR = {
    "positions": "timing",
    "norm": "pre",
    "attention_bias": False,
    "initialization": "tensor2tensor",
}
TWO_LAYERS = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "width": 32,
    "feedforward_width": 64,
    "attention_heads": 2,
}
ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
DANGLE = {**TWO_LAYERS, **ONE_LAYER, "mixed_layers": 1, "mixed_attention_heads": 2}
FORMS = {
    "transformer": ("transformer", TWO_LAYERS),
    "csordas": (
        "transformer",
        {**TWO_LAYERS, **CSORDAS, "positions": "interleaved", "embedding": "ped"},
    ),
    "universal": (
        "universal",
        {
            **TWO_LAYERS,
            **CSORDAS,
            "positions": "transformer_xl",
            "embedding": "xavier",
            "embedding_dropout": False,
        },
    ),
    "universal, basic": ("universal", {**TWO_LAYERS, **TENSOR2TENSOR, "step_signals": True}),
    "evolved": ("evolved", {**TWO_LAYERS, **ONE_LAYER, **TENSOR2TENSOR, "joint_heads": 4}),
    **{name: (name, TWO_LAYERS) for name in ("composition", "lrf", "transformer_accu", "dlcl")},
    "dangle": ("dangle", {**DANGLE, "positions": "relative"}),
    "dangle, encoder only": (
        "dangle",
        {
            **DANGLE,
            "form": "encoder_only",
            "mixed_layers": 2,
            "encoder_layers": 0,
            "decoder_layers": 0,
        },
    ),
    "r_dangle, shared": ("r_dangle", {**DANGLE, "values": "shared"}),
    "r_dangle, interval": ("r_dangle", {**DANGLE, "interval": 2}),
    "lstm": ("lstm_lexicon", {**ONE_LAYER, "width": 48}),
    "lstm, lexicon": ("lstm_lexicon", {**ONE_LAYER, "width": 48, "lexicon": "uniform"}),
    "lstm_attention": ("lstm_attention", {**ONE_LAYER, "width": 48}),
    "syntactic attention": (
        "syntactic_attention",
        {**ONE_LAYER, "width": 64, "syntax_width": 24, "meaning_width": 24},
    ),
    "cgps": ("cgps", {**ONE_LAYER, "noise": 0.3, "penalty": 0.01}),
}
# Who can reverse can copy, and R-Dangle with shared values is Dangle but for intervals and a norm.
SKIPPED = {
    ("r_dangle, shared", "reverse"),
    *(
        (form, "copy")
        for form in ("dangle, encoder only", "r_dangle, shared", "r_dangle, interval")
    ),
}
# The others have slow twins in tests/unit; that they also learn is checked once a week.
QUICK = ("transformer", "reverse"), ("lstm, lexicon", "commands")
RUNS = [
    pytest.param(
        form,
        task,
        id=f"{form}-{task.name}",
        marks=() if (form, task.name) in QUICK else pytest.mark.slow,
    )
    for form in FORMS
    for task in tasks()
    if (form, task.name) not in SKIPPED
]


@pytest.mark.parametrize(("form", "task"), RUNS)
def test_learns(form, task):
    architecture, changes = FORMS[form]
    config = ARCHITECTURES[architecture].config(
        **{"architecture": architecture, "dropout": 0.0, **changes}
    )
    assert learns(config, task, updates=350 if "dangle" in architecture else 300) > 0.8
