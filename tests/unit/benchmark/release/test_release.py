"""A release, opened; its card."""

import json
import shutil

import pyarrow
import pyarrow.parquet
import pytest
from small_build import list_files, write_release

from cgbench.benchmark.build.react.build_react import build_react
from cgbench.benchmark.candidates.correlations import correlations_of
from cgbench.benchmark.release.card import _code, _escape, write_card
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.verify import verify
from cgbench.errors import InputError, InputWarning
from cgbench.steps import hash_file

CANDIDATES = "data/candidates-00000-of-00001.parquet"


def build(demo, out):
    """A build that stops at the candidates."""
    train, pool = ((demo / f"{stem}.de", demo / f"{stem}.en") for stem in ("train", "pool"))
    return build_react(
        train=train, pools=[pool], out=out, preset="demo", until="candidates", candidates=50, jobs=1
    )


@pytest.fixture(scope="module")
def candidates(demo, tmp_path_factory):
    """For tests that only read it."""
    return build(demo, tmp_path_factory.mktemp("release") / "out")


@pytest.fixture
def finished(tmp_path):
    """The smallest release that can be opened."""
    files = {"test.de": "\ufeffa b\nc\n", "test.<b>": "x y\nz\n"}
    files["split.jsonl"] = '{"line": 3, "degree": 0.5}\n{"line": 8, "degree": 1.0}\n'
    counts = {"pool": 9, "candidates": 4, "selected": 2}
    return write_release(
        tmp_path, files, languages=["de", "<b>"], signature="react|<i>", counts=counts
    )


def test_a_release_as_data_frames(finished, candidates):
    pytest.importorskip("pandas")
    release = Release.open(str(finished))
    assert list(release.test.columns) == ["source", "target", "line", "degree"]
    assert release.test["source"].tolist() == [
        "\ufeffa b",
        "c",
    ]  # a mark inside a pool is part of a word
    assert release.test["degree"].tolist() == [0.5, 1.0]
    frame = candidates.candidates
    assert list(frame.columns[:3]) == ["source", "target", "line"]
    assert len(frame) == 50 and frame["target"].tolist() == candidates.lines("target")
    assert frame["degree"].tolist() == candidates.table()["degree"].to_pylist()
    with pytest.raises(InputError, match="not a finished release; run the build without until$"):
        _ = candidates.test


def test_what_was_built_is_what_is_opened(candidates):
    opened = Release.open(candidates.folder)
    # Keys in a file are sorted, and JSON has no tuples.
    assert opened.manifest == json.loads(json.dumps(candidates.manifest))
    assert opened.signature == candidates.signature and repr(opened) == repr(candidates)
    assert verify(candidates).ok and verify(opened).ok
    assert opened.ngrams() is not None and opened.step("member-0") is None


def test_a_short_repr_and_html_that_is_escaped(finished):
    release = Release.open(finished)
    assert repr(release) == f"Release({str(finished)!r}, 'react|<i>')"
    html = release._repr_html_()
    assert "react|&lt;i&gt;" in html and "<i>" not in html and "<b>" not in html


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "manifest.json: no such file"),
        (
            lambda folder: (folder / "manifest.json").write_text("[]"),
            "not that of a cgbench release",
        ),
        (lambda folder: (folder / "manifest.json").write_bytes(b"\xff"), "not valid JSON"),
    ],
)
def test_a_folder_that_is_no_release_is_one_line(finished, break_it, message):
    break_it(finished)
    with pytest.raises(InputError, match=message) as caught:
        Release.open(finished)
    assert "\n" not in str(caught.value)


def test_no_folder_and_a_build_in_the_making(tmp_path, finished):
    for path in (tmp_path / "nowhere", finished / "test.de"):
        with pytest.raises(InputError, match="no such file"):
            Release.open(path)
    (tmp_path / "build.work" / ".cgbench").mkdir(parents=True)
    with pytest.raises(InputError, match="the build is not finished"):
        Release.open(tmp_path / "build")


@pytest.mark.parametrize("text", ["[1]\n", "{\n", "[" * 100_000 + "\n"])
def test_a_damaged_split_is_named_by_row(finished, text):
    (finished / "split.jsonl").write_text('{"line": 3}\n' + text)
    list_files(finished)
    with pytest.raises(InputError, match="split.jsonl, row 2: (not|JSON nested too deeply)"):
        Release.open(finished).split()


@pytest.mark.parametrize("change", ["change", "remove from the manifest"])
def test_no_file_is_read_that_the_manifest_does_not_list(finished, change):
    release = Release.open(finished)
    assert release.lines("source") == ["\ufeffa b", "c"]
    if change == "change":
        (finished / "test.de").write_text("\ufeffa d\nc\n", encoding="utf-8")
    else:
        del release.manifest["files"]["test.de"]
    with pytest.raises(
        InputError, match=r"test\.de: was changed: it does not match .*; see cgbench verify"
    ):
        release.lines("source")
    assert Release.of(release, check=False).lines("source")


def test_a_changed_manifest_is_not_opened(finished):
    path = finished / "manifest.json"
    path.write_text(path.read_text().replace('"pool": 9', '"pool": 8'))
    with pytest.raises(
        InputError, match="manifest.json: was changed: its digest differs; see cgbench verify"
    ):
        Release.open(finished)
    assert Release.open(finished, check=False).manifest["counts"]["pool"] == 8


def test_rows_and_sentences_of_another_number(finished):
    pytest.importorskip("pandas")
    (finished / "test.de").write_text("a\n")
    list_files(finished)
    with pytest.raises(InputError, match="2 rows for 1 sentences"):
        _ = Release.open(finished).test


def test_the_card_shows_markup_and_does_not_mean_it():
    text = "<b> | `x` *y* __z__ ![p](https://e.org) [l](www.e.org) ~~s~~ a\\|b \x1b[2J"
    shown = _escape(text)
    assert (
        shown
        == "&lt;b&gt; \\| \\`x\\` \\*y\\* \\_\\_z\\_\\_ \\!\\[p\\](https&#58;//e.org) "
        "\\[l\\](www&#46;e.org) \\~\\~s\\~\\~ a\\\\\\|b \\\\x1b\\[2J".replace("\\\\x1b", "\\x1b")
    )
    assert _escape("The old man, it's 5 % - (so).") == "The old man, it's 5 % - (so)."
    assert _code("train.de") == "`train.de`" and _code("a`b``c") == "``` a`b``c ```"
    assert _code("a\nb") == "`a\\nb`"


def test_correlations_are_those_of_the_table(candidates):
    assert candidates.correlations() == correlations_of(candidates.table(), "rmi")


def test_the_card_of_candidates(candidates):
    assert write_card(candidates) == (candidates.folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", [[[1]], [b"x"], [None]])
def test_a_table_of_other_than_numbers_and_text_is_none(finished, column):
    path = finished / CANDIDATES
    path.parent.mkdir()
    release = Release.open(finished, check=False)
    pyarrow.parquet.write_table(pyarrow.table({"line": [1], "stage": ["rest"]}), path)
    assert release.table().to_pylist() == [{"line": 1, "stage": "rest"}]
    pyarrow.parquet.write_table(pyarrow.table({"line": [1], "stage": column}), path)
    with pytest.raises(InputError, match=r"column 'stage' is neither numbers nor text"):
        release.table()
    pyarrow.parquet.write_table(pyarrow.table({"line": [1] * 9999}), path)
    with pytest.raises(InputError, match="9,999 rows in"):
        release.table()


def test_a_damaged_record_of_releases_is_named_and_made_again(demo, tmp_path):
    """It names files that the next build removes: whatever it says must be what was written."""
    build(demo, tmp_path / "out")
    path, mine = tmp_path / "out.work/.cgbench/release.json", tmp_path / "out/mine"
    mine.write_text("mine")
    whole = path.read_bytes()
    for damaged in (
        whole[:-9],
        whole.replace(b"README.md", b"mine"),
        whole.replace(b'"digest"', b'"dihest"'),
        b"[]",
    ):
        path.write_bytes(damaged)
        assert damaged != whole
        with pytest.warns(
            InputWarning, match=r"release\.json is damaged; the next build writes it again"
        ):
            release = build(demo, tmp_path / "out")
        assert path.read_bytes() == whole and mine.read_text() == "mine" and verify(release).ok


def test_the_text_of_a_table_is_read_where_it_is_asked_for(candidates):
    release = Release.open(candidates.folder)
    assert "translation" not in release.table().column_names
    table = release.table(text=True)
    assert table["translation"].to_pylist() == [
        {"de": source, "en": target}
        for source, target in zip(release.lines("source"), release.lines("target"), strict=True)
    ]
    assert "dictionary" not in str(table.schema)


def test_a_long_text_that_every_row_names_is_refused(candidates, tmp_path, monkeypatch):
    """A dictionary keeps it once; read as text it would be as long as the rows are many."""
    monkeypatch.setenv("CGBENCH_MAX_TEXT", "1M")
    shutil.copytree(candidates.folder, tmp_path / "release")
    release = Release.open(tmp_path / "release")
    path = release.path(CANDIDATES)
    for column in ("hypothesis", "translation"):
        text = "x" * 2_000
        values = [text] * 1_000 if column == "hypothesis" else [{"de": text, "en": "y"}] * 1_000
        pyarrow.parquet.write_table(
            pyarrow.table({"line": list(range(1_000)), column: values}), path
        )
        release.manifest["files"][CANDIDATES] = hash_file(path)
        with pytest.raises(InputError, match="more than 1,048,576 bytes of text"):
            release.table(text=True)
