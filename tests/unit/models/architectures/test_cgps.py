"""CGPS: against a loop in numpy over one sentence at a time, and the values of the authors' code.

The authors' code (TensorFlow, with the weights of this model): 10,920 logits of 64 sentences differ
by at most 3e-8, all 56,913 gradients by at most 3e-6.
"""

import contextlib

import numpy as np
import pytest
import torch

from cgbench.errors import InputError
from cgbench.models.config.architectures import build_model
from cgbench.models.config.cgps import CGPSConfig
from cgbench.models.config.presets import load_preset
from cgbench.models.parts.cpu import plain_definitions
from cgbench.models.parts.ragged import Ragged
from cgbench.models.training.loop import learning_rate
from cgbench.models.training.objective import Objective

SOURCES = [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2], [2]]
TARGETS = [[4, 5, 2], [6, 7, 8, 9, 4, 4, 2], [2], [9, 2]]


def model_of(seed=0, **changes):
    torch.manual_seed(seed)
    config = CGPSConfig(width=12, primitive_width=5, function_width=3, input_slots=7, **changes)
    return build_model(config, 14, 10).eval()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def plain_logits(model, source, steps):
    """One sentence, step by step, in float64."""
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}

    def cell(name, x, h, c):
        gates = weights[f"{name}.weight"] @ np.concatenate((x, h)) + weights[f"{name}.bias"]
        into, forget, new, out = np.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(into) * np.tanh(new)
        return sigmoid(out) * np.tanh(c), c

    primitive, function = (weights[f"{name}.weight"][source] for name in ("primitive", "function"))
    half, states, lasts = model.config.width // 2, [], []
    for name, words in (("forward_cell", function), ("backward_cell", function[::-1])):
        h = c = np.zeros(half)
        run = []
        for word in words:
            h, c = cell(name, word, h, c)
            run.append(h)
        states.append(run if name == "forward_cell" else run[::-1])
        lasts.append((h, c))
    values = np.concatenate([np.array(run) for run in states], 1)
    keys = values @ weights["key.weight"].T
    # exchanged, as in the authors' code
    h, c = (np.concatenate([last[k] for last in lasts]) for k in (1, 0))
    feed, logits = np.zeros(2 * half), []
    for _ in range(steps):
        h, c = cell("cell", feed, h, c)
        context = softmax(keys @ h) @ values
        feed = weights["mix.weight"] @ np.concatenate((h, context))
        slots = weights["slots.weight"] @ feed + weights["slots.bias"]
        read = softmax(slots[: len(source)]) @ primitive
        logits.append(weights["output.weight"] @ read + weights["output.bias"])
    return np.array(logits)


@pytest.mark.parametrize("form", [contextlib.nullcontext, plain_definitions])
def test_a_batch_is_the_loop_over_its_sentences(form):
    model = model_of()
    with torch.no_grad(), form():
        logits = model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()).numpy()
    expected = [
        plain_logits(model, source, len(target))
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    np.testing.assert_allclose(logits, np.concatenate(expected), atol=1e-6)


@pytest.mark.parametrize("form", [contextlib.nullcontext, plain_definitions])
def test_finished_rows_that_stay_change_nothing(form):
    """Rows leave the recurrence in groups: every sentence of a large batch is that of a small
    one.
    """
    model, draw = model_of(), np.random.default_rng(1)
    sources = [draw.integers(4, 14, draw.integers(1, 7)).tolist() for _ in range(40)]
    targets = [draw.integers(4, 10, draw.integers(1, 30)).tolist() for _ in range(40)]
    with torch.no_grad(), form():
        together = model(Ragged.pack(sources), Ragged.pack(targets).shifted())
        alone = [
            model(Ragged.pack([source]), Ragged.pack([target]).shifted())
            for source, target in zip(sources, targets, strict=True)
        ]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-6, rtol=0)


def trained_on(model, sources, targets):
    """Logits, attention, and the gradients of a loss that reads both."""
    source, target = Ragged.pack(sources), Ragged.pack(targets).shifted()
    read, weights = model.decode_attending(model.encode(source), target)
    logits = model.project(read)
    loss = logits.log_softmax(1)[:, 1].sum() + (weights**2).sum() + model.source_penalty(source)
    return logits, weights, *torch.autograd.grad(loss, list(model.parameters()))


def test_compiled_loops_are_the_plain_form():
    """Several blocks of sentences, and two batches, the second of which uses the memory of the
    first.
    """
    model, draw = model_of(), np.random.default_rng(2)
    for count in (300, 200):
        sources = [draw.integers(4, 14, draw.integers(1, 7)).tolist() for _ in range(count)]
        targets = [draw.integers(4, 10, draw.integers(1, 20)).tolist() for _ in range(count)]
        compiled = trained_on(model, sources, targets)
        with plain_definitions():
            plain = trained_on(model, sources, targets)
        for left, right in zip(compiled, plain, strict=True):
            torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-4)


def test_the_published_size():
    """The authors' 57,169 parameters for SCAN jump have 256 for an input that is always 0."""
    model = build_model(load_preset("cgps_scan").model, 14, 7)
    assert sum(parameter.numel() for parameter in model.parameters()) == 57_169 - 256


def test_a_word_with_the_function_of_another_is_used_as_it():
    """Attention does not see primitive embeddings: exchanging those of two words exchanges what
    is predicted.
    """
    model = model_of()
    with torch.no_grad():
        model.function.weight[6] = model.function.weight[5]
        target = Ragged.pack([[4, 5, 2]]).shifted()
        five, six = (model(Ragged.pack([[word, 7, 2]]), target) for word in (5, 6))
        assert not torch.allclose(five, six)
        model.primitive.weight[[5, 6]] = model.primitive.weight[[6, 5]]
        torch.testing.assert_close(model(Ragged.pack([[5, 7, 2]]), target), six)


def test_noise_in_training_alone():
    model = model_of()
    batch = Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()
    assert torch.equal(model(*batch), model(*batch))
    model.train()
    assert not torch.equal(model(*batch), model(*batch))
    quiet = model_of(noise=0.0).train()
    assert torch.equal(quiet(*batch), quiet(*batch))


def test_the_penalty_is_in_the_loss_but_not_in_the_perplexity():
    model = model_of(noise=0.0, penalty=0.5)
    source, target = Ragged.pack([[5, 6, 2]]), Ragged.pack([[4, 2]])
    loss, nll_loss = Objective(model)(source, target)
    words = [5, 6, 2]
    expected = 0.5 * sum(
        float((table.weight.detach()[word] ** 2).mean())
        for word in words
        for table in (model.primitive, model.function)
    )
    assert float(loss.detach()) - float(nll_loss) == pytest.approx(expected, rel=1e-5)


def test_a_source_with_more_words_than_slots_is_refused():
    with pytest.raises(InputError, match=r"8 words, with the end.*model\.input_slots=7"):
        model_of()(Ragged.pack([[5] * 7 + [2]]), Ragged.pack([[4, 2]]))


def test_the_rate_falls_in_stairs():
    training = load_preset("cgps_scan").training
    rates = [learning_rate(training, update, 64) for update in (1, 100, 101, 5000)]
    assert rates == pytest.approx([0.01, 0.01, 0.0096, 0.01 * 0.96**49])


def test_presets_are_the_authors_scripts():
    jump, left = load_preset("cgps_scan"), load_preset("cgps_scan_turn_left")
    model, training = jump.model, jump.training
    assert (model.width, model.primitive_width, model.function_width) == (64, 16, 8)
    assert (model.noise, model.penalty, left.model.primitive_width) == (1, 0.1, 8)
    assert (training.batch_sentences, training.batch_draw) == (4096, "replacement")
    assert (training.max_updates, training.clip_norm, training.loss_mean) == (5000, 1, "sentences")
    assert left.training == training
