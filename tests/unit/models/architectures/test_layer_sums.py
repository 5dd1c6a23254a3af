"""Universal, DLCL and Transformer-accu against their definitions: which layer reads what."""

import dataclasses

import pytest
import torch
from architecture_table import CSORDAS_RELATIVE, check_logits, pack, pairs, row, small_model
from slow_attention import consult_slowly, memory_of

from cgbench.errors import InputError
from cgbench.models.config.architectures import build_model
from cgbench.models.config.transformer_accu import AccuConfig
from cgbench.models.parts.ragged import Layout


@pytest.mark.parametrize(
    "changes", [{}, {"positions": "relative", "norm": "pre"}, CSORDAS_RELATIVE]
)
def test_universal_is_a_transformer_of_equal_layers(changes):
    model = small_model(row("universal", **changes).values[0])
    plain = build_model(row("transformer", **changes).values[0], 17, 15).eval()
    tensors = {}
    for name in plain.state_dict():
        stack, _, rest = name.partition(".")
        shared = f"{stack}.0.{rest.partition('.')[2]}" if stack in ("encoder", "decoder") else name
        tensors[name] = model.state_dict()[shared]
    plain.load_state_dict(tensors)
    batch = pack(pairs([(5, 3), (2, 6)]))
    assert torch.equal(model(*batch), plain(*batch))
    assert len(model.encoder) == len(model.decoder) == 1


def stacks(model, source, target):
    """The embeddings of one pair, and what an encoder and a decoder layer make of their input."""
    m, n = Layout([len(source)]), Layout([len(target)])
    x = model.embed(model.source_embedding, torch.tensor(source), m.positions)
    y = model.embed(model.target_embedding, torch.tensor(target), n.positions)

    def encode(layer, x):
        return layer.feed(layer.attend(x, m))

    def decode(layer, y, states):
        return layer.feed(
            consult_slowly(layer, layer.attend(y, n, causal=True), *memory_of(layer.cross, states))
        )

    return x, y, encode, decode


def slow_dlcl(model, source, target):
    x, y, encode, decode = stacks(model, source, target)

    def run(combinations, layers, first, apply):
        outputs = [first]
        for row_number in range(len(layers) + 1):
            terms = outputs
            if model.config.norm == "pre":
                terms = [
                    first,
                    *(norm(z) for norm, z in zip(combinations.norms, outputs[1:], strict=False)),
                ]
            total = torch.zeros_like(first)
            for k in range(row_number + 1):
                total += combinations.weights[row_number, k] * terms[k]
            if model.config.norm == "post" and row_number > 0:
                total = combinations.norms[row_number - 1](total)
            if row_number < len(layers):
                outputs.append(apply(layers[row_number], total))
        return total

    states = model.encoder_norm(run(model.combinations["encoder"], model.encoder, x, encode))
    z = run(
        model.combinations["decoder"], model.decoder, y, lambda layer, y: decode(layer, y, states)
    )
    return model.project(model.decoder_norm(z))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dlcl_is_its_definition(norm):
    check_logits(row("dlcl", norm=norm).values[0], slow_dlcl)


def test_dlcl_starts_with_means():
    weights = build_model(row("dlcl").values[0], 17, 15).combinations["encoder"].weights
    assert weights[0].tolist() == [1, 0, 0, 0]
    assert weights[3].tolist() == [0.25] * 4


def slow_accu(model, source, target):
    form = model.config.form
    x, y, encode, decode = stacks(model, source, target)
    outputs, sublayers, layout = [x], [], Layout([len(source)])
    for layer in model.encoder:
        given = torch.stack(outputs).sum(0) if form == "inputs" else outputs[-1]
        sublayers += [layer.attend(given, layout), encode(layer, given)]
        outputs.append(sublayers[-1])
    decoded = [y]
    for i, layer in enumerate(model.decoder, 1):
        given = torch.stack(decoded).sum(0) if form == "inputs" else decoded[-1]
        read = {"inputs": outputs[-1:], "all": sublayers, "prefix": outputs[:i]}[form]
        decoded.append(decode(layer, given, sum(model.encoder_norm(z) for z in read)))
    return model.project(model.decoder_norm(decoded[-1]))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("form", ["inputs", "all", "prefix"])
@pytest.mark.parametrize("decoder_layers", [1, 4])
def test_accu_is_its_definition(norm, form, decoder_layers):
    config = row("transformer_accu", norm=norm, form=form, decoder_layers=decoder_layers).values[0]
    check_logits(config, slow_accu)


def test_prefixes_must_exist():
    config = AccuConfig(
        architecture="transformer_accu", form="prefix", encoder_layers=2, decoder_layers=3
    )
    with pytest.raises(
        InputError,
        match=r"model\.decoder_layers=4: must be at most model\.encoder_layers \+ 1 \(3\)",
    ):
        dataclasses.replace(config, decoder_layers=4)
