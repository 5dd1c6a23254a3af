import json
import os
from dataclasses import replace

import pytest
from text_files import flip

from cgbench import checksums
from cgbench.errors import InputError, InputWarning
from cgbench.files import read_json
from cgbench.steps import Step, Workspace, check_folder, in_short


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


def test_steps_without_an_earlier_result_share_a_line(tmp_path):
    workspace = Workspace(tmp_path)
    steps = [Step(name, {}, {}) for name in "abc"]
    lines = [workspace.why(step) for step in steps]
    assert in_short(lines) == ["no earlier result, so these run: a, b, c"]
    workspace.run(steps[1], write("one"))
    lines = [workspace.why(step) for step in steps]
    assert in_short(lines) == [lines[1], "no earlier result, so these run: a, c"]
    assert in_short(lines[:2]) == lines[:2]


@pytest.mark.parametrize(
    "other",
    [
        Step("a", {"k": 1}, {}, 2),
        Step("a", {"k": 1}, {"i": "x"}),
        Step("a", {"k": 2}, {}),
        Step("b", {"k": 1}, {}),
    ],
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
    result = workspace.run(
        step, lambda out: (out / "names").write_text(" ".join(os.listdir(out))) and None
    )
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
    assert workspace.why(step) == "s: resumes (an earlier run was stopped)"
    seen = []
    workspace.run(step, lambda out: seen.extend(sorted(os.listdir(out))), resumable=True)
    assert seen == ["part-0"]


@pytest.mark.parametrize("name", ["x", "step.json"])
def test_a_damaged_result_is_named_and_made_again(tmp_path, name):
    workspace = Workspace(tmp_path)
    step = Step("learn", {"k": 3}, {"train": "aa"})
    result = workspace.run(step, write("one"))
    record = (result / "step.json").read_bytes()
    for bit in range(0, 8 * (result / name).stat().st_size, 13):
        flip(result / name, *divmod(bit, 8))
        if (damaged := workspace.damaged(step)) is None:
            # How long it took is nothing that a result depends on.
            changed = read_json(result / "step.json")
            known, free = json.loads(record), {"seconds"}
            assert all(changed.get(key) == value for key, value in known.items() if key not in free)
            continue
        said = []
        again = Workspace(tmp_path, said.append)
        with pytest.warns(InputWarning) as caught:
            assert again.run(step, write("one")) == result
        assert [str(one.message) for one in caught] == [f"{damaged} is damaged; learn runs again"]
        assert said == [f"learn: runs ({damaged.name} of its result is damaged)"]
        assert damaged.name == name or name == "step.json"  # a record may name another file now
        assert (result / "x").read_text() == "one"
        record = (result / "step.json").read_bytes()
    assert workspace.done(step)


def test_another_results_damaged_record_does_not_matter(tmp_path):
    workspace = Workspace(tmp_path)
    other = workspace.run(Step("learn", {"k": 3}, {}), write("one"))
    for data in (b"{", b"[]", b'{"config": 3}'):
        (other / "step.json").write_bytes(data)
        assert workspace.why(Step("learn", {"k": 4}, {})) == "learn: runs (no earlier result)"


def test_files_are_hashed_once_a_process(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path)
    step = Step("learn", {}, {})
    result = workspace.run(step, write("one"))
    checksums._known.clear()
    read = []
    monkeypatch.setattr(
        checksums,
        "hash_file",
        lambda path, real=checksums.hash_file: (read.append(path.name), real(path))[1],
    )
    for _ in range(3):
        assert workspace.done(step)
    assert read == ["x"]
    flip(result / "x", 0)
    assert workspace.damaged(step) == result / "x"


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


def test_a_step_that_grows_starts_from_the_next_smaller_whole_result(tmp_path):
    workspace = Workspace(tmp_path)

    def step(size, other=1):
        return Step("grow", {"size": size, "other": other}, {"in": "1"}, grows=("size", "state"))

    def make(folder):
        for name in ("out", "state", "more"):
            (folder / name).write_text(name)

    assert workspace.smaller(step(5)) is None
    folders = {size: workspace.run(step(size), make, spare=("state",)) for size in (2, 4, 8)}
    other = workspace.run(step(5, other=2), make, spare=("state",))
    assert workspace.smaller(step(6)) == step(4) and workspace.smaller(step(3)) == step(2)
    assert workspace.smaller(step(2)) is None and other not in folders.values()
    assert "continues an earlier result (changed: config.size 4 -> 6)" in workspace.why(step(6))
    assert workspace.smaller(replace(step(6), grows=None)) is None
    # Spare files are no part of a result, and without them it is no start; a damaged one is none
    # either.
    (folders[4] / "state").unlink()
    assert workspace.done(step(4)) and workspace.smaller(step(6)) == step(2)
    (folders[2] / "out").write_text("0ut")
    assert workspace.smaller(step(6)) is None and "runs (changed: " in workspace.why(step(6))
