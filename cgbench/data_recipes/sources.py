"""Find a recipe's sources: among the downloads, in a mirror, on the network; and see that their bytes are right.

``downloads`` is laid out as a mirror is: ``<folder>/<name>``, plain or .gz, where folder and name are the source's.
So a file that was fetched by hand is put there, and the downloads of one machine are a mirror for another.

``downloads/lock.json`` holds SHA-256 and size of every source whose recipe does not know them, by its address, from
the first time it was used.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from cgbench.data_recipes.archives import unpack
from cgbench.data_recipes.download import DownloadError, NotFoundError, download
from cgbench.data_recipes.recipe import Recipe, Source
from cgbench.errors import InputError
from cgbench.files import read_json, write_json
from cgbench.steps import locked
from cgbench.text.formats import open_binary

DOWNLOADS = "downloads"  # beside the prepared sets
LOCK = "lock.json"
LOCKS = ".locks"  # a file for each folder that only one command may change at a time
CHUNK = 1 << 20


@dataclass(frozen=True)
class Digest:
    """SHA-256 and length of what a file holds, a .gz file unpacked."""

    sha256: str
    bytes: int


def digest_of(path: Path) -> Digest:
    """The :class:`Digest` of a file."""
    digest, size = hashlib.sha256(), 0
    with open_binary(path) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
    return Digest(digest.hexdigest(), size)


class Sources:
    """The sources of one recipe. A context: what was taken out of archives goes when it ends.

    Without a mirror, what is not among the downloads is fetched. With one, nothing but the mirror is asked.

    :param work: a folder for what is taken out of archives; nobody else uses it.
    :param mirror: a folder or an address (``http://...``) that holds ``<folder>/<name>``.
    :param offline: use no network; a mirror must be a folder.
    """

    def __init__(
        self,
        recipe: Recipe,
        downloads: Path,
        work: Path,
        mirror: str | None = None,
        offline: bool = False,
        jobs: int = 1,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.recipe, self.downloads, self.work = recipe, downloads, work
        self.mirror, self.offline, self.jobs = mirror, offline, jobs
        self.say = say or (lambda line: None)
        self.used: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}
        self._by_name = {source.name: source for source in recipe.sources}
        self._found: dict[str, Path] = {}
        self._unpacked: set[str] = set()
        self._remote = mirror is not None and mirror.startswith(("http://", "https://"))
        if offline and self._remote:
            raise InputError(f"--mirror {mirror}: an address, which --offline forbids; leave one of the two out")
        if mirror is not None and not self._remote:
            self._check_folder(Path(mirror))

    def _check_folder(self, mirror: Path) -> None:
        if not mirror.is_dir():
            raise InputError(f"--mirror {mirror}: no such folder")
        folders = {self.recipe.folder_of(source) for source in self.recipe.sources}
        whole = mirror.resolve()
        if whole.name in folders and not any((whole / folder).is_dir() for folder in folders):
            raise InputError(f"--mirror {mirror}: the folder of one set; give the one above it, {whole.parent}")

    def __enter__(self) -> Sources:
        shutil.rmtree(self.work, ignore_errors=True)  # what a killed command has left
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def find(self, *names: str, fetch: bool = True) -> tuple[Path, ...] | None:
        """The files of these sources (plain or .gz, see :func:`cgbench.text.formats.read_lines`), or None.

        None means that one of them is neither at hand nor to be asked for; :attr:`missing` then says how to get it.

        :param fetch: without it, only what is on this machine counts.
        :raises InputError: a download failed, or a file is not the one it should be.
        """
        sources = [self._by_name[name] for name in names]
        found = [self._find(source) if fetch else self._local(source) for source in sources]
        return tuple(path for path in found if path) if all(found) else None

    def _find(self, source: Source) -> Path | None:
        if source.name in self._found:
            return self._found[source.name]
        if source.name in self.missing:
            return None
        path = self._local(source) or self._out_of_archive(source) or self._fetched(source)
        if path is None:
            self.missing.setdefault(source.name, self._how(source))
            return None
        self._found[source.name] = path
        return path

    def _local(self, source: Source) -> Path | None:
        roots = [self.downloads, *([Path(self.mirror)] if self.mirror and not self._remote else [])]
        for root in roots:
            path = root / self.recipe.folder_of(source) / source.name
            for candidate in (path, path.with_name(path.name + ".gz")):
                if candidate.is_file():
                    self._check(source, candidate)
                    return candidate
        return None

    def _out_of_archive(self, source: Source) -> Path | None:
        """The source taken out of its archive, with all others that lie there."""
        if not source.archive:
            return None
        archive = self._find(self._by_name[source.archive])
        if archive is None:
            return None
        if source.archive not in self._unpacked:
            self._unpacked.add(source.archive)
            self.work.mkdir(parents=True, exist_ok=True)
            self.say(f"unpacking {archive}")
            alike = [other for other in self.recipe.sources if other.archive == source.archive]
            unpack(archive, {other.member: self.work / other.name for other in alike})
        path = self.work / source.name
        if not path.is_file():
            self.missing[source.name] = f"there is no {source.member} in {archive}"
            return None
        self._check(source, path)
        return path

    def _fetched(self, source: Source) -> Path | None:
        folder = self.recipe.folder_of(source)
        if self.offline or source.archive or (self.mirror and not self._remote):
            return None
        path = self.downloads / folder / source.name
        if self._remote:
            candidates = [
                (f"{str(self.mirror).rstrip('/')}/{folder}/{source.name}{suffix}", path.with_name(path.name + suffix))
                for suffix in ("", ".gz")
            ]
        elif source.url:
            candidates = [(source.url, path)]
        else:
            return None
        with locked(self.downloads / LOCKS / folder, wait=True):
            if local := self._local(source):  # another command has fetched it meanwhile
                return local
            for url, target in candidates:
                self.say(f"downloading {url}")
                try:
                    resumed = download(url, target)
                except NotFoundError as error:
                    if self._remote:
                        continue
                    raise InputError(f"{error}; {self._how(source)}") from error
                except DownloadError as error:
                    raise InputError(
                        f"{error}; give the same command again to go on, or {self._how(source)}"
                    ) from error
                try:
                    self._check(source, target)
                except InputError:
                    if not resumed:
                        raise
                    # what was there from an earlier attempt may belong to another edition: once more from the start
                    download(url, target)
                    self._check(source, target)
                return target
        return None

    def _how(self, source: Source) -> str:
        """How a person gets the source."""
        if source.archive:
            return self._how(self._by_name[source.archive])
        place = f"{self.recipe.folder_of(source)}/{source.name}"
        what = source.by_hand or f"download {source.url}"
        return f"{what} and put it at {self.downloads / place} (or name a folder that holds {place} with --mirror)"

    def _check(self, source: Source, path: Path) -> None:
        """See that ``path`` holds what the recipe, or the lock, says; note what was used.

        :raises InputError: it does not; a file among the downloads is then put aside.
        """
        found = digest_of(path)
        address = source.url or f"{self.recipe.folder_of(source)}/{source.name}"
        with locked(self.downloads / LOCKS / LOCK, wait=True):
            file = self.downloads / LOCK
            lock = read_json(file) if file.exists() else {}
            expected, who = source.sha256, "the recipe"
            if not expected and address in lock:
                expected, who = (lock[address]["sha256"],), f"{file} (remove its entry if the change is meant)"
            if not expected:
                lock[address] = {"sha256": found.sha256, "bytes": found.bytes}
                write_json(file, lock)
            elif found.sha256 not in expected:
                raise InputError(
                    f"{path}: SHA-256 is {found.sha256}, but {' or '.join(expected)} is expected by {who}; "
                    + self._put_aside(path)
                )
        self.used[source.name] = {
            "path": f"{self.recipe.folder_of(source)}/{source.name}",
            "url": source.url,
            "sha256": found.sha256,
            "bytes": found.bytes,
        }

    def _put_aside(self, path: Path) -> str:
        if not path.is_relative_to(self.downloads):
            return "it was not used"
        aside = path.with_name(path.name + ".rejected")
        path.replace(aside)
        return f"it was not used and is kept as {aside}; the same command downloads it anew"
