"""The files of a release, read as those of a third party: nothing outside its folder, no links, and
a manifest only if it is whole.
"""

import os
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.manifest import (
    FORMAT,
    MANIFEST,
    SHAPE,
    digest,
    is_inside,
    is_split,
)
from cgbench.benchmark.release.work_folder import default_work
from cgbench.errors import InputError
from cgbench.files import (
    check_shape,
    file_name,
    ordinary_file,
    ordinary_folder,
    parse_json,
    read_json,
)
from cgbench.steps import STEPS
from cgbench.text.formats import is_language
from cgbench.text.normalisation import SIDES

_SHAPE_OF_SPLIT = {
    "format": lambda value: value == FORMAT,
    "version": str,
    "signature": str,
    "digest": str,
    "configuration": {"degree_side": lambda value: value in SIDES, "ngram_min_count": int},
    "counts": {"pool": int, "train": int, "selected": int, "neither": int},
    "files": {file_name: str},
    "until": lambda value: value == "release",
}
LARGEST = 64 << 20  # bytes of a manifest: many times that of the longest list of inputs


def read_manifest(folder: Path, work: Path | None, *, check: bool) -> dict[str, Any]:
    """The manifest of a release.

    :param work: its work folder, if that is not the default.
    :param check: compare it with its digest.
    :raises InputError: the folder is not a release, was changed, or is of another version of
        cgbench.
    """
    path = folder / MANIFEST
    _check_exists(path, work or default_work(folder))
    manifest = read_json(release_file(folder, MANIFEST, largest=LARGEST))
    if isinstance(manifest, dict) and is_split(manifest):
        check_shape(manifest, _SHAPE_OF_SPLIT, path, "make the split again")
    if not isinstance(manifest, dict) or not all(
        isinstance(manifest.get(key), kind) for key, kind in SHAPE.items()
    ):
        raise InputError(f"{folder}: {MANIFEST} is not that of a cgbench release")
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"{folder}: release format {manifest.get('format')!r}, but this version reads"
            f" {FORMAT}; build it again"
        )
    languages = manifest["languages"]
    are_valid = all(map(is_language, languages))
    if len(languages) != 2 or languages[0] == languages[1] or not are_valid:
        raise InputError(f"{path}: does not name two languages that are valid in file names")
    if check and manifest.get("digest") != digest(manifest):
        raise InputError(f"{path}: was changed: its digest differs; see cgbench verify")
    return manifest


def _check_exists(path: Path, work: Path) -> None:
    """:raises InputError: there is no manifest."""
    if os.path.lexists(path):
        return
    fix = "give the folder of a release"
    if (work / STEPS).is_dir():
        fix = "the build is not finished: run its command again"
    raise InputError(f"{path}: no such file; {fix}")


def release_file(folder: Path, name: str, *, largest: int | None = None) -> Path:
    """The path of a file that a release names, if it is an ordinary file in ``folder`` or
    ``folder/data``.

    Names that lead elsewhere, links, devices and pipes are rejected, because a release may come
    from a third party.

    :param largest: maximum size in bytes.
    :raises InputError: it is missing or rejected.
    """
    if not is_inside(name):
        raise InputError(f"{folder}: the name {name!r} leads out of the folder")
    path = folder / name
    if path.parent != folder:
        ordinary_folder(path.parent)
    return ordinary_file(path, largest=largest)


def lines_of_file(path: Path) -> list[str]:
    """The lines of a file that cgbench wrote, unchanged: no byte order mark is removed."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from None
    return lines if lines[-1] else lines[:-1]


def rows_of_file(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one per line."""
    rows = []
    for row_number, line in enumerate(lines_of_file(path), 1):
        row = parse_json(line, f"{path}, row {row_number}")
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {row_number}: not a row of a release's split")
        rows.append(row)
    return rows
