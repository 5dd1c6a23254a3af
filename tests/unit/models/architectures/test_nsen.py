"""Neural Shuffle-Exchange: indices and sizes from its authors' programs, lengths, and the loss."""

import numpy as np
import pytest
import torch
from architecture_table import pack, pairs, row, small_model

from cgbench.errors import InputError
from cgbench.models.architectures.nsen import Switch, padded_length, rotations, swap_halves
from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import PAD
from cgbench.models.training.objective import Objective

CONFIG = row("nsen", encoder_layers=2, decoder_layers=2, max_length=16).values[0]


def test_shuffles_rotate_the_bits_of_positions():
    left, right = rotations(8)
    assert left.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert right.tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    for length in (2, 8, 32):
        left, right = rotations(length)
        assert (left[right] == np.arange(length)).all()
        x = np.arange(length)
        for _ in range(length.bit_length() - 1):
            x = x[left]
        assert (x == np.arange(length)).all()


def test_half_of_the_channels_change_places():
    x = torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]])
    assert swap_halves(x).tolist() == [[[5, 6, 3, 4], [1, 2, 7, 8]]]


@pytest.mark.parametrize(("width", "count"), [(4, 288), (384, 2_362_368)])
def test_a_switch_has_as_many_parameters_as_theirs(width, count):
    switch = Switch(width, residual=False)
    assert sum(parameter.numel() for parameter in switch.parameters()) == count
    assert sum(parameter.numel() for parameter in Switch(width, True).parameters()) == count + width


def test_lengths_are_powers_of_two():
    assert [padded_length(longest) for longest in (1, 2, 3, 8, 9, 64)] == [2, 2, 4, 8, 16, 64]
    with pytest.raises(InputError, match=r"model\.max_length=12: must be a power of two"):
        ARCHITECTURES["nsen"].config(architecture="nsen", max_length=12)


def test_training_pads_to_the_batch_and_evaluation_to_the_longest_length():
    model, (source, target) = small_model(CONFIG), pack(pairs([(5, 3), (2, 6)]))
    assert model.length_of(source.layout, target.layout) == 16
    assert model.train().length_of(source.layout, target.layout) == 8
    model.eval()
    long, _ = pack(pairs([(20, 3)]))
    with pytest.raises(InputError, match=r"model\.max_length=16: a sentence has 20 tokens"):
        model(long, target)


def test_a_translation_is_at_most_as_long_as_the_network():
    model = small_model(CONFIG)
    with torch.no_grad():
        model.output.weight[2] = 0.0  # hardly ever the end
    found = beam_search(
        [model], Ragged.pack([pairs([(9, 1)])[0][0]]), SearchSettings(beam=1, max_length_extra=99)
    )
    assert len(found[0][0].tokens) <= 16


def test_the_loss_is_the_mean_over_all_positions_padding_included():
    model, batch = small_model(CONFIG), pairs([(5, 3), (2, 6)])
    source, target = pack([(source, [*read[1:], 2]) for source, read in batch])
    loss, _ = Objective(model)(source, target)
    total = 0.0
    for row_number in range(2):
        states = model.states(Ragged.pack([batch[row_number][0]]), 16)[0]
        ids = [*batch[row_number][1][1:], 2]
        ids = torch.tensor(ids + [PAD] * (16 - len(ids)))
        total += torch.nn.functional.cross_entropy(model.project(states), ids).item() / 2
    assert (loss / len(target.ids)).item() == pytest.approx(total, rel=1e-5)
