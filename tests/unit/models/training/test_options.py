"""Settings of a run beyond the plain recipe: each does what it says, and an interrupted run ends in
the same bytes.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from few import few
from training_runs import PRESET, Killed, contents, log_of, start_training, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint, read_config, read_tensors
from cgbench.models.config.architectures import build_model
from cgbench.models.training import loop
from cgbench.models.training.interruption import held_signals
from cgbench.models.training.objective import Objective
from cgbench.models.training.state import STATE

METHODS = {
    "seqmix": {"method.name": "seqmix", "method.alpha": 0.5},
    "creg": {"method.name": "creg", "method.ramp_updates": 10, "training.checkpoint_every": 5},
    "bow": {"method.name": "bow", "method.epochs": 2},
    "sentences": {"training.batch_sentences": 9, "training.schedule": "noam"},
}


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory):
    """A finished run of each method."""
    folder = tmp_path_factory.mktemp("finished")
    for name, settings in METHODS.items():
        assert train(corpus, folder / name, PRESET.replace(settings))
    return folder


@pytest.mark.parametrize("stops", few([[1, 2], [5, 6], [7, 13]], [5, 6]))
@pytest.mark.parametrize("name", few(METHODS, "creg", "bow"))
def test_a_run_in_parts_ends_in_the_same_bytes(corpus, finished, tmp_path, name, stops):
    preset = PRESET.replace(METHODS[name])
    for stop in stops:
        assert not train(corpus, tmp_path / name, preset, stop_after_updates=stop)
    assert train(corpus, tmp_path / name, preset)
    assert contents(tmp_path / name) == contents(finished / name)


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_adds_is_no_part_of_the_model(finished, undisturbed, name):
    _, _, config = load_checkpoint(finished / name)  # refuses parameters too many
    assert config.method == PRESET.replace(METHODS[name]).method
    assert (
        contents(undisturbed)["model.safetensors"] != contents(finished / name)["model.safetensors"]
    )


def test_bow_trains_the_encoder_for_its_epochs_and_then_begins_anew(corpus, finished, tmp_path):
    log = log_of(finished / "bow")
    first = [entry for entry in log if entry.get("stage") == "bow"]
    second = [entry for entry in log if "loss" in entry and "stage" not in entry]
    assert first[-1]["epoch"] == 2
    assert first[-1]["loss"] < first[0]["loss"]
    assert [entry["update"] for entry in second] == [2, 4, 6, 8, 10, 12, 14]
    assert second[0]["learning_rate"] == first[0]["learning_rate"]
    # At the boundary: the decoder as it was at the start, the encoder not, no moments.
    updates = first[-1]["update"]
    preset = PRESET.replace(METHODS["bow"])
    states = []
    for stop in (updates, updates + 1):
        train(corpus, tmp_path / "run", preset, stop_after_updates=stop)
        states.append(read_tensors(tmp_path / "run" / STATE)[0])
    torch.manual_seed(3)
    sizes = [
        len(states[0][f"objective.model.{side}_embedding.weight"]) for side in ("source", "target")
    ]
    fresh = build_model(preset.model, *sizes).state_dict()
    changed = {
        name for name in fresh if not torch.equal(states[0][f"objective.model.{name}"], fresh[name])
    }
    assert changed == {name for name in fresh if name.startswith(("encoder", "source"))}
    assert "objective.head.weight" in states[0] and "objective.head.weight" not in states[1]
    assert not any(name.startswith("optimizer.") and "decoder" in name for name in states[0])
    assert all(
        tensor == 1 for name, tensor in states[1].items() if name.startswith("optimizer.step.")
    )


def test_patience_ends_a_run_that_gets_no_better(corpus, tmp_path):
    settings = {
        "training.patience": 2,
        "training.validate_metric": "exact_match",
        "training.checkpoint_every": 5,
    }
    preset = PRESET.replace(
        {**settings, "training.learning_rate": 1e-6, "training.max_updates": 100}
    )
    train(corpus, tmp_path / "whole", preset)
    validations = [entry for entry in log_of(tmp_path / "whole") if "valid_loss" in entry]
    # The first is the best there has been; the next two are no better.
    assert [(entry["update"], entry["valid_exact_match"]) for entry in validations] == [
        (4, 0),
        (8, 0),
        (12, 0),
    ]
    # Of equals the one of lowest loss is kept.
    assert (
        read_config(tmp_path / "whole").updates
        == min(validations, key=lambda entry: entry["valid_loss"])["update"]
    )
    for stop in (6, 11, 12):
        assert not train(corpus, tmp_path / "parts", preset, stop_after_updates=stop) or stop == 12
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_patience_without_validation_is_refused_before_data_is_read(corpus, tmp_path):
    missing = tmp_path / "none"
    with pytest.raises(InputError, match=r"training\.patience=2: needs validation data"):
        preset = PRESET.replace({"training.patience": 2})
        train(
            corpus, tmp_path / "model", preset, files={"valid": None, "train": (missing, missing)}
        )


KEEPING = PRESET.replace({"training.keep_checkpoints": 2})


@pytest.fixture(scope="module")
def kept(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("kept") / "model"
    train(corpus, out, KEEPING)
    return out


def test_the_last_checkpoints_are_kept_as_models(corpus, kept, tmp_path):
    assert sorted(path.name for path in (kept / "checkpoints").iterdir()) == [
        "update-0000012",
        "update-0000014",
    ]
    files = {path.split("/")[-1] for path in contents(kept / "checkpoints")}
    assert files == {"SHA256SUMS", "config.json", "model.safetensors", "subwords.json"}
    for updates in (12, 14):
        _, _, config = load_checkpoint(kept / "checkpoints" / f"update-{updates:07d}")
        assert config.updates == updates
    # The last of them are the last parameters, whatever is published.
    train(corpus, tmp_path / "last", KEEPING.replace({"training.keep": "last"}))
    last = read_tensors(tmp_path / "last" / "model.safetensors")[0]
    found = read_tensors(kept / "checkpoints" / "update-0000014" / "model.safetensors")[0]
    assert all(torch.equal(found[name], last[name]) for name in last)


@pytest.mark.parametrize("moment", few(range(2, 50, 7), 9, 30))
def test_kept_checkpoints_are_the_same_wherever_a_run_was_killed(
    corpus, kept, tmp_path, monkeypatch, moment
):
    """Stop before the n-th rename or removal, as a power cut would."""
    replace, rmtree, count = Path.replace, loop.shutil.rmtree, 0

    def step(real, *arguments):
        nonlocal count
        count += 1
        if count == moment:
            raise Killed
        return real(*arguments)

    monkeypatch.setattr(Path, "replace", lambda self, target: step(replace, self, target))
    monkeypatch.setattr(loop.shutil, "rmtree", lambda path: step(rmtree, path))
    try:
        train(corpus, tmp_path / "model", KEEPING)
        assert moment > 30
    except Killed:
        pass
    monkeypatch.undo()
    train(corpus, tmp_path / "model", KEEPING)
    assert contents(tmp_path / "model") == contents(kept)


def test_an_objective_knows_the_update(corpus, tmp_path, monkeypatch):
    seen = []
    real = Objective.forward

    def note(self, source, target):
        if self.training:
            seen.append(self.update)
        return real(self, source, target)

    monkeypatch.setattr(Objective, "forward", note)
    for stop in (2, 4):
        train(corpus, tmp_path / "model", stop_after_updates=stop, files={"valid": None})
    assert sorted(set(seen)) == [1, 2, 3, 4] and seen == sorted(seen)


def test_a_time_limit_ends_a_call_after_an_update(corpus, kept, tmp_path):
    calls = 1
    while not train(corpus, tmp_path / "model", KEEPING, max_seconds=0):
        calls += 1
        assert calls < 20
    assert calls == 14
    assert contents(tmp_path / "model") == contents(kept)
    assert train(corpus, tmp_path / "ample", KEEPING, max_seconds=1000)


@pytest.mark.parametrize("number", few([signal.SIGTERM, signal.SIGINT], signal.SIGTERM))
def test_a_signal_ends_a_run_with_its_state_saved(corpus, tmp_path, number):
    out, endless = (
        tmp_path / "model",
        {
            "training.max_updates": 10**6,
            "training.checkpoint_every": 10**6,
        },
    )
    process = start_training(
        corpus, out, f"PRESET.replace({endless})", stderr=subprocess.PIPE, text=True
    )
    try:
        log = out / "metrics.jsonl"
        while process.poll() is None and not (log.is_file() and log.read_bytes().count(b"\n") > 3):
            time.sleep(0.01)
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    if number == signal.SIGINT:
        assert process.returncode and "KeyboardInterrupt" in errors
    else:
        assert process.returncode == -number and not errors
    state = json.loads(read_tensors(out / STATE)[1])
    assert state["update"] >= 2


def test_signals_are_held_once_and_given_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), held_signals() as received:
        signal.raise_signal(signal.SIGINT)
        assert received == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # a second one does not wait
    assert signal.getsignal(signal.SIGINT) is before
    with held_signals() as received:
        pass
    assert received == []


def test_parameters_may_have_no_weight_decay(kept):
    model, _, config = load_checkpoint(kept)
    model.undecayed_parameters = lambda: {"source_embedding.weight"}
    optimizer = loop.build_optimizer(Objective(model), config)
    decay = {
        id(parameter): group["weight_decay"]
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert len(decay) == len(list(model.parameters()))
    without = [name for name, parameter in model.named_parameters() if decay[id(parameter)] == 0]
    assert without == ["source_embedding.weight"]
    assert all(group["eps"] == config.training.adam_epsilon for group in optimizer.param_groups)
