import errno
import os

import pytest

from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.steps import Step, Workspace, check_folder, locked


def write(text):
    return lambda out: (out / "x").write_text(text) and None


def test_a_step_runs_once_and_again_when_its_recipe_changes(tmp_path):
    said = []
    workspace = Workspace(tmp_path, said.append)
    step = Step("learn", {"k": 3}, {"train": "aa"})
    first = workspace.run(step, write("one"))
    assert workspace.run(step, write("two")) == first
    assert (first / "x").read_text() == "one"
    changed = Step("learn", {"k": 4}, {"train": "aa"})
    second = workspace.run(changed, write("three"))
    assert second != first and (second / "x").read_text() == "three"
    assert said == [
        "learn: runs (no earlier result)",
        "learn: kept (nothing it depends on has changed)",
        "learn: runs (changed: config.k 3 -> 4)",
    ]
    assert workspace.run(step, write("four")) == first  # going back costs nothing
    record = read_json(first / "step.json")
    assert list(record["outputs"]) == ["x"] and record["config"] == {"k": 3}


@pytest.mark.parametrize(
    "other",
    [Step("a", {"k": 1}, {}, 2), Step("a", {"k": 1}, {"i": "x"}), Step("a", {"k": 2}, {}), Step("b", {"k": 1}, {})],
)
def test_the_key_covers_everything(other):
    assert Step("a", {"k": 1}, {}).key != other.key


def test_a_failed_step_leaves_no_result_and_starts_afresh(tmp_path):
    workspace = Workspace(tmp_path)
    step = Step("s", {}, {})

    def fail(out):
        (out / "half").write_text("x")
        raise ValueError

    with pytest.raises(ValueError):
        workspace.run(step, fail)
    assert not workspace.done(step)
    result = workspace.run(step, lambda out: (out / "names").write_text(" ".join(os.listdir(out))) and None)
    assert (result / "names").read_text() == ""


def test_a_resumable_step_finds_its_own_files_but_no_torn_ones(tmp_path):
    workspace = Workspace(tmp_path)
    step = Step("s", {}, {})

    def fail(out):
        (out / "part-0").write_text("x")
        (out / ".part-1.17.tmp").write_text("torn")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.run(step, fail, resumable=True)
    assert workspace.why(step) == "s: goes on (an earlier run was stopped)"
    seen = []
    workspace.run(step, lambda out: seen.extend(sorted(os.listdir(out))), resumable=True)
    assert seen == ["part-0"]


def test_a_full_disk_is_one_line(tmp_path):
    def full(out):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="disk is full"):
        Workspace(tmp_path).run(Step("s", {}, {}), full)


def test_two_commands_do_not_share_a_folder(tmp_path):
    with (
        locked(tmp_path / "lock", wait=False),
        pytest.raises(InputError, match="another cgbench command"),
        locked(tmp_path / "lock", wait=False),
    ):
        pass


def test_an_output_folder_that_holds_something_else_is_refused(tmp_path):
    check_folder(tmp_path / "new")
    check_folder(tmp_path)
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds something else"):
        check_folder(tmp_path)
    with pytest.raises(InputError, match="a file"):
        check_folder(tmp_path / "thesis.tex")
    (tmp_path / ".cgbench").mkdir()
    check_folder(tmp_path)
