"""COMPOSITION against its equations, one sentence and one decoder layer at a time."""

import pytest
import torch
from architecture_table import check_logits, pack, pairs, row
from slow_attention import consult_slowly, memory_of

from cgbench.errors import InputError
from cgbench.models.config.architectures import build_model
from cgbench.models.config.composition import CompositionConfig
from cgbench.models.parts.ragged import Layout


def config_of(**changes):
    return row("composition", **changes).values[0]


def weight_of(model, kind, number, place):
    """w of keys (0) or values (1) of a decoder layer for one of the collected outputs."""
    mixture = model.mixture
    return (
        mixture[0, 0, place] if model.config.mixtures == "encoder" else mixture[kind, number, place]
    )


def slow_logits(model, source, target):
    """Equations 3 to 8 of one pair, with the sublayers of the Transformer."""
    config, (m, n) = model.config, (Layout([len(source)]), Layout([len(target)]))
    h = model.embed(model.source_embedding, torch.tensor(source), m.positions)
    collected = []
    for number, layer in enumerate(model.encoder):
        attended = layer.attend(h, m)
        h = layer.feed(attended)
        if config.top_layers and number < config.encoder_layers - config.top_layers:
            continue
        if config.sublayers != "feed_forward":
            collected.append(model.encoder_norm(attended))
        if config.sublayers != "self_attention":
            collected.append(model.encoder_norm(h))
    y = model.embed(model.target_embedding, torch.tensor(target), n.positions)
    for number, layer in enumerate(model.decoder):
        mixtures = [
            sum(weight_of(model, kind, number, place) * c for place, c in enumerate(collected))
            for kind in (0, 1)
        ]
        keys, values = (
            memory_of(layer.cross, mixtures[0])[0],
            memory_of(layer.cross, mixtures[1])[1],
        )
        y = layer.feed(consult_slowly(layer, layer.attend(y, n, causal=True), keys, values))
    return model.project(model.decoder_norm(y))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sublayers": "self_attention"},
        {"mixtures": "encoder"},
        {"top_layers": 2, "sublayers": "feed_forward"},
        {"mixtures": "encoder", "top_layers": 1},
    ],
)
def test_logits_are_those_of_the_equations(norm, changes):
    check_logits(config_of(norm=norm, **changes), slow_logits)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("changes", [{}, {"mixtures": "encoder"}, {"sublayers": "feed_forward"}])
def test_with_all_weight_on_the_top_it_is_the_transformer(norm, changes):
    torch.manual_seed(0)
    model = build_model(config_of(norm=norm, initial="top", **changes), 17, 15).eval()
    plain = build_model(row("transformer", norm=norm).values[0], 17, 15).eval()
    plain.load_state_dict({name: x for name, x in model.state_dict().items() if name != "mixture"})
    batch = pack(pairs([(5, 3), (2, 6)]))
    assert torch.allclose(model(*batch), plain(*batch), atol=1e-6)


def test_weights_start_as_named():
    means = build_model(config_of(initial="mean"), 17, 15).mixture
    assert means.shape == (2, 2, 6) and (means == 1 / 6).all()
    top = build_model(config_of(initial="top", top_layers=1), 17, 15).mixture
    assert torch.equal(top, torch.tensor([0.0, 1.0]).expand(2, 2, 2))


def test_mixtures_alone_are_without_weight_decay():
    model = build_model(config_of(), 17, 15)
    assert model.undecayed_parameters() == {"mixture"} <= dict(model.named_parameters()).keys()
    assert not hasattr(build_model(row("transformer").values[0], 17, 15), "undecayed_parameters")


def test_the_top_must_be_among_what_is_mixed():
    with pytest.raises(InputError, match=r"model\.initial=top"):
        CompositionConfig(initial="top", sublayers="self_attention")
