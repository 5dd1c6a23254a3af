"""Find the sources of a recipe in the downloads, in mirror folders or on the network, and check
their hashes.

``downloads`` has the layout of a mirror: ``<folder>/<name>``, plain or .gz. Files downloaded by
hand belong there, and the downloads of one machine can be a mirror for another. A mirror may also
be the folder of one set, or a copy of the original repository or archive: a file with a known hash
is then found by the end of its path (``processed/valid.zh``).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cgbench.data_recipes.archives import unpack
from cgbench.data_recipes.download import ATTEMPTS, DownloadError, download
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument
from cgbench.locks import locked
from cgbench.text.limits import MOST_DOWNLOAD, MOST_OF_GITHUB
from cgbench.text.streams import open_bytes

DOWNLOADS = "downloads"  # in the parent folder of the prepared sets
LOCKS = ".locks"  # one file for each folder that only one command may change at a time
CHUNK = 1 << 20
RAW = "https://raw.githubusercontent.com/"
LEARNERS = ("forward.align.o", "goodman", "intersect.align.o", "pmi.align", "simple.align.v3")
"""The aligners of "Lexicon Learning"."""


@dataclass(frozen=True)
class Source:
    """A file that a recipe reads.

    It is searched as ``<folder>/<name>`` or ``<folder>/<name>.gz`` in the downloads and in mirrors,
    then downloaded from ``url``, or unpacked from ``archive``.

    :param url: its address; empty if it is in an archive or must be downloaded by hand.
    :param hashes: of its (unpacked) bytes: ``sha256:<digest>``; or ``git:<id>``, its blob id in a
        git repository (the SHA-1 of ``blob <bytes>\\0`` and its bytes), if nobody has read it. One
        of them must fit.
    :param folder: its folder in a mirror; :class:`Recipe` fills in its own.
    :param archive: the name of the source that contains it; ``member``: the end of its path in the
        archive.
    :param by_hand: how to download it by hand, if a program cannot.
    :param extra: name of an unchanged copy in the prepared set. The splits do not need it.
    """

    name: str
    url: str = ""
    hashes: tuple[str, ...] = ()
    folder: str = ""
    archive: str = ""
    member: str = ""
    by_hand: str = ""
    extra: str = ""

    @property
    def place(self) -> str:
        """Its path in the downloads and in a mirror."""
        return f"{self.folder}/{self.name}"

    @property
    def path(self) -> str:
        """Its path in the original repository or archive."""
        raw = self.url.removeprefix(RAW)
        return self.member or (raw.split("/", 3)[3] if raw != self.url else "")


@cache
def origins() -> dict[tuple[str, str, str], str]:
    """The hashes in ``origins.tsv`` by repository, commit and path: ``sha256:``, or ``git:`` with
    the blob id that the repository states if the maintainers have not read the file."""
    lines = files("cgbench.data_recipes").joinpath("origins.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines[1:])
    return {(repository, commit, path): known_hash for repository, commit, path, known_hash in rows}


def released(repository: str, commit: str, path: str, name: str = "", **fields: Any) -> Source:
    """A file of a GitHub repository as a source; ``name`` is by default the last part of its path.

    :param fields: of :class:`Source`. A member of an archive has no address of its own.
    """
    address = {} if "archive" in fields else {"url": f"{RAW}{repository}/{commit}/{path}"}
    known = {"hashes": (origins()[repository, commit, path],)}
    return Source(name or path.rpartition("/")[2], **{**address, **known, **fields})


def alignments(
    repository: str,
    commit: str,
    folder: str,
    name: str = "align.{}.json",
    extra: str = "lexicons/{}.json",
    learners: Iterable[str] = LEARNERS,
) -> Iterator[Source]:
    """Lexicons learned by the aligners of "Lexicon Learning" (Akyürek and Andreas, 2021), as extra
    files.
    """
    for learner in learners:
        path = f"{folder}/alignments/{learner}.json"
        yield released(repository, commit, path, name.format(learner), extra=extra.format(learner))


def hash_content(path: Path, algorithm: str = "sha256", prefix: bytes = b"") -> tuple[str, int]:
    """The hash (as hex digits) of ``prefix`` and the unpacked content of a file, and the bytes of
    the content.

    :raises InputError: a compressed file is damaged or cut short.
    """
    digest = hashlib.new(algorithm, prefix, usedforsecurity=False)
    length = 0
    with open_bytes(path, text=False) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            length += len(data)
    return digest.hexdigest(), length


class Sources:
    """The sources of one recipe, as a context manager that deletes unpacked files at the end.

    Without a mirror, missing files are downloaded. With mirrors, only these are used, in their
    order.

    :param work: a folder for unpacked files that nothing else uses.
    :param mirror: one or more folders with ``<folder>/<name>``.
    :param offline: use no network.
    :raises InputError: a mirror is not a folder.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        downloads: Path,
        work: Path,
        mirror: str | Sequence[str] | None = None,
        offline: bool = False,
        engine: Engine | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.sources, self.downloads, self.work = sources, downloads, work
        self.offline, self.engine = offline, engine or Local(1)
        self.say = say or (lambda line: None)
        self.used: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}
        self._by_name = {source.name: source for source in self.sources}
        self._paths: dict[str, Path] = {}
        self._unpacked: set[str] = set()
        self._unreachable = False  # an optional download failed; the rest is not tried
        self._mirrors = [
            Path(root) for root in ([mirror] if isinstance(mirror, str) else mirror or ())
        ]
        for root in self._mirrors:
            if not root.is_dir():
                raise InputError(f"{argument('mirror', root)}: no such folder")

    def __enter__(self) -> Sources:
        shutil.rmtree(self.work, ignore_errors=True)  # left by an interrupted command
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def find(
        self, *names: str, fetch: bool = True, optional: bool = False
    ) -> tuple[Path, ...] | None:
        """The files of these sources (plain or .gz), or None if one is unavailable; :attr:`missing`
        has the reason.

        :param fetch: allow downloads and unpacking.
        :param optional: a failed download (tried once) is not an error: the file counts as missing.
        :raises InputError: a download failed, or a file has a wrong hash.
        """
        paths = [self._find(self._by_name[name], fetch, optional) for name in names]
        return tuple(path for path in paths if path) if all(paths) else None

    def _find(self, source: Source, fetch: bool = True, optional: bool = False) -> Path | None:
        if source.name in self._paths or source.name in self.missing:
            return self._paths.get(source.name)
        path = self._local(source)
        if path is None and fetch:
            path = (
                self._out_of_archive(source) if source.archive else self._fetched(source, optional)
            )
            if path is None:
                self.missing.setdefault(source.name, self._how(source))
        if path is not None:
            self._paths[source.name] = path
        return path

    def _local(self, source: Source) -> Path | None:
        """The source in the downloads or mirrors; of several files with its name, the one with its
        hash.

        :raises InputError: the only file in its exact place has a wrong hash.
        """
        faults: list[str] = []
        for plain, exact in self._candidates(source).items():
            for path in (plain, plain.with_name(plain.name + ".gz")):
                if path.is_file():
                    if not (fault := self._check(source, path)):
                        return path
                    faults += [
                        f"{path}: {fault}; it was not used: delete it or get the right one"
                    ] * exact
        if faults:
            raise InputError(faults[0])
        return None

    def _candidates(self, source: Source) -> dict[Path, bool]:
        """Possible paths of the source, and whether a file there must be this source."""
        paths = {self.downloads / source.place: True}
        parents = source.path.split("/") if source.path and source.hashes else []
        for root in self._mirrors:
            paths[root / source.place] = True
            # The root may be the folder of the set, or a copy of the original repository or
            # archive.
            if root.resolve().name == source.folder:
                paths[root / source.name] = True
            for begin in reversed(range(len(parents))):
                for base in (root / source.folder, root):
                    paths.setdefault(base.joinpath(*parents[begin:]), False)
        return paths

    def _out_of_archive(self, source: Source) -> Path | None:
        archive = self._find(self._by_name[source.archive])
        if archive is None:
            return None
        if source.archive not in self._unpacked:
            self._unpacked.add(source.archive)
            self.say(f"unpacking {archive}")
            sources = [member for member in self.sources if member.archive == source.archive]
            unpack(archive, {member.member: self.work / member.name for member in sources})
        path = self.work / source.name
        if not path.is_file():
            self.missing[source.name] = f"no {source.member} in {archive}"
            return None
        if fault := self._check(source, path):
            raise InputError(f"{archive}: {source.member} in it: {fault}; it was not used")
        return path

    def _fetched(self, source: Source, optional: bool) -> Path | None:
        if self.offline or self._mirrors or not source.url or (optional and self._unreachable):
            return None
        path = self.downloads / source.place
        with locked(self.downloads / LOCKS / source.folder, wait=True):
            if local := self._local(source):  # downloaded by another command meanwhile
                return local
            self.say(f"downloading {source.url}")
            try:
                most = MOST_OF_GITHUB if source.url.startswith(RAW) else MOST_DOWNLOAD
                download(source.url, path, 1 if optional else ATTEMPTS, most=most)
            except DownloadError as error:
                if optional:
                    self._unreachable = not error.refused
                    self.say(f"{error}; optional files are left out")
                    return None
                again = "" if error.refused else "run the same command again, or "
                raise InputError(f"{error}; {again}{self._how(source)}") from error
            if fault := self._check(source, path):
                path.unlink()
                raise InputError(f"{path}: {fault}; it was not used")
        return path

    def _how(self, source: Source) -> str:
        if source.archive:
            return self._how(self._by_name[source.archive])
        way = source.by_hand or f"download {source.url}"
        return (
            f"{way} and put it at {self.downloads / source.place} (or give --mirror a folder with"
            f" {source.place})"
        )

    def _check(self, source: Source, path: Path) -> str:
        """How a file differs from the source; empty, and the file is recorded as used, if a hash
        fits or none is known.

        The file is read once, and once more for a git blob id, which begins with the size.
        """
        try:
            sha256, length = hash_content(path)
            actual = [f"sha256:{sha256}"]
            if actual[0] not in source.hashes and any(
                known.startswith("git:") for known in source.hashes
            ):
                blob, _ = hash_content(path, "sha1", b"blob %d\0" % length)
                actual.append(f"git:{blob}")
        except InputError as error:
            return str(error).removeprefix(f"{path}: ")  # the caller names the file
        if source.hashes and set(source.hashes).isdisjoint(actual):
            return (
                f"the hash is {', '.join(actual)}, but {' or '.join(source.hashes)} is expected by"
                " the recipe"
            )
        self.used[source.name] = {
            "path": source.place,
            "url": source.url,
            "sha256": sha256,
            "bytes": length,
        }
        return ""
