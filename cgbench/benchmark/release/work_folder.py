"""Where a build works: in a folder beside its release, so that the release can be published as it stands.

``OUT.work`` holds the workspace (``.cgbench``: training text, models, finished steps) and the trained ensemble. Builds
of earlier versions worked inside the release; their workspace is moved.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.manifest import MANIFEST
from cgbench.errors import InputError, InputWarning, argument
from cgbench.files import read_json, sync_folder, write_atomic
from cgbench.locks import locked
from cgbench.models.checkpoints import BESIDE
from cgbench.models.training.ensemble import PUBLISHED
from cgbench.steps import STEPS, check_folder, hash_value
from cgbench.text.remote import as_given, if_here, is_address

WRITTEN = "release.json"
"""In the workspace: the names a release ever had, the steps it is made of, its folder, where its inputs are."""


def default_work(out: Path) -> Path:
    """The folder that a build of ``out`` works in, unless another is given."""
    out = out if out.name not in ("", "..") else Path(os.path.abspath(out))  # noqa: PTH100 - links stay
    return out.with_name(f"{out.name}.work")


def work_roots(folder: Path, work: Path | None) -> list[Path]:
    """Where the workspace of the release in ``folder`` may be."""
    return [work / STEPS] if work else [default_work(folder) / STEPS, folder / STEPS]


def read_written(workspace: Path) -> dict[str, Any]:
    """The record of the releases of a workspace: ``files``, ``signature``, ``steps``, ``folder``, ``inputs``,
    ``members`` (models from outside, by names that hold anywhere on this machine); empty where there is none.

    A damaged one is named in a warning, and counts as none: it names files to be removed.
    """
    path = workspace / WRITTEN
    if not path.is_file():
        return {}
    try:
        record = read_json(path)
        if record["digest"] == written_digest(record):
            return dict(record)
    except (InputError, LookupError, TypeError):
        pass
    warnings.warn(
        f"{path} is damaged; the next build makes it again, and leaves files of earlier releases", InputWarning, 2
    )
    return {}


def written_digest(record: dict[str, Any]) -> str:
    """The SHA-256 of all that such a record says but its digest."""
    return hash_value({key: value for key, value in record.items() if key != "digest"})


def find_work(out: Path, work: Path | None) -> Path:
    """The folder that a build of ``out`` would work in, checked; nothing is written.

    :raises InputError: one of the two holds something else, or the work would be published with the release.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file, where the output folder should be")
    chosen = work or default_work(out)
    if work and work.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{argument('work')}: {work} is inside {out}, with which it would be published; give another")
    check_folder(chosen, "work")
    if (out / STEPS).is_dir() and not (chosen / STEPS).is_dir():
        return out  # of an earlier version; open_work moves it
    if out.is_dir() and any(out.iterdir()) and not _is_ours(out, chosen, work is None):
        raise InputError(f"{out}: the folder holds something else already; give a new one with {argument('out')}")
    return chosen


def _is_ours(out: Path, work: Path, default: bool) -> bool:
    """Whether a folder that is not empty is the release of a build that works in ``work``."""
    if (out / STEPS).is_dir() or (default and (work / STEPS).is_dir()):
        return True
    written = read_written(work / STEPS)
    if written.get("folder") == str(out.resolve()):
        return True
    manifest = read_json(out / MANIFEST) if (out / MANIFEST).is_file() else None
    return isinstance(manifest, dict) and "signature" in manifest and (
        manifest["signature"] == written.get("signature")
    )  # fmt: skip


def open_work(out: Path, work: Path | None) -> Path:
    """The same; a workspace inside the release is moved there, with a warning that says so.

    :raises InputError: as :func:`find_work`, or a build is at work in that workspace.
    """
    found, chosen = find_work(out, work), work or default_work(out)
    if found == out:
        _move(out, chosen)
    elif (out / STEPS).is_dir():
        warnings.warn(
            InputWarning(f"{out / STEPS}: a workspace that is not used any more; remove it before you publish {out}"),
            stacklevel=2,
        )
    return chosen


def keep_private(work: Path) -> None:
    """Training text and models belong in no repository: git is told so, once."""
    if not (work / ".gitignore").exists():
        write_atomic(work / ".gitignore", "*\n")


def _move(out: Path, chosen: Path) -> None:
    """Move the workspace in ``out`` and the ensemble that it has published to ``chosen``."""
    with locked(out / STEPS / "lock", wait=False):
        chosen.mkdir(parents=True, exist_ok=True)
        moved = [STEPS]
        if (out / STEPS / PUBLISHED).exists() and (out / BESIDE).is_dir() and not (chosen / BESIDE).exists():
            moved.insert(0, BESIDE)  # first: as long as the workspace has not moved, all of this is done again
        for name in moved:
            shutil.move(out / name, chosen / name)
        sync_folder(chosen)
    warnings.warn(
        InputWarning(f"{out}: {' and '.join(reversed(moved))} moved to {chosen}, so that {out} can be published"),
        stacklevel=2,
    )


def shown_names(paths: Iterable[str]) -> dict[str, str]:
    """What a release calls the files that it was built from: as given, but of an absolute path only the last parts.

    As many as tell the files apart: which machine had them where is nobody's business. A file that was fetched is
    called by its address.
    """
    given = list(dict.fromkeys(paths))
    names = {path: as_given(path) for path in given if not path.startswith("/") or is_address(as_given(path))}
    for path in given:
        parts = path.strip("/").split("/")
        if path in names:
            continue
        others = [names.get(other, other) for other in given if other != path]
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[-count:])
            if not any(other == name or other.endswith(f"/{name}") for other in others):
                break
        names[path] = name
    return names


def find_input(shown: str, written: Mapping[str, Any]) -> Path:
    """Where an input of a release is, as far as its workspace knows; else what the release calls it."""
    places = written.get("inputs")
    place = places.get(shown) if isinstance(places, dict) else None
    return Path(place) if isinstance(place, str) and not Path(shown).is_absolute() else Path(if_here(shown))
