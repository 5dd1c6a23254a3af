"""Write card, metadata and manifest of a release, and move its finished files into place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.card import write_card
from cgbench.benchmark.release.card_notes import parts_of_bytes
from cgbench.benchmark.release.checksums import listed_digest, listed_digests
from cgbench.benchmark.release.croissant import peoples_fields, write_croissant
from cgbench.benchmark.release.manifest import (
    CARD,
    CROISSANT,
    DATA,
    MANIFEST,
    digest,
    is_inside,
    signature,
)
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.work_folder import WRITTEN, read_written, written_digest
from cgbench.errors import InputError
from cgbench.files import read_json, sync_file, sync_folder, write_atomic, write_json

ARRIVING = ".arriving"  # in the folder of a release: files on their way from another disk


def write_manifest(
    manifest: dict[str, Any], staging: Path, tables: Mapping[str, Any], out: Path, notes: Mapping[str, str]
) -> dict[str, Any]:
    """Write card, metadata and manifest beside a release's texts and tables; returns the manifest, whole now.

    :param tables: what was written, by name.
    :param out: where an earlier release may be, in which people have written; ``notes``: what they write now.
    """
    parts, fields = _kept(out / CARD, parts_of_bytes), _kept(out / CROISSANT, peoples_fields)
    write_atomic(staging / CARD, write_card(Release(staging, manifest), {**parts, **notes}))
    schemas = {name: table.schema for name, table in tables.items()}
    metadata = write_croissant(manifest, schemas, listed_digests(staging), notes, fields)
    write_atomic(staging / CROISSANT, metadata)
    return seal(manifest, staging)


def seal(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the manifest beside the files of a release or a split, with their digests; returns it, whole now."""
    manifest["files"] = listed_digests(folder)
    manifest["signature"] = signature(manifest)
    manifest["digest"] = digest(manifest)
    write_json(folder / MANIFEST, manifest)
    return manifest


def _kept(path: Path, read: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    """What people have written in a file that is there; nothing if it is none of ours."""
    try:
        return read(path.read_bytes())
    except (OSError, ValueError, InputError):
        return {}


def move_into_place(staging: Path, out: Path, files: list[str], made_of: dict[str, Any]) -> None:
    """Move the finished files into place, the last one last; what an earlier release listed and this one has not goes.

    Nothing else in the folder is touched: users keep their own files beside a release.

    :param made_of: what the workspace keeps of this release (:data:`~cgbench.benchmark.release.work_folder.WRITTEN`).
    """
    # Every name that a release in this folder ever had.
    earlier = [*read_written(staging.parent).get("files", []), *_listed_in(out)]
    record = {**made_of, "files": sorted({*earlier, *files})}
    write_json(staging.with_name(WRITTEN), {**record, "digest": written_digest(record)})
    (out / DATA).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / ARRIVING, ignore_errors=True)
    ready = staging
    if staging.stat().st_dev != out.stat().st_dev:
        ready = out / ARRIVING
        shutil.copytree(staging, ready)
        for name in files:
            sync_file(ready / name)
    (out / files[-1]).unlink(missing_ok=True)
    for name in earlier:
        if name not in files and is_inside(name):
            (out / name).unlink(missing_ok=True)
    for name in files:
        (ready / name).replace(out / name)
    sync_folder(out / DATA)
    sync_folder(out)
    shutil.rmtree(staging)
    shutil.rmtree(out / ARRIVING, ignore_errors=True)


def _listed_in(out: Path) -> list[str]:
    """The files of the release that is in a folder, as far as they are what its manifest lists: a workspace of an
    earlier version may not know them."""
    try:
        files = dict(read_json(out / MANIFEST)["files"])
        there = [name for name in files if is_inside(name) and (out / name).is_file()]
        return [name for name in there if listed_digest(out, name) == files[name]]
    except (OSError, ValueError, LookupError, TypeError, InputError):
        return []
