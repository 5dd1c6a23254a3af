"""A finished run is made longer: train, and train-ensemble, whose members are those of build-react,
too.
"""

import json

import pytest
from text_files import flip
from training_runs import contents

from cgbench.models.checkpoints import BEST, STATE

SETTINGS = ("--model", "tiny", "--set", "text.merges=60")


def updates(number, *more):
    return (*more, "--set", f"training.max_updates={number}")


def files(folder):
    """A checkpoint as it is published: without what going on needs."""
    found = contents(folder)
    published = (name for name in found if not name.startswith(".cgbench"))
    return {name: found[name] for name in published if name.split("/")[-1] not in (STATE, BEST)}


@pytest.fixture(scope="module")
def corpus(corpus):
    return [*corpus, *SETTINGS]


def test_train_goes_on_and_says_so(corpus, run, tmp_path):
    words = ["train", *corpus, "--out"]
    run(*words, tmp_path / "m", *updates(4))
    more = updates(6)
    assert (
        "train: resumes (from 4 updates to 6)"
        in run(*words, tmp_path / "m", *more, "--dry-run").stdout
    )
    found = json.loads(run(*words, tmp_path / "m", *more, "--format", "json").stdout)
    assert (found["finished"], found["trained"]) == (True, 6)
    run(*words, tmp_path / "whole", *more)
    assert files(tmp_path / "m") == files(tmp_path / "whole")
    # Refused, by the run and by its plan, in one line each.
    for plan in ((), ("--dry-run",)):
        error = run(*words, tmp_path / "m", *updates(5, *plan), status=2).stderr
        assert (
            f"{tmp_path / 'm'}: belongs to a run with 6 updates, but training.max_updates is 5"
            in error
        )
        assert "train from scratch in another folder (--out)" in error
        seed = run(*words, tmp_path / "m", *more, "--seed", "3", *plan, status=2).stderr
        assert "seed is 1 there and 3 here" in seed


def test_an_unfinished_extension_is_no_finished_run(corpus, run, tmp_path, monkeypatch):
    words = ["train", *corpus, "--format", "json", "--out", tmp_path / "m"]
    run(*words, *updates(3))
    clock = iter(range(0, 100_000, 25))
    monkeypatch.setattr("cgbench.models.training.loop.time.monotonic", lambda: float(next(clock)))
    part = json.loads(run(*words, *updates(30), "--max-time", "1m15s").stdout)
    monkeypatch.undo()
    assert not part["finished"] and 3 < part["trained"] < 30
    # The model of 3 updates is there, whole, until the other is.
    assert json.loads((tmp_path / "m/config.json").read_text())["training"]["max_updates"] == 3
    assert json.loads(run(*words, *updates(3)).stdout)["trained"] == 3


def test_linear_rates_do_not_go_on(corpus, run, tmp_path):
    linear = ("--set", "training.schedule=linear")
    words = ["train", *corpus, *linear, "--out", tmp_path / "m"]
    run(*words, *updates(2))
    error = run(*words, *updates(3), status=2).stderr
    assert "with training.schedule=linear every rate depends on that number" in error
    words = ["train-ensemble", *corpus, *linear, "--members", "1", "--out", tmp_path / "e"]
    assert "linear" not in run(*words, *updates(2)).stderr
    for plan in (("--dry-run",), ()):
        said = run(*words, *updates(3, *plan)).stderr
        assert "warning: the existing members with 2 updates" in said
        assert "those with 3 are trained from scratch" in said
    run(
        "train-ensemble",
        *corpus,
        *linear,
        *updates(3),
        "--members",
        "1",
        "--out",
        tmp_path / "whole",
    )
    assert files(tmp_path / "e") == files(tmp_path / "whole")


def test_an_ensemble_goes_on(corpus, run, tmp_path):
    words = ["train-ensemble", *corpus, "--members", "2", "--jobs", "1", "--out"]
    run(*words, tmp_path / "e", *updates(3))
    assert not list(
        (tmp_path / "e").glob(f"member-*/{STATE}")
    )  # it is for the folder alone that it was trained in
    old = {
        path: path.read_bytes()
        for path in (tmp_path / "e/.cgbench").glob("member-*/*/*")
        if path.is_file()
    }
    plan = run(*words, tmp_path / "e", *updates(5), "--dry-run").stdout
    for member in (0, 1):
        assert (
            f"member-{member}: continues an earlier result (changed: config.training.max_updates 3"
            " -> 5)" in plan
        )
    run(*words, tmp_path / "e", *updates(5))
    run(*words, tmp_path / "whole", *updates(5))
    assert files(tmp_path / "e") == files(tmp_path / "whole")
    assert {path: path.read_bytes() for path in old} == old  # names are shared, bytes are not
    assert "kept" in run(*words, tmp_path / "e", *updates(3), "--dry-run").stdout
    # A damaged state is named where it is; without it the member begins at the start, to the same
    # bytes.
    state = next((tmp_path / "e/.cgbench/member-1").glob(f"*/{STATE}"))
    newest = max(
        (tmp_path / "e/.cgbench/member-1").glob(f"*/{STATE}"), key=lambda path: path.stat().st_mtime
    )
    assert state.parent.parent == newest.parent.parent
    flip(newest)
    error = run(*words, tmp_path / "e", *updates(6), status=2).stderr
    assert f"{newest}: is damaged" in error and "remove it to train from scratch" in error
    newest.unlink()
    run(*words, tmp_path / "e", *updates(6))
    run(*words, tmp_path / "whole", *updates(6))
    assert files(tmp_path / "e") == files(tmp_path / "whole")
