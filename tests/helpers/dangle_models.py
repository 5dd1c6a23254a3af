"""Tiny models of Dangle and R-Dangle for tests: every form, with parameters of which none is at
rest.
"""

import dataclasses

import torch
from slow_dangle import slow_logits

from cgbench.models.config.architectures import build_model
from cgbench.models.config.dangle import DangleConfig
from cgbench.models.config.r_dangle import RDangleConfig
from cgbench.models.parts.ragged import Ragged

SIZE = 17
SMALL = {
    **{
        "width": 12,
        "feedforward_width": 10,
        "attention_heads": 2,
        "mixed_attention_heads": 3,
        "mixed_layers": 2,
    },
    **{"encoder_layers": 1, "decoder_layers": 2, "max_relative_position": 3, "dropout": 0.0},
}
DANGLE = DangleConfig(architecture="dangle", **SMALL)
R_DANGLE = RDangleConfig(architecture="r_dangle", **SMALL)
ENCODER_ONLY = {"form": "encoder_only", "encoder_layers": 0, "decoder_layers": 0}


def forms():
    """Configurations by name."""
    dangle = {
        "relative": {},
        "absolute": {"positions": "sinusoidal"},
        "pre-norm": {"norm": "pre"},
        "one layer each": {"mixed_layers": 1, "decoder_layers": 1},
        "no top": {"encoder_layers": 0},
        "encoder only": ENCODER_ONLY,
        "encoder only, absolute": {**ENCODER_ONLY, "positions": "sinusoidal"},
        "encoder only, pre-norm, one layer": {**ENCODER_ONLY, "norm": "pre", "mixed_layers": 1},
    }
    r_dangle = {
        **{f"interval {o}": {"interval": o} for o in (1, 2, 3, 8)},
        **{f"shared, interval {o}": {"interval": o, "values": "shared"} for o in (1, 2, 3, 8)},
        "post-norm": {"norm": "post", "interval": 2},
        "one layer each": {"mixed_layers": 1, "decoder_layers": 1, "interval": 2},
        "no bias": {"attention_bias": False, "values": "shared"},
        "no top": {"encoder_layers": 0, "interval": 2},
    }
    for name, changes in dangle.items():
        yield f"dangle, {name}", dataclasses.replace(DANGLE, **changes)
    for name, changes in r_dangle.items():
        yield f"r_dangle, {name}", dataclasses.replace(R_DANGLE, **changes)


FORMS = dict(forms())


def build(config, seed=0, dtype=torch.float64):
    """A model in evaluation mode whose tables, vectors, norms and biases are at random, too."""
    torch.manual_seed(seed)
    model = build_model(config, SIZE, SIZE).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


# A source of </s> alone and a target of </s> alone are among them; the shortest source has the
# longest target.
SOURCES = [[4, 5, 6, 7, 2], [2], [8, 9, 4, 10, 11, 12, 13, 5, 2], [6, 4, 2]]
TARGETS = [[9, 8, 7, 2], [4, 5, 6, 7, 8, 9, 10, 11, 2], [2], [5, 2]]


def batch(order=(0, 1, 2, 3)):
    """Sources, and what the decoder reads."""
    return (
        Ragged.pack([SOURCES[i] for i in order]),
        Ragged.pack([TARGETS[i] for i in order]).shifted(),
    )


def slow_batch(model):
    """The logits of the batch by the definition."""
    pairs = zip(SOURCES, TARGETS, strict=True)
    return torch.cat([slow_logits(model, source, [2, *target[:-1]]) for source, target in pairs])
