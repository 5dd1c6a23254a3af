"""The work folder of a build, separate from its release, so that the release can be published as it
is.

``OUT.work`` has the workspace (``.cgbench``: training text, models, finished steps) and the trained
ensemble.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.manifest import MANIFEST, digest
from cgbench.errors import InputError, argument, warn
from cgbench.files import read_json, write_atomic
from cgbench.steps import STEPS, check_folder
from cgbench.text.remote import as_given, if_here, is_address

RECORD = "release.json"
"""In the workspace: all file names of its releases, the steps of the last, its folder, and the
paths of its inputs.
"""


def default_work(out: Path) -> Path:
    """The default work folder of a build of ``out``."""
    out = out if out.name not in ("", "..") else Path(os.path.abspath(out))  # noqa: PTH100 - links stay
    return out.with_name(f"{out.name}.work")


def read_record(workspace: Path) -> dict[str, Any]:
    """The record of the releases of a workspace: ``files``, ``signature``, ``steps``, ``folder``,
    ``inputs``; empty if there is none.

    A damaged record is ignored with a warning, because it names files to be removed.
    """
    path = workspace / RECORD
    if not path.is_file():
        return {}
    with contextlib.suppress(InputError, LookupError, TypeError):
        record = read_json(path)
        if record["digest"] == digest(record):
            return dict(record)
    warn(f"{path} is damaged; the next build writes it again, and keeps files of earlier releases")
    return {}


def find_work(out: Path, work: Path | None) -> Path:
    """The work folder of a build of ``out``, checked; nothing is written.

    :raises InputError: a folder contains other files, or the work folder would be published with
        the release.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file, but the output needs a folder")
    chosen = work or default_work(out)
    if work and work.resolve().is_relative_to(out.resolve()):
        raise InputError(
            f"{argument('work')}: {work} is inside {out} and would be published with it; give"
            " another"
        )
    check_folder(chosen, "work")
    if out.is_dir() and any(out.iterdir()) and not _is_ours(out, chosen, work is None):
        raise InputError(
            f"{out}: the folder holds something else already; give a new one with {argument('out')}"
        )
    return chosen


def _is_ours(out: Path, work: Path, default: bool) -> bool:
    """Whether a non-empty folder is the release of a build with the work folder ``work``."""
    if default and (work / STEPS).is_dir():
        return True
    written = read_record(work / STEPS)
    if written.get("folder") == str(out.resolve()):
        return True
    manifest = read_json(out / MANIFEST) if (out / MANIFEST).is_file() else None
    return (
        isinstance(manifest, dict)
        and "signature" in manifest
        and (manifest["signature"] == written.get("signature"))
    )


def keep_private(work: Path) -> None:
    """Exclude training text and models from git."""
    if not (work / ".gitignore").exists():
        write_atomic(work / ".gitignore", "*\n")


def shown_names(paths: Iterable[str]) -> dict[str, str]:
    """The names of input files in a release: as the user gave them, but only the last parts of
    absolute paths, as many as distinguish the files. A downloaded file is named by its address."""
    unique = list(dict.fromkeys(paths))
    names = {
        path: as_given(path)
        for path in unique
        if not path.startswith("/") or is_address(as_given(path))
    }
    for path in unique:
        folders = path.strip("/").split("/")
        if path in names:
            continue
        other_names = [
            names.get(other_path, other_path) for other_path in unique if other_path != path
        ]
        for count in range(1, len(folders) + 1):
            name = "/".join(folders[-count:])
            if not any(
                other_path == name or other_path.endswith(f"/{name}") for other_path in other_names
            ):
                break
        names[path] = name
    return names


def find_input(name: str, written: Mapping[str, Any]) -> Path:
    """The path of an input of a release, if its workspace knows it; else its name in the
    release.
    """
    paths = written.get("inputs")
    path = paths.get(name) if isinstance(paths, dict) else None
    return (
        Path(path)
        if isinstance(path, str) and not Path(name).is_absolute()
        else Path(if_here(name))
    )
