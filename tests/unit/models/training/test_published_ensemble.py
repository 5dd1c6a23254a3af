"""The members of a build as an ensemble beside it; no model is needed for that."""

import json
import os

import pytest

from cgbench import files
from cgbench.errors import InputError
from cgbench.models.training.ensemble_training import check_beside, publish_beside
from cgbench.steps import STEPS, Step, Workspace


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "out" / STEPS)


def members(workspace, *texts):
    def make(text):
        def write(folder):
            (folder / "config.json").write_text("{}")
            (folder / "model.safetensors").write_text(text)
            (folder / "checkpoints" / "update-2").mkdir(parents=True)
            (folder / "checkpoints" / "update-2" / "model.safetensors").write_text(text)

        return write

    return [
        workspace.run(Step(f"member-{n}", {"text": text}, {}), make(text))
        for n, text in enumerate(texts)
    ]


def bytes_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_members_are_published_as_train_ensemble_does_it_and_take_no_room(workspace):
    steps = members(workspace, "a", "b")
    folder = publish_beside(workspace, steps)
    assert folder == workspace.root.parent / "ensemble"
    found = bytes_of(folder)
    listing = json.loads(found.pop("ensemble.json"))
    assert listing == {"format": 1, "members": ["member-0", "member-1"]}
    names = ("config.json", "model.safetensors", "checkpoints/update-2/model.safetensors")
    assert found.keys() == {f"member-{number}/{name}" for number in (0, 1) for name in names}
    assert found["member-1/model.safetensors"] == b"b"
    assert (folder / "member-1/model.safetensors").samefile(steps[1] / "model.safetensors")
    before = folder.stat().st_ino
    publish_beside(workspace, steps)
    assert folder.stat().st_ino == before  # kept


def test_a_file_system_without_hard_links_gets_copies(workspace, monkeypatch):
    steps = members(workspace, "a", "b")
    linked = bytes_of(publish_beside(workspace, steps))
    (workspace.root.parent / "ensemble/member-0/config.json").unlink()

    def refuse(*names):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(files.os, "link", refuse)
    folder = publish_beside(workspace, steps)
    assert bytes_of(folder) == linked
    assert not (folder / "member-1/model.safetensors").samefile(steps[1] / "model.safetensors")


@pytest.mark.parametrize(
    "name", ["member-1/model.safetensors", "member-0/config.json", "ensemble.json"]
)
def test_what_is_not_the_steps_is_made_again(workspace, name):
    steps = members(workspace, "a", "b")
    folder = publish_beside(workspace, steps)
    right = bytes_of(folder)
    (folder / name).unlink()
    publish_beside(workspace, steps)
    assert bytes_of(folder) == right
    (folder / name).unlink()
    (folder / name).write_bytes(b"x")
    publish_beside(workspace, steps)
    assert bytes_of(folder) == right


def test_other_members_replace_them_and_what_users_put_there_stays(workspace):
    folder = publish_beside(workspace, members(workspace, "a", "b", "c"))
    (folder / "hypotheses").write_text("mine")
    publish_beside(workspace, members(workspace, "a", "d"))
    found = bytes_of(folder)
    assert found["hypotheses"] == b"mine" and found["member-1/model.safetensors"] == b"d"
    assert not (folder / "member-2").exists()
    assert not list(workspace.root.glob("ensemble.[on]*"))


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_call_that_is_killed_leaves_no_half_and_the_next_one_goes_on(
    workspace, monkeypatch, kept
):
    """Killed at each of its renames: the old one away, the new one there, a user's file back."""
    first, second = members(workspace, "a", "b"), members(workspace, "c", "d")
    folder = publish_beside(workspace, first)
    before = bytes_of(folder)
    (folder / "hypotheses").write_text("mine")
    rename, calls = type(folder).rename, []

    def kill(path, target):
        if len(calls) == kept:
            raise KeyboardInterrupt
        calls.append(path)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(folder), "rename", kill)
        with pytest.raises(KeyboardInterrupt):
            publish_beside(workspace, second)
    left = bytes_of(folder) if folder.exists() else {}
    left.pop("hypotheses", None)
    new = {
        f"member-{n}/{name}": (step / name).read_bytes()
        for n, step in enumerate(second)
        for name in ("config.json", "model.safetensors", "checkpoints/update-2/model.safetensors")
    }
    new["ensemble.json"] = before["ensemble.json"]
    assert left == (before, {}, new)[kept]
    check_beside(workspace)
    publish_beside(workspace, second)
    assert bytes_of(folder) == {**new, "hypotheses": b"mine"}
    assert not list(workspace.root.glob("ensemble.[on]*"))


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_folder_of_somebody_elses_is_refused_and_left(workspace, kind):
    folder = workspace.root.parent / "ensemble"
    workspace.root.mkdir(parents=True)
    {"folder": folder.mkdir, "file": folder.touch, "link": lambda: folder.symlink_to("nowhere")}[
        kind
    ]()
    with pytest.raises(InputError, match=f"{folder}: is in the way .*ensemble="):
        check_beside(workspace)
    assert os.path.lexists(folder)


def test_nothing_outside_the_folder_is_taken_for_a_member(workspace, tmp_path):
    steps = members(workspace, "a")
    folder = publish_beside(workspace, steps)
    (folder / "member-0").rename(tmp_path / "elsewhere")
    (folder / "member-0").symlink_to(tmp_path / "elsewhere")
    publish_beside(workspace, steps)
    assert not (folder / "member-0").is_symlink() and (tmp_path / "elsewhere/config.json").is_file()
