"""Recipes of data sets: sources, licence, splits, and a function that prepares them as used in
papers.

The recipes are in the other files of this package; :mod:`~cgbench.data_recipes.registry` finds
them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cgbench.data_recipes.sources import Source, Sources
from cgbench.data_recipes.writer import Split, Writer

__all__ = ["NO_LICENCE", "Recipe", "Source", "Sources", "Split", "Writer"]

NO_LICENCE = "none stated"


@dataclass(frozen=True)
class Recipe:
    """A data set.

    :param sides: suffixes of the files of a split: source, target.
    :param size: a short description of the size, for tables.
    :param download: size of the download; empty if unknown.
    :param prepare: reads the sources and writes the splits. Splits that it does not write are
        reported as missing.
    :param folder: default folder of its sources in a mirror and in the downloads (default: its
        name).
    :param forms: other forms in which the set can be written (``data get --form``), with what they
        are; ``prepare`` reads the chosen one from its writer.
    :param generates_released: whether generated files equal the released ones, line by line.
    :param revision: raised whenever a change of the code changes the files.
    """

    name: str
    summary: str
    licence: str
    citation: str
    homepage: str
    sides: tuple[str, ...]
    size: str
    splits: tuple[Split, ...]
    sources: tuple[Source, ...]
    prepare: Callable[[Sources, Writer], None]
    download: str = ""
    folder: str = ""
    notes: tuple[str, ...] = ()
    forms: Mapping[str, str] = field(default_factory=dict)
    generates_released: bool = False
    revision: int = 1

    def __post_init__(self) -> None:
        folder = self.folder or self.name
        sources = tuple(replace(source, folder=source.folder or folder) for source in self.sources)
        object.__setattr__(self, "sources", sources)

    def describe(self) -> dict[str, Any]:
        """The description of the recipe, as JSON."""
        texts = ("name", "summary", "licence", "citation", "homepage", "size", "download")
        optional = ("extra", "archive", "member", "by_hand")
        return {
            **{name: getattr(self, name) for name in texts},
            "sides": list(self.sides),
            "splits": {split.name: split.rows for split in self.splits},
            "sources": [
                {
                    "path": source.place,
                    "url": source.url,
                    "hashes": list(source.hashes),
                    **{name: getattr(source, name) for name in optional if getattr(source, name)},
                }
                for source in self.sources
            ],
            "notes": list(self.notes),
            "forms": dict(self.forms),
        }
