"""A build that is killed at any moment resumes to the bytes of an undisturbed one, whatever the
number of workers.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from small_build import MORE, SMALL, copy_build, release_bytes
from training_runs import killed_before


@pytest.fixture
def start(corpora, tmp_path):
    """Start a build in the folder ``tmp_path / "killed"``; what it prints goes to ``tmp_path /
    "log"``.

    It has a process group of its own: the workers, too, must not outlive a kill of the command.
    """
    words = ["build-react", *corpora, *SMALL, *MORE, "--out", tmp_path / "killed"]
    command = [sys.executable, "-m", "cgbench", *map(str, words)]
    with (tmp_path / "log").open("wb") as log:
        yield lambda: subprocess.Popen(
            [*command, "--jobs", "2"], stdout=log, stderr=log, start_new_session=True
        )


def kill(process):
    """Kill the command alone: its workers have to end by themselves."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_build_stopped_in_translation(corpora, small_release, run, tmp_path, monkeypatch):
    """Before a write, as a power cut would; members are there."""
    copy_build(small_release.folder, tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed.work/.cgbench/uncertainty")
    words = ["build-react", *corpora, *SMALL, *MORE, "--out", tmp_path / "killed"]
    with killed_before(monkeypatch, 3):
        run(*words)
    assert list((tmp_path / "killed.work/.cgbench/uncertainty").glob("*.partial/part-*"))
    assert not (tmp_path / "killed").exists()
    run(*words)
    assert release_bytes(tmp_path / "killed") == release_bytes(small_release.folder)


@pytest.mark.slow
def test_ten_kills_at_random_moments(start, small_release, tmp_path):
    chance = random.Random(7)
    kills = 0
    while kills < 10:
        process = start()
        try:
            # the range spans start-up to well into training; a build that gets through is started
            # afresh elsewhere
            process.wait(chance.uniform(0.5, 12))
        except subprocess.TimeoutExpired:
            kill(process)
            kills += 1
        else:
            assert process.returncode == 0, (tmp_path / "log").read_text()
            assert release_bytes(tmp_path / "killed") == release_bytes(small_release.folder)
            for name in ("killed", "killed.work"):
                (tmp_path / name).rename(tmp_path / f"finished-{kills}-{time.monotonic_ns()}")
    assert start().wait(300) == 0, (tmp_path / "log").read_text()
    assert release_bytes(tmp_path / "killed") == release_bytes(small_release.folder)
