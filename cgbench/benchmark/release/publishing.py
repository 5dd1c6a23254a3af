"""Write card, metadata and manifest of a release, and move its finished files into place."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.card import write_card
from cgbench.benchmark.release.card_notes import written_parts
from cgbench.benchmark.release.croissant import manual_fields, write_croissant
from cgbench.benchmark.release.listed_digests import listed_digests
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
from cgbench.benchmark.release.work_folder import RECORD, read_record
from cgbench.errors import InputError
from cgbench.files import sync, write_atomic, write_json

ARRIVING = ".arriving"  # in the folder of a release: files being moved from another disk


def write_manifest(
    manifest: dict[str, Any], staging: Path, tables: Mapping[str, Any], out: Path
) -> dict[str, Any]:
    """Write card, metadata and manifest of a release with texts and tables; returns the complete
    manifest.

    :param tables: the written tables, by name.
    :param out: the folder of an earlier release with people's edits.
    """
    notes = _kept(out / CARD, lambda data: written_parts(data.decode("utf-8")))
    fields = _kept(out / CROISSANT, manual_fields)
    notes.pop("validity", None)  # results for the earlier pairs
    write_atomic(staging / CARD, write_card(Release(staging, manifest), notes))
    write_atomic(
        staging / CROISSANT, write_croissant(manifest, tables, listed_digests(staging), fields)
    )
    return seal(manifest, staging)


def seal(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the manifest with the checksums of all files of a release or a split; returns the
    complete manifest.
    """
    manifest["files"] = listed_digests(folder)
    manifest["signature"] = signature(manifest)
    manifest["digest"] = digest(manifest)
    write_json(folder / MANIFEST, manifest)
    return manifest


def _kept(path: Path, read: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    """What people wrote in an existing file; empty if it is not a file of cgbench."""
    try:
        return read(path.read_bytes())
    except (OSError, ValueError, InputError):
        return {}


def move_into_place(staging: Path, out: Path, files: list[str], made_of: dict[str, Any]) -> None:
    """Move the finished files into place, the last of ``files`` last. Files that only an earlier
    release had are removed; the user's own files in the folder are not touched.

    :param made_of: the record of this release
        (:data:`~cgbench.benchmark.release.work_folder.RECORD`).
    """
    # All file names that releases in this folder ever had.
    earlier = read_record(staging.parent).get("files", [])
    record = {**made_of, "files": sorted({*earlier, *files})}
    write_json(staging.with_name(RECORD), {**record, "digest": digest(record)})
    (out / DATA).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / ARRIVING, ignore_errors=True)
    ready = staging
    if staging.stat().st_dev != out.stat().st_dev:
        ready = out / ARRIVING
        shutil.copytree(staging, ready)
        for name in files:
            sync(ready / name)
    (out / files[-1]).unlink(missing_ok=True)
    for name in earlier:
        if name not in files and is_inside(name):
            (out / name).unlink(missing_ok=True)
    for name in files:
        (ready / name).replace(out / name)
    sync(out / DATA)
    sync(out)
    shutil.rmtree(staging)
    shutil.rmtree(out / ARRIVING, ignore_errors=True)
