"""Two commands in one folder whose disk keeps no locks across machines."""

import errno
import fcntl
import json
import os
import threading
import time

import pytest

from cgbench import claims
from cgbench.claims import Claim, claimed
from cgbench.errors import InputError
from cgbench.steps import locked

THEIRS = {"machine": "other", "host": "node-7", "process": 5, "token": "t"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, value in (("BEAT", 0.05), ("SILENT", 1.0), ("GLANCE", 0.1)):
        monkeypatch.setattr(claims, name, value)


@pytest.fixture
def no_locks(monkeypatch):
    """A disk on which every machine gets the lock."""
    monkeypatch.setattr(fcntl, "flock", lambda *rest: None)


def test_a_command_of_another_machine_is_named(tmp_path, no_locks, monkeypatch):
    path = tmp_path / ".cgbench/lock"
    with locked(path, wait=False):
        ours = json.loads((tmp_path / ".cgbench/lock.holder").read_text())
        monkeypatch.setattr(claims, "machine", lambda: "another")
        with (
            pytest.raises(
                InputError, match=rf"another cgbench command .*, on the machine .* \(process {os.getpid()}\)"
            ),
            locked(path, wait=False),
        ):
            raise AssertionError
        with locked(path, wait=True):
            pass  # a step: who has the folder may
        assert json.loads((tmp_path / ".cgbench/lock.holder").read_text()) == ours
    assert [file.name for file in (tmp_path / ".cgbench").iterdir()] == ["lock"]
    with locked(path, wait=False):
        pass


def test_a_disk_without_locks_is_no_error(tmp_path, monkeypatch):
    def refuse(*rest):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        locked(tmp_path / "lock", wait=False),
        pytest.raises(InputError, match="another cgbench command"),
        locked(tmp_path / "lock", wait=False),
    ):
        raise AssertionError


def test_one_that_lives_is_believed_and_one_that_is_silent_is_not(tmp_path):
    path = tmp_path / "lock.holder"
    path.write_text(json.dumps(THEIRS))
    over = threading.Event()

    def live():
        while not over.wait(0.05):
            os.utime(path)

    thread = threading.Thread(target=live)
    thread.start()
    with claimed(path, alone_here=True) as other:
        assert other == Claim(**THEIRS) and str(other) == "on the machine node-7 (process 5)"
    over.set()
    thread.join()
    assert json.loads(path.read_text()) == THEIRS
    began = time.monotonic()
    with claimed(path, alone_here=True) as other:
        assert other is None and time.monotonic() - began > 0.5
        assert json.loads(path.read_text())["process"] == os.getpid()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [json.dumps({**THEIRS, "host": "\x1b[2J"}), "{", "", "[]"])
def test_what_is_old_is_taken_over_at_once(tmp_path, text, monkeypatch):
    monkeypatch.setattr(claims, "SILENT", 600.0)
    path = tmp_path / "lock.holder"
    path.write_text(text)
    os.utime(path, (1e9, 1e9))
    with claimed(path, alone_here=False) as other:
        assert other is None


def test_what_a_killed_command_of_this_machine_left_is_void(tmp_path, monkeypatch):
    """The lock has fallen with it."""
    monkeypatch.setattr(claims, "SILENT", 600.0)
    path = tmp_path / "lock.holder"
    path.write_text(json.dumps({**THEIRS, "machine": claims.machine()}))
    with claimed(path, alone_here=True) as other:
        assert other is None


def test_a_claim_lives_as_long_as_its_command(tmp_path):
    path = tmp_path / "lock.holder"
    with claimed(path, alone_here=True):
        os.utime(path, (1e9, 1e9))
        for _ in range(100):
            if path.stat().st_mtime > 1e9:
                break
            time.sleep(0.05)
        assert path.stat().st_mtime > 1e9
        path.write_text(json.dumps(THEIRS))  # it was thought gone, and another has come
    assert json.loads(path.read_text()) == THEIRS


def test_a_claim_made_in_place_of_a_void_one_is_put_back(tmp_path):
    path = tmp_path / "lock.holder"
    path.write_text(json.dumps(THEIRS))
    claims._remove(path, Claim("gone", "node-1", 1, "u"), Claim("mine", "here", 2, "v"))
    assert json.loads(path.read_text()) == THEIRS
    claims._remove(path, Claim(**THEIRS), Claim("mine", "here", 2, "v"))
    assert not list(tmp_path.iterdir())
