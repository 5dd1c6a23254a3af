"""build-react with ``--document``: the document of each pair in the release, drawn and scored by
document.
"""

import json
import shutil
from collections import Counter

import pytest
from small_build import SMALL, candidates_of, copy_build, release_bytes
from small_release import build_release

from cgbench.benchmark.release.release import Release

SIZE = 20  # pairs per document


@pytest.fixture(scope="module")
def words(corpora, demo, tmp_path_factory):
    """The words that build from a table, which has the demo's pool and names documents."""
    table = tmp_path_factory.mktemp("documents") / "pool.tsv"
    sides = [(demo / f"pool.{language}").read_text().splitlines() for language in ("de", "en")]
    rows = [
        f"text {number // SIZE}\t{one}\t{two}\n"
        for number, (one, two) in enumerate(zip(*sides, strict=True))
    ]
    table.write_text("".join(["doc\tsource\ttarget\n", *rows]))
    place = corpora.index("--pool")
    return [
        *corpora[:place],
        "--pool",
        table,
        *corpora[place + 3 :],
        "--columns",
        "source,target",
        "--document",
        "doc",
    ]


@pytest.fixture(scope="module")
def built(words, small_release, tmp_path_factory):
    """A release with documents and a control set; its members are those of the release without."""
    out = copy_build(small_release.folder, tmp_path_factory.mktemp("documents") / "release")
    return build_release(words, out, "--control")[0]


def test_rows_have_a_document_and_everything_else_is_as_before(built, small_release, run):
    release = Release.open(built)
    for ours, before in (
        (release.split(), small_release.split()),
        (release.set_rows("control"), small_release.set_rows("control")),
        (release.table().to_pylist(), small_release.table().to_pylist()),
    ):
        assert [row["document"] for row in ours] == [
            f"text {(row['line'] - 1) // SIZE}" for row in ours
        ]
        assert [
            {key: row[key] for key in row if key != "document"} for row in ours
        ] == before and before
    assert (
        "document" in release.table("test").column_names
        and "document" in release.table("control").column_names
    )
    assert (
        release.manifest["configuration"]["document"] == "doc"
        and "document=doc" in release.manifest["command"]
    )
    assert small_release.configuration["document"] is None
    assert "score --release DIR --cluster document" in (built / "README.md").read_text()
    assert "--cluster document" not in (small_release.folder / "README.md").read_text()
    assert "DIFFERS" not in run("verify", built).stdout


def test_whole_documents_are_drawn_with_any_number_of_workers(built, words, run, tmp_path):
    copy_build(built, tmp_path / "out")
    build_release(
        words,
        tmp_path / "out",
        "--control",
        "--set",
        "draw_by=document",
        "--text",
        "none",
        "--jobs",
        "2",
    )
    folder = tmp_path / "out"
    table, counts = candidates_of(folder).to_pydict(), Release.open(folder).manifest["counts"]
    drawn = {
        name
        for name, stage in zip(table["document"], table["stage"], strict=True)
        if stage == "selected"
    }
    left = {
        name
        for name, stage in zip(table["document"], table["stage"], strict=True)
        if stage == "window"
    }
    assert drawn and not drawn & left
    before = Release.open(built).manifest["counts"]
    assert (
        before["selected"] <= counts["selected"] < before["selected"] + SIZE
        and counts["window"] == before["window"]
    )
    assert Counter(table["stage"])["selected"] == counts["selected"] == counts["control"]
    assert "as whole documents" in (folder / "README.md").read_text()
    assert (
        "DIFFERS" not in run("verify", folder).stdout
    )  # without text, with the names of documents
    found = release_bytes(folder)
    shutil.rmtree(tmp_path / "out.work/.cgbench/scan-1")
    again = (
        "--control",
        "--set",
        "draw_by=document",
        "--text",
        "none",
        "--jobs",
        "1",
        "--out",
        folder,
    )
    run("build-react", *words, *SMALL, *again)
    assert release_bytes(folder) == found


def test_scores_and_drops_by_document(built, run, tmp_path):
    release, given = Release.open(built), []
    control = release.folder / f"control.{release.languages[1]}"
    for stem, path in (("test", release.text_path("target")), ("control", control)):
        lines = path.read_text().splitlines()
        (tmp_path / stem).write_text(
            "".join(f"{line if row % 3 else ''}\n" for row, line in enumerate(lines))
        )
        given += ["--hyp" if stem == "test" else "--control-hyp", f"A={tmp_path / stem}"]
    score = ("score", "exact", "--release", built, *given, "--format", "json")
    found = json.loads(run(*score, "--cluster", "document").stdout)
    documents = [
        {row["document"] for row in rows} for rows in (release.split(), release.set_rows("control"))
    ]
    assert f"clusters:document({len(documents[0])})" in found["signature"]
    plain = json.loads(run(*score).stdout)
    assert found["control"]["drop"] == plain["control"]["drop"]
    assert found["control"]["ci_low"] != plain["control"]["ci_low"]
    # The same from a table with the references of the control set.
    named = [row["document"] for row in release.set_rows("control")]
    rows = zip(
        ["document", *named], ["reference", *release.set_lines("control", "target")], strict=True
    )
    (tmp_path / "control.tsv").write_text("".join(f"{name}\t{line}\n" for name, line in rows))
    own = ("--cluster", "document", "--control-ref", tmp_path / "control.tsv")
    assert json.loads(run(*score, *own).stdout)["control"] == found["control"]
    plain = ("--cluster", "document", "--control-ref", control)
    assert (
        "--cluster document: the control set has no column document"
        in run(*score, *plain, status=2).stderr
    )
    # Rows joined by their ids, in another order.
    mixed = []
    for stem, rows in (("test", release.split()), ("control", release.set_rows("control"))):
        lines = zip(rows, (tmp_path / stem).read_text().splitlines(), strict=True)
        texts = [f"{row['line']}\t{line}\n" for row, line in lines]
        (tmp_path / f"{stem}.tsv").write_text("".join(["line\thypothesis\n", *reversed(texts)]))
        mixed += [
            "--hyp" if stem == "test" else "--control-hyp",
            f"A={tmp_path / stem}.tsv:hypothesis",
        ]
    joined = ("score", "exact", "--release", built, *mixed, "--id", "line", "--cluster", "document")
    assert json.loads(run(*joined, "--format", "json").stdout)["control"] == found["control"]


def test_documents_between_empty_lines(demo, corpora, run, tmp_path):
    for language in ("de", "en"):
        lines = (demo / f"pool.{language}").read_text().splitlines()
        text = "\n\n".join(
            "\n".join(lines[start : start + SIZE]) for start in range(0, len(lines), SIZE)
        )
        (tmp_path / f"pool.{language}").write_text(f"{text}\n")
    place = corpora.index("--pool")
    pool = ("--pool", tmp_path / "pool.de", tmp_path / "pool.en")
    build = (
        "build-react",
        *corpora[:place],
        *pool,
        *corpora[place + 3 :],
        *SMALL,
        "--until",
        "candidates",
    )
    run(*build, "--document", "blank-lines", "--out", tmp_path / "out")
    rows = candidates_of(tmp_path / "out").to_pylist()
    assert rows and all(row["document"] == str((row["line"] - 1) // (SIZE + 1) + 1) for row in rows)
