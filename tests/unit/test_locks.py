import errno
import fcntl

import pytest

from cgbench.errors import InputError
from cgbench.locks import locked


def test_two_commands_do_not_share_a_folder(tmp_path):
    with (
        locked(tmp_path / "lock", wait=False),
        pytest.raises(InputError, match="another cgbench command"),
        locked(tmp_path / "lock", wait=False),
    ):
        pass


@pytest.mark.parametrize("wait", [False, True])
def test_a_disk_without_locks_is_refused(tmp_path, monkeypatch, wait):
    def refuse(*rest):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(InputError, match="this disk has no file locks"),
        locked(tmp_path / "lock", wait=wait),
    ):
        raise AssertionError
