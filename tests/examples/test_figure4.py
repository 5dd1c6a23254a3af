"""The layer weights that ``examples/figure4.py`` prints are those of the model."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from cgbench.models.architectures.lrf import fuse_weights
from cgbench.models.checkpoints import CheckpointConfig, save_checkpoint
from cgbench.models.config.architectures import CompositionConfig, LRFConfig
from cgbench.models.config.common import TextConfig, TrainingConfig, TransformerConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.text.subwords import Subwords

pytest.importorskip("matplotlib")
SCRIPT = Path(__file__).parents[2] / "examples" / "figure4.py"
SHAPE = {"encoder_layers": 3, "decoder_layers": 2, "width": 8, "feedforward_width": 8, "attention_heads": 2}
PAIRS = [("a b c", "x y"), ("b", "y y z x"), ("c c c c a b", "z"), ("a", "x y z")] * 10  # more than a batch


@pytest.fixture
def draw(tmp_path, monkeypatch, capsys):
    """Save a new model and return it with its subwords and the printed tables: title, columns, rows of weights."""
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
        monkeypatch.setattr(sys, "argv", ["figure4.py", str(picture), str(tmp_path / "model"), *map(str, arguments)])
        runpy.run_path(str(SCRIPT))
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
        f"{role}: {kind}" for role in ("keys", "values") for kind in ("self-attention", "feed-forward")
    }
    assert tables["keys: self-attention"] == {"encoder 1": [0, 0], "encoder 2": [0, 0.25], "encoder 3": [1, 0]}
    assert tables["keys: feed-forward"] == {"encoder 1": [0, 0], "encoder 2": [0, 0.75], "encoder 3": [0, 0]}


def test_fused_layers_are_means_over_all_tokens(draw):
    call, paths = draw
    model, subwords, tables = call(LRFConfig(architecture="lrf", **SHAPE), *paths)
    source, target = zip(*PAIRS, strict=True)
    whole = fuse_weights(
        model, Ragged.pack(subwords.encode_source(source)), Ragged.pack(subwords.encode_target(target))
    )
    assert list(tables["encoder"]) == ["embedding", "layer 1", "layer 2"]
    for stack, weights in whole.items():
        assert np.allclose(list(tables[stack].values()), weights.T, atol=6e-4, equal_nan=True)


def test_other_models_have_no_layer_weights(draw):
    call, _ = draw
    with pytest.raises(SystemExit, match="only composition and lrf"):
        call(TransformerConfig(**SHAPE))
