"""The training loop: its schedule, its log, and that an interrupted run ends in the bytes of an
undisturbed one.
"""

import math
import os
import signal
import time

import pytest
import torch
from few import few
from training_runs import PRESET, contents, killed_before, log_of, start_training, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.config.common import TrainingConfig
from cgbench.models.training import objective
from cgbench.models.training.loop import learning_rate
from cgbench.models.training.validation import Validation


def test_a_finished_folder_is_a_checkpoint_and_what_a_longer_run_starts_from(undisturbed):
    files = {"SHA256SUMS", "config.json", "metrics.jsonl", "model.safetensors", "subwords.json"}
    # The best model before the last, too: the last was validated because training ended there.
    assert set(contents(undisturbed)) == files | {"training_state.safetensors", "best.safetensors"}
    _, _, config = load_checkpoint(undisturbed)
    assert config.corpus == {"train.de": "12"}
    assert config.seed == 3
    log = log_of(undisturbed)
    assert [entry["update"] for entry in log if "loss" in entry] == [2, 4, 6, 8, 10, 12, 14]
    assert all(
        entry["gradient_norm"] > 0 and entry["learning_rate"] > 0
        for entry in log
        if "loss" in entry
    )
    validations = {entry["update"]: entry["valid_loss"] for entry in log if "valid_loss" in entry}
    assert list(validations) == [4, 8, 12, 14]
    assert config.updates == min(validations, key=validations.get)
    assert log[0]["update"] == 0 and log[0]["pairs"] > 0 and log[0]["skipped"] == 0
    assert log[-2]["loss"] < log[1]["loss"]


@pytest.mark.parametrize("stops", few([[1], [3], [5, 10], [13], [14]], [5, 10], [14]))
def test_a_run_in_parts_ends_in_the_same_bytes(corpus, undisturbed, tmp_path, stops):
    for stop in stops:
        train(corpus, tmp_path / "model", stop_after_updates=stop)
    train(corpus, tmp_path / "model")
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("moment", few(range(1, 28, 2), 3, 9, 21))
def test_a_run_killed_between_any_two_writes_ends_in_the_same_bytes(
    corpus, undisturbed, tmp_path, monkeypatch, moment
):
    with killed_before(monkeypatch, moment) as renames:
        train(corpus, tmp_path / "model")
    assert renames[0] == moment or moment > 10
    train(corpus, tmp_path / "model")
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("precision", few(["float32", "bfloat16"], "bfloat16"))
def test_a_killed_run_ends_in_the_same_bytes_in_both_precisions(
    corpus, tmp_path, monkeypatch, precision
):
    preset = PRESET.replace({"training.precision": precision})
    train(corpus, tmp_path / "undisturbed", preset=preset)
    with killed_before(monkeypatch, 9):
        train(corpus, tmp_path / "killed", preset=preset)
    assert "model.safetensors" not in contents(tmp_path / "killed")
    train(corpus, tmp_path / "killed", preset=preset)
    assert contents(tmp_path / "killed") == contents(tmp_path / "undisturbed")


@pytest.mark.slow
def test_a_process_killed_by_sigkill_ends_in_the_same_bytes(corpus, undisturbed, tmp_path):
    out = tmp_path / "model"
    for updates in (3, 9):
        process = start_training(corpus, out)
        while process.poll() is None:
            log = log_of(out) if (out / "metrics.jsonl").is_file() else []
            if log and log[-1]["update"] >= updates:
                break
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    train(corpus, out)
    assert contents(out) == contents(undisturbed)


def test_seeds_differ_and_threads_do_not_leak(corpus, undisturbed, tmp_path):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    train(corpus, tmp_path / "model", seed=4)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert (
        contents(tmp_path / "model")["model.safetensors"]
        != contents(undisturbed)["model.safetensors"]
    )


def test_a_finished_run_is_left_alone_and_other_settings_are_refused(corpus, undisturbed):
    before = contents(undisturbed)
    train(corpus, undisturbed)
    assert contents(undisturbed) == before
    with pytest.raises(
        InputError, match=r"other settings, data or seed \(seed is 3 there and 5 here\); remove"
    ):
        train(corpus, undisturbed, seed=5)


def test_a_half_done_run_with_other_settings_is_refused(corpus, tmp_path):
    train(corpus, tmp_path / "model", stop_after_updates=2)
    rate = PRESET.training.learning_rate
    with pytest.raises(
        InputError, match=rf"\(training.learning_rate is {rate} there and 0.1 here\); remove"
    ):
        train(corpus, tmp_path / "model", preset=PRESET.replace({"training.learning_rate": 0.1}))
    with pytest.raises(InputError, match="a validation text there"):
        train(corpus, tmp_path / "model", files={"valid": None})


def test_without_validation_the_last_model_is_kept(corpus, tmp_path):
    train(corpus, tmp_path / "model", files={"valid": None})
    _, _, config = load_checkpoint(tmp_path / "model")
    assert (config.updates, config.training.keep) == (14, "last")
    assert b"valid" not in contents(tmp_path / "model")["metrics.jsonl"]


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_what_is_not_finite_stops_the_run_and_the_last_state_is_kept(
    corpus, tmp_path, monkeypatch, what
):
    out, preset = tmp_path / "model", PRESET.replace({"training.log_every": 100})
    train(corpus, out, preset, stop_after_updates=6)
    good = (out / "training_state.safetensors").read_bytes()
    real, calls = objective.label_smoothed_nll_loss, 0

    def break_later(*arguments):
        nonlocal calls
        calls += 1
        loss, plain = real(*arguments)
        if calls > 2 and what == "gradient":
            loss.register_hook(lambda gradient: gradient * math.inf)
        return (loss * math.nan if calls > 2 and what == "loss" else loss), plain

    monkeypatch.setattr(objective, "label_smoothed_nll_loss", break_later)
    with pytest.raises(InputError, match=f"the {what} of update 8 is not finite"):
        train(corpus, out, preset)
    assert calls == 2 * preset.training.accumulation  # no third update
    assert (out / "training_state.safetensors").read_bytes() == good


def test_a_validation_loss_that_is_not_finite_stops_the_run(corpus, tmp_path, monkeypatch):
    out = tmp_path / "model"
    train(corpus, out, stop_after_updates=3)
    good = (out / "training_state.safetensors").read_bytes()
    monkeypatch.setattr(Validation, "loss", lambda self, model: math.nan)
    with pytest.raises(InputError, match="the validation loss after update 4 is not finite"):
        train(corpus, out)
    assert (out / "training_state.safetensors").read_bytes() == good


def test_bad_files_are_refused_before_anything_runs(corpus, tmp_path):
    (tmp_path / "short").write_text("ein haus\n")
    (tmp_path / "empty").write_text("")
    good = corpus / "train.de"
    for pair, message in (
        ((good, tmp_path / "short"), "has 60 lines and .*short has 1"),
        ((tmp_path / "empty", tmp_path / "empty"), "empty"),
        ((good, tmp_path / "none"), "no such file"),
    ):
        with pytest.raises(InputError, match=message):
            train(corpus, tmp_path / "model", files={"train": pair})
    short = PRESET.replace({"training.max_length": 2, "training.max_tokens": 64})
    with pytest.raises(InputError, match=r"training\.max_length"):
        train(corpus, tmp_path / "model", files={"train": (good, good)}, preset=short)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("setting", ["max_tokens=128", "batch_sentences=7"])
def test_out_of_memory_names_the_setting(corpus, tmp_path, monkeypatch, setting):
    def fail(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(objective, "label_smoothed_nll_loss", fail)
    name, value = setting.split("=")
    message = (
        rf"not enough memory for training\.{setting}; lower it and raise training.accumulation"
    )
    with pytest.raises(InputError, match=message):
        train(corpus, tmp_path / "model", preset=PRESET.replace({f"training.{name}": value}))


def rates(updates, width=64, **settings):
    config = TrainingConfig(**{"learning_rate": 2.0, "warmup_updates": 10, **settings})
    return [learning_rate(config, update, width) for update in updates]


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "linear", "constant"])
def test_the_rate_rises_linearly_to_the_highest(schedule):
    assert rates((1, 5, 10), schedule=schedule) == pytest.approx([0.2, 1.0, 2.0])
    assert rates((1,), schedule=schedule, warmup_updates=0) == [2.0]


def test_then_it_falls_with_the_square_root_linearly_or_not_at_all():
    assert rates((40, 90)) == pytest.approx([1.0, 2 / 3])
    assert rates((20, 29), schedule="linear", max_updates=29) == pytest.approx([1.0, 0.1])
    assert rates((11, 100_000), schedule="constant") == [2.0, 2.0]


def test_noam_is_the_formula_of_vaswani_et_al():
    # devil.md: lr / sqrt(d) · min((s + 1)^-0.5, (s + 1) · warm^-1.5), s from 0
    formula = [2 / 8 * min((s + 1) ** -0.5, (s + 1) * 10**-1.5) for s in range(100)]
    assert rates(range(1, 101), schedule="noam") == pytest.approx(formula)
    assert max(formula) == formula[9]
    assert rates((5,), schedule="noam", width=256)[0] == pytest.approx(formula[4] / 2)
