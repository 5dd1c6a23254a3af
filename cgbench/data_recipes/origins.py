"""Known files of public repositories with their hashes, as sources.

``origins.tsv`` has one row per file: repository, commit, path, and its hash: ``sha256:``, or ``git:`` with the blob id
that the repository states if the maintainers have not read the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from cgbench.data_recipes.recipe import Source
from cgbench.data_recipes.sources import github

LEARNERS = ("forward.align.o", "goodman", "intersect.align.o", "pmi.align", "simple.align.v3")
"""The aligners of "Lexicon Learning"."""


@cache
def origins() -> dict[tuple[str, str, str], str]:
    """The hashes by repository, commit and path."""
    lines = files("cgbench.data_recipes").joinpath("origins.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines[1:])
    return {(repository, commit, path): known_hash for repository, commit, path, known_hash in rows}


def released(repository: str, commit: str, path: str, name: str = "", **fields: Any) -> Source:
    """A file of a GitHub repository as a source; ``name`` is by default the last part of its path.

    :param fields: of :class:`Source`. A member of an archive has no address of its own.
    """
    address = {} if "archive" in fields else {"url": github(repository, commit, path)}
    known = {"hashes": (origins()[repository, commit, path],)}
    return Source(name or path.rpartition("/")[2], **{**address, **known, **fields})


def alignments(repository: str, commit: str, folder: str, learners: Iterable[str]) -> Iterator[Source]:
    """Lexicons learned by the aligners of "Lexicon Learning" (Akyürek and Andreas, 2021), as extra files."""
    for name in learners:
        path = f"{folder}/alignments/{name}.json"
        yield released(repository, commit, path, f"align.{name}.json", extra=f"lexicons/{name}.json")
