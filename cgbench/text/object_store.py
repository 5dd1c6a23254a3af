"""Files in object stores: ``s3://BUCKET/KEY`` and ``gs://BUCKET/KEY``, fetched by fsspec.

An object is streamed into a cache, once for each version that the store tells by its size and its etag, and then read
like any file. So a step is known by the bytes, as of every text, and an object that was written anew with the same
bytes changes nothing. Credentials and endpoints are fsspec's business: ``FSSPEC_S3_ENDPOINT_URL``, ``~/.aws``, ....
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Any

from cgbench.errors import InputError, require
from cgbench.files import atomic_path, cache_folder
from cgbench.text.streams import split_name

SCHEMES = {"s3": "s3fs", "gs": "gcsfs"}
"""Kinds of addresses, and the packages that fsspec needs for them."""
BLOCK = 1 << 20  # bytes
_VERSIONS = ("ETag", "etag", "md5Hash", "crc32c", "generation", "LastModified", "mtime")  # by falling exactness


def fetch(given: str, rest: str, here: bool) -> tuple[str, str, str]:
    """Fetch an object, unless that version of it is in the cache.

    :param rest: ``BUCKET/KEY``, and ``:COLUMN`` of a table; ``here``: ask no server, take what was fetched last.
    :returns: the file with its column, the file alone, its address.
    :raises InputError: it is no address of an object, there is none, it cannot be fetched, or fsspec is missing.
    """
    scheme = given.partition(":")[0]
    path, column = split_name(rest)
    key = PurePosixPath(str(path))
    if len(key.parts) < 2 or {".", ".."} & {*key.parts}:
        raise InputError(f"{given}: no address of an object; write {scheme}://BUCKET/PATH/FILE")
    address = f"{scheme}://{key}"
    folder = cache_folder("objects") / hashlib.sha256(address.encode()).hexdigest()[:16]
    file = _newest(folder, key.name) if here else _fetched(given, address, folder, key.name)
    if file is None:
        raise InputError(f"{given}: not in the cache")
    return (f"{file}:{column}" if column else str(file)), str(file), address


def _newest(folder: Path, name: str) -> Path | None:
    return max(folder.glob(f"*/{name}"), key=lambda path: path.stat().st_mtime_ns, default=None)


def _fetched(given: str, address: str, folder: Path, name: str) -> Path:
    scheme = address.partition(":")[0]
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
                written = _copy(source, temporary)
                if written != info["size"]:
                    raise InputError(f"{given}: {written:,} of {info['size']:,} bytes arrived; give the command again")
    except InputError:
        raise
    except ImportError:
        raise InputError(f"{given}: {SCHEMES[scheme]} is not installed; run: pip install {SCHEMES[scheme]}") from None
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


def _copy(source: Any, to: Path) -> int:
    written = 0
    with to.open("wb") as out:
        while block := source.read(BLOCK):
            out.write(block)
            written += len(block)
    return written
