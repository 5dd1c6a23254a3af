"""The document of each pair, from a column or between empty lines."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from cgbench.benchmark.candidates.documents import check_documents, documents_of, hash_documents
from cgbench.errors import InputError
from cgbench.text.corpus import index_pair
from cgbench.text.formats import CorpusSpec

ROWS = [("a b", "c d", "news/1"), ("e", "f", "news/1"), ("g", "h", 'talk, "2"'), ("i", "j", "3")]


def write_pool(folder, form):
    """The rows as a corpus of one form."""
    path = folder / f"pool.{form}"
    named = [("source", "target", "doc"), *ROWS]
    if form == "tsv":
        path.write_text("".join("\t".join(row) + "\r\n" for row in named))
    elif form == "jsonl.gz":
        rows = [
            json.dumps({"source": one, "target": two, "doc": 3 if doc == "3" else doc})
            for one, two, doc in ROWS
        ]
        path.write_bytes(gzip.compress("\n".join(rows).encode()))
    elif form == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(named)
    else:
        import pyarrow.parquet

        columns = dict(zip(named[0], zip(*ROWS, strict=True), strict=True))
        pyarrow.parquet.write_table(
            pyarrow.table({name: list(some) for name, some in columns.items()}), path
        )
    return path


def plain(folder, *lines, name="plain"):
    """A plain corpus with these lines, separated by a tab."""
    sides = list(zip(*(line.split("\t") for line in lines), strict=True))
    paths = folder / f"{name}.de", folder / f"{name}.en"
    for path, side in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in side))
    return CorpusSpec(paths), index_pair(*paths)


def numbers(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl.gz", "parquet"])
def test_a_column_names_documents_in_every_form_of_a_table(tmp_path, form):
    path = write_pool(tmp_path, form)
    _, text = plain(tmp_path, *("\t".join(row[:2]) for row in ROWS))
    columns = ("source", "target")
    for spec in (
        CorpusSpec((path,), columns),
        CorpusSpec((Path(f"{path}:source"), Path(f"{path}:target"))),
    ):
        check_documents("doc", [spec])
        found = documents_of("doc", [spec], [text], numbers(1, 1, 1), numbers(3, 4, 1))
        assert found == ['talk, "2"', "3", "news/1"]


def test_numbered_columns_and_several_corpora(tmp_path):
    (tmp_path / "a.tsv").write_text("x\ty\tone\nz\tw\ttwo\n")
    (tmp_path / "b.tsv").write_text("x\ty\tone\n")
    specs = [CorpusSpec((tmp_path / name,)) for name in ("a.tsv", "b.tsv")]
    texts = [plain(tmp_path, "x\ty", "z\tw")[1], plain(tmp_path, "x\ty", name="other")[1]]
    check_documents("3", specs)
    assert documents_of("3", specs, texts, numbers(2, 1, 1), numbers(1, 2, 1)) == [
        "2:one",
        "1:two",
        "1:one",
    ]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_column_of_numbers_beside_a_translation(tmp_path, form):
    rows = [
        {"translation": {"de": one, "en": two}, "doc": number}
        for number, (one, two, _) in enumerate(ROWS)
    ]
    path = tmp_path / f"pool.{form}"
    if form == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, text = plain(tmp_path, *("\t".join(row[:2]) for row in ROWS))
    assert documents_of("doc", [CorpusSpec((path,))], [text], numbers(1, 1), numbers(4, 2)) == [
        "3",
        "1",
    ]


def test_documents_between_empty_lines(tmp_path):
    lines = ["\t", "a\tb", "c\t", "\t", " \t", "d\te", "\tf"]
    spec, text = plain(tmp_path, *lines)
    check_documents("blank-lines", [spec])
    assert documents_of("blank-lines", [spec], [text], numbers(1, 1, 1), numbers(6, 2, 7)) == [
        "2",
        "1",
        "2",
    ]
    assert documents_of("blank-lines", [spec, spec], [text, text], numbers(2), numbers(6)) == [
        "2:2"
    ]


def test_what_names_no_document_is_one_line(tmp_path):
    path, (spec, text) = write_pool(tmp_path, "tsv"), plain(tmp_path, "a\tb", "c\td")
    with pytest.raises(
        InputError, match=r"pool.tsv: no column 'dok' \(document='dok'\); did you mean doc\?"
    ):
        check_documents("dok", [CorpusSpec((path,), ("source", "target"))])
    bare = tmp_path / "bare.tsv"
    bare.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    with pytest.raises(
        InputError,
        match=r"document='doc': the columns of .*bare.tsv are numbers from 1 \(see columns",
    ):
        check_documents("doc", [CorpusSpec((bare,))])
    with pytest.raises(InputError, match=r"bare.tsv, row 1 has 3 columns; column 4 is needed"):
        check_documents("4", [CorpusSpec((bare,))])
    with pytest.raises(
        InputError,
        match=r"document='doc': .*plain.de is plain text, which has no columns; give a tab",
    ):
        check_documents("doc", [spec])
    with pytest.raises(
        InputError, match=r"document='blank-lines': no line is empty on both sides of .*plain.de"
    ):
        check_documents("blank-lines", [spec])
    table = CorpusSpec((tmp_path / "gap.jsonl",))
    for gap, said in (
        (" ", "row 2: 'doc' is empty; name the document of every pair"),
        (None, "row 2: no value in th"),
    ):
        rows = [{"source": "a", "target": "b", "doc": value} for value in ("one", gap)]
        (tmp_path / "gap.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert documents_of("doc", [table], [text], numbers(1), numbers(1)) == ["one"]
        with pytest.raises(InputError, match=said):
            documents_of("doc", [table], [text], numbers(1), numbers(2))


def test_the_hash_of_a_document_is_that_of_its_name():
    first, second, third = hash_documents(["a", "b", "a"]).tolist()
    assert first == third == int.from_bytes(bytes.fromhex("ca978112ca1bbdca"), "little") != second
