"""SLOG and ReCOGS from small files of their form; an archive with a password."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from cgbench.data_recipes.archives import unpack
from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.recipe import Split
from cgbench.data_recipes.registry import find_recipe
from cgbench.errors import InputError

ROWS = "A fly ran .\trun ( agent = fly )\tin_distribution\nEmma ran .\trun ( agent = Emma )\tPP_3\n"


@pytest.fixture
def archive(tmp_path):
    if shutil.which("zip") is None:
        pytest.skip("zip, which writes archives with passwords, is not installed")
    folder = tmp_path / "generalization_sets"
    folder.mkdir()
    for name in ("gen_varfreeLF.tsv", "gen_cogsLF.tsv"):
        (folder / name).write_text(ROWS)
    path = tmp_path / "generalization_sets.zip"
    subprocess.run(["zip", "-q", "-r", "-P", "SLOG", path, folder.name], cwd=tmp_path, check=True)
    return path


def small(name):
    """A recipe without expected counts and digests, for small files of the same form."""
    recipe = find_recipe(name)
    return replace(
        recipe,
        splits=tuple(Split(split.name) for split in recipe.splits),
        sources=tuple(replace(source, sha256=(), git_blob=(), seen="") for source in recipe.sources),
    )


def test_an_archive_with_a_password(archive, tmp_path):
    assert unpack(archive, {"gen_cogsLF.tsv": tmp_path / "out"}, "SLOG") == {"gen_cogsLF.tsv"}
    assert (tmp_path / "out").read_text() == ROWS
    for password in ("", "GOLS"):
        with pytest.raises(InputError, match="not an archive that can be read"):
            unpack(archive, {"gen_cogsLF.tsv": tmp_path / "out"}, password)


def test_slog(archive, tmp_path):
    mirror = tmp_path / "mirror" / "slog"
    for folder in ("varfree_LF", "cogs_LF"):
        (mirror / folder).mkdir(parents=True)
        for part in ("train", "dev", "test"):
            (mirror / folder / f"{part}.tsv").write_text(ROWS)
    shutil.copy(archive, mirror)
    record = get(small("slog"), tmp_path / "out", mirror=str(tmp_path / "mirror")).record
    assert len(record["splits"]) == 8 and not record["missing"]
    assert (tmp_path / "out" / "varfree" / "gen.type").read_text() == "in_distribution\nPP_3\n"


def test_recogs_as_far_as_it_is_there(tmp_path):
    folder = tmp_path / "mirror" / "recogs" / "recogs_v2"
    folder.mkdir(parents=True)
    for part in ("train", "gen"):
        (folder / f"{part}.tsv").write_text(ROWS)
    record = get(small("recogs"), tmp_path / "out", mirror=str(tmp_path / "mirror")).record
    assert sorted(record["splits"]) == ["v2/gen", "v2/train"]
    assert "positional-index/gen" in record["missing"]
