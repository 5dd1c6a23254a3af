"""Texts that are on a server, by their addresses: the one door through which they come in.

An address names a file that is fetched into a cache of its own and then read like any other. ``hf://`` is the Hugging
Face Hub, written as fsspec and pandas write it: ``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, behind which
``:COLUMN`` may stand. Its library does the fetching, so that its settings hold: ``HF_HOME``, ``HF_TOKEN``,
``HF_ENDPOINT``, ``HF_HUB_OFFLINE=1``. ``s3://`` and ``gs://`` are object stores
(:mod:`cgbench.text.object_store`). Whoever adds another kind of address adds it to :data:`_FETCH`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from cgbench.errors import InputError, require
from cgbench.text.streams import form, split_name

FORM = "hf://datasets/ORG/NAME/FILE, or hf://datasets/ORG/NAME@REVISION/FILE"
_SCHEME = re.compile(r"(hf|s3|gs):/{1,2}(?!/)")  # a path has lost one of the two
_HUB = re.compile(r"datasets/([^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/@]+))?/(.+)")

_addresses: dict[str, str] = {}  # files that were fetched -> their addresses, with the commit


def is_address(given: object) -> bool:
    """Whether this names a file on a server."""
    return isinstance(given, (str, os.PathLike)) and bool(_SCHEME.match(os.fspath(given)))


def local(given: str) -> str:
    """A file that is here: what is given, or, of an address, where it has been fetched to (with its ``:COLUMN``).

    :raises InputError: the address is malformed, there is no such file, it cannot be fetched, or the library that does
        that is not installed.
    """
    if not (scheme := _SCHEME.match(given)):
        return given
    return _FETCH[scheme[1]](given, given[scheme.end() :], False)


def if_here(given: str) -> str:
    """The same where no server is asked, of what a stranger's file names: an address that has not been fetched before
    stays one."""
    if not (scheme := _SCHEME.match(given)):
        return given
    try:
        return _FETCH[scheme[1]](given, given[scheme.end() :], True)
    except InputError:
        return given


def as_given(text: str) -> str:
    """A text in which every file that was fetched is called by its address, with the commit that it is of."""
    for path, address in _addresses.items():
        text = text.replace(path, address)
    return text


def _from_hub(given: str, rest: str, here: bool) -> str:
    path, column = split_name(rest)
    found = _HUB.fullmatch(str(path))
    if found is None or {"", ".", ".."} & {*found[3].split("/")}:
        raise InputError(f"{given}: no address of a file on the Hub; write {FORM}")
    hub = require("huggingface_hub", "hub")
    repository, revision, name = found.groups()
    try:
        file = hub.hf_hub_download(repository, name, repo_type="dataset", revision=revision, local_files_only=here)
    except Exception as error:
        if (reason := _reason(error, repository, revision, name)) is None:
            raise
        raise InputError(f"{given}: {reason}") from None
    # .../snapshots/COMMIT/path/of/the/file
    commit = Path(file).parents[name.count("/")].name
    _addresses[file] = f"hf://datasets/{repository}@{commit}/{name}"
    if column and form(Path(file)) == "plain":
        raise InputError(f"{given}: no table, and only of a table a column can be named")
    return f"{file}:{column}" if column else file


def _reason(error: Exception, repository: str, revision: str | None, name: str) -> str | None:
    """Why a file could not be fetched; None if that is no matter of the Hub. By names: versions differ in classes."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    where = f"https://huggingface.co/datasets/{repository}"
    for kind, reason in (
        ("GatedRepoError", f"access has to be asked for at {where}; then log in (hf auth login) or set HF_TOKEN"),
        ("RepositoryNotFoundError", f"there is no data set {repository}; a private one needs a login (hf auth login)"),
        ("RevisionNotFoundError", f"the data set has no revision {revision}"),
        ("LocalEntryNotFoundError", "not in the cache, and the Hub cannot be reached (or HF_HUB_OFFLINE is set)"),
        ("OfflineModeIsEnabled", "not in the cache, and HF_HUB_OFFLINE is set"),
        ("EntryNotFoundError", f"the data set has no file {name}; {where}/tree/{revision or 'main'} lists them"),
        ("HFValidationError", f"no name of a data set ({error})"),
    ):
        if kind in kinds:
            return reason
    if type(error).__module__.split(".")[0] in ("huggingface_hub", "httpx", "httpx2", "requests"):
        return f"cannot be fetched ({' '.join(str(error).split())[:200]})"
    return None


def _from_store(given: str, rest: str, here: bool) -> str:
    from cgbench.text.object_store import fetch

    named, file, address = fetch(given, rest, here)
    _addresses[file] = address
    return named


_FETCH: dict[str, Callable[[str, str, bool], str]] = {"hf": _from_hub, "s3": _from_store, "gs": _from_store}
"""What fetches an address, by what stands before its ``://``: called with all of it, with what is behind that, and with
whether it may only be what was fetched before."""
