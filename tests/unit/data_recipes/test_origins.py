"""Every source: what is said of it, and its bytes against its digest, as far as they are at hand."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from shared_data import SHARED, needs

from cgbench.data_recipes.origins import HEAD, origins, released, source_table
from cgbench.data_recipes.registry import built_in
from cgbench.data_recipes.sources import Sources, digest_of

DATA_PAGE = Path(__file__).parents[3] / "docs/reference/data.md"
ALL = [(recipe, source) for recipe in built_in().values() for source in recipe.sources]


def test_the_page_has_the_table_of_the_sources():
    """After a change: python -m cgbench.data_recipes.origins, and put what it prints into docs/reference/data.md."""
    page = DATA_PAGE.read_text("utf-8")
    assert page.count(f"| {' | '.join(HEAD)} |") == 1
    assert source_table() in page


def test_a_new_source_changes_the_table(monkeypatch):
    scan = built_in()["scan"]
    more = replace(scan.sources[0], name="new.txt", url="https://example.org/new.txt")
    before = source_table()
    monkeypatch.setitem(built_in(), "scan", replace(scan, sources=(*scan.sources, more)))
    assert source_table() != before and "`new.txt`" in source_table()


def test_every_file_of_a_repository_is_pinned_by_the_id_that_the_repository_states():
    for recipe, source in ALL:
        if "raw.githubusercontent.com" in source.url:
            assert source.git_blob, f"{recipe.name}: {source.name}"
    used = {(blob, source.path) for _, source in ALL for blob in source.git_blob}
    rows = {(row.git_blob, row.path) for row in origins().values()}
    edition = {(row.git_blob, "data/gen.tsv") for row in origins().values() if row.path == "cogs/gen.tsv"}
    assert used - edition <= rows and {path for _, path in rows - used} == {"cogs/gen.tsv"}


def test_a_row_of_the_table_of_origins_is_a_source():
    source = released("yafuly/CoGnition", "66644ce44971ab7f86d4f9fe8eb34d095fc781f0", "data/processed/train.zh")
    assert source.name == "train.zh" and source.path == "data/processed/train.zh"
    assert source.git_blob == ("c7151eba311014cd4f1936afb364df41a02ab5e8",)
    assert not source.sha256 and not source.seen  # a file that we have only read about


@needs("INDEX.md")
def test_the_bytes_of_a_mirror_fit_their_digests(tmp_path):
    assert check(SHARED, tmp_path) >= 60


@pytest.mark.skipif("CGBENCH_MIRROR" not in os.environ, reason="CGBENCH_MIRROR names no folder")
def test_the_bytes_of_the_named_mirror_fit_their_digests(tmp_path):
    assert check(Path(os.environ["CGBENCH_MIRROR"]), tmp_path) > 0


def check(mirror, tmp_path):
    """Compare every source that ``mirror`` has with its digest, and with what is said of it; how many there are."""
    found = 0
    for recipe in built_in().values():
        folders = tmp_path / recipe.name, tmp_path / "work"
        with Sources(recipe.sources, recipe.folder_name, *folders, str(mirror)) as sources:
            for source in recipe.sources:
                paths = sources.find(source.name)  # a file in its place with another digest is an error
                if not paths or not (source.sha256 or source.git_blob):
                    continue
                digest = digest_of(paths[0], git=True)
                assert digest.fits(source) and source.seen, f"{recipe.name}: {source.name} was read: say so"
                found += 1
    return found


@pytest.mark.network
@pytest.mark.skipif("CGBENCH_NETWORK" not in os.environ, reason="CGBENCH_NETWORK is not set")
@pytest.mark.parametrize(
    ("recipe", "source"),
    [pytest.param(*pair, id=f"{pair[0].name}/{pair[1].name}") for pair in ALL if pair[1].url],
)
def test_the_publisher_has_the_bytes(tmp_path, recipe, source):
    """Archives of gigabytes among them. A file without a digest must be there, and is said to have been seen or not."""
    with Sources(recipe.sources, recipe.folder_name, tmp_path / "downloads", tmp_path / "work") as sources:
        paths = sources.find(source.name)
        assert paths and digest_of(paths[0], git=True).fits(source)


def test_a_git_blob_id_is_what_git_says(tmp_path):
    (tmp_path / "x").write_bytes(b"what is up, doc?")  # the example of the Git book
    assert digest_of(tmp_path / "x", git=True).git_blob == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
    assert digest_of(tmp_path / "x").sha256 == hashlib.sha256(b"what is up, doc?").hexdigest()
