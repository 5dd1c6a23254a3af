"""LSTMs with a lexicon: against loops over sentences and words that follow the formulas, and step
by step.
"""

import pytest
import torch

from cgbench.models.architectures.lexical_output import EPSILON
from cgbench.models.config.architectures import build_model
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.parts.ragged import Ragged

BOS, PAD = 0, 1
SOURCES = [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2], [2]]
TARGETS = [[4, 5, 2], [6, 7, 8, 9, 2], [2], [10, 2]]


def a_lexicon():
    """Rows that sum to 1, and one that is empty."""
    generator = torch.Generator().manual_seed(3)
    matrix = torch.rand(20, 15, generator=generator).pow(4)
    matrix = matrix / matrix.sum(1, keepdim=True)
    matrix[6] = 0
    return matrix


def model_of(lexicon, layers=2):
    torch.manual_seed(0)
    config = LSTMLexiconConfig(
        width=12, encoder_layers=layers, decoder_layers=layers, dropout=0.3, lexicon=lexicon
    )
    model = build_model(config, 20, 15).eval()
    if lexicon != "none":
        model.lexical.load(a_lexicon())
    return model


def lexicon_row(lexical, word):
    """L[word, ·]."""
    matrix = a_lexicon()[word]
    if lexical.learned:
        return (matrix + EPSILON) / (matrix + EPSILON).sum()
    if lexical.one_word:
        row = torch.zeros(15)
        row[matrix.argmax()] = float(matrix.any())
        return row
    return matrix


def expected_log_probs(model, feature, logits, weights, words):
    """The formulas of the module for one position."""
    lexical = sum(
        weight * lexicon_row(model.lexical, word)
        for weight, word in zip(weights, words, strict=True)
    )
    logits, lexical = logits.clone(), lexical.clone()
    logits[[BOS, PAD]], lexical[[BOS, PAD]] = -torch.inf, 0
    p = torch.cat((logits, mapped(model.lexical.gate, feature))).softmax(0)
    mass = p[:-1] + p[-1] * lexical
    return ((mass + EPSILON) / (mass + EPSILON).sum()).log()


def mapped(layer, x):
    """A linear map of one vector."""
    return layer.weight @ x + layer.bias


def slow_lstm(model, source, target):
    """One sentence, one word at a time, from the equations."""
    source = [BOS, *source]
    outputs, (h, c) = model.encoder(model.source_embedding(torch.tensor(source)))
    h, c = list(h), list(c)
    feed = torch.zeros(12)
    found = []
    for word in [2, *target[:-1]]:
        read = torch.cat((model.target_embedding(torch.tensor(word)), feed))
        x = read
        for k in range(len(model.cells)):
            h[k], c[k] = model.cells[k](x, (h[k], c[k]))
            x = h[k]
        query = mapped(model.attention, x)
        weights = torch.stack([query @ e for e in outputs]).softmax(0)
        context = sum(w * e for w, e in zip(weights, outputs, strict=True))
        feed = mapped(model.mix, torch.cat((read, x, context)))
        if model.lexical is None:
            found.append(mapped(model.output, feed).log_softmax(0))
        else:
            found.append(
                expected_log_probs(model, feed, mapped(model.output, feed), weights, source)
            )
    return torch.stack(found)


@pytest.mark.parametrize("lexicon", ["none", "copy", "hard", "soft", "learned"])
@pytest.mark.parametrize("layers", [1, 2])
def test_log_probabilities_are_those_of_the_loop(lexicon, layers):
    model = model_of(lexicon, layers)
    together = model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()).log_softmax(-1)
    expected = torch.cat([slow_lstm(model, *pair) for pair in zip(SOURCES, TARGETS, strict=True)])
    assert together.isfinite().all()
    assert torch.allclose(together.exp(), expected.exp(), atol=1e-6)
    assert torch.allclose(together.exp().sum(-1), torch.ones(len(together)), atol=1e-5)


@pytest.mark.parametrize("lexicon", ["none", "learned"])
def test_gradients_are_those_of_the_loop(lexicon):
    model = model_of(lexicon)
    weight = torch.randn(13, 15)
    found = []
    for log_probs in (
        model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()).log_softmax(-1),
        torch.cat([slow_lstm(model, *pair) for pair in zip(SOURCES, TARGETS, strict=True)]),
    ):
        model.zero_grad()
        (log_probs.exp() * weight[: len(log_probs)]).sum().backward()
        found.append(
            {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
        )
    # The loop takes the lexicon's rows as they are.
    assert found[0].keys() - found[1].keys() == (
        {"lexical.rows"} if lexicon == "learned" else set()
    )
    for name, gradient in found[1].items():
        torch.testing.assert_close(found[0][name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_the_first_of_equal_words_is_taken_and_a_row_of_nothing_adds_nothing():
    model = model_of("hard")
    matrix = torch.zeros(20, 15)
    matrix[5, [7, 9]] = 0.5
    model.lexical.load(matrix)
    assert model.lexical.aligned[5] == 7
    assert model.lexical.aligned[6] == PAD  # which is never produced


@pytest.mark.parametrize(
    ("lexicon", "learns"), [("hard", False), ("soft", False), ("learned", True), ("uniform", True)]
)
def test_a_learned_lexicon_learns_and_the_others_do_not(lexicon, learns):
    model = model_of(lexicon)
    before = model.lexical.state_dict()
    model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted())[:, 4].sum().backward()
    gradients = {name: value.grad for name, value in model.lexical.named_parameters()}
    assert ("rows" in gradients and bool(gradients["rows"].any())) == learns
    assert all(name in before for name in gradients)
