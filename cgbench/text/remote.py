"""Download texts from the Hugging Face Hub, by address.

A file is downloaded into a cache and then read like any other. An address is written as in pandas:
``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, optionally with ``:COLUMN``. ``huggingface_hub`` downloads, so
its settings apply: ``HF_HOME``, ``HF_TOKEN``, ``HF_ENDPOINT``, ``HF_HUB_OFFLINE=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from cgbench.errors import InputError, argument, require
from cgbench.text.streams import form, split_name

FORM = "hf://datasets/ORG/NAME/FILE, or hf://datasets/ORG/NAME@REVISION/FILE"
_SCHEME = re.compile("hf:/{1,2}(?!/)")  # a path has lost one of the two
_HUB = re.compile(r"datasets/([^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/@]+))?/(.+)")

_addresses: dict[str, str] = {}  # downloaded file -> its address with the commit


def is_address(text: object) -> bool:
    """Whether this names a file on a server."""
    return isinstance(text, (str, os.PathLike)) and bool(_SCHEME.match(os.fspath(text)))


def local(text: str) -> str:
    """The local file of an address, downloaded if necessary (with its ``:COLUMN``); a local name is returned as it is.

    :raises InputError: the address is malformed, there is no such file, the download fails, or a package is missing.
    """
    if not (scheme := _SCHEME.match(text)):
        return text
    return _from_hub(text, text[scheme.end() :], False)


def if_here(text: str) -> str:
    """The same from the cache only, for addresses in untrusted files; an address that is not cached is returned."""
    if not (scheme := _SCHEME.match(text)):
        return text
    try:
        return _from_hub(text, text[scheme.end() :], True)
    except InputError:
        return text


def as_given(text: str) -> str:
    """A text with the names of downloaded files replaced by their addresses with commits."""
    for path, address in _addresses.items():
        text = text.replace(path, address)
    return text


def _from_hub(text: str, remainder: str, here: bool) -> str:
    path, column = split_name(remainder)
    match = _HUB.fullmatch(str(path))
    if match is None or {"", ".", ".."} & {*match[3].split("/")}:
        raise InputError(
            f"{text}: not the address of a file on the Hub; write {FORM}. For a model of translate, use "
            f"{argument('system', text)}"
        )
    hub = require("huggingface_hub", "hub")
    repository, revision, name = match.groups()
    try:
        file = hub.hf_hub_download(repository, name, repo_type="dataset", revision=revision, local_files_only=here)
    except Exception as error:
        if (reason := _reason(error, repository, revision, name)) is None:
            raise
        raise InputError(f"{text}: {reason}") from None
    # .../snapshots/COMMIT/path/of/the/file
    commit = Path(file).parents[name.count("/")].name
    _addresses[file] = f"hf://datasets/{repository}@{commit}/{name}"
    if column and form(Path(file)) == "plain":
        raise InputError(f"{text}: not a table, so no column can be named")
    return f"{file}:{column}" if column else file


def _reason(error: Exception, repository: str, revision: str | None, name: str) -> str | None:
    """Why a download failed; None if the Hub is not the cause. By class names, since classes differ by version."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    where = f"https://huggingface.co/datasets/{repository}"
    for kind, reason in (
        ("GatedRepoError", f"request access at {where}; then log in (hf auth login) or set HF_TOKEN"),
        ("RepositoryNotFoundError", f"there is no data set {repository}; a private one needs a login (hf auth login)"),
        ("RevisionNotFoundError", f"the data set has no revision {revision}"),
        ("LocalEntryNotFoundError", "not in the cache, and the Hub cannot be reached (or HF_HUB_OFFLINE is set)"),
        ("OfflineModeIsEnabled", "not in the cache, and HF_HUB_OFFLINE is set"),
        ("EntryNotFoundError", f"the data set has no file {name}; {where}/tree/{revision or 'main'} lists them"),
        ("HFValidationError", f"not the name of a data set ({error})"),
    ):
        if kind in kinds:
            return reason
    if type(error).__module__.split(".")[0] in ("huggingface_hub", "httpx", "httpx2", "requests"):
        return f"cannot be fetched ({' '.join(str(error).split())[:200]})"
    return None
