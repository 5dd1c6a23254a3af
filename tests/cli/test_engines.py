"""A build on a Ray cluster has the bytes of a local one, whatever is lost on the way."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes_together import children, files_of
from ray_nodes import ray_nodes
from small_build import MORE, SMALL, release_bytes

from cgbench.locks import locked
from cgbench.models.checkpoints import member_folders

pytest.importorskip("ray", reason="ray is not installed: pip install ray")


@pytest.fixture(scope="module")
def cluster():
    with ray_nodes() as made:
        yield made


def start(cluster, corpora, out, log, *more):
    words = [
        "build-react",
        *corpora,
        *SMALL,
        *MORE,
        "--engine",
        f"ray:{cluster.address}",
        "--out",
        out,
        *more,
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "cgbench", *map(str, words)], stdout=log, stderr=log
    )


def wait_for(process, condition):
    """Until ``condition()``, or the end of the process."""
    for _ in range(15_000):
        if condition() or process.poll() is not None:
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


def times_of_parts(steps):
    """When each shard of the uncertainty was written, although the folder may get its name in this
    moment.
    """
    while True:
        with contextlib.suppress(FileNotFoundError):
            return {
                path.name: path.stat().st_mtime_ns for path in steps.glob("uncertainty*/*/part-*")
            }


@pytest.mark.slow
def test_a_build_that_is_killed_in_the_middle_is_resumed_there(
    cluster, corpora, small_release, tmp_path
):
    """At once, while tasks of the killed command may run on; the step in whose middle it is does
    not start anew.
    """
    out, log = tmp_path / "ray", (tmp_path / "log").open("wb")
    steps = tmp_path / "ray.work/.cgbench"
    driver = start(cluster, corpora, out, log)
    wait_for(driver, lambda: list(steps.glob("uncertainty*/*.partial/part-*")))
    assert driver.poll() is None, (tmp_path / "log").read_text()
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    assert not out.exists()
    before = times_of_parts(steps)
    driver = start(cluster, corpora, out, log, "--set", "explain=true")
    assert driver.wait(300) == 0, (tmp_path / "log").read_text()
    # The cluster may have finished the step after the kill.
    assert re.search(
        r"uncertainty: (resumes \(an earlier run was stopped\)|kept)",
        (tmp_path / "log").read_text(),
    )
    assert (
        before and before.items() <= times_of_parts(steps).items()
    )  # what was there is not made again
    assert release_bytes(out) == release_bytes(small_release.folder)


@pytest.mark.slow
def test_a_lost_node_and_a_killed_driver_change_no_byte(
    cluster, corpora, small_release, run, tmp_path
):
    out, log = tmp_path / "ray", (tmp_path / "log").open("wb")
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    members = tmp_path / "ray.work/.cgbench"
    driver = start(cluster, corpora, out, log)
    # Two members are trained at once, a node each; one node goes, then the command itself.
    wait_for(driver, lambda: len(list(members.glob("member-*/*.partial/*state*"))) >= 1)
    cluster.remove_node(node, allow_graceful=False)
    wait_for(driver, lambda: list(members.glob("member-*/*/step.json")))
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    driver = start(cluster, corpora, out, log, "--set", "explain=true")
    assert driver.wait(300) == 0, (tmp_path / "log").read_text()
    assert release_bytes(out) == release_bytes(small_release.folder)
    said = (tmp_path / "log").read_text()
    assert "kept (nothing it depends on has changed)" in said and "uncertainty: ran on " in said
    # Two commands in one folder: the second ends before it asks the cluster for anything.
    words = (*corpora, *SMALL, "--engine", f"ray:{cluster.address}", "--out", out)
    with locked(members / "lock", wait=False):
        assert (
            "another cgbench command is working in this folder"
            in run("build-react", *words, status=2).stderr
        )


@pytest.mark.slow
def test_a_member_of_several_processes_is_one_task(cluster, demo, run, tmp_path):
    """On a machine that has a core for each; one of them is killed, and the member goes on."""
    text = (
        "--train",
        demo / "train.de",
        demo / "train.en",
        "--model",
        "tiny",
        "--set",
        "text.merges=100",
    )
    rate = (
        "--set",
        "training.max_updates=30",
        "--set",
        "training.log_every=2",
        "--set",
        "training.checkpoint_every=2",
    )
    words = [
        "train-ensemble",
        *text,
        *rate,
        "--members",
        "1",
        "--device",
        "cpu",
        "--set",
        "gpus_per_member=2",
        "--out",
    ]
    on_ray = ("--engine", f"ray:{cluster.address}")
    refused = run(*words, tmp_path / "r", *on_ray, status=2).stderr
    assert "no machine of the Ray cluster has the resources of a task (2 CPU)" in refused
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    command = [sys.executable, "-m", "cgbench", *map(str, [*words, tmp_path / "ray", *on_ray])]
    with (tmp_path / "log").open("wb") as log:
        driver = subprocess.Popen(command, stdout=log, stderr=log)
    wait_for(driver, lambda: list((tmp_path / "ray/.cgbench").glob("member-*/*.partial/*state*")))
    ranks = [rank for worker in processes_of_ray() for rank in children(worker)]
    assert len(ranks) == 2
    os.kill(ranks[0], signal.SIGKILL)
    assert driver.wait(120) == 0, (tmp_path / "log").read_text()
    cluster.remove_node(node)
    run(*words, tmp_path / "local", "--jobs", "1")
    assert files_of(member_folders(tmp_path / "ray")[0]) == files_of(
        member_folders(tmp_path / "local")[0]
    )


def processes_of_ray():
    """All that work for it: their ids."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().startswith(b"ray::"):
                yield int(path.parent.name)


@pytest.mark.slow
def test_shards_of_a_corpus_are_counted_on_ray(cluster, demo, tmp_path):
    """In processes of their own, as Ray's connection belongs to one; the results' bytes are those
    of this machine.
    """
    lines = (demo / "pool.en").read_text(encoding="utf-8").splitlines(keepends=True)
    for number in range(3):
        (tmp_path / f"part-{number}.txt").write_text("".join(lines[number::3]), encoding="utf-8")
    corpus = [str(tmp_path / f"part-{number}.txt") for number in range(3)]
    said = {}
    for name, engine in (
        ("local", ("--jobs", "1")),
        ("ray", ("--engine", f"ray:{cluster.address}")),
    ):
        words = [
            "overlap",
            demo / "train.en",
            "--corpus",
            *corpus,
            *engine,
            "--format",
            "json",
            "--out",
            tmp_path / name,
        ]
        command = [sys.executable, "-m", "cgbench", *map(str, words)]
        said[name] = subprocess.run(command, capture_output=True, check=True).stdout
    assert said["ray"] == said["local"] and b"containment" in said["ray"]
    known = [
        {path.name: path.read_bytes() for path in (tmp_path / name / "known").iterdir()}
        for name in said
    ]
    assert known[0] == known[1] and "matches.npy" in known[0]
    assert len(list((tmp_path / "ray/.cgbench").glob("corpus-*/*/step.json"))) == 3


def test_ray_is_asked_for_in_words_that_are_understood(run):
    """Before anything is read: no such engine, an address of another, nobody there."""
    words = ("build-react", "--train", "a.de", "a.en", "--pool", "b.de", "b.en", "--out", "out")
    assert "local" in run(*words, "--engine", "slurm", status=2).stderr
    assert (
        "use local, ray or ray:ADDRESS"
        in run(*words, "--engine", "local:10.0.0.1:6379", status=2).stderr
    )
