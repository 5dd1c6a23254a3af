"""Find the sources of a recipe in the downloads, in a mirror or on the network, and check their checksums.

``downloads`` has the layout of a mirror: ``<folder>/<name>``, plain or .gz. Files downloaded by hand belong there, and
the downloads of one machine can be a mirror for another.

A mirror may also be the folder of one set, or a copy of the original repository or archive: a file with a known
checksum is then found by the end of its path (``processed/valid.zh``), and used if the checksum is right.

``downloads/lock.json`` records SHA-256 and size, by address, of sources without checksums in their recipe, when they
are first used.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from cgbench.data_recipes.archives import unpack
from cgbench.data_recipes.download import ATTEMPTS, DownloadError, NotFoundError, download
from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument
from cgbench.files import check_shape, read_json, write_json
from cgbench.locks import locked
from cgbench.text.limits import MOST_DOWNLOAD, MOST_OF_GITHUB
from cgbench.text.streams import open_bytes

DOWNLOADS = "downloads"  # in the parent folder of the prepared sets
LOCK = "lock.json"
LOCKS = ".locks"  # one file for each folder that only one command may change at a time
CHUNK = 1 << 20
RAW = "https://raw.githubusercontent.com/"


@dataclass(frozen=True)
class Source:
    """A file that a recipe reads.

    It is searched as ``<folder>/<name>`` or ``<folder>/<name>.gz`` in the downloads and in mirrors, then downloaded
    from ``url``, or unpacked from ``archive``.

    :param url: its address; empty if it is in an archive or must be downloaded by hand.
    :param sha256: checksum of its (unpacked) bytes; several if several editions are known.
    :param git_blob: its id in a git repository, the SHA-1 of ``blob <bytes>\\0`` and its bytes; may be several. It is
        known without reading the file. With neither: SHA-256 and size are recorded at first use and checked later.
    :param folder: its folder in a mirror, if not that of the recipe.
    :param archive: the name of the source that contains it; ``member``: the end of its path in the archive.
    :param by_hand: how to download it by hand, if a program cannot.
    :param most: maximum bytes of a download; 0 for :attr:`most_bytes`.
    :param extra: name of an unchanged copy in the prepared set. The splits do not need it.
    :param seen: the day (ISO) on which the maintainers last read bytes with these checksums; empty: never.
    :param seen_in: where they were read, or how the checksum is known, if not at ``url``.
    """

    name: str
    url: str = ""
    sha256: tuple[str, ...] = ()
    folder: str = ""
    archive: str = ""
    member: str = ""
    by_hand: str = ""
    git_blob: tuple[str, ...] = ()
    extra: str = ""
    seen: str = ""
    seen_in: str = ""
    most: int = 0

    @property
    def most_bytes(self) -> int:
        """Maximum bytes of a download."""
        return self.most or (MOST_OF_GITHUB if self.url.startswith(RAW) else MOST_DOWNLOAD)

    @property
    def path(self) -> str:
        """Its path in the original repository or archive."""
        raw = self.url.removeprefix(RAW)
        return self.member or (raw.split("/", 3)[3] if raw != self.url else "")


def github(repository: str, commit: str, path: str) -> str:
    """The address of a file in a GitHub repository at a commit."""
    return f"{RAW}{repository}/{commit}/{path}"


@dataclass(frozen=True)
class Digest:
    """SHA-256, size and git blob id (if requested) of the unpacked content of a file."""

    sha256: str
    bytes: int
    git_blob: str = ""

    def fits(self, source: Source) -> bool:
        """Whether all checksums of ``source`` agree."""
        return (not source.sha256 or self.sha256 in source.sha256) and (
            not source.git_blob or self.git_blob in source.git_blob
        )


def digest_of(path: Path, git: bool = False) -> Digest:
    """The :class:`Digest` of a file.

    :param git: also compute the git blob id. It begins with the size, so the file is read twice.
    :raises InputError: a compressed file is damaged or cut short.
    """
    digest, size = hashlib.sha256(), 0
    for data in _chunks(path):
        digest.update(data)
        size += len(data)
    if not git:
        return Digest(digest.hexdigest(), size)
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for data in _chunks(path):
        blob.update(data)
    return Digest(digest.hexdigest(), size, blob.hexdigest())


def _chunks(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as file:
        while data := file.read(CHUNK):
            yield data


def _ends(source: Source) -> list[str]:
    """The ends of the original path of a source, shortest first; none without a checksum.

    The last part alone is included only if it is the name of the source: other sets also have ``train.tsv``.
    """
    parts = source.path.split("/") if source.path and (source.sha256 or source.git_blob) else []
    last = len(parts) - (parts[-1:] != [source.name])
    return ["/".join(parts[begin:]) for begin in reversed(range(last))]


class Sources:
    """The sources of one recipe, as a context manager that deletes unpacked files at the end.

    Without a mirror, missing files are downloaded. With mirrors, only these are used: folders first, then addresses, in
    their order; an address that does not answer is skipped.

    :param folder: default folder of the sources in a mirror and in the downloads.
    :param work: a folder for unpacked files that nothing else uses.
    :param mirror: one or more folders or addresses (``http://...``) with ``<folder>/<name>``.
    :param offline: use no network; a mirror must be a folder.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        folder: str,
        downloads: Path,
        work: Path,
        mirror: str | Sequence[str] | None = None,
        offline: bool = False,
        engine: Engine | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.sources, self.folder, self.downloads, self.work = sources, folder, downloads, work
        self.offline, self.engine = offline, engine or Local(1)
        self.say = say or (lambda line: None)
        self.used: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}
        self._by_name = {source.name: source for source in sources}
        self._found: dict[str, Path] = {}
        self._unpacked: set[str] = set()
        self._others: dict[str, Path] = {}  # files with the name but not the checksum of a source
        self._unreachable = ""  # why the first optional download failed; the rest is not tried
        mirrors = [mirror] if isinstance(mirror, str) else list(mirror or ())
        self._remote = [name.rstrip("/") for name in mirrors if name.startswith(("http://", "https://"))]
        self._folders = [Path(name) for name in mirrors if not name.startswith(("http://", "https://"))]
        if offline and self._remote:
            raise InputError(
                f"{argument('mirror', self._remote[0])}: an address needs the network; leave it or "
                f"{argument('offline')} out"
            )
        for root in self._folders:
            if not root.is_dir():
                raise InputError(f"{argument('mirror', root)}: no such folder")

    def __enter__(self) -> Sources:
        shutil.rmtree(self.work, ignore_errors=True)  # left by an interrupted command
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def find(self, *names: str, fetch: bool = True, optional: bool = False) -> tuple[Path, ...] | None:
        """The files of these sources (plain or .gz), or None if one is unavailable; :attr:`missing` has the reason.

        :param fetch: allow downloads.
        :param optional: a failed download (tried once) is not an error: the file counts as missing.
        :raises InputError: a download failed, or a file has a wrong checksum.
        """
        sources = [self._by_name[name] for name in names]
        found = [self._find(source, optional) if fetch else self._local(source) for source in sources]
        return tuple(path for path in found if path) if all(found) else None

    def _find(self, source: Source, optional: bool = False) -> Path | None:
        if source.name in self._found:
            return self._found[source.name]
        if source.name in self.missing:
            return None
        path = self._local(source) or self._out_of_archive(source) or self._fetched(source, optional)
        if path is None:
            self.missing.setdefault(source.name, self._how(source))
            return None
        self._found[source.name] = path
        return path

    def _local(self, source: Source) -> Path | None:
        """The source in the downloads or mirror folders; of several files with its name, the one with its checksum.

        :raises InputError: the only file in its exact place has a wrong checksum.
        """
        wrong: list[tuple[Path, str]] = []
        for root in (self.downloads, *self._folders):
            for candidate, exact in self._candidates(source, root):
                if not candidate.is_file():
                    continue
                if not (fault := self._check(source, candidate)):
                    return candidate
                self._others.setdefault(source.name, candidate)
                if exact:
                    wrong.append((candidate, fault))
        for path, fault in wrong:
            raise InputError(f"{path}: {fault}; {self._put_aside(path)}")
        return None

    def _candidates(self, source: Source, root: Path) -> Iterator[tuple[Path, bool]]:
        """Possible paths of the source in ``root``, and whether a file there must be this source."""
        folder = source.folder or self.folder
        places = [(root / folder / source.name, True)]
        if root != self.downloads:
            # the root may be the folder of the set, or a copy of the original repository or archive
            places.append((root / source.name, root.resolve().name == folder))
            if source.sha256 or source.git_blob:
                places += [(base / end, False) for end in _ends(source) for base in (root / folder, root)]
            else:
                places = [place for place in places if place[1]]
        for path, exact in dict.fromkeys(places):
            for candidate in (path, path.with_name(path.name + ".gz")):
                yield candidate, exact

    def _out_of_archive(self, source: Source) -> Path | None:
        if not source.archive:
            return None
        archive = self._find(self._by_name[source.archive])
        if archive is None:
            return None
        if source.archive not in self._unpacked:
            self._unpacked.add(source.archive)
            self.work.mkdir(parents=True, exist_ok=True)
            self.say(f"unpacking {archive}")
            alike = [other for other in self.sources if other.archive == source.archive]
            wanted = {other.member: self.work / other.name for other in alike}
            for path in wanted.values():
                path.parent.mkdir(parents=True, exist_ok=True)
            unpack(archive, wanted)
        path = self.work / source.name
        if not path.is_file():
            self.missing[source.name] = f"no {source.member} in {archive}"
            return None
        if fault := self._check(source, path):
            raise InputError(f"{archive}: {source.member} in it: {fault}; it was not used")
        return path

    def _fetched(self, source: Source, optional: bool = False) -> Path | None:
        folder = source.folder or self.folder
        if self.offline or source.archive or (self._folders and not self._remote):
            return None
        path = self.downloads / folder / source.name
        places = {"": [(source.url, path)]} if source.url else {}  # by the mirror that has them
        if self._remote:
            places = {
                mirror: [
                    (f"{mirror}/{folder}/{name}{suffix}", path.with_name(path.name + suffix))
                    for name in dict.fromkeys((source.name, *_ends(source)))
                    for suffix in ("", ".gz")
                ]
                for mirror in self._remote
            }
        with locked(self.downloads / LOCKS / folder, wait=True):
            if local := self._local(source):  # downloaded by another command meanwhile
                return local
            wrong, dead = "", list[DownloadError]()
            for candidates in places.values():
                for url, target in candidates:
                    if optional and self._unreachable:
                        return None
                    self.say(f"downloading {url}")
                    try:
                        download(url, target, 1 if optional else ATTEMPTS, most=source.most_bytes)
                    except NotFoundError as error:
                        if self._remote or optional:
                            continue
                        raise InputError(f"{error}; {self._how(source)}") from error
                    except DownloadError as error:
                        if optional:
                            self._unreachable = str(error)
                            self.say(f"{error}; this and other optional files are left out")
                            return None
                        dead.append(error)
                        break  # try the next mirror
                    if not (fault := self._check(source, target)):
                        return target
                    wrong = wrong or f"{target}: {fault}; {self._put_aside(target)}"
            if wrong:
                raise InputError(wrong)
            if dead:
                last = f"run the same command again, or {self._how(source)}"
                raise InputError(f"{dead[0]}; {last if len(dead) == len(places) else 'no other mirror has the file'}")
        return None

    def _how(self, source: Source) -> str:
        if source.archive:
            return self._how(self._by_name[source.archive])
        place = f"{source.folder or self.folder}/{source.name}"
        what = source.by_hand or f"download {source.url}"
        other = self._others.get(source.name)
        return f"{what} and put it at {self.downloads / place} (or give a mirror that holds {place}" + (
            f"; {other} is another file)" if other else ")"
        )

    def _check(self, source: Source, path: Path) -> str:
        """The difference of ``path`` from the recipe or the lock; empty if it is right, which is recorded."""
        try:
            found = digest_of(path, git=bool(source.git_blob))
        except InputError as error:
            return str(error).removeprefix(f"{path}: ")  # the caller names the file
        if source.sha256 or source.git_blob:
            if not found.fits(source):
                kinds = (("SHA-256", found.sha256, source.sha256), ("git blob", found.git_blob, source.git_blob))
                return "; ".join(
                    f"{kind} is {has}, but {' or '.join(known)} is expected by the recipe"
                    for kind, has, known in kinds
                    if known and has not in known
                )
        elif fault := self._locked_otherwise(source, found):
            return fault
        self.used[source.name] = {
            "path": f"{source.folder or self.folder}/{source.name}",
            "url": source.url,
            "sha256": found.sha256,
            **({"git_blob": found.git_blob} if found.git_blob else {}),
            "bytes": found.bytes,
        }
        return ""

    def _locked_otherwise(self, source: Source, found: Digest) -> str:
        """The difference from the lock of a source without checksums in its recipe; a new source is added."""
        address = source.url or f"{source.folder or self.folder}/{source.name}"
        with locked(self.downloads / LOCKS / LOCK, wait=True):
            file = self.downloads / LOCK
            lock = read_json(file) if file.exists() else {}
            check_shape(lock, {str: {"sha256": str, "bytes": int}}, file, "it is damaged: delete it to create it again")
            if address not in lock:
                lock[address] = {"sha256": found.sha256, "bytes": found.bytes}
                write_json(file, lock)
            elif found.sha256 != lock[address]["sha256"]:
                return (
                    f"SHA-256 is {found.sha256}, but {lock[address]['sha256']} is expected by {file} "
                    "(delete its entry if the change is intended)"
                )
        return ""

    def _put_aside(self, path: Path) -> str:
        if not path.is_relative_to(self.downloads):
            return "it was not used"
        aside = path.with_name(path.name + ".rejected")
        path.replace(aside)
        return f"it was not used and is kept as {aside}; the same command downloads it again"
