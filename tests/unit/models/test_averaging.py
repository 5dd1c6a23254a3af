"""The mean of checkpoints, and what has none."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from cgbench.errors import InputError
from cgbench.models.averaging import average, last_checkpoints
from cgbench.models.checkpoints import CheckpointConfig, load_checkpoint, save_checkpoint
from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TextConfig, TrainingConfig
from cgbench.models.config.transformer import PlainTransformerConfig
from cgbench.models.text.subwords import Subwords

MODEL = PlainTransformerConfig(
    encoder_layers=1, decoder_layers=1, width=8, feedforward_width=8, attention_heads=2
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder of checkpoints update-2, update-4, ... update-10, of one run."""
    root = tmp_path_factory.mktemp("run")
    (root / "text").write_text("a b c\na b\n")
    for update in (2, 4, 6, 8, 10):
        write(root / "checkpoints" / f"update-{update:07d}", root / "text", seed=1, updates=update)
    return root


def write(folder, text, seed, updates, model=MODEL, unit="words"):
    subwords = Subwords.learn(text, text, TextConfig(unit))
    torch.manual_seed(100 * seed + updates)
    tensors = build_model(model, subwords.source_size, subwords.target_size).state_dict()
    sizes = subwords.source_size, subwords.target_size
    config = CheckpointConfig(
        model, TrainingConfig(), *sizes, subwords.digest, seed=seed, updates=updates
    )
    save_checkpoint(folder, config, tensors, subwords)
    return folder


def test_the_mean_of_the_last_three(run, tmp_path):
    folders = last_checkpoints(run, 3)
    assert [folder.name[-2:] for folder in folders] == ["06", "08", "10"]
    record = average(folders, tmp_path / "mean")
    model, _, config = load_checkpoint(tmp_path / "mean")
    parts = [load_file(folder / "model.safetensors") for folder in folders]
    for name, tensor in model.state_dict().items():
        wanted = sum(part[name].double() for part in parts) / 3
        assert tensor.dtype == torch.float32
        assert torch.allclose(tensor.double(), wanted, rtol=1e-7, atol=1e-9), name
    assert (config.updates, config.seed, config.model) == (10, 1, MODEL)
    written = json.loads((tmp_path / "mean" / "averaged.json").read_text())
    assert written["checkpoints"] == record
    assert [(row["folder"], row["updates"]) for row in record] == [
        (f.name, n) for f, n in zip(folders, (6, 8, 10), strict=True)
    ]
    average(folders, tmp_path / "again")
    for file in (tmp_path / "mean").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_checkpoints_are_ordered_by_number_and_too_few_are_refused(run, tmp_path):
    for number in (9, 10, 100):
        (tmp_path / "checkpoints" / f"update-{number}").mkdir(parents=True)
    assert [folder.name for folder in last_checkpoints(tmp_path, 2)] == ["update-10", "update-100"]
    with pytest.raises(
        InputError, match=r"5 checkpoints in checkpoints/, not 6.*training\.keep_checkpoints=6"
    ):
        last_checkpoints(run, 6)


def test_what_does_not_fit_together_is_refused(run, tmp_path):
    one, two, *_ = last_checkpoints(run, 5)
    out = tmp_path / "out"
    (tmp_path / "run").mkdir()
    wider = PlainTransformerConfig(**{**vars(MODEL), "width": 16})
    damaged = write(tmp_path / "damaged", run / "text", 1, 2)
    tensors = load_file(damaged / "model.safetensors")
    save_file({name: tensors[name] for name in list(tensors)[1:]}, damaged / "model.safetensors")
    for others, said in (
        ([], "at least two checkpoints"),
        ([write(tmp_path / "wide", run / "text", 1, 2, wider)], r"model\.width is 8 and 16"),
        ([write(tmp_path / "text", run / "text", 1, 2, unit="characters")], "different subwords"),
        ([tmp_path / "run"], "run: no config.json"),
        ([damaged], r"damaged/model\.safetensors: is damaged"),
    ):
        with pytest.raises(InputError, match=said):
            average([one, *others], out)
    (damaged / "SHA256SUMS").unlink()
    with pytest.raises(
        InputError, match=r"damaged/model\.safetensors: .* has shape none, but config\.json needs"
    ):
        average([one, damaged], out)
    assert not out.exists()
    with pytest.raises(InputError, match="exists already"):
        average([one, two], damaged)
