"""Several processes that train one model: the same model as one process makes, and the same bytes
when interrupted.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import PRESET, contents, log_of, train

from cgbench.errors import InputError
from cgbench.models.checkpoints import read_config, read_tensors
from cgbench.models.training.distributed import Processes
from cgbench.models.training.ensemble_training import train_members

WORKER = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from training_runs import PRESET, train
from cgbench.models.training.distributed import init_process_group
with init_process_group("cpu"):
    for name, settings, stop in json.loads(sys.argv[4]):
        folder, preset = Path(sys.argv[3]) / name, PRESET.replace(settings)
        finished = train(Path(sys.argv[2]), folder, preset, stop_after_updates=stop)
        assert finished == (stop is None)
"""
# In float32 the order of sums decides their last bits alone; Adam, but for its epsilon, would make
# steps of these where the gradient is nothing else, as that of a bias of keys. A large epsilon also
# shows the size of gradients.
EQUAL = {
    "training.precision": "float32",
    "training.adam_epsilon": 0.1,
    "training.learning_rate": 0.2,
}
EQUAL |= {f"model.{kind}dropout": 0.0 for kind in ("", "attention_", "activation_")}
METHODS = {
    "plain": {},
    "prototypes": {
        **{"model.architecture": "proto_transformer", "model.prototype_layer": 1},
        **{"model.prototype_epochs": 2, "model.prototype_min_count": 3},
    },
    "bow": {"method.name": "bow", "method.epochs": 1, "training.validate_metric": "exact_match"},
}


def launch(count, corpus, out, runs):
    """Do runs (name, settings, where to stop) in ``count`` processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    helpers = Path(__file__).parents[3] / "helpers"
    command = [sys.executable, "-c", WORKER, *map(str, (helpers, corpus, out)), json.dumps(runs)]
    started = []
    try:
        for rank in range(count):
            environment = {**os.environ, **places, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            started.append(
                subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
            )
        errors = [process.communicate(timeout=120)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * count, "\n".join(errors)


@pytest.fixture(scope="module")
def together(corpus, tmp_path_factory):
    """Runs of two processes without dropout; with one sentence a batch, the second has never a
    row.
    """
    out = tmp_path_factory.mktemp("together")
    single = {**EQUAL, "training.batch_sentences": 1}
    launch(2, corpus, out, [["rows", EQUAL, None], ["single", single, None], ["stopped", {}, 3]])
    return out


@pytest.mark.parametrize(
    ("name", "settings"), [("rows", {}), ("single", {"training.batch_sentences": 1})]
)
def test_two_processes_make_the_model_of_one(corpus, together, tmp_path, name, settings):
    train(corpus, tmp_path / "alone", PRESET.replace({**EQUAL, **settings}))
    alone = read_tensors(tmp_path / "alone" / "model.safetensors")[0]
    found = read_tensors(together / name / "model.safetensors")[0]
    for key in alone:
        torch.testing.assert_close(found[key], alone[key], rtol=1e-4, atol=1e-5)
    assert set(contents(together / name)) == set(contents(tmp_path / "alone"))
    for ours, theirs in zip(log_of(together / name), log_of(tmp_path / "alone"), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert read_config(together / name).processes == 2


@pytest.mark.slow
def test_an_interrupted_run_of_two_ends_in_the_same_bytes(corpus, tmp_path):
    runs = []
    for name, settings in METHODS.items():
        settings = {**settings, "training.max_updates": 8}
        runs += [[f"{name}-whole", settings, None]]
        runs += [[f"{name}-parts", settings, stop] for stop in (5, None)]
    launch(2, corpus, tmp_path, runs)
    for name in METHODS:
        assert contents(tmp_path / f"{name}-whole") == contents(tmp_path / f"{name}-parts")


def test_another_number_of_processes_is_refused(corpus, together):
    tensors = read_tensors(together / "stopped" / "training_state.safetensors")[0]
    assert not torch.equal(tensors["random.0"], tensors["random.1"])
    with pytest.raises(
        InputError,
        match="a run with 2 processes, but this one has 1; start the same number .*per-node 2",
    ):
        train(corpus, together / "stopped")


def test_rows_are_dealt_out_and_nobody_is_left_out():
    rows = np.arange(10, 15)
    shards = [Processes(rank, 3, "cpu").shard(rows) for rank in range(3)]
    assert [(share.tolist(), weight) for share, weight in shards] == [
        ([10, 13], 1),
        ([11, 14], 1),
        ([12], 1),
    ]
    assert [Processes(rank, 2, "cpu").shard(rows[:1])[1] for rank in range(2)] == [1, 0]
    assert Processes(1, 2, "cpu").shard(rows[:1])[0].tolist() == [10]


def test_an_ensemble_is_not_trained_by_torchrun(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="do not use torchrun for an ensemble"):
        train_members(None, None, None, None, 1)
