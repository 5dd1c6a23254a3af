import contextlib
import json
import os
import shutil

import pytest
from few import few
from small_build import CANDIDATES, copy_build, rehash, release_bytes, rewrite

from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import verify
from cgbench.errors import InputError
from cgbench.files import to_json, write_json

TEST = "data/test-00000-of-00001.parquet"


@pytest.fixture
def built(small_release):
    return small_release.folder


def failed(release):
    return {check.name: check.detail for check in verify(release).failed}


def read_manifest(release):
    return json.loads((release / "manifest.json").read_text())


def test_a_release_is_in_order(release, run):
    text = run("verify", release).stdout
    assert "DIFFERS" not in text and "split redrawn" in text and repr(verify(release)) == text.rstrip()
    assert json.loads(run("verify", release, "--format", "json").stdout)["ok"] is True
    (release / "test.en").unlink()
    found = json.loads(run("verify", release, "--format", "json", status=1).stdout)
    assert found["ok"] is False and {"check": "test.en", "ok": False, "detail": "missing"} in found["checks"]


def test_the_members_beside_a_release_are_compared_with_its_steps(built, release, run, tmp_path):
    def ensemble(folder, status=0):
        checks = json.loads(run("verify", folder, "--format", "json", status=status).stdout)["checks"]
        return [(check["ok"], check["detail"]) for check in checks if check["check"] == "ensemble"]

    assert ensemble(built) == [(True, "")]
    shutil.copytree(f"{built}.work/ensemble", tmp_path / "release.work/ensemble")
    ((ok, detail),) = ensemble(release)
    assert ok is None and "nothing to compare with" in detail
    shutil.rmtree(tmp_path / "release.work")
    assert ensemble(release) == []
    copy_build(built, tmp_path / "other")
    with (tmp_path / "other.work/ensemble/member-1/model.safetensors").open("ab") as file:
        file.write(b" ")
    ((ok, detail),) = ensemble(tmp_path / "other", status=1)
    assert ok is False and "not the members" in detail
    # A build that was given its ensemble says nothing of another beside it.
    manifest = json.loads((tmp_path / "other/manifest.json").read_text())
    manifest["inputs"]["ensemble"] = {"path": "elsewhere", "identity": "00"}
    opened = Release(tmp_path / "other", manifest)
    assert str(opened.ensemble) == "elsewhere"
    assert "ensemble" not in {check.name for check in verify(opened)}


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_was_changed_is_named(release):
    change(release / "test.en", " ", "  ")
    assert set(failed(release)) == {"test.en", "tables"}
    (release / "test.en").unlink()
    assert "counts" in failed(release)


def test_the_split_is_drawn_again_so_a_consistent_forgery_shows(release):
    rows = (release / "split.jsonl").read_text().splitlines()
    row = json.loads(rows[0])
    row["line"] += 1
    (release / "split.jsonl").write_text("\n".join([json.dumps(row), *rows[1:]]) + "\n")
    rehash(release)
    assert set(failed(release)) == {"split redrawn", "tables"}


def test_a_row_has_the_figures_of_its_candidate(release):
    first, *rows = (release / "split.jsonl").read_text().splitlines()
    row = json.loads(first)
    (release / "split.jsonl").write_text("\n".join([json.dumps({**row, "rmi": row["rmi"] + 1}), *rows]) + "\n")
    rehash(release)
    assert f"row 1: rmi is {row['rmi'] + 1}, but {row['rmi']} in the candidates" in failed(release).values()


def test_figures_are_checked_against_the_text(release):
    rows = [json.loads(line) for line in (release / "split.jsonl").read_text().splitlines()]
    rows[2]["target_length"] += 1
    (release / "split.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rehash(release)
    problems = failed(release)
    assert problems["split rows"].startswith("row 3: lengths")


@pytest.mark.parametrize("key", ["dropped", "candidates", "rare_word", "selected"])
def test_every_count(release, key):
    manifest = read_manifest(release)
    manifest["counts"][key] += 1
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "counts" in failed(release)


@pytest.mark.parametrize("path", [("degree", "mean"), ("uncertainty", "q50"), ("selected", "degree", "q100")])
def test_every_figure(release, path):
    manifest = read_manifest(release)
    figures = manifest["figures"]
    for key in path[:-1]:
        figures = figures[key]
    figures[path[-1]] += 1e-9
    rewrite(release, manifest)
    assert set(failed(release)) == {"statistics"}


def test_correlations_are_computed_again(release):
    rows = (release / "correlations.jsonl").read_text().splitlines(keepends=True)
    row = json.loads(rows[3])
    assert row["first"] == "degree" and row["rho"] is not None
    row["rho"] += 1e-6
    (release / "correlations.jsonl").write_text("".join([*rows[:3], json.dumps(row) + "\n", *rows[4:]]))
    rehash(release)
    problems = failed(release)
    assert problems == {"correlations": "row 4: does not match the candidates (1 such rows)"}


def test_other_words_of_the_same_number(release):
    lines = (release / "test.de").read_text().splitlines()
    lines[3] = " ".join(reversed(lines[3].split()))
    (release / "test.de").write_text("\n".join(lines) + "\n")
    rehash(release)
    problems = failed(release)
    assert problems.pop("tables") == f"{TEST}: does not match test.de"
    assert problems == {"text": "line 4: not the selected pair (1 such lines)"}


def test_a_file_left_out_of_the_manifest(release):
    manifest = read_manifest(release)
    del manifest["files"]["test.de"]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "test.de" in failed(release)["files"]


@pytest.mark.parametrize("key", ["files", "until"])
def test_a_manifest_without_a_part_is_an_error(release, run, key):
    manifest = read_manifest(release)
    del manifest[key]
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "not that of a cgbench release" in run("verify", release, status=2).stderr


def test_a_manifest_cannot_point_outside_its_folder(release):
    manifest = read_manifest(release)
    manifest["files"]["../../etc/passwd"] = "0"
    (release / "manifest.json").write_text(json.dumps(manifest))
    problems = failed(release)
    assert problems["../../etc/passwd"] == "the name leads out of the folder"


@pytest.mark.parametrize(
    "path", [("version",), ("counts", "too_long"), ("inputs", "train", "pairs"), ("signature",), ("digest",)]
)
def test_whatever_the_manifest_says_is_covered(release, path):
    manifest = read_manifest(release)
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "0" * 64 if path == ("digest",) else [9]
    (release / "manifest.json").write_text(to_json(manifest))
    assert "manifest.json" in failed(release)


@pytest.mark.parametrize("positions", few([40, 3], 3))
def test_any_changed_byte_is_found(release, positions):
    """One bit of every file in turn, at positions spread over it: found, or no release at all."""
    files = release_bytes(release)
    assert len(files) == 13
    for name, data in files.items():
        step = max(1, len(data) // (positions if name == "manifest.json" else positions // 5 + 1))
        for place in range(0, len(data), step):
            (release / name).write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
            with contextlib.suppress(InputError):
                assert not verify(release).ok, (name, place)
        (release / name).write_bytes(data)
    assert verify(release).ok


def test_what_people_write_in_the_card_is_theirs(release, run):
    change(release / "README.md", "<!-- end of contact", "Write to **us**.\n<!-- end of contact")
    change(release / "README.md", "# end of metadata", "source_datasets: [original]\n# end of metadata")
    run("verify", release)
    change(release / "README.md", "sentence pairs of a pool", "sentence pairs of the pool")
    assert set(failed(release)) == {"README.md"}


def write(path, table):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path)


@pytest.mark.parametrize("name", [CANDIDATES, TEST])
def test_the_tables_hold_the_pairs_that_they_say(release, name):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(release / name)
    rows = table["translation"].to_pylist()
    rows[3]["en"] += " ."
    write(release / name, table.set_column(0, "translation", pyarrow.array(rows)))
    rehash(release)
    problems = failed(release)
    assert problems == {"tables": f"{name}, row 4: the text does not match its hash (1 such rows)"}
    write(release / name, table.drop_columns(["translation"]))
    rehash(release)
    assert failed(release) == {"tables": f"{name} has no text"}


def test_the_table_of_the_test_set_has_the_rows_of_the_split(release):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(release / TEST)
    place = table.column_names.index("rank")
    write(release / TEST, table.set_column(place, "rank", pyarrow.array([*table["rank"].to_pylist()[:-1], 1])))
    rehash(release)
    problems = failed(release)
    assert problems == {"tables": f"{TEST}: does not match split.jsonl"}


def test_the_folder_of_tables_is_no_link(release, tmp_path):
    (release / "data").rename(tmp_path / "elsewhere")
    (release / "data").symlink_to(tmp_path / "elsewhere")
    problems = failed(release)
    assert "not a regular folder" in problems[TEST] and "not a regular folder" in problems[CANDIDATES]


def test_white_space_in_the_manifest_is_a_change_too(release):
    manifest = read_manifest(release)
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert "not in the format" in failed(release)["manifest.json"]


def test_a_digest_cannot_be_left_out(release):
    """Else whoever changes a line of the manifest need only remove another."""
    manifest = read_manifest(release)
    digest = manifest.pop("digest")
    write_json(release / "manifest.json", manifest)
    problems = failed(release)
    assert set(problems) == {"manifest.json"} and "has no digest" in problems["manifest.json"]
    write_json(release / "manifest.json", {**manifest, "digest": digest})


@pytest.mark.parametrize("name", ["test.de", CANDIDATES, "README.md"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_nothing_but_ordinary_files(release, tmp_path, name, kind):
    (release / name).rename(tmp_path / "real")
    if kind == "link":
        (release / name).symlink_to(tmp_path / "real")
    elif kind == "pipe":
        os.mkfifo(release / name)
    else:
        (release / name).mkdir()
    assert "not a regular file" in failed(release)[name]


@pytest.mark.parametrize("kind", ["link", "device", "pipe"])
def test_a_manifest_that_is_no_ordinary_file(release, run, tmp_path, kind):
    path = release / "manifest.json"
    path.rename(tmp_path / "real")
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "real" if kind == "link" else "/dev/zero")
    words = [("verify", release), ("stats", "--release", release)]
    words.append(("score", "exact", "--release", release, "--hyp", tmp_path / "real"))
    for one in words:
        assert "manifest.json: not a regular file" in run(*one, status=2).stderr


@pytest.mark.parametrize("language", ["../de", "de\n", "", "parquet", 7])
def test_a_language_cannot_lead_outside(release, run, tmp_path, language):
    (tmp_path / "test.x").write_text("secret")
    manifest = read_manifest(release)
    manifest["languages"][0] = language
    rewrite(release, manifest)
    for words in (("verify", release), ("stats", "--release", release)):
        assert "does not name two languages" in run(*words, status=2).stderr


def test_inputs_that_the_system_makes_up_are_not_read(release, run):
    manifest = read_manifest(release)
    manifest["inputs"]["train"]["files"][0]["path"] = "/proc/self/environ"
    manifest["inputs"]["train"]["files"][1]["path"] = "/dev/zero"
    rewrite(release, manifest)
    checks = {
        one["check"]: one["ok"] for one in json.loads(run("verify", release, "--format", "json").stdout)["checks"]
    }
    assert checks["train /proc/self/environ"] is None and checks["train /dev/zero"] is None


def test_no_escape_sequence_reaches_the_terminal(release, run):
    manifest = read_manifest(release)
    manifest["files"]["a\x1b]0;owned\x07\n ok"] = "\x9b31m"
    manifest["inputs"]["train"]["files"][0]["path"] = "\x1b[2J/nowhere\x9b"
    rewrite(release, manifest)
    text = run("verify", release, status=1).stdout
    assert not set(text) & {"\x1b", "\x07", "\x9b"} and "\\x1b]0;owned\\x07\\n ok" in text
    out = run("verify", release, "--format", "json", status=1).stdout
    assert "\x9b" not in out and any("\x9b" in one["check"] for one in json.loads(out)["checks"])
    (release / "manifest.json").write_text('{"\x1b[2J')
    assert "\x1b" not in run("verify", release, status=2).stderr
    path = release / "x\x1b[2J"
    assert "\\x1b[2J" in run("verify", path, status=2).stderr
