"""Publish a release on a hub of data sets: the files that its manifest lists, and nothing else of the folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.release.manifest import MANIFEST, TIMINGS
from cgbench.benchmark.release.publishing import check_in_order, check_licence
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, require

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
CLIENTS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests")  # whose errors huggingface_hub lets through
LONGEST = 96  # characters of a name on the hub


@dataclass(frozen=True)
class Push:
    """What was uploaded, or would be.

    :param files: (name, bytes) of each; ``url``: where it is now, nothing of a dry run.
    """

    repository: str
    files: list[tuple[str, int]]
    url: str = ""


def push(release: Release, name: str, *, upload: bool = False, private: bool = False, force: bool = False) -> Push:
    """Upload a release as the data set ``ORG/NAME``; without ``upload`` only say what would be.

    The hub, and who asks, are those of huggingface_hub's own settings (``HF_ENDPOINT``, ``HF_TOKEN``, ``hf auth
    login``).

    :param private: a repository that is made is seen by its owners alone.
    :param force: a release that does not pass ``verify``, too.
    :raises InputError: the name is none, the release is not in order, huggingface_hub is not installed, or the hub
        refuses.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST or ".." in name or "--" in name:
        raise InputError(f"{name}: not the name of a data set; write it as ORG/NAME")
    check_in_order(release, force)
    check_licence(release.manifest)
    names = [*sorted(release.manifest["files"]), *([TIMINGS] if (release.folder / TIMINGS).is_file() else []), MANIFEST]
    paths = {file: release.path(file) for file in names}
    sizes = [(file, path.stat().st_size) for file, path in paths.items()]
    return Push(name, sizes, _upload(name, paths, release, private) if upload else "")


def _upload(name: str, files: dict[str, Path], release: Release, private: bool) -> str:
    hub: Any = require("huggingface_hub", "hub")
    errors = require("huggingface_hub.errors", "hub")
    api = hub.HfApi(library_name="cgbench", library_version=str(release.manifest.get("version", "")))
    try:
        api.create_repo(name, repo_type="dataset", private=private, exist_ok=True)
        commit = api.create_commit(
            name,
            [hub.CommitOperationAdd(path_in_repo=file, path_or_fileobj=path) for file, path in files.items()],
            repo_type="dataset",
            commit_message=f"cgbench release {release.signature}",
        )
    except Exception as error:
        known = (errors.HfHubHTTPError, errors.LocalTokenNotFoundError, OSError, ValueError)
        if not isinstance(error, known) and type(error).__module__.partition(".")[0] not in CLIENTS:
            raise
        said = " ".join(str(error).split())
        raise InputError(f"{name}: the hub at {api.endpoint} did not take it: {said}") from None
    return str(commit.commit_url)
