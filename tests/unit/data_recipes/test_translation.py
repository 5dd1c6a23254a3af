"""IWSLT14 step by step, on a talk that a person can read."""

import tarfile
from dataclasses import replace

import pytest
from shared_data import SHARED, needs
from small_recipes import git_blob, lenient

from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.registry import find_recipe
from cgbench.data_recipes.translation import (
    TESTS,
    aligned,
    filter_by_length,
    segment_lines,
    talk_lines,
)
from cgbench.engines import Local
from cgbench.errors import InputError


@pytest.mark.parametrize(
    ("pair", "kept"),
    [
        (("a b c", "a b"), True),
        (("a b c d", "a b"), False),
        (("a b", "a b c d"), False),
        (("", "a"), False),
        (("a " * 175, "a " * 175), True),
        (("a " * 176, "a " * 175), False),
    ],
)
def test_clean_corpus(pair, kept):
    assert bool(list(filter_by_length([pair], 1, 175, 1.5))) is kept


def test_a_side_that_ends_early_is_named():
    with pytest.raises(InputError, match=r"^b: row 2 is missing"):
        list(aligned(("a", "b"), {"a": ["x", "y"], "b": ["x"]}.get))
    with pytest.raises(InputError, match=r"^a: row 2 is missing"):
        list(aligned(("a", "b"), {"a": ["x"], "b": ["x", "y", "z"]}.get))


def test_text_between_tags(tmp_path):
    (tmp_path / "train").write_text(
        "<url>http</url>\n<keywords>a</keywords>\n<talkid>1</talkid>\n<title>Ein Titel</title>\n"
        "<description>Es geht um Öl</description>\nEin Satz .\n"
    )
    assert list(talk_lines(tmp_path / "train")) == ["Ein Titel", "Es geht um Öl", "Ein Satz ."]
    (tmp_path / "x.xml").write_text(
        '<doc>\n<seg id="1"> It\u2019s here. </seg>\n<p>\n<seg id="12">Yes</seg>\n</doc>\n'
    )
    assert list(segment_lines(tmp_path / "x.xml")) == ["It's here.", "Yes"]


@pytest.fixture
def talks(tmp_path):
    """A small de-en.tgz among the downloads."""
    folder = tmp_path / "de-en"
    folder.mkdir()
    for language, words in (("de", ["Hallo", "Welt"]), ("en", ["Hello", "World"])):
        lines = [f"{words[0]}, {words[1]} {number}!" for number in range(46)]
        lines[3] = f"{words[0]}" + (" viel zu lang" if language == "de" else "")
        (folder / f"train.tags.de-en.{language}").write_text(
            "<url>x</url>\n" + "\n".join(lines) + "\n"
        )
        for number, test in enumerate(TESTS):
            text = f'<seg id="1"> {words[1]} {number} </seg>\n'
            (folder / f"IWSLT14.{test}.de-en.{language}.xml").write_text(text)
    archive = tmp_path / "downloads" / "iwslt14-de-en" / "de-en.tgz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder, "de-en")
    return tmp_path


@pytest.mark.parametrize("jobs", [1, 2])
def test_iwslt14_step_by_step(talks, jobs):
    pytest.importorskip("sacremoses")
    record = get(lenient("iwslt14-de-en"), talks / "out", offline=True, engine=Local(jobs)).record
    read = {name: (talks / "out" / name).read_text().splitlines() for name in record["files"]}
    # 46 lines, one of them too long for its other side; the 23rd that is left is a validation pair
    assert len(read["train.de"]) == 44 and read["valid.en"] == ["hello , world 23 !"]
    assert read["train.en"][:4] == [f"hello , world {number} !" for number in (0, 1, 2, 4)]
    assert read["test.de"] == [f"welt {number}" for number in range(5)]


def test_react_takes_its_training_pairs_from_iwslt14(talks):
    pytest.importorskip("sacremoses")
    record = get(lenient("react"), talks / "out", offline=True).record
    assert list(record["splits"]) == ["train"] and {"valid", "cg_test", "bpe/train"} <= set(
        record["missing"]
    )
    assert "train: prepared from IWSLT14 by this tokeniser" in record["notes"][-1]


def released_as(name, texts, tmp_path):
    """A recipe whose sources of these names have these texts, which are put among the downloads."""
    recipe, sources = lenient(name), []
    for source in recipe.sources:
        if text := texts.get(source.name):
            data = text.encode()
            source = replace(source, hashes=(f"git:{git_blob(data)}",))
            path = tmp_path / "downloads" / source.place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        sources.append(source)
    return replace(recipe, sources=tuple(sources))


def test_react_has_the_released_training_pairs_and_subwords_without_iwslt14(tmp_path):
    texts = {
        "train.de": "haus\n",
        "train.en": "house\n",
        "bpe.train.de": "ha@@ us\n",
        "bpe.train.en": "house\n",
    }
    record = get(released_as("react", texts, tmp_path), tmp_path / "out", offline=True).record
    assert (tmp_path / "out" / "train.de").read_text() == "haus\n"
    assert (tmp_path / "out" / "bpe" / "train.de").read_text() == "ha@@ us\n"
    assert list(record["splits"]) == ["train", "bpe/train"] and "de-en.tgz" not in record["sources"]
    plain = {name: text for name, text in texts.items() if not name.startswith("bpe")}
    iwslt = get(
        released_as("iwslt14-de-en", plain, tmp_path), tmp_path / "iwslt", offline=True
    ).record
    assert iwslt["files"]["train.en"] == record["files"]["train.en"]


@needs("react/cg_test.de.gz")
def test_a_mirror_with_the_released_sets_serves_both(tmp_path):
    react = get(find_recipe("react"), tmp_path / "react", mirror=str(SHARED)).record
    iwslt = get(find_recipe("iwslt14-de-en"), tmp_path / "iwslt", mirror=str(SHARED)).record
    assert "train" in react["missing"] and "train" in iwslt["missing"]
    assert {"valid", "test", "cg_test"} <= set(react["splits"])
    assert react["files"]["test.de"] == iwslt["files"]["test.de"]


@needs("cognition/cg-test.en", "cognition/NP.compound", "cognition/processed/valid.zh")
@pytest.mark.parametrize("mirror", ["", "cognition"])
def test_cognition_from_a_mirror(tmp_path, mirror):
    """The mirror has valid.zh and test.zh in words, too; the papers trained on the others."""
    prepared = get(find_recipe("cognition"), tmp_path / "c", mirror=str(SHARED / mirror))
    assert prepared.record["missing"] == ["train"] and prepared.record["missing_files"] == []
    for side in ("en", "zh"):
        assert any(f"data/processed/train.{side} and put it at " in way for way in prepared.to_get)
    for kind in ("NP", "VP", "PP"):
        for side in ("en", "zh", "compound"):
            name = f"{kind}.{side}"
            assert (tmp_path / "c" / name).read_bytes() == (
                SHARED / "cognition" / name
            ).read_bytes()
    for name, released in (
        ("valid.zh", "valid.zh"),
        ("test.zh", "test.zh"),
        ("valid.en", "valid.en"),
        ("bpe/codes", "code"),
    ):
        assert (tmp_path / "c" / name).read_bytes() == (
            SHARED / "cognition" / "processed" / released
        ).read_bytes()
    assert "@@ " in (tmp_path / "c" / "valid.zh").read_text("utf-8")
    assert (tmp_path / "c" / "cg-test.zh").read_bytes() == (
        SHARED / "cognition" / "cg-test.zh"
    ).read_bytes()


@needs("cognition/valid.zh", "cognition/processed/valid.zh")
def test_the_folder_of_the_processed_files_is_a_mirror_of_them_alone(tmp_path):
    record = get(
        find_recipe("cognition"), tmp_path / "c", mirror=str(SHARED / "cognition" / "processed")
    ).record
    assert set(record["splits"]) == {
        "valid",
        "test",
    }  # its cg-test.zh is in subwords, and no reference


@needs(
    "tatoeba-en-zh/cmn_test_tokenized.tsv",
    "multi30k/val.lc.norm.tok.de.gz",
    "ud/en_ewt-ud-dev.conllu.gz",
)
def test_what_is_used_as_published(tmp_path):
    for name in ("tatoeba-en-zh", "multi30k", "ud-english-ewt"):
        assert get(find_recipe(name), tmp_path / name, mirror=str(SHARED)).record["missing"] == []
    rows = (SHARED / "tatoeba-en-zh" / "cmn_test_tokenized.tsv").read_text().splitlines()
    sides = [
        (tmp_path / "tatoeba-en-zh" / f"test.{side}").read_text().splitlines()
        for side in ("en", "zh")
    ]
    assert ["\t".join(pair) for pair in zip(*sides, strict=True)] == rows
