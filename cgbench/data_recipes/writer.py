"""Write a prepared set: aligned plain text, a record of where it is from, all of it there or nothing."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cgbench import __version__
from cgbench.data_recipes.recipe import Recipe
from cgbench.data_recipes.sources import DOWNLOADS, LOCKS, Sources
from cgbench.engines import Engine
from cgbench.errors import InputError
from cgbench.files import read_json, sync_file, sync_folder, write_json
from cgbench.locks import locked
from cgbench.shapes import check_shape, file_name
from cgbench.steps import hash_file
from cgbench.text.streams import open_bytes

RECORD = "recipe.json"
FORMAT = 1
BLOCK = 20_000  # rows written at a time
SYNCED = 16  # files synced to disk at a time
RELEASED, GENERATED = "released", "generated"
Row = TypeVar("Row")


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
        self.lacking: list[str] = []  # files beside the splits that could not be had
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

    def copy(self, name: str, path: Path) -> None:
        """Write a file that is no split, as it is at ``path`` (there plain or .gz)."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open_bytes(path) as source, (self.folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)

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


def rows_by_number(rows: Sequence[Row], numbers: Any, where: str) -> list[Row]:
    """The rows with these numbers, from 0, that a file of a published split lists.

    :raises InputError: it is no list of numbers of rows; one below 0 is none, whatever Python reads it as.
    """
    if not isinstance(numbers, list):
        raise InputError(f"{where}: no list of row numbers")
    for number in numbers:
        if type(number) is not int or not 0 <= number < len(rows):
            raise InputError(f"{where}: {str(number)[:40]!r} is no number of a row, of which there are {len(rows):,}")
    return [rows[number] for number in numbers]


def get(
    recipe: Recipe,
    out: Path,
    *,
    mirror: str | Sequence[str] | None = None,
    offline: bool = False,
    engine: Engine | None = None,
    extras: bool = False,
    say: Callable[[str], None] | None = None,
) -> Prepared:
    """Prepare a set in ``out``.

    The folder appears whole or not at all. Downloads lie beside it, in ``downloads``.

    :param mirror: see :class:`Sources`; ``offline`` likewise.
    :param engine: where a slow preparation runs side by side (default: in this process); changes no byte.
    :param extras: fetch the files beside the splits also for a set that is generated and needs no network.
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
            with Sources(recipe, downloads, work, mirror, offline, engine, say) as sources:
                recipe.prepare(sources, writer)
                _copy_extras(sources, writer, extras)
            record = _finish(writer, sources)
            _publish(partial, out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    beside = {source.name for source in recipe.sources if source.extra}
    ways = {way for name, way in sources.missing.items() if name not in beside}
    return Prepared(record, True, sorted(ways) if record["missing"] else [])


def _copy_extras(sources: Sources, out: Writer, wanted: bool) -> None:
    """Add the files that the splits do without, as far as they can be had."""
    # a set that is generated needs no network, and is not kept waiting for it
    fetch = wanted or not out.recipe.generates_released
    for source in out.recipe.sources if out.splits else ():
        if source.extra:
            if found := sources.find(source.name, fetch=fetch, optional=True):
                out.copy(source.extra, found[0])
            else:
                out.lacking.append(source.extra)


def read_record(folder: Path, recipe: str) -> dict[str, Any]:
    """The record of a set that the recipe of this name has prepared; its every field is what a reader relies on.

    :raises InputError: it is missing, damaged, or something else.
    """
    path = folder / RECORD
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path}: not a record of cgbench data get, of format {FORMAT}; give another --out")
    if record.get("recipe") != recipe:
        found = str(record.get("recipe", "something else"))
        raise InputError(f"{folder}: holds {found[:60]}, not {recipe}; give another --out")
    remedy = "it was damaged: remove the folder, and give the same command again"
    check_shape(record, _RECORD, path, remedy)
    for split, facts in record["splits"].items():
        for name in facts["files"]:
            if name not in record["files"]:
                raise InputError(f"{path}: splits.{split} names {name}, which is not among its files; {remedy}")
    return record


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


_RECORD = {
    "revision": int,
    "version": str,
    "licence": str,
    "splits": {str: {"rows": int, "origin": lambda value: value in (RELEASED, GENERATED), "files": [file_name]}},
    "missing": [str],
    "missing_files?": [str],
    "notes": [str],
    "files": {file_name: _is_hash},
}


def _kept(recipe: Recipe, out: Path) -> dict[str, Any] | None:
    """The record of a set that is there, complete, unchanged, and made by this recipe; else None."""
    if not (out / RECORD).is_file():
        return None
    record = read_record(out, recipe.name)
    current = record["revision"] == recipe.revision and record["version"] == __version__
    # what was missing or generated may be had by now
    lacking = record["missing"] or record.get("missing_files")
    complete = not lacking and all(split["origin"] == RELEASED for split in record["splits"].values())
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
        "missing_files": writer.lacking,
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
