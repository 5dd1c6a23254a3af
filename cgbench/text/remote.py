"""Texts that are copied to a file before they are read: from the Hugging Face Hub, and pipes.

A pipe (``<(zcat ...)`` of a shell, a FIFO) can be read once, but most commands read a text more
than once, and in several processes. So it is copied into a temporary file, once per command.

A file is downloaded into a cache and then read like any other. An address is written as in pandas:
``hf://datasets/ORG/NAME[@REVISION]/path/file.parquet``, optionally with ``:COLUMN``.
``huggingface_hub`` downloads, so its settings apply: ``HF_HOME``, ``HF_TOKEN``, ``HF_ENDPOINT``,
``HF_HUB_OFFLINE=1``.
"""

import atexit
import fcntl
import os
from pathlib import Path

from cgbench.errors import InputError, argument, is_of_network, reason_of, require
from cgbench.patterns import pattern
from cgbench.text.streams import form, split_name

FORM = "hf://datasets/ORG/NAME/FILE, or hf://datasets/ORG/NAME@REVISION/FILE"
_SCHEME = pattern("hf:/{1,2}(?!/)")  # a path has lost one of the two
_DESCRIPTOR = pattern("/(?:dev|proc/self)/fd/([0-9]+)")
_HUB = pattern(r"datasets/([^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/@]+))?/(.+)")

_addresses: dict[str, str] = {}  # downloaded file -> its address with the commit
_copies: dict[str, str] = {}  # pipe -> its copy, in the folder of this process


def is_address(text: object) -> bool:
    """Whether this names a file on a server."""
    return isinstance(text, (str, os.PathLike)) and bool(_SCHEME.match(os.fspath(text)))


def local(text: str, *, cached: bool = False) -> str:
    """The local file of an address, downloaded if necessary (with its ``:COLUMN``), or of a pipe; a
    local name is returned as it is.

    :param cached: do not download it.
    :raises InputError: the address is malformed, there is no such file, the download fails, or a
        package is missing.
    """
    if not is_address(text):
        pipe, column = split_name(text)
        return _copy_of(pipe, column) if is_pipe(pipe) else text
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
        if not is_of_network(error):
            raise
        raise InputError(f"{text}: cannot be fetched ({reason_of(error)})") from None
    # .../snapshots/COMMIT/path/of/the/file
    commit = Path(file).parents[name.count("/")].name
    _addresses[file] = f"hf://datasets/{repository}@{commit}/{name}"
    if column and form(Path(file)) == "plain":
        raise InputError(f"{text}: not a table, so no column can be named")
    return f"{file}:{column}" if column else file


def is_pipe(path: Path) -> bool:
    """Whether this is a pipe to read from, not one that a shell opened for output (``>(...)``)."""
    try:
        if not path.is_fifo():
            return False
        descriptor = _DESCRIPTOR.fullmatch(str(path))
        flags = fcntl.fcntl(int(descriptor[1]), fcntl.F_GETFL) if descriptor else os.O_RDONLY
        return flags & os.O_ACCMODE != os.O_WRONLY
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def _copy_of(pipe: Path, column: str | None) -> str:
    """The copy of a pipe in a temporary file of the same name."""
    import shutil
    import tempfile

    name = str(pipe)
    if name not in _copies:
        folder = Path(tempfile.mkdtemp(prefix="cgbench-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = folder / pipe.name
        with pipe.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        _copies[name] = str(copy)
        _addresses[str(copy)] = name
    return f"{_copies[name]}:{column}" if column else _copies[name]


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
