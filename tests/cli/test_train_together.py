"""train-ensemble and build-react with several processes a member: the bytes of torchrun's, whatever
is killed.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from processes_together import children, files_of, is_there
from small_build import SMALL

from cgbench.models.checkpoints import member_folders

CPU = ("--device", "cpu", "--set", "gpus_per_member=2")
TINY = (
    *("--model", "tiny", "--set", "training.max_updates=60", "--set", "text.merges=60"),
    *("--set", "training.checkpoint_every=10", "--set", "training.log_every=2"),
)


@pytest.fixture(scope="module")
def of_torchrun(corpus, tmp_path_factory):
    """What torchrun makes."""
    out = tmp_path_factory.mktemp("torchrun") / "model"
    launch = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "cgbench",
    ]
    words = map(
        str,
        ["train", *corpus, *TINY, "--lowercase", "--device", "cpu", "--seed", "2", "--out", out],
    )
    done = subprocess.run(
        [sys.executable, *launch, *words], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    done.out = out
    return done


def start(words):
    command = [sys.executable, "-m", "cgbench", *map(str, words)]
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    return subprocess.Popen(command, **streams, start_new_session=True)


def wait_for(process, condition):
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    raise AssertionError("it never happened")


STOPS = [
    (),
    ((signal.SIGTERM, -signal.SIGTERM, ""), (signal.SIGINT, 130, "stopped; the same command")),
]


@pytest.mark.slow
@pytest.mark.parametrize("stops", STOPS, ids=["killed", "stopped"])
def test_two_processes_a_member(corpus, of_torchrun, tmp_path, stops):
    """Stopped, then one of the processes killed, each time given again: the bytes of torchrun."""
    out = tmp_path / "ensemble"
    words = ["train-ensemble", *corpus, *TINY, *CPU, "--lowercase", "--members", "1"]
    words += ["--seed", "2", "--jobs", "1", "--out", out]
    saved = lambda: list((out / ".cgbench").glob("member-*/*.partial/training_state.safetensors"))  # noqa: E731
    done = 0
    for kind, status, line in stops:
        one = start(words)
        wait_for(one, lambda done=done: saved() and _updates(saved()[0].parent) > done)
        ranks = children(one.pid)
        assert len(ranks) == 2
        # Ctrl-C reaches all processes of a terminal.
        (os.killpg if kind == signal.SIGINT else os.kill)(one.pid, kind)
        said = one.communicate(timeout=120)[1]
        assert (
            one.returncode == status and said.strip().startswith(line) and "Traceback" not in said
        ), said
        assert not any(map(is_there, ranks))
        before, done = done, _updates(saved()[0].parent)
        assert before < done < 60

    two = start(words)
    wait_for(two, lambda: saved() and _updates(saved()[0].parent) > done)
    ranks = children(two.pid)
    os.kill(ranks[-1], signal.SIGKILL)
    said = two.communicate(timeout=120)[1]
    assert two.returncode == 2, said
    assert (
        len(said.splitlines()) == 1
        and "member 1 of 1: process " in said
        and "was killed (SIGKILL)" in said
    )
    assert not any(map(is_there, ranks)) and saved()

    three = start(words)
    said = three.communicate(timeout=240)[1]
    assert three.returncode == 0 and not said, said
    assert files_of(member_folders(out)[0]) == files_of(of_torchrun.out)


def _updates(folder):
    return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["update"]


def test_their_number_and_the_method_are_part_of_what_a_member_is(corpus):
    from cgbench.models.config.presets import load_preset
    from cgbench.models.training.ensemble_training import plan_ensemble
    from cgbench.text.corpus import plan_text
    from cgbench.text.formats import CorpusSpec
    from cgbench.text.normalisation import Normalisation

    train = plan_text("train", CorpusSpec(tuple(corpus[1:3]), None), Normalisation())

    def keys(processes=1, **method):
        preset = load_preset("tiny").replace(
            {f"method.{name}": value for name, value in method.items()}
        )
        return [
            step.key
            for step in plan_ensemble(preset, train, None, 2, 1, "cpu", processes=processes).members
        ]

    plans = [keys(), keys(2), keys(3), keys(name="seqmix"), keys(name="seqmix", alpha=0.3)]
    assert len({key for plan in plans for key in plan}) == 10
    assert keys() == plans[0]


@pytest.mark.slow
def test_torchrun_trains_one_model_and_its_first_process_alone_prints(of_torchrun):
    assert of_torchrun.stdout.count("next:") == 1
    assert json.loads((of_torchrun.out / "config.json").read_text())["processes"] == 2
    assert len(list((of_torchrun.out / ".cgbench/subwords").glob("*/step.json"))) == 1


def test_a_build_trains_its_members_so(corpora, run, tmp_path, monkeypatch):
    from cgbench.models.training import ensemble_training

    asked = []

    def alone(function, *, count, device, title, failed):
        asked.append((count, device))
        function()

    monkeypatch.setattr(ensemble_training, "train_together", alone)
    out = tmp_path / "release"
    words = [
        "build-react",
        *corpora,
        *SMALL,
        *CPU,
        "--jobs",
        "1",
        "--until",
        "uncertainty",
        "--out",
        out,
    ]
    run(*words, "--set", "candidates=40", "--set", "select=5")
    assert asked == [(2, "cpu")] * 2
    assert (
        "--set gpus_per_member=2 --device cpu"
        in json.loads((out / "manifest.json").read_text())["command"]
    )


def test_gpus_that_are_not_there(corpus, corpora, run, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    words = (
        "train-ensemble",
        *corpus,
        *TINY,
        "--out",
        tmp_path / "e",
        "--set",
        "gpus_per_member=2",
    )
    line = (
        "--set gpus_per_member=2: PyTorch finds no GPU; with --device cpu, 2 processes on the CPU"
        " train a member"
    )
    assert line in run(*words, status=2).stderr
    build = (
        "build-react",
        *corpora,
        "--preset",
        "demo",
        "--out",
        tmp_path / "r",
        "--set",
        "gpus_per_member=2",
    )
    assert line in run(*build, status=2).stderr
    assert not list(tmp_path.iterdir())
