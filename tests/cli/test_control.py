"""``build-react --control``: a control set beside the test set, in the release, checked by
verify.
"""

import json
import re
import shutil
from collections import Counter

import pytest
from small_build import CANDIDATES, SMALL, copy_build, rehash, release_bytes, rewrite
from small_release import build_release

from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError


@pytest.fixture(scope="module")
def built(tmp_path_factory, small_release, corpora):
    """A release with a control set; its steps are those of the small release."""
    out = copy_build(small_release.folder, tmp_path_factory.mktemp("control") / "release")
    _, result = build_release(corpora, out, "--control")
    assert "in the control set" in result.output and "degree of the control set" in result.output
    numbers = r" +\d+\.\d\d +\d+\.\d\d +-?0\.\d{3} +\d+\.\d\d +[01]\.\d{3}\n"
    assert re.search("target: log count of its rarest word" + numbers, result.output)
    return out


def test_a_control_set_is_like_the_test_set_but_easier(built, demo, run):
    release = Release.open(built)
    rows, test = release.set_rows("control"), release.split()
    counts = release.manifest["counts"]
    assert len(rows) == len(test) == counts["control"] == counts["selected"]
    assert Counter(row["pool"] for row in rows) == Counter(row["pool"] for row in test)
    balance = {row["covariate"]: row for row in release.manifest["balance"]}
    assert all(abs(row["difference"]) < 0.1 for row in balance.values())
    for name in ("source_length", "target_length"):
        assert balance[name]["control"] == pytest.approx(
            sum(row[name] for row in rows) / len(rows), abs=1e-6
        )
        assert balance[name]["test"] == pytest.approx(
            sum(row[name] for row in test) / len(test), abs=1e-6
        )
    pool = [(demo / f"pool.{language}").read_text().split("\n") for language in release.languages]
    for side, lines in zip(("source", "target"), pool, strict=True):
        assert [lines[row["line"] - 1] for row in rows] == release.set_lines("control", side)
        assert not set(release.set_lines("control", side)) & set(release.lines(side))
    figures = release.manifest["figures"]
    assert figures["control"]["degree"]["mean"] < figures["selected"]["degree"]["mean"]
    card = (built / "README.md").read_text()
    assert "`control.de` and `control.en` are the control set" in card and "--control-hyp" in card
    assert "| target: mean log count of its words |" in card
    text = run("verify", built).stdout
    assert "DIFFERS" not in text and "control set" in text


def test_jobs_change_no_byte_and_the_test_set_stays_what_it_was(built, corpora, run, tmp_path):
    copy_build(built, tmp_path / "again")
    run("build-react", *corpora, *SMALL, "--out", tmp_path / "again")
    alone = release_bytes(tmp_path / "again")
    assert not [name for name in alone if "control" in name]  # of a setting that was taken back
    shutil.rmtree(tmp_path / "again.work/.cgbench/scan-1")
    run(
        "build-react",
        *corpora,
        *SMALL,
        "--set",
        "control=true",
        "--jobs",
        "2",
        "--out",
        tmp_path / "again",
    )
    ours = release_bytes(tmp_path / "again")
    assert ours == release_bytes(built)
    for name in ("test.de", "test.en", "split.jsonl", CANDIDATES):
        assert ours[name] == alone[name]


def test_a_release_without_one_says_how_to_get_it(release):
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = {
        name: value for name, value in manifest["files"].items() if not name.startswith("control")
    }
    old = Release(release, manifest)
    assert not old.has_control
    for ask in (lambda: old.set_path("control", "source"), lambda: old.set_rows("control")):
        with pytest.raises(InputError, match="no control set; run its command again with control "):
            ask()


def write_rows(release, rows):
    (release / "control.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rehash(release)


def test_verify_names_what_was_changed_in_a_control_set(release, failed):
    rows = [json.loads(line) for line in (release / "control.jsonl").read_text().splitlines()]
    (release / "control.en").write_text((release / "control.en").read_text().replace(" ", "  ", 1))
    assert "control.en" in failed(release)
    (release / "control.en").write_text((release / "control.en").read_text().replace("  ", " ", 1))

    write_rows(release, [{**rows[0], "target_length": rows[0]["target_length"] + 1}, *rows[1:]])
    assert failed(release)["control set"].startswith("row 1: lengths")
    write_rows(release, rows[1:])
    assert "control.jsonl: 34 rows for 35" in failed(release)["control set"]
    write_rows(release, [{**rows[0], "source_rarest": rows[0]["source_rarest"] + 999}, *rows[1:]])
    assert failed(release)["control set"] == "balance of source_rarest: does not match the rows"
    write_rows(release, [{**rows[0], "pool": 2}, *rows[1:]])
    assert failed(release)["control set"] == "1 pairs too many from corpora with fewer test pairs"
    # A pair of the test set in the place of one: hashes and rows agree with the forgery.
    write_rows(
        release, [json.loads((release / "split.jsonl").read_text().split("\n")[0]), *rows[1:]]
    )
    for language in ("de", "en"):
        control = (release / f"control.{language}").read_text().split("\n")
        first = (release / f"test.{language}").read_text().split("\n")[0]
        (release / f"control.{language}").write_text("\n".join([first, *control[1:]]))
    rehash(release)
    assert failed(release)["control set"] == "1 lines of the source are also in the test set"


def hypotheses(folder, release, name, broken):
    """Translations of both sets: the references, every ``broken``-th one with its first word
    gone.
    """
    given = []
    for stem, path in (
        ("test", release.text_path("target")),
        ("control", release.set_path("control", "target")),
    ):
        lines = path.read_text().split("\n")[:-1]
        texts = [
            line.partition(" ")[2] if number % broken[stem] == 0 else line
            for number, line in enumerate(lines)
        ]
        (folder / f"{name}.{stem}").write_text("\n".join(texts) + "\n")
        given.append(f"{name}={folder / f'{name}.{stem}'}")
    return ["--hyp", given[0], "--control-hyp", given[1]]


def test_score_says_what_is_lost_from_the_control_set(built, run, tmp_path):
    words = hypotheses(tmp_path, Release.open(built), "A", {"test": 2, "control": 7})
    text = run("score", "bleu", "--release", built, "--preset", "react", *words).stdout
    assert "BLEU falls by " in text and "from the control set (35 examples) to the test set" in text
    found = json.loads(run("score", "chrf", "--release", built, *words, "--format", "json").stdout)
    assert found["control"]["ci_low"] < found["control"]["drop"] < found["control"]["ci_high"]
    assert found["control"]["drop"] == pytest.approx(found["control"]["value"] - found["value"])
    # The same from files without a release.
    release = Release.open(built)
    files = (
        "--ref",
        release.text_path("target"),
        "--control-ref",
        release.set_path("control", "target"),
    )
    assert json.loads(run("score", "chrf", *files, *words, "--format", "json").stdout) == found


def test_score_with_a_control_set_that_is_not_there_is_one_line(built, release, run, tmp_path):
    words = hypotheses(tmp_path, Release.open(built), "A", {"test": 2, "control": 7})
    files = ("--ref", Release.open(built).text_path("target"))
    said = run("score", "bleu", *files, *words, status=2).stderr
    assert "the control set needs references: give --control-ref (or a --release with" in said
    said = run(
        "score", "bleu", "--release", built, *words, "--control-hyp", words[3], status=2
    ).stderr
    assert "--control-hyp A=" in said and "given twice" in said
    said = run(
        "score", "bleu", "--release", built, *words[:2], "--control-ref", files[1], status=2
    ).stderr
    assert "the control set has no hypotheses; give --control-hyp" in said
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = {
        name: value for name, value in manifest["files"].items() if not name.startswith("control")
    }
    rewrite(release, manifest)
    said = run("score", "bleu", "--release", release, *words, status=2).stderr
    assert (
        "this release has no control set; run its command again with --control (finished steps are"
        " kept)" in said
    )


def test_a_control_set_is_a_table_that_data_sets_load(built, tmp_path):
    release = Release.open(built)
    table = release.table("control", text=True)
    texts = zip(
        release.set_lines("control", "source"), release.set_lines("control", "target"), strict=True
    )
    assert table["translation"].to_pylist() == [
        {"de": source, "en": target} for source, target in texts
    ]
    card = (built / "README.md").read_text()
    assert (
        "- config_name: control\n  data_files:\n  - split: control\n    path:"
        " data/control-*.parquet\n" in card
    )
    metadata = json.loads((built / "croissant.json").read_text())
    assert [one["@id"] for one in metadata["recordSet"]] == ["test", "candidates", "control"]
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(str(built), "control", cache_dir=str(tmp_path))["control"]
    assert found["line"] == [row["line"] for row in release.set_rows("control")]


def test_a_control_set_is_restored_with_the_test_set(built, corpora, demo, run, tmp_path):
    out = copy_build(built, tmp_path / "release")
    run("build-react", *corpora, *SMALL, "--control", "--text", "none", "--out", out)
    assert not list(out.glob("control.*e")) and "DIFFERS" not in run("verify", out).stdout
    run("restore", out, "--pool", demo / "pool.de", demo / "pool.en")
    for name in ("control.de", "control.en", "control.jsonl", "test.de", "test.en"):
        assert (out / name).read_bytes() == (built / name).read_bytes()
    assert "DIFFERS" not in run("verify", out).stdout
