"""What COMPOSITION and LRF say of their layers, as tables."""

import numpy as np
import pytest
import torch

from cgbench.errors import InputError
from cgbench.models import inspection
from cgbench.models.architectures.lrf import fuse_weights
from cgbench.models.checkpoints import CheckpointConfig, save_checkpoint
from cgbench.models.config.architectures import CompositionConfig, LRFConfig
from cgbench.models.config.common import TextConfig, TrainingConfig, TransformerConfig
from cgbench.models.inspection import Heatmap, inspect_checkpoint, panel_rows
from cgbench.models.parts.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.text.subwords import Subwords

torch.set_num_threads(1)
SHAPE = {"encoder_layers": 3, "decoder_layers": 2, "width": 8, "feedforward_width": 8, "attention_heads": 2}
PAIRS = [("a b c", "x y"), ("b", "y y z x"), ("c c c c a b", "z"), ("a", "x y z")]


@pytest.fixture
def save(tmp_path):
    """Save a new model, changed by a function, and return it with its folder and subwords."""
    for name, side in (("s", 0), ("t", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PAIRS))
    subwords = Subwords.learn(tmp_path / "s", tmp_path / "t", TextConfig("words"))

    def call(config, change=lambda model: None):
        torch.manual_seed(0)
        model = build_model(config, subwords.source_size, subwords.target_size).eval()
        change(model)
        sizes = subwords.source_size, subwords.target_size
        checkpoint = CheckpointConfig(config, TrainingConfig(), *sizes, subwords.digest)
        save_checkpoint(tmp_path / "model", checkpoint, model.state_dict(), subwords)
        return tmp_path / "model", model, subwords

    return call


def composition(**changes):
    return CompositionConfig(architecture="composition", **{**SHAPE, **changes})


def test_mixtures_of_composition(save):
    """Keys of decoder 2: 1, -3 for the two sublayers of encoder 2 are 1/4 and 3/4."""

    def change(model):
        with torch.no_grad():
            model.mixture.zero_()
            model.mixture[..., 4] = 1
            model.mixture[0, 1] = torch.tensor([0, 0, 1, -3, 0, 0.0])

    folder, *_ = save(composition(), change)
    panels = {panel.title: panel for panel in inspect_checkpoint(folder)}
    assert set(panels) == {
        f"{role}: {kind}" for role in ("keys", "values") for kind in ("self-attention", "feed-forward")
    }
    keys = panels["keys: self-attention"]
    assert (keys.rows, keys.columns) == (("encoder 1", "encoder 2", "encoder 3"), ("decoder 1", "decoder 2"))
    assert keys.values.tolist() == [[0, 0], [0, 0.25], [1, 0]]
    assert panels["keys: feed-forward"].values.tolist() == [[0, 0], [0, 0.75], [0, 0]]


def test_sublayers_that_are_not_mixed_are_not_shown(save):
    folder, *_ = save(composition(sublayers="feed_forward"))
    panels = inspect_checkpoint(folder)
    assert [panel.title for panel in panels] == ["keys: feed-forward", "values: feed-forward"]
    assert np.allclose(panels[0].values.sum(0), 1)
    with pytest.raises(InputError, match="do not depend on text"):
        inspect_checkpoint(folder, PAIRS)


def test_fused_layers_are_means_over_all_tokens_of_all_batches(save, monkeypatch):
    folder, model, subwords = save(LRFConfig(architecture="lrf", **SHAPE))
    source, target = ([pair[side] for pair in PAIRS] for side in (0, 1))
    whole = fuse_weights(
        model, Ragged.pack(subwords.encode_source(source)), Ragged.pack(subwords.encode_target(target))
    )
    for size in (2048, 5):
        monkeypatch.setattr(inspection, "BATCH_TOKENS", size)
        encoder, decoder = inspect_checkpoint(folder, PAIRS)
        assert encoder.rows == ("embedding", "layer 1", "layer 2")
        assert decoder.columns == ("layer 1", "layer 2")
        for panel, weights in ((encoder, whole["encoder"]), (decoder, whole["decoder"])):
            assert np.allclose(panel.values.T, weights, atol=1e-6, equal_nan=True)
            assert np.allclose(np.nansum(panel.values, 0), 1)
            assert np.isnan(np.tril(panel.values, -1)).sum() == np.tril(np.ones_like(panel.values), -1).sum()


def test_lrf_without_text_and_models_with_nothing_to_show(save):
    folder, *_ = save(LRFConfig(architecture="lrf", fuse="source", **SHAPE))
    assert [panel.title for panel in inspect_checkpoint(folder, PAIRS)] == ["encoder"]
    for pairs in (None, []):
        with pytest.raises(InputError, match="add pairs"):
            inspect_checkpoint(folder, pairs)
    folder, *_ = save(TransformerConfig(**SHAPE))
    with pytest.raises(InputError, match="architecture transformer has no layer weights"):
        inspect_checkpoint(folder)


PANEL = Heatmap("keys", ("one", "two"), ("a", "b"), np.array([[1.0, 0.5], [np.nan, 0.5]]))


def test_rows_leave_out_what_cannot_be():
    assert panel_rows([PANEL]) == [("keys", "a", "one", 1.0), ("keys", "b", "one", 0.5), ("keys", "b", "two", 0.5)]
