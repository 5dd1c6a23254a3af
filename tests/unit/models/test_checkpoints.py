import errno
import json
import random
import re

import numpy as np
import pytest
import safetensors.torch
import torch
from architecture_table import SOURCE_SIZE, TABLE, TARGET_SIZE, row
from text_files import flip

from cgbench.errors import InputError
from cgbench.models.checkpoints import (
    CheckpointConfig,
    ensemble_identity,
    load_checkpoint,
    member_folders,
    member_summary,
    publish_ensemble,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TextConfig
from cgbench.models.config.presets import load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.parts.ragged import Ragged
from cgbench.models.shapes import shapes_only
from cgbench.models.special_ids import EOS, SPECIALS
from cgbench.models.text.subwords import Subwords


@pytest.fixture
def checkpoint(tmp_path):
    (tmp_path / "text").write_text("ein haus\nzwei häuser\n", encoding="utf-8")
    subwords = Subwords.learn(tmp_path / "text", tmp_path / "text", TextConfig(merges=5))
    preset = load_preset("tiny")
    torch.manual_seed(0)
    model = build_model(preset.model, subwords.source_size, subwords.target_size).eval()
    config = CheckpointConfig(
        preset.model,
        preset.training,
        subwords.source_size,
        subwords.target_size,
        subwords.digest,
        corpus={"de": "00"},
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


LEXICONS = [
    row("lstm_lexicon", lexicon, lexicon=lexicon, encoder_layers=2)
    for lexicon in ("copy", "soft", "learned", "uniform")
]


@pytest.mark.parametrize("config", [*TABLE, *LEXICONS])
def test_a_summary_counts_what_is_trained(config, tmp_path):
    words = [
        [*SPECIALS, *map(str, range(size - len(SPECIALS)))] for size in (SOURCE_SIZE, TARGET_SIZE)
    ]
    subwords = Subwords([], *words, unit="words")
    model = build_model(config, SOURCE_SIZE, TARGET_SIZE)
    saved = CheckpointConfig(
        config, load_preset("tiny").training, SOURCE_SIZE, TARGET_SIZE, subwords.digest
    )
    save_checkpoint(tmp_path, saved, model.state_dict(), subwords)
    assert member_summary(tmp_path)["parameters"] == sum(one.numel() for one in model.parameters())


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 64}, r"has shape .*, but config\.json needs"),
        ({"decoder_layers": 2}, r"has shape none"),
        ({"encoder_layers": "many"}, r"model\.encoder_layers: 'many' is not a whole number"),
        ({"format": 1}, "not a checkpoint of format 2"),
        ({"colour": 2}, "not a checkpoint configuration"),
        ({"subwords": "00"}, "subwords differ from those"),
        ({"source_size": "many"}, "source_size is 'many'"),
        ({"seed": -1}, "seed is -1"),
        ({"corpus": ["a"]}, r"corpus is \['a'\]"),
        ({"model": {"encoder_layers": [1]}}, r"model.encoder_layers is \[1\]"),
        ({"updates": True}, "updates is True"),
        ({"encoder_layers": 10**9}, r"config\.json: model\.encoder_layers is 1,000,000,000"),
        ({"decoder_layers": 1001}, r"config\.json: model\.decoder_layers is 1,001"),
        ({"width": 1 << 40}, r"config\.json: model\.width is 1,099,511,627,776"),
    ],
)
def test_a_wrong_configuration_is_refused_before_a_model_is_built(checkpoint, changes, message):
    folder = checkpoint[0]
    (folder / "SHA256SUMS").unlink()
    data = json.loads((folder / "config.json").read_text())
    for key, value in changes.items():
        (data["model"] if key in data["model"] else data)[key] = value
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "subwords.json", "SHA256SUMS"]
)
def test_every_flipped_bit_is_found(checkpoint, name):
    folder = checkpoint[0]
    data = (folder / name).read_bytes()
    chance = random.Random(3)
    for _ in range(12):
        flip(folder / name, *divmod(chance.randrange(8 * len(data)), 8))
        with pytest.raises(InputError, match=str(folder)) as caught:
            load_checkpoint(folder)
        assert "\n" not in str(caught.value)
        (folder / name).unlink()
        (folder / name).write_bytes(data)
    load_checkpoint(folder)


def test_a_checkpoint_of_older_versions_has_no_digests(checkpoint):
    folder = checkpoint[0]
    before = ensemble_identity(folder)
    (folder / "SHA256SUMS").unlink()
    load_checkpoint(folder)
    assert ensemble_identity(folder) == before


def test_a_flipped_bit_of_a_training_state_is_found(tmp_path):
    path = tmp_path / "state"
    write_tensors(
        path, {"a": torch.randn(7, 3), "b": torch.tensor(3), "c": torch.zeros(0)}, "a note"
    )
    data = path.read_bytes()
    for bit in range(0, 8 * len(data), 97):
        flip(path, *divmod(bit, 8))
        with pytest.raises(InputError, match=str(path)):
            read_tensors(path)
    path.write_bytes(data)
    assert read_tensors(path)[0].keys() == {"a", "b", "c"}


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    with pytest.raises(InputError, match="no such checkpoint folder"):
        load_checkpoint(tmp_path / "none")
    with pytest.raises(InputError, match="training is not finished"):
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
        raise safetensors.SafetensorError(
            "Error while serializing: I/O error: No space left (os error 28)"
        )

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError) as caught:
        write_tensors(tmp_path / "x", {"a": torch.zeros(3)})
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_parameter_that_is_no_number_is_named(checkpoint, value):
    folder, model, *_ = checkpoint
    (folder / "SHA256SUMS").unlink()
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    name = next(iter(tensors))
    tensors[name].view(-1)[3] = value
    write_tensors(folder / "model.safetensors", tensors)
    with pytest.raises(InputError, match=f"{name} contains NaN or infinity"):
        load_checkpoint(folder)


def test_parameters_of_another_type_or_name_are_named(checkpoint):
    folder, model, *_ = checkpoint
    (folder / "SHA256SUMS").unlink()
    tensors = dict(model.state_dict())
    name = next(iter(tensors))
    write_tensors(folder / "model.safetensors", tensors | {name: tensors[name].half()})
    with pytest.raises(
        InputError, match=rf"{name} has type torch\.float16 instead of torch\.float32"
    ):
        load_checkpoint(folder)
    write_tensors(
        folder / "model.safetensors",
        {f"x{key}" if key == name else key: tensors[key] for key in tensors},
    )
    with pytest.raises(InputError, match=f"{name} has shape none"):
        load_checkpoint(folder)


def test_tensors_have_the_mode_of_the_umask(tmp_path):
    (tmp_path / "other").touch()
    write_tensors(tmp_path / "x.safetensors", {"a": torch.ones(2)})
    assert (tmp_path / "x.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    "changes",
    [
        {"source": [1]},
        {"target": {}},
        {"merges": [["a"]]},
        {"merges": [["zz", "y"]]},
        {"source": ["a", "a"]},
    ],
)
def test_damaged_subwords_are_one_line(checkpoint, changes):
    folder = checkpoint[0]
    (folder / "SHA256SUMS").unlink()
    data = json.loads((folder / "subwords.json").read_text())
    (folder / "subwords.json").write_text(json.dumps(data | changes))
    with pytest.raises(InputError, match=r"subwords\.json: |the subwords differ"):
        load_checkpoint(folder)


def test_finite_weights_that_are_far_too_large_are_one_line(checkpoint):
    """Their probabilities are no numbers: the search finds no hypothesis."""
    folder, model, *_ = checkpoint
    (folder / "SHA256SUMS").unlink()
    tensors = {name: tensor * 1e30 for name, tensor in model.state_dict().items()}
    write_tensors(folder / "model.safetensors", tensors)
    ensemble = Ensemble.open([folder], "cpu")
    with pytest.raises(InputError, match="finite but far too large"):
        ensemble.translate(["zwei häuser"])
    with pytest.raises(InputError, match="finite but far too large"):
        ensemble.score(["zwei häuser"], [np.array([4, EOS])])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(checkpoint, number):
    folder, model, *_ = checkpoint
    (folder / "SHA256SUMS").unlink()
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    damaged = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[damaged].view(-1)[3] = number
    write_tensors(folder / "model.safetensors", tensors)
    with pytest.raises(InputError, match=rf"{re.escape(damaged)} contains NaN or infinity"):
        load_checkpoint(folder)


@pytest.mark.parametrize("config", TABLE)
def test_a_model_without_storage_has_the_shapes_of_a_real_one(config):
    with shapes_only():
        shapes = build_model(config, SOURCE_SIZE, TARGET_SIZE).state_dict()
    model = build_model(config, SOURCE_SIZE, TARGET_SIZE).state_dict()
    assert all(tensor.is_meta for tensor in shapes.values())
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in shapes.items()} == {
        name: (tensor.shape, tensor.dtype) for name, tensor in model.items()
    }


def test_an_ensemble_that_lost_or_gained_a_member_is_refused(checkpoint, tmp_path):
    folder, *_ = checkpoint
    out = tmp_path / "ensemble"
    out.mkdir()
    publish_ensemble([folder, folder], out)
    assert len(member_folders(out)) == 2
    (out / "member-1").rename(tmp_path / "aside")
    with pytest.raises(InputError, match=r"lists 2 members, but member-1 is missing; copy"):
        member_folders(out)
    (tmp_path / "aside").rename(out / "member-1")
    (out / "member-1").rename(out / "member-7")
    with pytest.raises(InputError, match="member-1 is missing"):
        member_folders(out)
    (out / "ensemble.json").unlink()  # the way on: what is there is the ensemble
    assert len(member_folders(out)) == 2
