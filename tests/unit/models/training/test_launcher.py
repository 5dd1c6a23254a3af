"""Several processes that one starts to train a model: what they return, and how they end."""

import errno
import functools
import os
import signal
import subprocess
import sys
import time

import pytest
from few import few
from processes_together import alive, wait_until

from cgbench.engines import LostError, Needs
from cgbench.errors import InputError
from cgbench.models.training.ensemble_training import check_processes, member_needs
from cgbench.models.training.launcher import train_together


def goes_wrong(how, folder):
    """The second fails in some way; the first waits for it for ever."""
    import torch.distributed as dist

    (folder / str(os.getpid())).touch()
    if dist.get_rank():
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "input":
            raise InputError("a line\tof ours")
        if how == "system":
            raise OSError(errno.ENOSPC, "No space left on device", "model.safetensors")
        raise ValueError("first line\nsecond line")
    time.sleep(600) if how == "input" else dist.barrier()


@pytest.mark.parametrize("how", few(["killed", "input", "system", "other"], "killed"))
def test_one_fails_and_nobody_is_left(how, tmp_path):
    (tmp_path / "pids").mkdir()
    kinds = {"killed": LostError, "system": OSError}
    work, options = (
        functools.partial(goes_wrong, how, tmp_path / "pids"),
        {
            "count": 2,
            "device": "cpu",
        },
    )
    with pytest.raises(kinds.get(how, InputError)) as error:
        train_together(work, **options, title="member 1 of 4", failed=tmp_path / "failed.log")
    said = str(error.value)
    if how == "input":
        assert said == "a line\tof ours"
    elif how == "system":
        assert error.value.errno == errno.ENOSPC and error.value.filename == "model.safetensors"
    elif how == "killed":
        assert (
            said.startswith("member 1 of 4: process 2 of 2 was killed (SIGKILL)")
            and "the same command" in said
        )
    else:
        file = tmp_path / "failed.log"
        assert (
            said
            == "member 1 of 4: process 2 of 2 failed (ValueError: first line); the traceback is in"
            f" {file}"
        )
        assert "in goes_wrong" in file.read_text() and "second line" in file.read_text()
    assert (tmp_path / "failed.log").exists() == (how == "other")
    pids = [int(path.name) for path in (tmp_path / "pids").iterdir()]
    assert len(pids) == 2 and not any(map(alive, pids))


@pytest.mark.slow
def test_they_end_with_the_one_that_started_them(tmp_path):
    """It is killed by SIGKILL, and can tell them nothing."""
    script = tmp_path / "script.py"
    script.write_text(
        "import functools, os, pathlib, sys, time\n"
        "from cgbench.models.training.launcher import train_together\n"
        "def work(folder):\n"
        "    pathlib.Path(folder, f'{os.getpid()}.pid').touch()\n"
        "    time.sleep(600)\n"
        "if __name__ == '__main__':\n"
        "    bound = functools.partial(work, sys.argv[1])\n"
        "    train_together(bound, count=2, device='cpu', title='', failed=pathlib.Path('no'))\n"
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    ranks = [int(path.stem) for path in tmp_path.glob("*.pid")]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not any(map(alive, ranks)))


def test_what_a_member_of_several_processes_needs():
    assert member_needs("cuda", 4) == Needs(cores=4, gpus=4)
    assert member_needs("cpu", 2) == Needs(cores=2, gpus=0)
    check_processes(2, "cpu", "cpu")
    check_processes(2, "auto", "cuda")
    check_processes(1, "auto", "cpu")
    with pytest.raises(
        InputError, match="gpus_per_member=2: PyTorch finds no GPU; with device='cpu', 2 processes"
    ):
        check_processes(2, "auto", "cpu")
