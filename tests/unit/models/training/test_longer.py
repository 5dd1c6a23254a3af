"""A finished run that is made longer ends in the bytes of one that was as long from the start."""

import json
import shutil
from pathlib import Path

import pytest
from few import few
from text_files import flip
from training_runs import PRESET, contents, killed_before, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import ensemble_identity, load_checkpoint, read_config
from cgbench.models.training import loop, state

PARTS = ("config.json", "model.safetensors", "subwords.json", "SHA256SUMS")
STATE = "training_state.safetensors"
# The first run ends at 10, where the defaults have a line of the log due and neither a validation
# nor a checkpoint.
KINDS = {
    "best": {},
    "last": {
        "training.keep": "last",
        "training.schedule": "constant",
        "training.keep_checkpoints": 3,
    },
    "epochs": {
        **{
            "training.validate_every_epochs": 1,
            "training.log_every": 4,
            "training.schedule": "noam",
        },
        **{
            "training.learning_rate": 0.5,
            "training.keep_checkpoints": 1,
            "training.checkpoint_every": 5,
        },
    },
    "prototypes": {
        **{"model.architecture": "proto_transformer", "model.prototype_layer": 1},
        **{"model.prototype_epochs": 5, "model.prototype_min_count": 3},
    },
    "bow": {"method.name": "bow", "method.epochs": 1},
    "creg": {"method.name": "creg", "method.alpha": 1.0, "method.ramp_updates": 12},
    "patience": {
        "training.patience": 2,
        "training.validate_metric": "exact_match",
        "training.validate_every": 3,
    },
}


def long(updates, name="best"):
    return PRESET.replace({**KINDS[name], "training.max_updates": updates})


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "model"
    train(corpus, out, long(18))
    return out


@pytest.fixture
def model(undisturbed, tmp_path):
    """A finished run of 14 updates."""
    shutil.copytree(undisturbed, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", few(KINDS, "best", "prototypes"))
def test_the_bytes_are_those_of_a_run_as_long_from_the_start(corpus, tmp_path, name):
    for updates in (10, 13):
        train(corpus, tmp_path / "grown", long(updates, name))
        assert (tmp_path / "grown/config.json").is_file()
    train(corpus, tmp_path / "whole", long(13, name))
    grown, whole = contents(tmp_path / "grown"), contents(tmp_path / "whole")
    if (
        name == "patience"
    ):  # which ended both; no state was written since, and it names the first length
        assert json.loads(grown["metrics.jsonl"].splitlines()[-1])["update"] == 9
        del grown[STATE], whole[STATE]
    if name == "last":  # a checkpoint of the shorter run says that it was one of 10 updates
        for file in ("config.json", "SHA256SUMS"):
            assert grown.pop(f"checkpoints/update-0000009/{file}") != whole.pop(
                f"checkpoints/update-0000009/{file}"
            )
    assert grown == whole
    load_checkpoint(tmp_path / "grown")


def test_a_best_that_only_the_end_had_seen_is_forgotten_and_an_earlier_one_kept(
    corpus, tmp_path, monkeypatch
):
    """What a validation finds is set: 8 is better than 4, then the end of the short run, 10, then
    nothing.
    """
    scores = {4: 1.0, 8: 2.0, 10: 3.0, 12: 0.5, 16: 0.4, 18: 0.3}
    real = loop.TrainingRun._validate

    def validate(self, validation):
        found = scores[self.progress.update]
        real(self, lambda model: ({"valid_loss": 1.0}, found))

    monkeypatch.setattr(loop.TrainingRun, "_validate", validate)
    for updates, best in ((10, 10), (12, 8), (18, 8)):
        train(corpus, tmp_path / "grown", long(updates))
        assert read_config(tmp_path / "grown").updates == best
    train(corpus, tmp_path / "whole", long(18))
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")


@pytest.mark.parametrize("stops", few([[14], [15, 17], [18]], [15, 17]))
def test_a_longer_run_in_parts(corpus, model, whole, stops):
    for stop in stops:
        finished = train(corpus, model, long(18), stop_after_updates=stop)
        assert finished == (stop == 18)
        assert load_checkpoint(model)[2].training.max_updates == (18 if finished else 14)
    train(corpus, model, long(18))
    assert contents(model) == contents(whole)


@pytest.mark.parametrize("moment", few(range(1, 10), 2, 6))
def test_a_longer_run_killed_between_any_two_writes(corpus, model, whole, monkeypatch, moment):
    with killed_before(monkeypatch, moment) as renames:
        train(corpus, model, long(18))
    assert renames[0] == min(moment, 8)
    train(corpus, model, long(18))
    assert contents(model) == contents(whole)


def test_the_shorter_model_stays_until_the_longer_is_there(corpus, model):
    before = {name: data for name, data in contents(model).items() if name in PARTS}
    train(corpus, model, long(18), stop_after_updates=16)
    assert before.items() <= contents(model).items()
    assert train(corpus, model)  # asked for as it is, it is kept
    assert before.items() <= contents(model).items()


def test_a_run_that_was_stopped_may_become_longer_too(corpus, whole, tmp_path):
    train(corpus, tmp_path / "model", stop_after_updates=9)
    train(corpus, tmp_path / "model", long(18))
    assert contents(tmp_path / "model") == contents(whole)


def test_a_shorter_run_is_refused_with_both_values(corpus, model, tmp_path):
    before = contents(model)
    with pytest.raises(
        InputError, match=r"with 14 updates, but training\.max_updates is 9;.*not shortened"
    ):
        train(corpus, model, long(9))
    assert contents(model) == before
    train(corpus, tmp_path / "half", long(18), stop_after_updates=5)
    with pytest.raises(
        InputError, match=r"with 18 updates, but training\.max_updates is 14;.*not shortened"
    ):
        train(corpus, tmp_path / "half")


def test_a_state_that_is_gone_or_damaged_is_named(corpus, model):
    before = contents(model)
    flip(model / STATE)
    with pytest.raises(
        InputError, match=rf"{STATE}: is damaged: .*; choose another folder with out"
    ):
        train(corpus, model, long(18))
    (model / STATE).unlink()
    with pytest.raises(
        InputError, match=rf"{STATE}: no such file; without it 14 updates cannot be extended to 18"
    ):
        train(corpus, model, long(18))
    assert train(corpus, model)
    assert contents(model) == {name: data for name, data in before.items() if name != STATE}


def test_a_damaged_state_of_a_stopped_run_says_what_to_do_and_that_helps(
    corpus, undisturbed, tmp_path
):
    out = tmp_path / "model"
    train(corpus, out, stop_after_updates=6)
    flip(out / STATE)
    with pytest.raises(InputError, match="is damaged: .*; remove it to train from scratch"):
        train(corpus, out)
    (out / STATE).unlink()
    train(corpus, out)
    assert contents(out) == contents(undisturbed)


def test_the_state_is_no_part_of_the_model(corpus, model, undisturbed, tmp_path):
    names = (STATE, "best.safetensors")
    for name in names:
        (model / name).unlink()
    assert ensemble_identity(model) == ensemble_identity(undisturbed)
    train(corpus, tmp_path / "without", keep_state=False)
    assert contents(tmp_path / "without") == contents(model)


def test_lengths_that_are_no_numbers_are_no_lengths():
    ours = [{"training": {"max_updates": 9}}]
    assert not state.may_become([{"training": {"max_updates": "8"}}], ours, Path("x"))
    assert state.may_become([{"training": {"max_updates": 8}}], ours, Path("x"))
