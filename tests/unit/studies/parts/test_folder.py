"""The folder of parts: what is written is read again, and what was changed is refused."""

import json

import pytest
from parts_manifest import MANIFEST
from small_build import rewrite
from text_files import replace_text

from cgbench.errors import InputError
from cgbench.steps import hash_file
from cgbench.studies.parts.folder import (
    PartsFolder,
    Piece,
    Place,
    check_output_folder,
    write_parts,
)

PIECES = [
    Piece("the house", 4, (0, 1)),
    Piece("of ice", 3, (1,), "few"),
    Piece("zebra", 0, (), "absent"),
]
PROBES = [("ein Haus", "in the house"), ("das Haus\tist Eis", "the house of ice")]
ROWS = [(Place(0, 0, 2), Place(1, 2, 4)), (Place(2, -1, -1),), ()]


def test_a_folder_is_read_as_it_was_written(tmp_path):
    written = write_parts(tmp_path / "parts", PIECES, PROBES, ROWS, MANIFEST)
    found = PartsFolder.open(tmp_path / "parts")
    assert found.pieces == tuple(PIECES) == written.pieces
    assert found.probes == tuple(PROBES) and found.rows == tuple(ROWS)
    assert found.manifest == written.manifest
    assert (
        list(written.manifest)[:2] == ["kind", "format"] and list(written.manifest)[-1] == "digest"
    )  # as it is printed
    assert (found.side, found.k, found.match) == ("target", 2, "words")
    assert found.manifest["counts"] == {
        "rows": 3,
        "pieces": 3,
        "probed": 2,
        "full": 1,
        "rows_probed": 1,
        "probes": 2,
        "trained": 0,
    }
    assert found.manifest["reasons"] == {"absent": 1, "few": 1}
    rows = [json.loads(line) for line in (tmp_path / "parts/rows.jsonl").read_text().splitlines()]
    assert rows == [[[1, 0, 2], [2, 2, 4]], [[3, -1, -1]], []]
    table = [
        json.loads(line) for line in (tmp_path / "parts/pieces.jsonl").read_text().splitlines()
    ]
    assert [row["probes"] for row in table] == [[1, 2], [2], []]  # lines of probes.source
    write_parts(tmp_path / "parts", PIECES, PROBES, ROWS, MANIFEST)  # an earlier one is replaced


def test_what_is_no_such_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="give a folder of cgbench parts"):
        PartsFolder.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"kind": "split"}')
    with pytest.raises(InputError, match="not a folder of cgbench parts"):
        PartsFolder.open(tmp_path)
    with pytest.raises(InputError, match="holds something else"):
        check_output_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("pieces.jsonl", '"count": 4', '"count": -4', "row 1: not a piece"),
        ("pieces.jsonl", '"count": 4', '"number": 4', "row 1: there is no count"),
        ("pieces.jsonl", '{"text"', '{"x": 1, "text"', "row 1: not a piece"),
        ("pieces.jsonl", "[1, 2]", "[1, 3]", "row 1: not a piece"),
        ("pieces.jsonl", "[1, 2]", "[2]", "a probe belongs to no piece"),
        ("pieces.jsonl", "[1, 2]", "[" * 9999, "row 1: JSON nested too deeply"),
        ("probes.source", "ein Haus\n", "", "1 sources of probes, but 2 targets"),
        ("rows.jsonl", "[1, 0, 2]", "[4, 0, 2]", "row 1: not the pieces of a test row"),
        ("rows.jsonl", "[1, 0, 2]", "[1, 0, 0]", "row 1: not the pieces of a test row"),
        ("rows.jsonl", "[1, 0, 2]", "[1, 0]", "row 1: not the pieces of a test row"),
        ("rows.jsonl", "[1, 0, 2]", "[1, 0, 2.5]", r"row 1: .* is 2\.5"),
        ("manifest.json", '"words"', '"wards"', "match is 'wards'"),
        ("manifest.json", '"trained"', '"drained"', "there is no counts.trained"),
        ("manifest.json", '"probes.source"', '"probes.other"', "there is no files.probes.source"),
    ],
)
def test_a_folder_that_is_listed_right_but_makes_no_sense_is_refused(
    tmp_path, name, old, new, said
):
    folder = tmp_path / "p"
    write_parts(folder, PIECES[:2], PROBES, [ROWS[0], ()], MANIFEST)
    path = folder / name
    replace_text(path, old, new)
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {
        name: hash_file(folder / name.replace("other", "source")) for name in manifest["files"]
    }
    rewrite(folder, {**manifest, "files": files})
    with pytest.raises(InputError, match=said) as caught:
        PartsFolder.open(folder)
    assert "run cgbench parts again" in str(caught.value) or "deeply" in said


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("pieces.jsonl", '"count": 4', '"count": 3', "pieces.jsonl: is damaged"),
        ("probes.source", "ein", "kein", "probes.source: is damaged"),
        ("manifest.json", '"k": 2', '"k": 1', "its digest differs"),
        (
            "manifest.json",
            '"format": 4',
            '"format": 3',
            "format 3, but this version reads 4; run cgbench parts again",
        ),
    ],
)
def test_a_changed_file_is_named(tmp_path, name, old, new, said):
    write_parts(tmp_path / "p", PIECES, PROBES, ROWS, MANIFEST)
    path = tmp_path / "p" / name
    replace_text(path, old, new)
    with pytest.raises(InputError, match=said):
        PartsFolder.open(tmp_path / "p")
