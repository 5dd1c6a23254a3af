"""Every source: what is known of it, and its bytes against its hash, as far as they are
available.
"""

import os
from pathlib import Path

import pytest
from shared_data import SHARED, needs

from cgbench.data_recipes.registry import built_in
from cgbench.data_recipes.sources import Sources, origins, released

ALL = [(recipe, source) for recipe in built_in().values() for source in recipe.sources]


def test_every_file_of_a_repository_is_pinned():
    for recipe, source in ALL:
        if "raw.githubusercontent.com" in source.url:
            assert source.hashes, f"{recipe.name}: {source.name}"
    used = {known for _, source in ALL for known in source.hashes}
    assert set(origins().values()) <= used


def test_a_row_of_the_table_of_origins_is_a_source():
    source = released(
        "yafuly/CoGnition", "66644ce44971ab7f86d4f9fe8eb34d095fc781f0", "data/processed/train.zh"
    )
    assert source.name == "train.zh" and source.path == "data/processed/train.zh"
    assert source.hashes == (
        "git:c7151eba311014cd4f1936afb364df41a02ab5e8",
    )  # a file that nobody has read


@needs("INDEX.md")
def test_the_bytes_of_a_mirror_fit_their_hashes(tmp_path):
    assert check(SHARED, tmp_path) >= 60


@pytest.mark.skipif("CGBENCH_MIRROR" not in os.environ, reason="CGBENCH_MIRROR names no folder")
def test_the_bytes_of_the_named_mirror_fit_their_hashes(tmp_path):
    assert check(Path(os.environ["CGBENCH_MIRROR"]), tmp_path) > 0


def check(mirror, tmp_path):
    """Compare every source that ``mirror`` has with its hash; how many there are."""
    checked = 0
    for recipe in built_in().values():
        folders = tmp_path / recipe.name, tmp_path / "work"
        with Sources(recipe.sources, *folders, str(mirror)) as sources:
            # a file in its place with another hash is an error
            checked += sum(
                bool(source.hashes and sources.find(source.name)) for source in recipe.sources
            )
    return checked


@pytest.mark.network
@pytest.mark.skipif("CGBENCH_NETWORK" not in os.environ, reason="CGBENCH_NETWORK is not set")
@pytest.mark.parametrize(
    ("recipe", "source"),
    [pytest.param(*pair, id=f"{pair[0].name}/{pair[1].name}") for pair in ALL if pair[1].url],
)
def test_the_publisher_has_the_bytes(tmp_path, recipe, source):
    """Archives of gigabytes among them. A file without a known hash must be there."""
    with Sources(recipe.sources, tmp_path / "downloads", tmp_path / "work") as sources:
        assert sources.find(source.name)  # other bytes are an error
