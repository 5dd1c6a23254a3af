"""Syntactic attention: against a loop over one sentence at a time, without batches or masks."""

import pytest
import torch

from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset
from cgbench.models.config.syntactic_attention import SyntacticAttentionConfig
from cgbench.models.parts.ragged import Ragged

SOURCES = [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2], [2]]
TARGETS = [[4, 5, 2], [6, 7, 8, 9, 2], [2], [10, 2]]


def model_of(read_syntax, depth=1):
    torch.manual_seed(0)
    config = SyntacticAttentionConfig(
        encoder_layers=depth,
        decoder_layers=depth,
        width=12,
        syntax_width=3,
        meaning_width=7,
        read_syntax=read_syntax,
    )
    return build_model(config, 20, 15).eval()


def slow_logits(model, source, steps):
    ids = torch.tensor([0, *source])
    meaning = model.meaning(ids)
    around, _ = model.around(model.syntax(ids))
    width = around.shape[1] // 2
    surroundings = [
        torch.cat((around[j - 1, :width], around[j + 1, width:])) for j in range(1, len(ids) - 1)
    ]
    states, (last, _) = model.encoder(torch.stack([model.ends[0], *surroundings, model.ends[1]]))
    steer = model.begin(torch.cat((last[-2], last[-1]))).relu()
    cells = [model.cell, *model.upper]
    states_of = [(torch.zeros(12), torch.zeros(12)) for _ in cells]
    found = []
    for _ in range(steps):
        weights = (states @ steer).softmax(0)
        read, context = weights @ meaning, weights @ states
        found.append(model.output(torch.cat((read, context)) if model.config.read_syntax else read))
        x = context
        for layer, cell in enumerate(cells):
            states_of[layer] = cell(x, states_of[layer])
            x = states_of[layer][0]
        steer = x
    return torch.stack(found)


@pytest.mark.parametrize(("read_syntax", "depth"), [(False, 1), (True, 1), (False, 2)])
def test_a_batch_is_the_loop_over_its_sentences(read_syntax, depth):
    model = model_of(read_syntax, depth)
    together = model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted())
    expected = torch.cat(
        [slow_logits(model, s, len(t)) for s, t in zip(SOURCES, TARGETS, strict=True)]
    )
    assert torch.allclose(together, expected, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
def test_gradients_are_those_of_the_loop(depth):
    model, found = model_of(True, depth), []
    for logits in (
        model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()),
        torch.cat([slow_logits(model, s, len(t)) for s, t in zip(SOURCES, TARGETS, strict=True)]),
    ):
        model.zero_grad()
        logits.log_softmax(1)[:, 4].sum().backward()
        found.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
    for name, gradient in found[1].items():
        torch.testing.assert_close(found[0][name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_the_published_size():
    with torch.device("meta"):
        model = build_model(SyntacticAttentionConfig(), 16, 8)
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_253_288


def test_depth_two_drops_between_layers_in_training_alone():
    model = model_of(False, 2)
    assert (
        model.around.dropout == model.encoder.dropout == 0.5 and model_of(False).around.dropout == 0
    )
    batch = Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted()
    assert torch.equal(model(*batch), model(*batch))
    model.train()
    for module in (model.dropout, model.around, model.encoder):
        module.eval()
    still = model(*batch)
    assert torch.equal(still, model(*batch))
    model.dropout.train()
    assert not torch.equal(still, model(*batch))


@pytest.mark.parametrize("name", ["colors", "cogs", "scan"])
def test_presets_are_models_that_the_authors_code_can_build_and_train(name):
    """Its widths are tied, its pairs come in epochs, one at a time, and the loss is the mean over
    their tokens.
    """
    preset = load_preset(f"syntactic_attention_{name}")
    model, training = preset.model, preset.training
    assert model.width == 4 * model.syntax_width and model.encoder_layers == model.decoder_layers
    assert not model.read_syntax and model.meaning_width == 120 and model.dropout == 0.5
    assert (training.batch_sentences, training.batch_draw, training.loss_mean) == (
        1,
        "epoch",
        "tokens",
    )
    assert (training.learning_rate, training.schedule, training.clip_norm) == (1e-3, "constant", 0)
    assert (training.adam_beta1, training.adam_beta2, training.weight_decay) == (0.9, 0.999, 0)


def test_whole_epochs_and_validations_are_the_authors():
    """200,000 updates, to the end of the epoch; validation every five epochs (their
    --checkpoint_every).
    """
    for name, pairs in (("scan", 14_670 * 4 // 5), ("cogs", 24_155)):
        training = load_preset(f"syntactic_attention_{name}").training
        assert (
            training.max_updates == -(-200_000 // pairs) * pairs
            and training.validate_every == 5 * pairs
        )
