"""Download texts from servers, by address.

A file is downloaded into a cache and then read like any other. ``hf://`` is the Hugging Face Hub, in the notation of
fsspec and pandas: ``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, optionally with ``:COLUMN``. Its library
downloads, so its settings apply: ``HF_HOME``, ``HF_TOKEN``, ``HF_ENDPOINT``, ``HF_HUB_OFFLINE=1``. fsspec downloads
``s3://BUCKET/KEY`` and ``gs://BUCKET/KEY``, once per version of an object (its size and etag), with its own credentials
and endpoints: ``FSSPEC_S3_ENDPOINT_URL``, ``~/.aws``. New kinds of addresses are added to :data:`_FETCH`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from cgbench.errors import InputError, require
from cgbench.files import atomic_path, cache_folder
from cgbench.text.streams import form, split_name

FORM = "hf://datasets/ORG/NAME/FILE, or hf://datasets/ORG/NAME@REVISION/FILE"
_SCHEME = re.compile(r"(hf|s3|gs):/{1,2}(?!/)")  # a path has lost one of the two
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs"}  # needed by fsspec
_VERSIONS = ("ETag", "etag", "md5Hash", "crc32c", "generation", "LastModified", "mtime")  # the most exact first
_HUB = re.compile(r"datasets/([^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/@]+))?/(.+)")

_addresses: dict[str, str] = {}  # downloaded file -> its address with the commit


def is_address(given: object) -> bool:
    """Whether this names a file on a server."""
    return isinstance(given, (str, os.PathLike)) and bool(_SCHEME.match(os.fspath(given)))


def local(given: str) -> str:
    """The local file of an address, downloaded if necessary (with its ``:COLUMN``); a local name is returned as it is.

    :raises InputError: the address is malformed, there is no such file, the download fails, or a package is missing.
    """
    if not (scheme := _SCHEME.match(given)):
        return given
    return _FETCH[scheme[1]](given, given[scheme.end() :], False)


def if_here(given: str) -> str:
    """The same from the cache only, for addresses in untrusted files; an address that is not cached is returned."""
    if not (scheme := _SCHEME.match(given)):
        return given
    try:
        return _FETCH[scheme[1]](given, given[scheme.end() :], True)
    except InputError:
        return given


def as_given(text: str) -> str:
    """A text with the names of downloaded files replaced by their addresses with commits."""
    for path, address in _addresses.items():
        text = text.replace(path, address)
    return text


def _from_hub(given: str, rest: str, here: bool) -> str:
    path, column = split_name(rest)
    found = _HUB.fullmatch(str(path))
    if found is None or {"", ".", ".."} & {*found[3].split("/")}:
        raise InputError(f"{given}: not the address of a file on the Hub; write {FORM}")
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
        raise InputError(f"{given}: not a table, so no column can be named")
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


def _from_store(given: str, rest: str, here: bool) -> str:
    scheme = given.partition(":")[0]
    path, column = split_name(rest)
    key = PurePosixPath(str(path))
    if len(key.parts) < 2 or {".", ".."} & {*key.parts}:
        raise InputError(f"{given}: not the address of an object; write {scheme}://BUCKET/PATH/FILE")
    address = f"{scheme}://{key}"
    folder = cache_folder("objects") / hashlib.sha256(address.encode()).hexdigest()[:16]
    if not here:
        file = _fetched(given, address, folder, key.name)
    elif found := sorted(folder.glob(f"*/{key.name}"), key=lambda path: path.stat().st_mtime_ns):
        file = found[-1]
    else:
        raise InputError(f"{given}: not in the cache")
    _addresses[str(file)] = address
    return f"{file}:{column}" if column else str(file)


def _fetched(given: str, address: str, folder: Path, name: str) -> Path:
    fsspec = require("fsspec", "stores")
    try:
        system, path = fsspec.core.url_to_fs(address)
        system.invalidate_cache()
        info = system.info(path)
        if info.get("type") == "directory":
            raise InputError(f"{given}: a folder, not a file")
        file = folder / _version(info) / name
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            with system.open(path, "rb") as source, atomic_path(file) as temporary:
                with temporary.open("wb") as out:
                    shutil.copyfileobj(source, out)
                written = temporary.stat().st_size
                if written != info["size"]:
                    raise InputError(f"{given}: {written:,} of {info['size']:,} bytes arrived; run the command again")
    except InputError:
        raise
    except ImportError:
        package = _PACKAGES[given.partition(":")[0]]
        raise InputError(f"{given}: {package} is not installed; run: pip install {package}") from None
    except FileNotFoundError:
        raise InputError(f"{given}: there is no such object") from None
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.split(".")[0] in ("builtins", "cgbench"):
            raise
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{given}: cannot be fetched ({said})") from None
    return file


def _version(info: dict[str, Any]) -> str:
    found = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
    return hashlib.sha256(f"{info['size']} {found}".encode()).hexdigest()[:16]


_FETCH: dict[str, Callable[[str, str, bool], str]] = {"hf": _from_hub, "s3": _from_store, "gs": _from_store}
"""The download function of each scheme, called with the address, its part after ``://``, and whether to use only the
cache."""
