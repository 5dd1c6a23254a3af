import contextlib
import json
import shutil

import pyarrow
import pyarrow.parquet
import pytest
from few import few
from small_build import CANDIDATES, copy_build, rehash, release_bytes, rewrite
from text_files import exchange, replace_text

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


@contextlib.contextmanager
def changed_manifest(release):
    """What the manifest says, to be changed in place; its digest stays."""
    manifest = json.loads((release / "manifest.json").read_text())
    yield manifest
    (release / "manifest.json").write_text(json.dumps(manifest))


def change_row(release, name, number, change):
    """Change a row of a file of JSON lines; checksums agree with it."""
    rows = (release / name).read_text().splitlines()
    rows[number] = json.dumps(change(json.loads(rows[number])))
    (release / name).write_text("".join(f"{row}\n" for row in rows))
    rehash(release)


def test_a_release_is_in_order(release, run):
    text = run("verify", release).stdout
    assert (
        "DIFFERS" not in text and "split redrawn" in text and repr(verify(release)) == text.rstrip()
    )
    assert json.loads(run("verify", release, "--format", "json").stdout)["ok"] is True
    (release / "test.en").unlink()
    found = json.loads(run("verify", release, "--format", "json", status=1).stdout)
    assert (
        found["ok"] is False
        and {"check": "test.en", "ok": False, "detail": "missing"} in found["checks"]
    )


def test_the_members_beside_a_release_are_compared_with_its_steps(built, release, run, tmp_path):
    def ensemble(folder, status=0):
        checks = json.loads(run("verify", folder, "--format", "json", status=status).stdout)[
            "checks"
        ]
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


def test_what_was_changed_is_named(release):
    replace_text(release / "test.en", " ", "  ")
    assert set(failed(release)) == {"test.en", "tables"}
    (release / "test.en").unlink()
    assert "counts" in failed(release)


def test_the_split_is_drawn_again_so_a_consistent_forgery_shows(release):
    change_row(release, "split.jsonl", 0, lambda row: row | {"line": row["line"] + 1})
    assert set(failed(release)) == {"split redrawn", "tables"}


def test_a_row_has_the_figures_of_its_candidate(release):
    change_row(release, "split.jsonl", 0, lambda row: row | {"rmi": -1})
    assert any(detail.startswith("row 1: rmi is -1, but ") for detail in failed(release).values())


def test_figures_are_checked_against_the_text(release):
    change_row(
        release, "split.jsonl", 2, lambda row: row | {"target_length": row["target_length"] + 1}
    )
    assert failed(release)["split rows"].startswith("row 3: lengths")


@pytest.mark.parametrize("key", ["dropped", "candidates", "rare_word", "selected"])
def test_every_count(release, key):
    with changed_manifest(release) as manifest:
        manifest["counts"][key] += 1
    assert "counts" in failed(release)


@pytest.mark.parametrize(
    "path", [("degree", "mean"), ("uncertainty", "q50"), ("selected", "degree", "q100")]
)
def test_every_figure(release, path):
    with changed_manifest(release) as manifest:
        figures = manifest["figures"]
        for key in path[:-1]:
            figures = figures[key]
        figures[path[-1]] += 1e-9
    rewrite(release, manifest)
    assert set(failed(release)) == {"statistics"}


def test_correlations_are_computed_again(release):
    def change(row):
        assert row["first"] == "degree"
        return row | {"rho": row["rho"] + 1e-6}

    change_row(release, "correlations.jsonl", 3, change)
    assert failed(release) == {"correlations": "row 4: does not match the candidates (1 such rows)"}


def test_other_words_of_the_same_number(release):
    lines = (release / "test.de").read_text().splitlines()
    lines[3] = " ".join(reversed(lines[3].split()))
    (release / "test.de").write_text("\n".join(lines) + "\n")
    rehash(release)
    problems = failed(release)
    assert problems.pop("tables") == f"{TEST}: does not match test.de"
    assert problems == {"text": "line 4: not the selected pair (1 such lines)"}


def test_a_file_left_out_of_the_manifest(release):
    with changed_manifest(release) as manifest:
        del manifest["files"]["test.de"]
    assert "test.de" in failed(release)["files"]


@pytest.mark.parametrize("key", ["files", "until"])
def test_a_manifest_without_a_part_is_an_error(release, run, key):
    with changed_manifest(release) as manifest:
        del manifest[key]
    assert "not that of a cgbench release" in run("verify", release, status=2).stderr


def test_a_manifest_cannot_point_outside_its_folder(release):
    with changed_manifest(release) as manifest:
        manifest["files"]["../../etc/passwd"] = "0"
    assert failed(release)["../../etc/passwd"] == "the name leads out of the folder"


@pytest.mark.parametrize(
    "path",
    [
        ("version",),
        ("counts", "too_long"),
        ("inputs", "train", "pairs"),
        ("signature",),
        ("digest",),
    ],
)
def test_whatever_the_manifest_says_is_covered(release, path):
    with changed_manifest(release) as manifest:
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
            (release / name).write_bytes(
                data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
            )
            with contextlib.suppress(InputError):
                assert not verify(release).ok, (name, place)
        (release / name).write_bytes(data)
    assert verify(release).ok


def test_what_people_write_in_the_card_is_theirs(release, run):
    replace_text(
        release / "README.md", "<!-- end of contact", "Write to **us**.\n<!-- end of contact"
    )
    replace_text(
        release / "README.md", "# end of metadata", "source_datasets: [original]\n# end of metadata"
    )
    run("verify", release)
    replace_text(release / "README.md", "sentence pairs of a pool", "sentence pairs of the pool")
    assert set(failed(release)) == {"README.md"}


@pytest.mark.parametrize("name", [CANDIDATES, TEST])
def test_the_tables_hold_the_pairs_that_they_say(release, name):
    table = pyarrow.parquet.read_table(release / name)
    rows = table["translation"].to_pylist()
    rows[3]["en"] += " ."
    pyarrow.parquet.write_table(
        table.set_column(0, "translation", pyarrow.array(rows)), release / name
    )
    rehash(release)
    assert failed(release) == {
        "tables": f"{name}, row 4: the text does not match its hash (1 such rows)"
    }
    pyarrow.parquet.write_table(table.drop_columns(["translation"]), release / name)
    rehash(release)
    assert failed(release) == {"tables": f"{name} has no text"}


def test_the_table_of_the_test_set_has_the_rows_of_the_split(release):
    table = pyarrow.parquet.read_table(release / TEST)
    place = table.column_names.index("rank")
    ranks = pyarrow.array([*table["rank"].to_pylist()[:-1], 1])
    pyarrow.parquet.write_table(table.set_column(place, "rank", ranks), release / TEST)
    rehash(release)
    assert failed(release) == {"tables": f"{TEST}: does not match split.jsonl"}


def test_the_folder_of_tables_is_no_link(release, tmp_path):
    (release / "data").rename(tmp_path / "elsewhere")
    (release / "data").symlink_to(tmp_path / "elsewhere")
    problems = failed(release)
    assert (
        "not a regular folder" in problems[TEST] and "not a regular folder" in problems[CANDIDATES]
    )


def test_white_space_in_the_manifest_is_a_change_too(release):
    with changed_manifest(release):
        pass
    assert "not in the format" in failed(release)["manifest.json"]


def test_a_digest_cannot_be_left_out(release):
    """Else whoever changes a line of the manifest need only remove another."""
    with changed_manifest(release) as manifest:
        del manifest["digest"]
    write_json(release / "manifest.json", manifest)
    problems = failed(release)
    assert set(problems) == {"manifest.json"} and "has no digest" in problems["manifest.json"]


@pytest.mark.parametrize("name", ["test.de", CANDIDATES, "README.md"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_nothing_but_ordinary_files(release, name, kind):
    exchange(release / name, kind)
    assert "not a regular file" in failed(release)[name]


@pytest.mark.parametrize("kind", ["link", "device", "pipe"])
def test_a_manifest_that_is_no_ordinary_file(release, run, tmp_path, kind):
    exchange(release / "manifest.json", kind)
    score = ("score", "exact", "--release", release, "--hyp", tmp_path / "manifest.json.aside")
    for one in (("verify", release), ("stats", "--release", release), score):
        assert "manifest.json: not a regular file" in run(*one, status=2).stderr


@pytest.mark.parametrize("language", ["../de", "de\n", "", "parquet", 7])
def test_a_language_cannot_lead_outside(release, run, tmp_path, language):
    (tmp_path / "test.x").write_text("secret")
    with changed_manifest(release) as manifest:
        manifest["languages"][0] = language
    rewrite(release, manifest)
    for words in (("verify", release), ("stats", "--release", release)):
        assert "does not name two languages" in run(*words, status=2).stderr


def test_inputs_that_the_system_makes_up_are_not_read(release):
    with changed_manifest(release) as manifest:
        manifest["inputs"]["train"]["files"][0]["path"] = "/proc/self/environ"
        manifest["inputs"]["train"]["files"][1]["path"] = "/dev/zero"
    rewrite(release, manifest)
    checks = {check.name: check.ok for check in verify(release)}
    assert checks["train /proc/self/environ"] is None and checks["train /dev/zero"] is None


def test_no_escape_sequence_reaches_the_terminal(release, run):
    with changed_manifest(release) as manifest:
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
