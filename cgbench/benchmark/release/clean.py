"""Delete unused files from a build's work folder, and half-written files from its release."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cgbench.argument_types import Folder, as_path
from cgbench.benchmark.release.manifest import DATA, MANIFEST
from cgbench.benchmark.release.publishing import ARRIVING
from cgbench.benchmark.release.work_folder import RECORD, default_work, read_record
from cgbench.errors import InputError, argument
from cgbench.locks import locked
from cgbench.models.training.ensemble_training import PUBLISHED
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.steps import KEY_LENGTH, STEPS

KEPT = frozenset({RECORD, PUBLISHED, "lock"})
TEXTS = "texts"  # corpora that a build received as lists of sentences


@dataclass(frozen=True)
class Removed:
    """A file or folder that was removed, or would be, and its bytes."""

    path: Path
    size: int


class CleanRequest(Request):
    """What :func:`clean` removes."""

    folder: Folder = option(
        help="Release, its workspace, or the folder of a trained ensemble or model",
    )
    _: KW_ONLY
    everything: bool = option(
        "--all",
        default=False,
        help="Also delete finished steps; the release stays, but another build trains again",
    )
    dry_run: bool = option(
        "--dry-run",
        default=False,
        help="Print what would be deleted and delete nothing",
    )
    work: Folder | None = option(
        "--work",
        default=None,
        help="Workspace of the release [default: RELEASE.work]",
    )


@accepts(CleanRequest)
def clean(request: CleanRequest) -> list[Removed]:
    """Remove results that the release does not use, partial results, and half-written files.

    :raises InputError: there is no workspace, no release tells which results are unused, or a
        command is running.
    """
    folder, everything, dry_run = as_path(request.folder), request.everything, request.dry_run
    work = as_path(request.work) if request.work is not None else None
    beside = default_work(folder)
    is_work = (folder / STEPS).is_dir() and not (
        beside / STEPS
    ).is_dir()  # not a release with a separate one
    root = (work or (folder if is_work else beside)) / STEPS
    halves = _half_written(folder)
    if not root.is_dir():
        if not halves and not (folder / MANIFEST).is_file():
            raise InputError(f"{folder}: neither a release nor a workspace of cgbench")
        return _remove(halves, dry_run)
    written = read_record(root)
    if not written and not everything:
        raise InputError(
            f"{root}: no release was finished here, so no result is known to be unused;"
            f" {argument('everything')} removes all of them"
        )
    with locked(root / "lock", wait=False):
        made_of = {} if everything else written.get("steps", {})
        return _remove(
            [*halves, *_old(root, made_of if isinstance(made_of, dict) else {})], dry_run
        )


def _old(root: Path, made_of: dict[str, str]) -> list[Path]:
    """The contents of a workspace that belong to none of these steps (name -> key)."""
    unused: list[Path] = []
    keep = {(name, str(key)[:KEY_LENGTH]) for name, key in made_of.items()}
    for path in sorted(root.iterdir()):
        if path.name in KEPT or (path.name == TEXTS and made_of):
            continue
        if not path.is_dir() or path.is_symlink() or path.name not in made_of:
            unused.append(path)
            continue
        results = sorted(path.iterdir())
        unused += [
            result
            for result in results
            if (path.name, result.name.removesuffix(".lock")) not in keep
        ]
    return unused


def _half_written(folder: Path) -> list[Path]:
    """Temporary files that an interrupted run left in a release."""
    folders = [path for path in (folder, folder / DATA) if path.is_dir() and not path.is_symlink()]
    temporary = [
        path for parent in folders for path in sorted(parent.glob(".*.tmp")) if path.is_file()
    ]
    known = [path for path in temporary if re.fullmatch(r"\..+\.[0-9]+\.tmp", path.name)]
    arriving = folder / ARRIVING
    return [*known, *([arriving] if arriving.is_dir() else [])]


def _remove(paths: list[Path], dry_run: bool) -> list[Removed]:
    removed = [Removed(path, _size(path)) for path in paths]
    for path in [] if dry_run else paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return removed


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())
