"""A small Transformer must learn to reverse a sequence from a random seed."""

import dataclasses

import pytest
import torch

from cgbench.models.loss import smoothed_cross_entropy
from cgbench.models.presets import load_preset
from cgbench.models.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.transformer import PAD

torch.set_num_threads(1)
END = 2


def reversals(rows, generator):
    """Sequences of 3 to 6 of ten letters, padded, and the same backwards with the end."""
    lengths = torch.randint(3, 7, (rows,), generator=generator).tolist()
    source, target = torch.full((rows, 7), PAD), torch.full((rows, 7), PAD)
    for row, length in enumerate(lengths):
        letters = torch.randint(4, 14, (length,), generator=generator)
        source[row, : length + 1] = torch.cat((letters, torch.tensor([END])))
        target[row, : length + 1] = torch.cat((letters.flip(0), torch.tensor([END])))
    return source, target


@torch.no_grad()
def greedy(model, source, steps):
    state = model.start(model.encode(Ragged.unpad(source)))
    tokens, output = torch.full((len(source),), END), []
    for _ in range(steps):
        tokens = model.step(tokens, state).argmax(-1)
        output.append(tokens)
    return torch.stack(output, 1)


@pytest.mark.parametrize(("positions", "norm"), [("relative", "pre"), ("sinusoidal", "post")])
def test_reversal_is_learnt(positions, norm):
    torch.manual_seed(0)
    config = dataclasses.replace(
        load_preset("tiny").model, positions=positions, norm=norm, width=64, feedforward_width=128, dropout=0.0
    )
    model = build_model(config, 14, 14)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3, betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(1)
    for _ in range(500):
        source, target = reversals(64, generator)
        wanted = Ragged.unpad(target)
        loss, _ = smoothed_cross_entropy(model(Ragged.unpad(source), wanted.shifted()), wanted.ids, 0.0)
        optimizer.zero_grad()
        (loss / len(wanted.ids)).backward()
        optimizer.step()
    source, target = reversals(200, generator)
    output = greedy(model.eval(), source, 7)
    assert ((output == target) | (target == PAD)).all(1).float().mean() > 0.9
