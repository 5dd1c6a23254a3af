"""What tensor2tensor's settings add to the Transformer: one table of embeddings, positions from 0,
signals at every step, the first word, search, rates, and initial weights.
"""

import copy
import math

import pytest
import torch
from architecture_table import TENSOR2TENSOR, row

from cgbench.errors import InputError
from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset
from cgbench.models.parts.positions import timing_sinusoids
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import EOS
from cgbench.models.training.loop import learning_rate

SHARED = row("transformer", **TENSOR2TENSOR, share_embeddings=True).values[0]
BASIC = row("universal", **TENSOR2TENSOR, step_signals=True).values[0]


def test_a_shared_table_is_stored_once_and_stays_shared():
    model = build_model(SHARED, 11, 11)
    assert "source_embedding.weight" not in model.state_dict()
    for copied in (model, copy.deepcopy(model), build_model(SHARED, 11, 11)):
        copied.load_state_dict(model.state_dict())
        assert copied.source_embedding.weight is copied.target_embedding.weight
    with pytest.raises(InputError, match=r"11 and 12 entries; set text\.joint_dictionary to true"):
        build_model(SHARED, 11, 12)


def test_the_first_position_is_zero_and_sines_come_before_cosines():
    signal = timing_sinusoids(torch.arange(2), 4)
    assert signal[0].tolist() == [0, 0, 1, 1]
    assert signal[1].tolist() == pytest.approx(
        [math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4)]
    )


def test_the_decoder_first_reads_a_position_alone():
    model = build_model(SHARED, 11, 11).eval()
    target = Ragged.pack([[EOS, 5], [EOS, 6, 7]])
    read = model.embed_target(target)
    position = timing_sinusoids(torch.tensor([0]), SHARED.width)[0]
    assert torch.equal(read[0], position) and torch.equal(read[2], position)
    assert not torch.equal(read[1], read[4])
    assert torch.equal(model.embed_step(torch.tensor([EOS]), 0)[0], position)
    assert torch.equal(model.embed_step(torch.tensor([5]), 1)[0], read[1])
    with pytest.raises(InputError, match=r"model\.begin_target=zeros: must be end with"):
        row("dangle", positions="relative", begin_target="zeros")


def test_scores_are_divided_as_by_wu_et_al():
    settings = SearchSettings(length_penalty=0.6, length_offset=5)
    assert settings.score(-3.0, 7) == pytest.approx(-3 / (12 / 6) ** 0.6)
    assert SearchSettings().score(-3.5, 7) == -0.5


def test_step_signals_need_positions_to_add():
    with pytest.raises(InputError, match=r"model\.positions=relative: must be timing with"):
        row("universal", **{**TENSOR2TENSOR, "positions": "relative"}, step_signals=True)
    model = build_model(BASIC, 11, 11)
    ids = torch.tensor([5, 5])
    first, second = model.vectors(model.source_embedding, ids, torch.tensor([0, 7]))
    assert torch.equal(first, second)
    entered = model.enter("encoder", 1, torch.zeros(2, 16), torch.tensor([0, 7]))
    expected = timing_sinusoids(torch.tensor([0, 7]), 16) + model.steps["encoder"][1]
    assert torch.equal(entered, expected)


def test_matrices_start_as_xavier_and_biases_as_zeros():
    torch.manual_seed(0)
    model = build_model(row("evolved", **TENSOR2TENSOR, joint_heads=4, width=64).values[0], 11, 11)
    for name, parameter in model.named_parameters():
        if "norm" in name or "embedding" in name:
            continue
        if parameter.dim() == 1:
            assert parameter.eq(0).all(), name
        elif "project" not in name:
            inputs, outputs = torch.nn.init._calculate_fan_in_and_fan_out(parameter)
            bound = math.sqrt(6 / (inputs + outputs))
            assert 0.9 * bound < parameter.abs().max().item() <= bound, name


def warm_and_decayed(constant, warmup, update):
    """tensor2tensor's ``constant*linear_warmup*rsqrt_decay``."""
    return constant * min(1, update / warmup) / math.sqrt(max(update, warmup))


@pytest.mark.parametrize("update", [1, 100, 3_999, 4_000, 8_000, 35_000])
def test_learning_rates_are_those_of_tensor2tensor(update):
    rates = {
        "transformer_cfq_tensor2tensor": warm_and_decayed(0.08, 4_000, update),
        "evolved_cfq": warm_and_decayed(0.08, 4_000, update),
        "universal_cfq_tensor2tensor": warm_and_decayed(0.14, 8_000, update),
        # Its legacy noam, with the factor 0.002 of Adam and the rate 0.1 of the set.
        "nsen_cfq": 5_000 * 384**-0.5 * min(update * 100**-1.5, update**-0.5) * 0.002 * 0.1,
    }
    if update >= 100:  # constant after an exponential warm-up, linear here
        rates["lstm_cfq_tensor2tensor"] = 0.03 * 0.002
    for name, rate in rates.items():
        preset = load_preset(name)
        assert learning_rate(preset.training, update, preset.model.width) == pytest.approx(
            rate, rel=1e-4
        )
