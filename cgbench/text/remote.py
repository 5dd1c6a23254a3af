"""Texts that are on a server, by their addresses: the one door through which they come in.

An address names a file that is fetched into a cache of its own and then read like any other. ``hf://`` is the Hugging
Face Hub, written as fsspec and pandas write it: ``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, behind which
``:COLUMN`` may stand. Its library does the fetching, so that its settings hold: ``HF_HOME``, ``HF_TOKEN``,
``HF_ENDPOINT``, ``HF_HUB_OFFLINE=1``. ``s3://BUCKET/KEY`` and ``gs://BUCKET/KEY`` are objects that fsspec streams into
a cache, once for each version that the store tells by its size and its etag; credentials and endpoints are its
business: ``FSSPEC_S3_ENDPOINT_URL``, ``~/.aws``. Whoever adds another kind of address adds it to :data:`_FETCH`.
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
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs"}  # that fsspec needs
_VERSIONS = ("ETag", "etag", "md5Hash", "crc32c", "generation", "LastModified", "mtime")  # by falling exactness
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
    scheme = given.partition(":")[0]
    path, column = split_name(rest)
    key = PurePosixPath(str(path))
    if len(key.parts) < 2 or {".", ".."} & {*key.parts}:
        raise InputError(f"{given}: no address of an object; write {scheme}://BUCKET/PATH/FILE")
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
            raise InputError(f"{given}: a folder, where a file is needed")
        file = folder / _version(info) / name
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            with system.open(path, "rb") as source, atomic_path(file) as temporary:
                with temporary.open("wb") as out:
                    shutil.copyfileobj(source, out)
                written = temporary.stat().st_size
                if written != info["size"]:
                    raise InputError(f"{given}: {written:,} of {info['size']:,} bytes arrived; give the command again")
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
    """What tells the versions of an object apart, as a name."""
    found = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
    return hashlib.sha256(f"{info['size']} {found}".encode()).hexdigest()[:16]


_FETCH: dict[str, Callable[[str, str, bool], str]] = {"hf": _from_hub, "s3": _from_store, "gs": _from_store}
"""What fetches an address, by what stands before its ``://``: called with all of it, with what is behind that, and with
whether it may only be what was fetched before."""
