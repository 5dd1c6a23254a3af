import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cgbench.errors import InputError
from cgbench.parallel import map_in_order, run_tasks


def square(number):
    return number * number


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_all_run_and_maps_keep_their_order(jobs):
    assert sorted(run_tasks(square, [(n,) for n in range(9)], jobs)) == [n * n for n in range(9)]
    assert list(map_in_order(square, range(9), jobs)) == [n * n for n in range(9)]
    assert list(map_in_order(square, iter(()), jobs)) == []


def test_the_first_error_stops_the_rest(tmp_path):
    """In a process of its own: what it prints at its end matters, too."""
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib, sys, time\n"
        "from cgbench.parallel import run_tasks\n"
        "def work(number):\n"
        "    if number == 3:\n"
        "        raise ValueError('three')\n"
        "    time.sleep(600 if number == 4 else 0)\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        list(run_tasks(work, [(number,) for number in (1, 2, 4, 3, 5)], 2))\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert result.stdout == "three\n"
    assert result.stderr == ""


def killed(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_one_line():
    with pytest.raises(InputError, match="a worker process was killed"):
        list(run_tasks(killed, [(1,), (2,)], 2))
    with pytest.raises(InputError, match="a worker process was killed"):
        list(map_in_order(killed, range(5), 2))


def test_workers_end_with_the_command_that_started_them(tmp_path):
    """Killed by SIGKILL, a command leaves no worker behind that would go on writing."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        "from cgbench.parallel import run_tasks\n"
        "def work(path):\n"
        "    pathlib.Path(path).write_text(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    list(run_tasks(work, [(f'{sys.argv[1]}/{n}.pid',) for n in range(2)], 2))\n"
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    wait_until(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not any(alive(worker) for worker in workers))


def test_a_worker_that_handles_the_signal_can_save_what_it_has(tmp_path):
    """The command is killed by SIGKILL; a worker is asked to end before it is ended."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        "from cgbench.models.training.interruption import held_signals\n"
        "from cgbench.parallel import run_tasks\n"
        "def work(path):\n"
        "    with held_signals() as signals:\n"
        "        pathlib.Path(path + '.pid').write_text(str(os.getpid()))\n"
        "        while not signals:\n"
        "            time.sleep(0.05)\n"
        "        pathlib.Path(path + '.saved').touch()\n"
        "if __name__ == '__main__':\n"
        "    list(run_tasks(work, [(f'{sys.argv[1]}/{n}',) for n in range(2)], 2))\n"
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    wait_until(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not any(alive(worker) for worker in workers))
    assert len(list(tmp_path.glob("*.saved"))) == 2


def wait_until(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


def alive(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
