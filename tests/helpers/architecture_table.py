"""Every architecture and its forms in small, for tests that hold for all of them; add a row and it
is tested.
"""

import dataclasses

import pytest
import torch

from cgbench.models.config.architectures import ARCHITECTURES, build_model
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS, PAD

SOURCE_SIZE, TARGET_SIZE = 17, 15
SMALL = {
    "encoder_layers": 3,
    "decoder_layers": 2,
    "width": 16,
    "feedforward_width": 24,
    "attention_heads": 2,
}
SMALL |= {"max_relative_position": 4, "dropout": 0.1}
CSORDAS = {
    "positions": "interleaved",
    "embedding": "ped",
    "attention_bias": False,
    "output_bias": True,
}
CSORDAS |= {"begin_source": True, "initialization": "csordas"}
CSORDAS_RELATIVE = {
    **CSORDAS,
    "positions": "transformer_xl",
    "embedding": "xavier",
    "embedding_dropout": False,
}

TENSOR2TENSOR = {
    "positions": "timing",
    "norm": "pre",
    "attention_bias": False,
    "initialization": "tensor2tensor",
    "norm_epsilon": 1e-6,
    "begin_target": "zeros",
}

PROTO = {"prototype_layer": 2, "prototype_min_count": 3}
ENCODER_ONLY = {"form": "encoder_only", "encoder_layers": 0, "decoder_layers": 0}


def row(architecture, name="", **changes):
    """A form of an architecture as a parameter of a test; a setting that it does not have is left
    out.
    """
    kind = ARCHITECTURES[architecture].config
    known = {field.name for field in dataclasses.fields(kind)}
    small = {key: value for key, value in SMALL.items() if key in known}
    config = kind(**{**small, "architecture": architecture, **changes})
    return pytest.param(config, id="-".join(filter(None, (architecture, name))))


TABLE = [
    row("transformer"),
    row("transformer", "relative", positions="relative", norm="pre"),
    row("transformer", "shaw", positions="shaw"),
    row("transformer", "csordas", **CSORDAS),
    row("transformer", "csordas-relative", **CSORDAS_RELATIVE),
    row("universal", **CSORDAS),
    row("universal", "relative", **CSORDAS_RELATIVE),
    row("universal", "clipped", positions="relative", norm="pre"),
    row("transformer", "tensor2tensor", **TENSOR2TENSOR),
    row("universal", "basic", **TENSOR2TENSOR, step_signals=True),
    row("evolved", **TENSOR2TENSOR, joint_heads=4),
    row("composition"),
    row("composition", "pre", norm="pre", positions="relative"),
    row("composition", "encoder", mixtures="encoder", sublayers="feed_forward"),
    row("composition", "half", top_layers=2, sublayers="self_attention"),
    row("lrf"),
    row("lrf", "pre", norm="pre", positions="relative"),
    row("lrf", "source", fuse="source"),
    row("lrf", "target-top", fuse="target", fuse_layers="top"),
    row("transformer_accu"),
    row("transformer_accu", "all", form="all"),
    row("transformer_accu", "prefix", form="prefix", norm="pre", positions="relative"),
    row("proto_transformer", **PROTO),
    row("proto_transformer", "pre", **PROTO, norm="pre", positions="relative", begin_source=True),
    row("dlcl"),
    row("dlcl", "pre", norm="pre", positions="relative"),
    row("dangle", positions="relative"),
    row("dangle", "absolute", positions="sinusoidal", mixed_layers=1),
    row("dangle", "encoder-only", **ENCODER_ONLY, positions="relative", norm="pre"),
    row("dangle", "encoder-only-absolute", **ENCODER_ONLY, positions="sinusoidal"),
    row("r_dangle"),
    row("r_dangle", "interval", interval=3, norm="post"),
    row("r_dangle", "shared", interval=2, values="shared"),
    row("lstm_lexicon", "plain", decoder_layers=3),
    row("lstm_lexicon", "copy", encoder_layers=2, lexicon="copy"),
    row(
        "lstm_lexicon",
        "learned",
        encoder_layers=1,
        decoder_layers=1,
        lexicon="uniform",
        feature_dropout=0.2,
    ),
    row(
        "syntactic_attention", encoder_layers=1, decoder_layers=1, syntax_width=8, meaning_width=12
    ),
    row("syntactic_attention", "syntax", encoder_layers=1, decoder_layers=1, read_syntax=True),
    row("lstm_attention", encoder_layers=2, decoder_layers=2),
    row("nsen", encoder_layers=2, decoder_layers=2, max_length=16),
    row("nsen", "original", encoder_layers=2, decoder_layers=2, max_length=16, form="original"),
    row("cgps", encoder_layers=1, decoder_layers=1, dropout=0.0, input_slots=20),
    row("bert2seq", target_width=10),
    row("coarse_to_fine", target_width=10),
    row("bert2seq", "marks", decoder_layers=1, begin_source=True, norm="pre", target_width=10),
]


def small_model(config, seed=0):
    """A model in evaluation mode in which nothing is zero, one or equal by its start, so that
    everything counts.
    """
    torch.manual_seed(seed)
    model = build_model(config, SOURCE_SIZE, TARGET_SIZE).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
            if name.endswith("embedding.weight"):
                parameter[PAD] = 0
    if config.architecture == "proto_transformer":
        words = torch.arange(6, SOURCE_SIZE, 2)  # every other one
        model.set_prototypes(words, torch.randn(len(words), config.prototypes, config.width))
    return model


def pairs(lengths, seed=1):
    """Random sources, and the targets that a decoder reads, of given lengths, as lists of ids."""
    generator = torch.Generator().manual_seed(seed)

    def draw(length, size):
        return torch.randint(4, size, (length - 1,), generator=generator).tolist()

    return [([*draw(m, SOURCE_SIZE), EOS], [EOS, *draw(n, TARGET_SIZE)]) for m, n in lengths]


def pack(batch):
    """Source and target of a batch of :func:`pairs`."""
    return tuple(Ragged.pack(side) for side in zip(*batch, strict=True))


def check_logits(config, slow_logits):
    """The logits of a small batch are those of ``slow_logits(model, source, target)``, one pair at
    a time.
    """
    model, batch = small_model(config).double(), pairs([(5, 3), (2, 6)])
    expected = torch.cat([slow_logits(model, *pair) for pair in batch])
    assert torch.allclose(model(*pack(batch)), expected, atol=1e-10)
