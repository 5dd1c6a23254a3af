"""Download texts from the Hugging Face Hub, by address.

A file is downloaded into a cache and then read like any other. An address is written as in pandas:
``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, optionally with ``:COLUMN``.
``huggingface_hub`` downloads, so its settings apply: ``HF_HOME``, ``HF_TOKEN``, ``HF_ENDPOINT``,
``HF_HUB_OFFLINE=1``.
"""

import os
import re
from pathlib import Path

from cgbench.errors import InputError, argument, reason_of, require
from cgbench.text.streams import form, split_name

FORM = "hf://datasets/ORG/NAME/FILE, or hf://datasets/ORG/NAME@REVISION/FILE"
_SCHEME = re.compile("hf:/{1,2}(?!/)")  # a path has lost one of the two
_HUB = re.compile(r"datasets/([^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/@]+))?/(.+)")

_addresses: dict[str, str] = {}  # downloaded file -> its address with the commit


def is_address(text: object) -> bool:
    """Whether this names a file on a server."""
    return isinstance(text, (str, os.PathLike)) and bool(_SCHEME.match(os.fspath(text)))


def local(text: str, *, cached: bool = False) -> str:
    """The local file of an address, downloaded if necessary (with its ``:COLUMN``); a local name is
    returned as it is.

    :param cached: do not download it.
    :raises InputError: the address is malformed, there is no such file, the download fails, or a
        package is missing.
    """
    if not is_address(text):
        return text
    path, column = split_name(_SCHEME.sub("", text, count=1))
    match = _HUB.fullmatch(str(path))
    if match is None or {"", ".", ".."} & {*match[3].split("/")}:
        raise InputError(
            f"{text}: not the address of a file on the Hub; write {FORM}. For a model of translate,"
            f" use {argument('system', text)}"
        )
    hub = require("huggingface_hub", "hub")
    repository, revision, name = match.groups()
    try:
        file = hub.hf_hub_download(
            repository, name, repo_type="dataset", revision=revision, local_files_only=cached
        )
    except Exception as error:
        if type(error).__module__.split(".")[0] not in (
            "huggingface_hub",
            "httpx",
            "httpx2",
            "requests",
        ):
            raise
        raise InputError(f"{text}: cannot be fetched ({reason_of(error)})") from None
    # .../snapshots/COMMIT/path/of/the/file
    commit = Path(file).parents[name.count("/")].name
    _addresses[file] = f"hf://datasets/{repository}@{commit}/{name}"
    if column and form(Path(file)) == "plain":
        raise InputError(f"{text}: not a table, so no column can be named")
    return f"{file}:{column}" if column else file


def if_here(text: str) -> str:
    """The same from the cache only, for addresses in untrusted files; an address that is not cached
    is returned.
    """
    try:
        return local(text, cached=True)
    except InputError:
        return text


def as_given(text: str) -> str:
    """A text with the names of downloaded files replaced by their addresses with commits."""
    for path, address in _addresses.items():
        text = text.replace(path, address)
    return text
