"""Same weights, same numbers as the authors' own programs, whose outputs are stored.

The programs are tensor2tensor and LUMII-Syslab/shuffle-exchange; ``authors_numbers.json`` says
which versions. Weights are ``wave(shape, i)`` for the i-th variable in the order in which the
program makes them, plus 1 for the scales of layer normalisation; so only outputs of theirs are
stored.
"""

import json
from pathlib import Path

import pytest
import torch
from overview import count_of
from waves import wave

from cgbench.models.architectures.evolved import SeparableConvolution
from cgbench.models.architectures.transformer import Encoded
from cgbench.models.config.architectures import ARCHITECTURES, build_model
from cgbench.models.parts.ragged import Layout

NUMBERS = json.loads(Path(__file__).with_name("authors_numbers.json").read_text(encoding="utf-8"))
WIDTH = 8
SOURCES, TARGETS = [5, 3], [6, 6]
T2T = {
    "width": WIDTH,
    "attention_heads": 2,
    "positions": "timing",
    "norm": "pre",
    "attention_bias": False,
    "initialization": "tensor2tensor",
    "norm_epsilon": 1e-6,
    "dropout": 0.0,
}
CONFIGS = {
    "evolved": ("evolved", {"encoder_layers": 2, "decoder_layers": 2, "joint_heads": 4}),
    "transformer": (
        "transformer",
        {"encoder_layers": 2, "decoder_layers": 2, "feedforward_width": 3 * WIDTH},
    ),
    "universal": (
        "universal",
        {
            "encoder_layers": 3,
            "decoder_layers": 3,
            "feedforward_width": 3 * WIDTH,
            "step_signals": True,
        },
    ),
}


class Filler:
    """Fills parameters in the order in which the authors' program makes its variables."""

    def __init__(self):
        self.made = 0

    def wave(self, *shape):
        """The next variable."""
        self.made += 1
        return wave(shape, self.made - 1)

    def norm(self, norm):
        """A layer normalisation."""
        norm.weight.copy_(self.wave(*norm.weight.shape) + 1)
        norm.bias.copy_(self.wave(*norm.bias.shape))

    def linear(self, linear, shift=0.0):
        """A linear map; ``shift``: what the program adds to the bias."""
        linear.weight.copy_(self.wave(*linear.weight.T.shape).T)
        if linear.bias is not None:
            linear.bias.copy_(self.wave(*linear.bias.shape) + shift)

    def attention(self, attention):
        """An attention: query, key, value, output."""
        parts = [self.wave(WIDTH, WIDTH).T for _ in range(3)]
        if hasattr(attention, "project_in"):
            attention.project_in.weight.copy_(torch.cat(parts))
        else:
            attention.project_query.weight.copy_(parts[0])
            attention.project_memory.weight.copy_(torch.cat(parts[1:]))
        self.linear(attention.project_out)

    def convolution(self, convolution):
        """A convolution, plain or separable."""
        if isinstance(convolution, SeparableConvolution):
            channels, _, width = convolution.depthwise.weight.shape
            kernel = self.wave(width, channels, 1)
            convolution.depthwise.weight.copy_(kernel.permute(1, 2, 0))
            self.linear(convolution.pointwise)
        else:
            outer, inner, width = convolution.weight.shape
            convolution.weight.copy_(self.wave(width, inner, outer).permute(2, 1, 0))
            convolution.bias.copy_(self.wave(outer))

    def evolved(self, model):
        """An Evolved Transformer."""
        for layer in model.encoder:
            self.norm(layer.gate_norm)
            self.linear(layer.values)
            self.linear(layer.gates)
            self.norm(layer.branch_norm)
            self.linear(layer.left)
            self.convolution(layer.right)
            self.norm(layer.sum_norm)
            self.convolution(layer.separable)
            self.norm(layer.attention_norm)
            self.attention(layer.attention)
            self.norm(layer.feed_forward_norm)
            self.linear(layer.expand)
            self.linear(layer.contract)
        self.norm(model.encoder_norm)
        for layer in model.decoder:
            self.norm(layer.joint_norm)
            self.attention(layer.joint_attention)
            self.attention(layer.joint_cross)
            self.norm(layer.branch_norm)
            self.convolution(layer.left)
            self.convolution(layer.right)
            self.norm(layer.sum_norm)
            self.convolution(layer.separable)
            self.norm(layer.attention_norm)
            self.attention(layer.attention)
            self.norm(layer.cross_norm)
            self.attention(layer.cross)
            self.norm(layer.feed_forward_norm)
            self.linear(layer.expand)
            self.norm(layer.hidden_norm)
            self.linear(layer.contract)
        self.norm(model.decoder_norm)

    def transformer(self, model):
        """A Transformer or Universal Transformer."""
        for side in ("encoder", "decoder"):
            if getattr(model, "steps", None):
                steps = model.steps[side]
                steps.copy_(self.wave(*steps.shape) * WIDTH**0.5)
            for layer in getattr(model, side):
                self.norm(layer.attention_norm)
                self.attention(layer.attention)
                if side == "decoder":
                    self.norm(layer.cross_norm)
                    self.attention(layer.cross)
                self.norm(layer.feed_forward_norm)
                self.linear(layer.feed_forward.expand)
                self.linear(layer.feed_forward.contract)
            self.norm(getattr(model, f"{side}_norm"))

    universal = transformer

    def switch(self, switch):
        """A switch of a Shuffle-Exchange network."""
        if switch.residual_scale is not None:
            switch.residual_scale.copy_(self.wave(*switch.residual_scale.shape))
        for reset in switch.resets:
            self.linear(reset, 0.5)
        for candidate in switch.candidates:
            self.linear(candidate)
        self.linear(switch.gate, 0.5)


def tokens(table, lengths):
    """Flat tokens of a padded table."""
    return torch.cat([table[row, :length] for row, length in enumerate(lengths)])


@pytest.mark.parametrize("name", CONFIGS)
def test_stacks_are_those_of_tensor2tensor(name):
    architecture, changes = CONFIGS[name]
    config = ARCHITECTURES[architecture].config(**{"architecture": architecture, **T2T, **changes})
    model, filler = build_model(config, 9, 9).eval(), Filler()
    expected = {side: torch.tensor(rows) for side, rows in NUMBERS[name].items()}
    with torch.no_grad():
        getattr(filler, name)(model)
        encoded = model.encode_embedded(
            tokens(2 * wave((2, 5, WIDTH), 100), SOURCES), Layout(SOURCES)
        )
        decoded = model.decode_embedded(
            encoded, tokens(2 * wave((2, 6, WIDTH), 101), TARGETS), Layout(TARGETS)
        )
    assert isinstance(encoded, Encoded)
    assert torch.allclose(encoded.states, tokens(expected["encoder"], SOURCES), atol=1e-5)
    assert torch.allclose(decoded, tokens(expected["decoder"], TARGETS), atol=1e-5)


@pytest.mark.parametrize(
    ("form", "length", "blocks"),
    [
        *(("tensor2tensor", length, blocks) for length in (2, 8, 16) for blocks in (1, 2)),
        *(("original", length, blocks) for length in (8, 16) for blocks in (1, 2)),
        ("original", 2, 1),  # only the last switch
    ],
)
def test_shuffle_exchange_is_that_of_its_authors_in_both_forms(form, length, blocks):
    config = ARCHITECTURES["nsen"].config(
        architecture="nsen", width=4, encoder_layers=blocks, decoder_layers=blocks, form=form
    )
    model, filler = build_model(config, 9, 9).eval(), Filler()
    program = "port" if form == "tensor2tensor" else form
    expected = torch.tensor(NUMBERS[f"shuffle-{program}-{length}-{blocks}"])
    with torch.no_grad():
        if length > 2 or model.ported:
            for pair in zip(model.forwards, model.backwards, strict=True):
                for switch in pair:
                    filler.switch(switch)
        filler.switch(model.last)
        inputs = 2 * wave((2, length, 4), 100)
        states = model.exchange(torch.tanh(inputs) if model.ported else inputs)
    assert torch.allclose(states, expected, atol=1e-5)


def test_the_overview_counts_what_is_compared():
    """docs/lab/reproduction.md."""
    for title in ("Evolved Transformer", "Transformer", "Universal Transformer"):
        assert (sum(SOURCES) + sum(TARGETS)) * WIDTH == count_of(title, "states")
    for program, title in (("port", "NSEN"), ("original", "NSEN, original")):
        stored = (rows for key, rows in NUMBERS.items() if key.startswith(f"shuffle-{program}"))
        assert sum(torch.tensor(rows).numel() for rows in stored) == count_of(title, "states")
