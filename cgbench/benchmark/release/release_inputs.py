"""The corpora that a release was built from, where they are now."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, argument
from cgbench.steps import hash_file
from cgbench.text.formats import CorpusSpec


def input_corpus(
    release: Release, entry: Any, paths: Sequence[Path] = (), *, remedy: str = ""
) -> CorpusSpec:
    """A corpus that a release was built from, by its entry in the manifest.

    :param paths: its current paths, if it has moved; ``remedy``: the end of messages about a file.
    :raises InputError: there are more or fewer files, or one is missing or has changed.
    """
    files = entry["files"]
    path_of = release.path if release.is_split else release.input_path
    if paths and len(paths) != len(files):
        raise InputError(
            f"{argument('train')}: the release was built from {len(files)} file(s); give as many"
        )
    paths = paths or [path_of(str(file["path"])) for file in files]
    spec = CorpusSpec(tuple(paths), tuple(entry["columns"]) if entry["columns"] else None)
    for path, file in zip(spec.files, files, strict=True):
        check_input(path, str(file["sha256"]), remedy)
    return spec


def check_input(path: Path, sha256: str, remedy: str = "") -> None:
    """:raises InputError: the file is missing, or its SHA-256 is not ``sha256``."""
    if not path.is_file():
        raise InputError(f"{path}: no such file, and the release was built from it{remedy}")
    if hash_file(path) != sha256:
        raise InputError(
            f"{path}: not the file that the release was built from (the SHA-256 differs){remedy}"
        )
