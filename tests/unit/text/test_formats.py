import gzip
import json

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from cgbench.errors import InputError
from cgbench.text.formats import CorpusSpec, language_suffixes, read_pairs
from cgbench.text.streams import form

PAIRS = [("ein Hund", "a dog"), ("größer", "bigger"), ("", "")]


def write_forms(folder):
    """The same pairs in every form that is read."""
    sides = ["".join(pair[side] + "\n" for pair in PAIRS).encode() for side in (0, 1)]
    for side, language in enumerate(("de", "en")):
        (folder / f"a.{language}").write_bytes(sides[side])
        (folder / f"a.{language}.gz").write_bytes(gzip.compress(sides[side]))
        (folder / f"a.{language}.zst").write_bytes(zstandard.compress(sides[side]))
    tsv = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
    (folder / "a.tsv").write_bytes(tsv)
    (folder / "a.tsv.gz").write_bytes(gzip.compress(tsv))
    (folder / "turned.tsv").write_text("en\tid\tde\n" + "".join(f"{t}\t7\t{s}\n" for s, t in PAIRS))
    rows = [{"source": source, "target": target} for source, target in PAIRS]
    for name, head in (("a.csv", "source,target\n"), ("langs.csv", "de,en\n"), ("bare.csv", "")):
        (folder / name).write_text(
            head + "".join(f'{source},"{target}"\n' for source, target in PAIRS)
        )
    (folder / "a.json").write_text(json.dumps(rows))
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "hf.jsonl").write_text(
        "".join(
            json.dumps({"translation": {"de": source, "en": target}}) + "\n"
            for source, target in PAIRS
        )
    )
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet")


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("a.de", "a.en"), None),
        (("a.de.gz", "a.en.zst"), None),
        (("a.tsv",), None),
        (("a.csv",), None),
        (("langs.csv",), None),
        (("langs.csv",), ("de", "en")),
        (("bare.csv",), ("1", "2")),
        (("a.json",), None),
        (("a.tsv.gz",), ("1", "2")),
        (("turned.tsv",), ("de", "en")),
        (("a.jsonl",), None),
        (("hf.jsonl",), ("de", "en")),
        (("hf.jsonl",), None),
        (("a.parquet",), ("source", "target")),
    ],
)
def test_every_form_gives_the_same_pairs(tmp_path, names, columns):
    write_forms(tmp_path)
    assert list(read_pairs(CorpusSpec(tuple(tmp_path / name for name in names), columns))) == PAIRS


def test_form_and_languages_are_told_by_the_name(tmp_path):
    assert form(tmp_path / "x.jsonl.zst") == "jsonl"
    assert form(tmp_path / "x.de.gz") == "plain"
    assert language_suffixes(CorpusSpec((tmp_path / "x.de.gz", tmp_path / "y.en"))) == ("de", "en")
    assert language_suffixes(CorpusSpec((tmp_path / "x.txt", tmp_path / "y.txt"))) is None
    assert language_suffixes(CorpusSpec((tmp_path / "x", tmp_path / "y"))) is None


def error_of(spec):
    with pytest.raises(InputError) as caught:
        list(read_pairs(spec()))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_errors_name_file_row_and_fix(tmp_path):
    good, short, latin = tmp_path / "good", tmp_path / "short", tmp_path / "latin"
    good.write_text("a\nb\nc\n")
    short.write_text("a\nb\n")
    latin.write_bytes("a\nb\nMädchen\n".encode("latin-1"))
    message = error_of(lambda: CorpusSpec((good, short)))
    assert "good has 3 lines" in message and "short has 2" in message
    message = error_of(lambda: CorpusSpec((short, good)))
    assert "short has 2 lines" in message and "good has 3" in message
    assert "latin, line 3: not UTF-8" in error_of(lambda: CorpusSpec((good, latin)))
    assert "missing: no such file" in error_of(lambda: CorpusSpec((good, tmp_path / "missing")))
    assert "name two files" in error_of(lambda: CorpusSpec((good,)))
    assert "not 3" in error_of(lambda: CorpusSpec((good, good, good)))


def test_rows_that_lack_a_side(tmp_path):
    tsv, jsonl = tmp_path / "x.tsv", tmp_path / "x.jsonl"
    tsv.write_text("a\tb\nc\n")
    assert "x.tsv, row 2 has 1 column;" in error_of(lambda: CorpusSpec((tsv,)))
    assert "no column 'de' in the first row; it has a, b" in error_of(
        lambda: CorpusSpec((tsv,), ("de", "en"))
    )
    jsonl.write_text('{"de": "a", "en": "b"}\n{"de": "a"}\n')
    assert "x.jsonl, row 2: no text field 'en'" in error_of(
        lambda: CorpusSpec((jsonl,), ("de", "en"))
    )
    jsonl.write_text('{"de": "a", "en": "b"}\n[]\nnull\n')
    assert "x.jsonl, row 2: not an object" in error_of(lambda: CorpusSpec((jsonl,)))
    jsonl.write_text('{"de": "a", "en": "\\ud800"}\n')
    assert "x.jsonl, row 1: contains a lone surrogate, which is not text" in error_of(
        lambda: CorpusSpec((jsonl,))
    )
    jsonl.write_text("not json\n")
    assert "x.jsonl, row 1: not valid JSON" in error_of(lambda: CorpusSpec((jsonl,)))


def test_one_file_of_any_name_is_tsv_if_it_has_tabs(tmp_path):
    text = "".join(f"{target}\t{source}\n" for source, target in PAIRS)
    (tmp_path / "deu.txt").write_text(text)
    (tmp_path / "deu.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("deu.txt", "deu.gz"):
        spec = CorpusSpec((tmp_path / name,), ("2", "1"))
        assert list(read_pairs(spec)) == PAIRS and not spec.is_plain
    (tmp_path / "head").write_text("de\ten\n" + text)
    assert list(read_pairs(CorpusSpec((tmp_path / "head",), ("en", "de")))) == PAIRS
    (tmp_path / "plain.txt").write_text("no tab\nhere\tone\n")
    with pytest.raises(
        InputError,
        match=r"plain\.txt: a single file must have both sides .* a tab in its first line",
    ):
        CorpusSpec((tmp_path / "plain.txt",))


def test_the_first_row_of_a_csv_file_is_not_lost(tmp_path):
    """Where no column is named it has to be a header."""
    write_forms(tmp_path)
    with pytest.raises(InputError, match="'ein Hund' and 'a dog' do not look like a header"):
        list(read_pairs(CorpusSpec((tmp_path / "bare.csv",))))
    (tmp_path / "half.csv").write_text("source,tarjet\na,b\n")
    with pytest.raises(InputError, match="'source' and 'tarjet' do not look like a header"):
        list(read_pairs(CorpusSpec((tmp_path / "half.csv",))))
    (tmp_path / "empty.csv").write_text("")
    assert list(read_pairs(CorpusSpec((tmp_path / "empty.csv",)))) == []


@pytest.mark.parametrize("name", ["x.tsv", "x"])
def test_a_header_of_tsv_is_no_pair(tmp_path, name):
    """Usual names of columns, or two codes of languages; other words are a pair."""
    path = tmp_path / name
    for header in ("source\ttarget", "en\tde", "English\tGerman"):
        path.write_text(f"{header}\nthe dog\tder Hund\n")
        assert list(read_pairs(CorpusSpec((path,)))) == [("the dog", "der Hund")]
    path.write_text("Hi\tHallo\nthe dog\tder Hund\n")
    assert len(list(read_pairs(CorpusSpec((path,))))) == 2
    path.write_text("en\tde\nthe dog\tder Hund\n")
    pairs = list(read_pairs(CorpusSpec((path,), ("de", "en"))))
    assert pairs == [("der Hund", "the dog")]
    assert len(list(read_pairs(CorpusSpec((path,), ("1", "2"))))) == 2


def test_a_row_with_a_column_too_many_is_refused(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\tc\nthe dog\tsees\ta cat\tdie Katze\n")
    with pytest.raises(InputError, match="row 2 has 4 columns but the first row has 3; a tab"):
        list(read_pairs(CorpusSpec((path,))))
    path.write_text("a\tb\nc\td\t\t\n")  # empty cells at the end are none
    assert list(read_pairs(CorpusSpec((path,)))) == [("a", "b"), ("c", "d")]
