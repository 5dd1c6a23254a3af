"""Members that other machines train, followed by their logs."""

import json
import time

from cgbench.engines import Local
from cgbench.models.checkpoints import METRICS
from cgbench.models.training import following
from cgbench.models.training.following import updates_of
from cgbench.steps import Step, Workspace


class Elsewhere(Local):
    here = False


def member(number):
    return Step(f"member-{number}", {"training.max_updates": 100}, {})


def write(folder, *updates, half=b""):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"update": update, "loss": 1.0}).encode() + b"\n" for update in updates]
    (folder / METRICS).write_bytes(b"".join(lines) + half)


def test_logs_say_how_far_members_are(tmp_path):
    workspace, members = Workspace(tmp_path), [member(0), member(1), member(2)]
    assert updates_of(workspace, members) == 0
    write(workspace.folders(members[0])[0], 0, 50, 100)  # finished
    write(workspace.folders(members[1])[1], *range(0, 2000, 10), half=b'{"update": 9')  # in the making
    write(workspace.folders(members[2])[1], half=b"{")
    assert updates_of(workspace, members) == 100 + 1990


def test_the_bar_follows(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "EVERY", 0.01)
    bars = []
    real = following.bar
    monkeypatch.setattr(following, "bar", lambda *words, **options: bars.append(real(*words, **options)) or bars[-1])
    workspace = Workspace(tmp_path)
    write(workspace.folders(member(0))[1], 0, 10)
    with following.following(workspace, [member(0), member(1)], Elsewhere()):
        assert (bars[0].n, bars[0].total) == (10, 200)
        write(workspace.folders(member(1))[1], 0, 30)
        for _ in range(2000):
            if bars[0].n == 40:
                break
            time.sleep(0.01)
        assert bars[0].n == 40
    with following.following(workspace, [member(0)], Local()):
        assert len(bars) == 1  # members that are trained here have bars of their own
