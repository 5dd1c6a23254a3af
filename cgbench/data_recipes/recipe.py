"""What a recipe is: a data set's sources, licence, splits, and how its files become the ones that papers used.

The recipes are in the other files of this package, a family a file; :mod:`~cgbench.data_recipes.registry` finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cgbench.data_recipes.sources import Source, Sources
from cgbench.data_recipes.writer import Split, Writer

__all__ = ["NO_LICENCE", "Recipe", "Source", "Sources", "Split", "Writer"]

NO_LICENCE = "none stated"


@dataclass(frozen=True)
class Recipe:
    """A data set.

    :param sides: what the names of the files of a split end in: source, target.
    :param size: the set in numbers, for a table.
    :param download: how much is fetched; empty where that is not known.
    :param prepare: reads the sources and writes the splits. What it cannot write is reported as missing.
    :param folder: its folder in a mirror; its name if empty.
    :param generates_released: whether what is generated is what was released, line for line.
    :param revision: raised whenever a change of the code changes what is written.
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
    generates_released: bool = False
    revision: int = 1

    @property
    def folder_name(self) -> str:
        """The folder of its sources in a mirror and in the downloads, unless they name another."""
        return self.folder or self.name

    def folder_of(self, source: Source) -> str:
        """The folder of ``source`` there."""
        return source.folder or self.folder_name

    def describe(self) -> dict[str, Any]:
        """Everything there is to say before it is fetched, as JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "licence": self.licence,
            "citation": self.citation,
            "homepage": self.homepage,
            "size": self.size,
            "download": self.download,
            "sides": list(self.sides),
            "splits": {split.name: split.rows for split in self.splits},
            "sources": [
                {
                    "path": f"{self.folder_of(source)}/{source.name}",
                    "url": source.url,
                    "sha256": list(source.sha256),
                    "git_blob": list(source.git_blob),
                    "seen": source.seen,
                    **({"seen_in": source.seen_in} if source.seen_in else {}),
                    **({"extra": source.extra} if source.extra else {}),
                    **({"archive": source.archive, "member": source.member} if source.archive else {}),
                    **({"by_hand": source.by_hand} if source.by_hand else {}),
                }
                for source in self.sources
            ],
            "notes": list(self.notes),
        }
