"""Proto-Transformer against its layer written out token by token, and against the Transformer that
it begins as.
"""

import dataclasses

import pytest
import torch
from architecture_table import pack, pairs, row, small_model
from slow_attention import attend_slowly, memory_of

from cgbench.models.config.architectures import ARCHITECTURES, build_model
from cgbench.models.parts.ragged import Layout, Ragged
from cgbench.models.special_ids import BOS

SMALL = {"prototype_layer": 2, "prototype_min_count": 3}
FORMS = {
    "post": {},
    "pre": {"norm": "pre", "positions": "relative"},
    "one": {"prototypes": 1, "begin_source": True},
}


def config_of(**changes):
    return row("proto_transformer", **SMALL, **changes).values[0]


def slow_encode(model, source):
    """Encoder states of one source, each token on its own."""
    if model.config.begin_source:
        source = [BOS, *source]
    layout = Layout([len(source)])
    x = model.embed(model.source_embedding, torch.tensor(source), layout.positions)
    for layer, own in zip(model.encoder, model.prototype_attention, strict=True):
        x = layer.attend(x, layout)
        tokens = []
        for word, token in zip(source, x, strict=True):
            if model.clustered[word]:
                query = own.norm(token) if layer.pre else token
                projections = own.attention.projections
                keys, values = memory_of(projections, model.prototypes[word])
                read = attend_slowly(
                    projections.project_query(query)[None], keys, values, own.attention.heads
                )
                changed = token + projections.project_out(read)[0]
                token = changed if layer.pre else own.norm(changed)
            tokens.append(token)
        x = layer.feed(torch.stack(tokens))
    return model.encoder_norm(x)


@pytest.mark.parametrize("form", FORMS)
def test_states_are_those_of_a_loop_over_tokens(form):
    model = small_model(config_of(**FORMS[form]))
    sources = [source for source, _ in pairs([(9, 1), (2, 1), (1, 1), (14, 1)])]
    words = torch.tensor([word for source in sources for word in source])
    assert model.clustered[words].any() and not model.clustered[words].all()
    fast = model.encode(Ragged.pack(sources)).states
    slow = torch.cat([slow_encode(model, source) for source in sources])
    torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-5)


def test_without_prototypes_it_is_the_transformer():
    model = small_model(config_of())
    names = {field.name for field in dataclasses.fields(ARCHITECTURES["transformer"].config)}
    shared = {key: value for key, value in dataclasses.asdict(model.config).items() if key in names}
    plain = build_model(
        ARCHITECTURES["transformer"].config(**{**shared, "architecture": "transformer"}), 17, 15
    ).eval()
    own = model.state_dict()
    plain.load_state_dict({name: own[name] for name in plain.state_dict()})
    source, target = pack(pairs([(9, 7), (2, 3)]))
    assert not torch.allclose(model(source, target), plain(source, target), atol=1e-3)
    model.set_prototypes(torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3, 16))
    assert torch.allclose(model(source, target), plain(source, target), atol=1e-6)
    model.has_prototypes = False
    assert torch.equal(model(source, target), plain(source, target))
    assert set(own) - set(plain.state_dict()) == {"prototypes", "clustered"} | {
        name for name in own if name.startswith("prototype_attention.")
    }


def test_what_is_clustered_is_the_output_of_a_layer_below():
    model = small_model(config_of())
    source = Ragged.pack([source for source, _ in pairs([(9, 1), (4, 1)])])
    ids, states = model.word_states(source)
    x, layout = model.embed_source(source)
    for layer in model.encoder_stack()[:2]:
        x = layer(x, layout)
    assert torch.equal(ids, source.ids) and torch.equal(states, x)


def test_prototypes_are_stored_and_are_no_parameters():
    model, other = small_model(config_of()), build_model(config_of(), 17, 15).eval()
    assert not other.has_prototypes
    other.load_state_dict(model.state_dict())
    assert other.has_prototypes
    source, target = pack(pairs([(9, 7)]))
    assert torch.equal(model(source, target), other(source, target))
    assert not {"prototypes", "clustered"} & dict(model.named_parameters()).keys()


def test_gradients_reach_the_attention_and_leave_prototypes_alone():
    model = small_model(config_of()).train()
    before = model.prototypes.clone()
    model(*pack(pairs([(14, 7)]))).square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert not model.prototypes.requires_grad and torch.equal(model.prototypes, before)
