"""Write a prepared set: aligned plain text, a record of where it is from, all of it there or nothing."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from cgbench import __version__
from cgbench.data_recipes.recipe import Recipe
from cgbench.data_recipes.sources import DOWNLOADS, LOCKS, Sources
from cgbench.errors import InputError
from cgbench.files import read_json, sync_file, sync_folder, write_json
from cgbench.steps import hash_file, locked

RECORD = "recipe.json"
FORMAT = 1
BLOCK = 20_000  # rows written at a time
SYNCED = 16  # files synced to disk at a time
RELEASED, GENERATED = "released", "generated"


class Prepared(NamedTuple):
    """What :func:`get` did.

    :param made: whether the set was written; else it was there, whole and unchanged.
    :param to_get: how a person gets what is missing.
    """

    record: dict[str, Any]
    made: bool
    to_get: list[str]


class Writer:
    """Receives the splits of a set while its recipe prepares it."""

    def __init__(self, recipe: Recipe, folder: Path, say: Callable[[str], None]) -> None:
        self.recipe, self.folder, self.say = recipe, folder, say
        self.splits: dict[str, dict[str, Any]] = {}
        self.hashes: dict[str, str] = {}  # of the files of the splits, as they were written
        self.notes: list[str] = []
        self._expected = {split.name: split.rows for split in recipe.splits}

    def split(
        self,
        name: str,
        rows: Iterable[Sequence[str]],
        *,
        sides: tuple[str, ...] = (),
        origin: str = RELEASED,
        exact: bool = True,
    ) -> None:
        """Write a split: a file a side, a line a row.

        :param rows: as many texts a row as there are ``sides`` (the recipe's, if not given).
        :param origin: :data:`RELEASED`, or :data:`GENERATED` where no released file was read.
        :param exact: whether it must have as many rows as the recipe says.
        :raises InputError: it has not.
        """
        sides = sides or self.recipe.sides
        self.say(f"writing {name}")
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        count, last = 0, ""
        names = [f"{name}.{side}" for side in sides]
        digests = [hashlib.sha256() for _ in sides]
        with ExitStack() as stack:
            files = [stack.enter_context((self.folder / file).open("wb")) for file in names]
            waiting = iter(rows)
            while block := list(islice(waiting, BLOCK)):
                for file, digest, column in zip(files, digests, zip(*block, strict=True), strict=True):
                    data = ("\n".join(column) + "\n").encode("utf-8")
                    file.write(data)
                    digest.update(data)
                count, last = count + len(block), " | ".join(block[-1])
        self.hashes.update((file, digest.hexdigest()) for file, digest in zip(names, digests, strict=True))
        if exact:
            self.check(name, count, last)
        self.splits[name] = {"rows": count, "origin": origin, "files": names}

    def document(self, name: str, side: str, lines: Iterable[str], rows: int) -> None:
        """Write a split that is one file whose ``rows`` examples take several lines each."""
        self.check(name, rows, "")
        (self.folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
        self.splits[name] = {"rows": rows, "origin": RELEASED, "files": [f"{name}.{side}"]}

    def file(self, name: str, text: str) -> None:
        """Write a file that is no split."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8", newline="")

    def check(self, name: str, rows: int, last: str) -> None:
        """See that a split has as many rows as the recipe says."""
        expected = self._expected[name]
        if expected is not None and rows != expected:
            raise InputError(
                f"{self.recipe.name}: {name} has {rows:,} rows, where {expected:,} are expected; "
                + (
                    f"row {rows:,} is the last ({last[:200]!r})"
                    if rows < expected
                    else f"row {expected + 1:,} is one too many"
                )
                + "; the sources are not the ones that the recipe was written for"
            )

    def note(self, text: str) -> None:
        """Say something that a reader of the set must know; it is kept in the record."""
        self.notes.append(text)
        self.say(text)


def get(
    recipe: Recipe,
    out: Path,
    *,
    mirror: str | None = None,
    offline: bool = False,
    jobs: int = 1,
    say: Callable[[str], None] | None = None,
) -> Prepared:
    """Prepare a set in ``out``.

    The folder appears whole or not at all. Downloads lie beside it, in ``downloads``.

    :param mirror: see :class:`Sources`; ``offline`` likewise.
    :param jobs: worker processes, where a preparation is slow; changes no byte.
    :raises InputError: a source is wrong or cannot be had, a count does not fit, or nothing at all can be prepared.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file, where the folder of the data set should be")
    if out.is_dir() and any(out.iterdir()) and not (out / RECORD).is_file():
        raise InputError(f"{out}: the folder holds something else already; give a new one with --out")
    say = say or (lambda line: None)
    downloads = out.parent / DOWNLOADS
    with locked(downloads / LOCKS / f"{out.name}.out", wait=False):
        if record := _kept(recipe, out):
            return Prepared(record, False, [])
        partial, work = (out.with_name(f".{out.name}.{use}") for use in ("partial", "sources"))
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            writer = Writer(recipe, partial, say)
            with Sources(recipe, downloads, work, mirror, offline, jobs, say) as sources:
                recipe.prepare(sources, writer)
            record = _finish(writer, sources)
            _publish(partial, out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return Prepared(record, True, sorted(set(sources.missing.values())) if record["missing"] else [])


def _kept(recipe: Recipe, out: Path) -> dict[str, Any] | None:
    """The record of a set that is there, complete, unchanged, and made by this recipe; else None."""
    if not (out / RECORD).is_file():
        return None
    record = read_json(out / RECORD)
    if not isinstance(record, dict) or record.get("recipe") != recipe.name or record.get("format") != FORMAT:
        raise InputError(
            f"{out}: holds {record.get('recipe', 'something else')}, not {recipe.name}; give another --out"
        )
    current = record["revision"] == recipe.revision and record["version"] == __version__
    # what was missing or generated may be had by now
    complete = not record["missing"] and all(split["origin"] == RELEASED for split in record["splits"].values())
    if not (current and complete):
        return None
    for name, sha256 in record["files"].items():
        if not (out / name).is_file() or hash_file(out / name) != sha256:
            return None
    return record


def _finish(writer: Writer, sources: Sources) -> dict[str, Any]:
    recipe = writer.recipe
    missing = [split.name for split in recipe.splits if split.name not in writer.splits]
    if not writer.splits:
        ways = sorted(set(sources.missing.values()))
        raise InputError(f"{recipe.name}: nothing can be prepared; {'; '.join(ways)}")
    files = {path.relative_to(writer.folder).as_posix(): path for path in _files(writer.folder)}
    record = {
        "format": FORMAT,
        "recipe": recipe.name,
        "revision": recipe.revision,
        "version": __version__,
        "licence": recipe.licence,
        "citation": recipe.citation,
        "homepage": recipe.homepage,
        "splits": writer.splits,
        "missing": missing,
        "notes": [*recipe.notes, *writer.notes],
        "sources": sources.used,
        "files": {name: writer.hashes.get(name) or hash_file(path) for name, path in files.items()},
    }
    write_json(writer.folder / RECORD, record)
    return record


def _publish(partial: Path, out: Path) -> None:
    """Put a finished folder in its place, instead of an older one if there is one."""
    paths = list(_files(partial))
    with ThreadPoolExecutor(SYNCED) as pool:  # the disk takes many at once, and waits for each alone
        list(pool.map(sync_file, paths))
        list(pool.map(sync_folder, {path.parent for path in paths}))
    old = out.with_name(f".{out.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    partial.rename(out)
    sync_folder(out.parent)
    shutil.rmtree(old, ignore_errors=True)


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))
