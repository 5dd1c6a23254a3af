import errno
import json

import pytest
import safetensors.torch
import torch

from cgbench.errors import InputError
from cgbench.models.checkpoints import CheckpointConfig, load_checkpoint, read_tensors, save_checkpoint, write_tensors
from cgbench.models.config.common import TextConfig
from cgbench.models.config.presets import load_preset
from cgbench.models.parts.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.text.subwords import Subwords


@pytest.fixture
def checkpoint(tmp_path):
    (tmp_path / "text").write_text("ein haus\nzwei häuser\n", encoding="utf-8")
    subwords = Subwords.learn(tmp_path / "text", tmp_path / "text", TextConfig(merges=5))
    preset = load_preset("tiny")
    torch.manual_seed(0)
    model = build_model(preset.model, subwords.source_size, subwords.target_size).eval()
    config = CheckpointConfig(
        preset.model, preset.training, subwords.source_size, subwords.target_size, subwords.digest, corpus={"de": "00"}
    )
    folder = tmp_path / "model"
    save_checkpoint(folder, config, model.state_dict(), subwords)
    return folder, model, subwords, config


def test_a_loaded_model_computes_what_the_saved_one_did(checkpoint):
    folder, model, subwords, config = checkpoint
    state = torch.get_rng_state()
    loaded, words, again = load_checkpoint(folder)
    assert torch.equal(torch.get_rng_state(), state)
    assert again == config
    assert words.digest == subwords.digest
    assert not loaded.training
    source = Ragged.pack(subwords.encode_source(["zwei häuser"]))
    given = Ragged.pack([[2, 4, 5]])
    with torch.no_grad():
        assert torch.equal(loaded(source, given), model(source, given))


def test_equal_content_is_saved_as_equal_bytes(checkpoint, tmp_path):
    folder, model, subwords, config = checkpoint
    other = tmp_path / "other"
    save_checkpoint(other, config, dict(reversed(model.state_dict().items())), subwords)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        file.name: file.read_bytes() for file in other.iterdir()
    }


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "subwords.json"])
def test_a_file_that_is_cut_short_or_missing_is_named(checkpoint, name):
    folder = checkpoint[0]
    data = (folder / name).read_bytes()
    for length in (0, 4, len(data) // 2, len(data) - 3):
        (folder / name).write_bytes(data[:length])
        with pytest.raises(InputError, match=name):
            load_checkpoint(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        load_checkpoint(folder)


def edit(folder, **changes):
    data = json.loads((folder / "config.json").read_text())
    for key, value in changes.items():
        if key in data["model"]:
            data["model"][key] = value
        else:
            data[key] = value
    (folder / "config.json").write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 64}, r"has shape .*, config\.json asks for"),
        ({"decoder_layers": 2}, r"has shape none"),
        ({"encoder_layers": "many"}, r"model\.encoder_layers=many"),
        ({"format": 1}, "not a checkpoint of format 2"),
        ({"colour": 2}, "not a checkpoint configuration"),
        ({"subwords": "00"}, "not those that the model was trained with"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(checkpoint, changes, message):
    folder = checkpoint[0]
    edit(folder, **changes)
    with pytest.raises(InputError, match=message):
        load_checkpoint(folder)


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    with pytest.raises(InputError, match="no such checkpoint folder"):
        load_checkpoint(tmp_path / "none")
    with pytest.raises(InputError, match="training has not finished"):
        load_checkpoint(tmp_path)


def test_tensors_and_their_text_are_read_back(tmp_path):
    tensors = {"b": torch.arange(3), "a": torch.randn(4, 4).T}
    write_tensors(tmp_path / "x", tensors, "a note")
    again, text = read_tensors(tmp_path / "x")
    assert text == "a note"
    assert again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())


def test_a_full_disk_is_an_error_of_the_system(tmp_path, monkeypatch):
    def full(*arguments):
        raise safetensors.SafetensorError("Error while serializing: I/O error: No space left (os error 28)")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError) as caught:
        write_tensors(tmp_path / "x", {"a": torch.zeros(3)})
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())
