"""An overlap that is killed wherever it touches the disk goes on to the same bytes."""

import os
import signal
import sys

import pytest
from few import few

from cgbench.benchmark.measure.overlap.overlap import STEPS, overlap
from cgbench.engines import Local

WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")


def write(folder):
    (folder / "test").write_text("the dog ate the cat\nthe dog slept\na cat\n")
    for number in range(3):
        (folder / f"corpus.{number}").write_text(
            f"the cat slept {number}\na dog ate the cake\nthe dog slept\n" * 3
        )
    return folder / "test", [folder / f"corpus.{number}" for number in range(3)]


def held(out):
    """What there is to look at, without the steps."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    names = [path.relative_to(out) for path in files]
    return {str(name): (out / name).read_bytes() for name in names if name.parts[0] != STEPS}


def in_a_child(given, out, moment):
    """Run it in a process that is killed before it writes, renames or removes for the ``moment``-th
    time.

    :returns: whether it was.
    """
    child = os.fork()
    if child == 0:
        count = 0

        def kill(event, details):
            nonlocal count
            opened = (
                event == "open"
                and str(out) in str(details[0])
                and (details[2] or 0) & (os.O_WRONLY | os.O_RDWR)
            )
            if opened or (event in WRITES and str(out) in str(details[0])):
                count += 1
                if count == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)  # for the rest of the child's life
        try:
            overlap(*given, orders=(1, 2, 3), out=out, engine=Local(1))
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("step", few([1, 4], 4))
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_every_write(tmp_path, step):
    given = write(tmp_path)
    overlap(*given, orders=(1, 2, 3), out=tmp_path / "undisturbed", engine=Local(1))
    expected = held(tmp_path / "undisturbed")
    assert {"overlap.json", "examples.tsv"} <= set(expected) and len(expected) > 4
    moment = killed = 0
    while True:
        moment += (
            step if moment > 76 else 10 * step
        )  # many of the last, which write what there is to look at
        if not in_a_child(given, out := tmp_path / f"killed-{moment}", moment):
            break
        killed += 1
        assert not in_a_child(given, out, 0)
        assert held(out) == expected, moment
    assert killed > 10 / step, moment
