"""A folder is replaced as a whole, by one command at a time, whatever an earlier one that was
killed has left.
"""

import os
import signal
import subprocess
import sys

import pytest

from cgbench.errors import InputError
from cgbench.locks import replacing

KILLED = """
import os, signal, sys
from pathlib import Path
from cgbench.locks import replacing
if sys.argv[2] == "rename":
    rename = Path.rename
    Path.rename = lambda path, to: (rename(path, to), os.kill(os.getpid(), signal.SIGKILL))
with replacing(Path(sys.argv[1])) as making:
    (making / "new").write_text("new")
    if sys.argv[2] == "write":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["write", "rename"])
def test_what_a_killed_command_leaves_is_cleared(tmp_path, when):
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").write_text("old")
    assert (
        subprocess.run([sys.executable, "-c", KILLED, out, when], check=False).returncode
        == -signal.SIGKILL
    )
    assert sorted(path.name for path in tmp_path.iterdir()) != ["out"]
    (tmp_path / ".out.b.1.tmp").touch()  # of another output, out.b
    with replacing(out) as making:
        assert (out / "old").read_text() == "old"
        (making / "newer").touch()
    assert [path.name for path in out.iterdir()] == ["newer"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.b.1.tmp", "out"]


def test_a_folder_is_written_by_one_command_at_a_time(tmp_path):
    out = tmp_path / "out"
    with replacing(out) as making:
        (making / "one").touch()
        with (
            pytest.raises(InputError, match="out: another cgbench command is writing this folder"),
            replacing(out),
        ):
            raise AssertionError
    assert [path.name for path in out.iterdir()] == ["one"] and os.listdir(tmp_path) == ["out"]
    with pytest.raises(ZeroDivisionError), replacing(out) as making:
        _ = 1 / 0
    assert [path.name for path in out.iterdir()] == ["one"] and os.listdir(tmp_path) == ["out"]
