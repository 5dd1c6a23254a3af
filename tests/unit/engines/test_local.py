import os
import signal
import subprocess
import sys
import time

import pytest
from processes_together import alive, wait_until

from cgbench.engines import Local, Needs
from cgbench.errors import InputError
from cgbench.machine import usable_cores


def square(number):
    return number * number


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_all_run_and_maps_keep_their_order(jobs):
    assert sorted(Local(jobs).run(square, [(n,) for n in range(9)])) == [n * n for n in range(9)]
    assert list(Local(jobs).map(square, range(9))) == [n * n for n in range(9)]
    assert list(Local(jobs).map(square, iter(()))) == []


FAILS = """
import pathlib, sys, time
from cgbench.engines import Local
def work(number):
    if number == 3:
        raise ValueError("three")
    time.sleep(600 if number == 4 else 0)
if __name__ == "__main__":
    try:
        list(Local(2).run(work, [(number,) for number in (1, 2, 4, 3, 5)]))
    except ValueError as error:
        print(error)
"""


def test_the_first_error_stops_the_rest(tmp_path):
    """In a process of its own: what it prints at its end matters, too."""
    (tmp_path / "script.py").write_text(FAILS)
    command = [sys.executable, str(tmp_path / "script.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (result.stdout, result.stderr) == ("three\n", "")


def killed(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_one_line():
    with pytest.raises(InputError, match="a worker process was killed"):
        list(Local(2).run(killed, [(1,), (2,)]))
    with pytest.raises(InputError, match="a worker process was killed"):
        list(Local(2).map(killed, range(5)))


NO_GUARD = """
from cgbench.engines import Local
from cgbench.errors import InputError
try:
    print(list(Local(2).map(len, ["a", "bc"])))
except InputError as error:
    print(error)
"""


def test_a_script_without_a_guard_is_one_line(tmp_path):
    (tmp_path / "script.py").write_text(NO_GUARD)
    command = [sys.executable, str(tmp_path / "script.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    assert line.startswith("worker processes import the script and stopped there: move")


WAITS = """
import os, pathlib, sys, time
from cgbench.engines import Local
def work(path):
    pathlib.Path(path + ".pid").write_text(str(os.getpid()))
    time.sleep(600)
if __name__ == "__main__":
    list(Local(2).run(work, [(f"{sys.argv[1]}/{n}",) for n in range(2)]))
"""
SAVES = """
import os, pathlib, sys, time
from cgbench.models.training.interruption import held_signals
from cgbench.engines import Local
def work(path):
    with held_signals() as signals:
        pathlib.Path(path + ".pid").write_text(str(os.getpid()))
        while not signals:
            time.sleep(0.05)
        pathlib.Path(path + ".saved").touch()
if __name__ == "__main__":
    list(Local(2).run(work, [(f"{sys.argv[1]}/{n}",) for n in range(2)]))
"""


@pytest.mark.parametrize(("script", "saved"), [(WAITS, 0), (SAVES, 2)])
def test_workers_end_with_the_command_that_started_them(tmp_path, script, saved):
    """Killed by SIGKILL, a command leaves no worker behind that would go on writing; one that
    handles the signal is asked to end before it is ended, and can save what it has."""
    (tmp_path / "script.py").write_text(script)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "script.py"), str(tmp_path)])
    wait_until(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not any(alive(worker) for worker in workers))
    assert len(list(tmp_path.glob("*.saved"))) == saved


def test_cores_where_the_system_does_not_tell(monkeypatch):
    """macOS has no affinity: all cores count, for workers and for the threads that learn known
    n-grams.
    """
    from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams

    assert usable_cores() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert usable_cores() == 3
    assert len(KnownNgrams.learn(["a b", "a b"], min_count=2)) == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def visible(number):
    time.sleep(0.2)  # so that the other worker has some, too
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def test_workers_see_the_gpus_that_are_theirs(monkeypatch):
    """Four GPUs of the machine: one a task, shares of one, two a task, some of them alone."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    tasks = [(number,) for number in range(6)]
    one = Needs(gpus=1)
    assert set(Local(2).run(visible, tasks, one)) == {"4", "5"}
    assert Local()._slots(one, 6) == ["4", "5", "6", "7"]
    assert Local(gpu_share=2)._slots(one, 9) == ["4", "5", "6", "7"] * 2
    assert Local()._slots(Needs(gpus=2), 6) == ["4,5", "6,7"]
    assert Local(4)._slots(Needs(cores=2), 6) == ["", ""]
    with pytest.raises(InputError, match="needs 8 GPUs and there are 4"):
        Local()._slots(Needs(gpus=8), 6)
    with pytest.raises(InputError, match="needs 5 GPUs and there are 4"):
        Local().check_fits(Needs(cores=3, gpus=5))
    Local(1).check_fits(Needs(cores=3, gpus=4))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert Local()._slots(one, 6) == []
