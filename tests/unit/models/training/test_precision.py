"""Precision is decided once, where a run is planned, and every other machine follows."""

import json

import pytest
import torch
from few import few
from training_runs import PRESET, contents, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import CONFIG, read_config
from cgbench.models.training import reproducible
from cgbench.models.training.ensemble_training import plan_ensemble
from cgbench.text.corpus import plan_text
from cgbench.text.inputs import as_corpus
from cgbench.text.normalisation import Normalisation

ISA = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")


def processor(monkeypatch, *supported, amd=False):
    monkeypatch.setattr(reproducible, "is_amd", lambda: amd)
    for name in ISA:
        monkeypatch.setattr(torch.cpu, name, lambda name=name: name in supported)


@pytest.mark.parametrize(
    ("supported", "amd", "precision"),
    [
        ((), False, "float32"),
        (ISA[:1], False, "bfloat16"),
        (ISA[1:], False, "float32"),
        (ISA, False, "bfloat16"),
        ((), True, "float32"),
        (ISA[1:], True, "bfloat16"),
    ],
)
def test_auto_is_what_the_processor_multiplies_fast(monkeypatch, supported, amd, precision):
    processor(monkeypatch, *supported, amd=amd)
    assert reproducible.resolve_precision(PRESET, "cpu").training.precision == precision
    explicit = PRESET.replace({"training.precision": "float32"})
    assert reproducible.resolve_precision(explicit, "cpu") is explicit


def test_members_are_trained_in_the_precision_of_their_plan(corpus, monkeypatch, tmp_path):
    processor(monkeypatch, *ISA)
    spec = as_corpus([corpus / "train.de", corpus / "train.en"], None, "train", tmp_path)
    text = plan_text("train", spec, Normalisation("none", False, ("de", "en")))
    plan = plan_ensemble(PRESET, text, None, 2, 1, "cpu")
    assert {step.config["training.precision"] for step in plan.members} == {"bfloat16"}
    processor(monkeypatch)  # a worker without
    train(corpus, tmp_path / "model", preset=plan.preset)
    assert read_config(tmp_path / "model").training.precision == "bfloat16"


@pytest.mark.parametrize("stop", few([5, None], 5))
def test_a_run_begun_with_auto_goes_on_where_auto_is_another(corpus, monkeypatch, tmp_path, stop):
    here = PRESET.replace({"training.precision": "bfloat16"})
    train(corpus, tmp_path / "whole", preset=here)
    processor(monkeypatch, *ISA)
    train(corpus, tmp_path / "model", stop_after_updates=stop)
    processor(monkeypatch)
    with pytest.raises(
        InputError,
        match=r"is bfloat16 there and float32 here; resume with --set training.precision=b",
    ):
        train(corpus, tmp_path / "model")
    train(corpus, tmp_path / "model", preset=here)
    assert contents(tmp_path / "model") == contents(tmp_path / "whole")


def test_a_checkpoint_of_an_older_version_says_what_it_was_trained_in(corpus, tmp_path):
    train(corpus, tmp_path / "model")
    path = tmp_path / "model" / CONFIG
    config = json.loads(path.read_text())
    config["training"]["precision"], config["precision"] = "auto", "bfloat16"
    path.write_text(json.dumps(config))
    (path.parent / "SHA256SUMS").unlink()
    assert read_config(path.parent).training.precision == "bfloat16"
