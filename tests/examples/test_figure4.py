"""The layer weights that ``examples/figure4.py`` prints are those of the model."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from architecture_table import pack, pairs, row, small_model
from slow_attention import memory_of

from cgbench.models.checkpoints import CheckpointConfig, save_checkpoint
from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TextConfig, TrainingConfig, TransformerConfig
from cgbench.models.config.composition import CompositionConfig
from cgbench.models.config.lrf import LRFConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.text.subwords import Subwords

pytest.importorskip("matplotlib")
SCRIPT = Path(__file__).parents[2] / "examples" / "figure4.py"
FIGURE = runpy.run_path(str(SCRIPT))
fuse_weights, mixture_weights = FIGURE["fuse_weights"], FIGURE["mixture_weights"]
SHAPE = {
    "encoder_layers": 3,
    "decoder_layers": 2,
    "width": 8,
    "feedforward_width": 8,
    "attention_heads": 2,
}
PAIRS = [
    ("a b c", "x y"),
    ("b", "y y z x"),
    ("c c c c a b", "z"),
    ("a", "x y z"),
] * 10  # more than a batch


@pytest.fixture
def draw(tmp_path, monkeypatch, capsys):
    """Save a new model and return it with its subwords and the printed tables: title, columns, rows
    of weights.
    """
    paths = tmp_path / "source", tmp_path / "target"
    for side, path in enumerate(paths):
        path.write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    subwords = Subwords.learn(*paths, TextConfig("words"))
    sizes = subwords.source_size, subwords.target_size

    def call(config, *arguments, change=lambda model: None):
        torch.manual_seed(0)
        model = build_model(config, *sizes).eval()
        change(model)
        checkpoint = CheckpointConfig(config, TrainingConfig(), *sizes, subwords.digest)
        save_checkpoint(tmp_path / "model", checkpoint, model.state_dict(), subwords)
        picture = tmp_path / "picture.png"
        monkeypatch.setattr(
            sys, "argv", ["figure4.py", str(picture), str(tmp_path / "model"), *map(str, arguments)]
        )
        FIGURE["main"]()
        assert picture.read_bytes().startswith(b"\x89PNG")
        tables = {}
        for line in capsys.readouterr().out.splitlines():
            name, *cells = line.split("\t")
            if cells[0].endswith(" 1"):
                table = tables[name] = {}
            else:
                table[name] = [float(cell or "nan") for cell in cells]
        return model, subwords, tables

    return call, paths


def test_mixtures_of_composition(draw):
    """Keys of decoder 2: 1, -3 for the two sublayers of encoder 2 are 1/4 and 3/4."""

    def change(model):
        with torch.no_grad():
            model.mixture.zero_()
            model.mixture[..., 4] = 1
            model.mixture[0, 1] = torch.tensor([0, 0, 1, -3, 0, 0.0])

    call, _ = draw
    *_, tables = call(CompositionConfig(architecture="composition", **SHAPE), change=change)
    assert set(tables) == {
        f"{role}: {kind}"
        for role in ("keys", "values")
        for kind in ("self-attention", "feed-forward")
    }
    assert tables["keys: self-attention"] == {
        "encoder 1": [0, 0],
        "encoder 2": [0, 0.25],
        "encoder 3": [1, 0],
    }
    assert tables["keys: feed-forward"] == {
        "encoder 1": [0, 0],
        "encoder 2": [0, 0.75],
        "encoder 3": [0, 0],
    }


def test_fused_layers_are_means_over_all_tokens(draw):
    call, paths = draw
    model, subwords, tables = call(LRFConfig(architecture="lrf", **SHAPE), *paths)
    source, target = zip(*PAIRS, strict=True)
    whole = fuse_weights(
        model,
        Ragged.pack(subwords.encode_source(source)),
        Ragged.pack(subwords.encode_target(target)),
    )
    assert list(tables["encoder"]) == ["embedding", "layer 1", "layer 2"]
    for stack, weights in whole.items():
        assert np.allclose(list(tables[stack].values()), weights.T, atol=6e-4, equal_nan=True)


def test_other_models_have_no_layer_weights(draw):
    call, _ = draw
    with pytest.raises(SystemExit, match="only composition and lrf"):
        call(TransformerConfig(**SHAPE))


def test_shares_of_scalars():
    model = small_model(row("composition", top_layers=2).values[0])
    with torch.no_grad():
        model.mixture.fill_(1)
        model.mixture[1, 0] = torch.tensor([1.0, -2.0, 0.0, 5.0])
    shares = mixture_weights(model)
    assert shares.shape == (2, 2, 3, 2)
    assert np.isnan(shares[:, :, 0]).all()
    assert np.allclose(shares[0, :, 1:], 0.25)
    assert np.allclose(shares[1, 0, 1:], [[0.125, 0.25], [0, 0.625]])


def test_weights_are_the_means_over_tokens_and_heads():
    model = small_model(row("lrf", decoder_layers=3).values[0]).double()
    batch = pairs([(5, 3), (2, 6)])
    source, _ = pack(batch)
    target = Ragged.pack(
        [[*ids[1:], 2] for _, ids in batch]
    )  # what the decoder reads, as a translation
    found = fuse_weights(model, source, target)
    x = model.embed_source(source)[0]
    below, layout = [x], source.layout
    for number, layer in enumerate(model.encoder):
        attended = layer.attend(below[-1], layout)
        fuse = model.encoder_fuse[str(number)]
        projections, heads = fuse.attention.projections, fuse.attention.heads
        logits = torch.zeros(len(x), heads, len(below), dtype=torch.float64)
        query = projections.project_query(attended)
        for k, vectors in enumerate(below):
            keys = memory_of(projections, vectors)[0]
            logits[:, :, k] = (query * keys).unflatten(-1, (heads, -1)).sum(-1) / (
                16 / heads
            ) ** 0.5
        expected = logits.softmax(-1).mean((0, 1)).detach().numpy()
        assert np.allclose(found["encoder"][number, : number + 1], expected)
        below.append(layer.feed(fuse(layer, attended, below)))
    assert np.isnan(found["decoder"][np.triu_indices(3, 1)]).all()
    assert np.allclose(np.nansum(found["decoder"], 1), 1) and found["decoder"][0, 0] == 1
    # The decoder's weights depend on what it reads: another first word, other weights.
    other = fuse_weights(model, source, Ragged.pack([[4, *ids[2:], 2] for _, ids in batch]))
    assert not np.allclose(other["decoder"][2], found["decoder"][2], atol=1e-6)
    assert not model.training


def test_layers_without_fuse_attention_have_no_weights():
    model = small_model(
        row("lrf", decoder_layers=3, fuse="source", fuse_layers="top").values[0]
    ).train()
    batch = pairs([(5, 3)])
    found = fuse_weights(model, *pack(batch))
    assert np.isnan(found["decoder"]).all() and np.isnan(found["encoder"][:2]).all()
    assert found["encoder"][2].sum() == pytest.approx(1)
    assert model.training
