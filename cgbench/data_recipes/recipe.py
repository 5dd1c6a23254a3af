"""What a recipe is: a data set's sources, licence, splits, and how its files become the ones that papers used.

The recipes are in the other files of this package, a family a file; :mod:`~cgbench.data_recipes.registry` finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgbench.data_recipes.sources import Sources
    from cgbench.data_recipes.writer import Writer

NO_LICENCE = "none stated"
RAW = "https://raw.githubusercontent.com/"


@dataclass(frozen=True)
class Source:
    """A file that a recipe reads.

    It is looked for as ``<folder>/<name>`` or ``<folder>/<name>.gz`` in the downloads and in a mirror, then fetched
    from ``url``, or taken out of ``archive``.

    :param url: where it is published; empty if it lies in an archive or has to be fetched by hand.
    :param sha256: of its bytes (unpacked, if a mirror has it as .gz); several where several editions are known.
    :param git_blob: its id in a git repository, the SHA-1 of ``blob <bytes>\\0`` and its bytes; several likewise. A
        repository names it without showing the file, so it pins one that the maintainers have not read. With neither:
        SHA-256 and size are recorded at first use, enforced after.
    :param folder: its folder in a mirror, where that is not the recipe's.
    :param archive: the name of the source that holds it; ``member`` is how its path in there ends.
    :param password: of an archive, where its publishers have one and state it.
    :param by_hand: how a person gets it, where no program can.
    :param most: bytes that a download may have; 0 for what :attr:`most_bytes` says.
    :param extra: the file of the prepared set that it becomes, as it is. The splits do without it.
    :param seen: the day (ISO) on which bytes with these digests were last read by the maintainers; empty: never.
    :param seen_in: where they were read, or how their digest is known, if not at ``url``.
    """

    name: str
    url: str = ""
    sha256: tuple[str, ...] = ()
    folder: str = ""
    archive: str = ""
    member: str = ""
    by_hand: str = ""
    password: str = ""
    git_blob: tuple[str, ...] = ()
    extra: str = ""
    seen: str = ""
    seen_in: str = ""
    most: int = 0

    @property
    def most_bytes(self) -> int:
        """How many bytes a download may have. A repository on GitHub holds no larger file than 100 MiB."""
        return self.most or (100 << 20 if self.url.startswith(RAW) else 4 << 30)

    @property
    def path(self) -> str:
        """Its path in the repository or archive that it is from; a mirror may have it by the end of that path."""
        raw = self.url.removeprefix(RAW)
        return self.member or (raw.split("/", 3)[3] if raw != self.url else "")


@dataclass(frozen=True)
class Split:
    """A part of a prepared set: ``train`` is ``train.<side>``, ``mcd1/train`` is in a folder of its own.

    :param rows: how many it must have; None where nobody has said.
    """

    name: str
    rows: int | None = None


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

    def folder_of(self, source: Source) -> str:
        """The folder of ``source`` in a mirror and in the downloads."""
        return source.folder or self.folder or self.name

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


def github(repository: str, commit: str, path: str) -> str:
    """The address of a file of a GitHub repository at one commit: it names its content."""
    return f"{RAW}{repository}/{commit}/{path}"
