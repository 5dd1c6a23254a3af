"""The LSTM with attention against a plain form, one sentence and one head at a time."""

import pytest
import torch
from architecture_table import check_logits, row

from cgbench.models.config.architectures import ARCHITECTURES, build_model

CONFIG = row("lstm_attention", encoder_layers=2, decoder_layers=2).values[0]
HEADS = 4


def cell_step(weights, x, h, c):
    """A step of a TensorFlow LSTM cell, whose gates are named as in Keras."""
    of_input, of_state, bias = weights
    into, forget, new, out = (of_input @ x + of_state @ h + bias).chunk(4)
    c = torch.sigmoid(forget) * c + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(c), c


def slow_logits(model, source, target):
    """tensor2tensor's wiring: every head asks the same attention, and has its own layer."""
    width, zeros = model.config.width, torch.zeros(model.config.width, dtype=torch.double)
    encoder = [
        (
            getattr(model.encoder, f"weight_ih_l{layer}"),
            getattr(model.encoder, f"weight_hh_l{layer}"),
            getattr(model.encoder, f"bias_ih_l{layer}")
            + getattr(model.encoder, f"bias_hh_l{layer}"),
        )
        for layer in range(2)
    ]
    decoder = [
        (cell.weight_ih, cell.weight_hh, cell.bias_ih + cell.bias_hh) for cell in model.cells
    ]
    h, c, memory = [zeros, zeros], [zeros, zeros], []
    for word in reversed(source):
        x = model.source_embedding.weight[word] * width**0.5
        for layer, weights in enumerate(encoder):
            h[layer], c[layer] = cell_step(weights, x, h[layer], c[layer])
            x = h[layer]
        memory.append(x)
    memory, attention, logits = torch.stack(memory), zeros, []
    layers = model.attentional.weight.chunk(HEADS)
    for position, word in enumerate(target):
        x = model.target_embedding.weight[word] * width**0.5 if position else zeros
        x = torch.cat((x, attention))
        for layer, weights in enumerate(decoder):
            h[layer], c[layer] = cell_step(weights, x, h[layer], c[layer])
            x = h[layer]
        heads = []
        for layer_weight in layers:
            keys = memory @ model.project_memory.weight.T
            query = model.project_query.weight @ x
            scores = (model.score * torch.tanh(keys + query)).sum(1)
            context = (torch.softmax(scores, 0)[:, None] * memory).sum(0)
            heads.append(layer_weight @ torch.cat((x, context)))
        attention = torch.cat(heads)
        features = model.features.weight @ attention + model.features.bias
        logits.append(model.output.weight @ features)
    return torch.stack(logits)


def test_logits_are_those_of_the_plain_form():
    check_logits(CONFIG, slow_logits)


def test_parameters_are_counted_as_by_hand():
    """Sizes of ``cfq_lstm_attention_multi``; torch has two biases for each gate of a cell."""
    config = ARCHITECTURES["lstm_attention"].config(architecture="lstm_attention", width=512)
    model = build_model(config, 100, 90)
    inner = 512 * 512
    encoder = 2 * (2 * 4 * inner + 4 * 512)
    decoder = (3 * 4 * inner + 4 * 512) + (2 * 4 * inner + 4 * 512)
    attention = 2 * inner + 512 + 2 * inner + (inner + 512)
    assert encoder + decoder + attention == 10_757_120
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 10_757_120 + 4 * 4 * 512 + (100 + 2 * 90) * 512


def test_forget_gates_start_open_and_the_first_word_read_is_nothing():
    model = build_model(CONFIG, 17, 15)
    biases = [model.encoder.bias_ih_l0, *(cell.bias_ih for cell in model.cells)]
    for bias in biases:
        assert bias.chunk(4)[1].eq(1).all()
        assert bias.sum().item() == pytest.approx(CONFIG.width)
