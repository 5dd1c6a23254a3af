"""A build that is killed at any moment goes on where it was, to the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from small_build import SMALL, release_bytes


def start(words, log):
    """Start the command in a process group of its own: the workers, too, must not outlive a kill of the command."""
    return subprocess.Popen(
        [sys.executable, "-m", "cgbench", *map(str, words)], stdout=log, stderr=log, start_new_session=True
    )


@pytest.mark.parametrize("jobs", [2])
def test_ten_kills_at_random_moments(corpora, run, tmp_path, jobs):
    words = ["build-react", *corpora, *SMALL, "--jobs", jobs, "--out"]
    log = (tmp_path / "log").open("wb")
    run(*words, tmp_path / "undisturbed")
    chance = random.Random(7)
    kills = 0
    while kills < 10:
        process = start([*words, tmp_path / "killed"], log)
        try:
            # the range spans start-up to well into training; a build that gets through is started afresh elsewhere
            process.wait(chance.uniform(0.5, 12))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)  # only the command: its workers have to end by themselves
            process.wait()
            kills += 1
        else:
            assert process.returncode == 0, (tmp_path / "log").read_text()
            assert release_bytes(tmp_path / "killed") == release_bytes(tmp_path / "undisturbed")
            for name in ("killed", "killed.work"):
                (tmp_path / name).rename(tmp_path / f"finished-{kills}-{time.monotonic_ns()}")
    process = start([*words, tmp_path / "killed"], log)
    assert process.wait(300) == 0, (tmp_path / "log").read_text()
    assert release_bytes(tmp_path / "killed") == release_bytes(tmp_path / "undisturbed")
