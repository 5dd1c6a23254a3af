"""Write files atomically; read untrusted files, and check the shape of their JSON."""

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from cgbench.errors import InputError

LARGEST_JSON = 1 << 30  # bytes of a JSON file; Python objects take about ten times as many


def sync(path: Path) -> None:
    """Make the bytes of a file durable, or the names in a folder (a rename is only safe after
    this).
    """
    with named(path):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file name to an error of the operating system that has none, such as a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced and renamed to ``path``, else
    removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with named(path):
            yield temporary
            sync(temporary)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def leftovers(path: Path, ending: str = "tmp") -> list[Path]:
    """Temporary files or folders that commands which were killed left beside ``path``."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([0-9]+)\.{ending}")
    matches = (
        [(entry, pattern.fullmatch(entry.name)) for entry in path.parent.iterdir()]
        if path.parent.is_dir()
        else []
    )
    return sorted(entry for entry, match in matches if match and not _runs(int(match[1])))


def _runs(process: int) -> bool:
    """Whether another process on this machine has this number."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Hard-link a file if the file system can; else copy and sync it."""
    try:
        os.link(source, target)
    except OSError:  # another disk, no hard links, or no permission
        import shutil

        shutil.copyfile(source, target)
        sync(Path(target))


def check_output(path: Path, inputs: Iterable[Path]) -> None:
    """Check, before any work, that ``path`` can be written and is not an input; remove what a
    killed command left.

    :raises InputError: it cannot, or it is.
    """
    if path.is_dir() or not path.name:
        raise InputError(f"{path}: a folder; give the name of a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it first")
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path}: is also an input; give another name")
    if path.parent != Path("/dev") and (not path.exists() or path.is_file()):
        for leftover in leftovers(path):
            leftover.unlink(missing_ok=True)
        trial = path.with_name(
            f".{path.name}.{os.getpid()}.tmp"
        )  # permissions are not enough: /proc is read-only
        try:
            trial.touch(exist_ok=False)
            trial.unlink()
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written there ({error.strerror}); give another name"
            ) from None


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write ``data`` (text as UTF-8) to ``path`` atomically.

    A link is followed; a device or a pipe (``/dev/stdout``) is written to, never replaced.
    """
    if path.parent == Path("/dev") or (path.exists() and not path.is_file()):
        # Standard streams by number: reopened by name, a redirected one would be overwritten from
        # its start.
        stream = {"/dev/stdout": 1, "/dev/stderr": 2}.get(str(path))
        with path.open("ab") if stream is None else os.fdopen(os.dup(stream), "wb") as device:
            device.write(data.encode("utf-8") if isinstance(data, str) else data)
        return
    path = path.resolve() if path.is_symlink() else path
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def to_json(value: Any) -> str:
    """JSON as the project writes it to files: sorted keys, indented, UTF-8, a final newline."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON value per line, atomically."""
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON atomically."""
    write_atomic(path, to_json(value))


def ordinary_file(path: Path, *, link: bool = False, largest: int | None = None) -> Path:
    """The same path, if it is a regular file.

    Folders written by this project contain no links, devices or pipes. An untrusted folder may: a
    link to ``/dev/zero`` fills the memory, a pipe blocks for ever, other links lead out of the
    folder.

    :param link: allow a link to a regular file, for files named by the user.
    :param largest: maximum size in bytes.
    :raises InputError: it is not a regular file, or too large.
    """
    status = _status(path, link)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path}: not a regular file (it is {_kind(status.st_mode)}); copy the file itself"
            " there"
        )
    if largest is not None and status.st_size > largest:
        raise InputError(
            f"{path}: {status.st_size:,} bytes are too many for such a file (at most {largest:,})"
        )
    return path


def ordinary_folder(path: Path) -> Path:
    """The same path, if it is a folder and not a link to one.

    :raises InputError: it is not.
    """
    status = _status(path, False)
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"{path}: not a regular folder (it is {_kind(status.st_mode)}); copy the folder itself"
            " there"
        )
    return path


def _status(path: Path, link: bool) -> os.stat_result:
    try:
        return path.stat() if link else path.lstat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a NUL byte in the name
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFREG: "a file",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def read_json(path: Path) -> Any:
    """Read JSON from a regular file, or a link to one.

    :raises InputError: the file is missing, not regular, larger than :data:`LARGEST_JSON` or
        unreadable, or :func:`parse_json` refuses it.
    """
    try:
        data = ordinary_file(path, link=True, largest=LARGEST_JSON).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return parse_json(data, path)


def parse_json(
    data: bytes | str, where: object, *, infinite: bool = False, repairs: bool = False
) -> Any:
    """Read strict JSON from memory: no NaN, no infinity, no lone surrogates, no duplicate names.

    :param where: beginning of messages: a file, or a row of it.
    :param infinite: allow ``NaN`` and ``Infinity``, as written by Python programs.
    :param repairs: replace lone surrogates by U+FFFD.
    :raises InputError: it is not JSON, or nested too deeply.
    """
    try:
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data))
        value = (_decoder(infinite) if infinite else _STRICT).decode(text)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{where}: JSON nested too deeply") from None
    except UnicodeEncodeError:
        if repairs:
            return _without_surrogates(value)
        raise InputError(f"{where}: contains a lone surrogate, which is not text") from None
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error}); the file may be cut short") from None
    return value


def _without_surrogates(value: Any) -> Any:
    """A JSON value whose texts can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return list(map(_without_surrogates, value))
    if isinstance(value, dict):
        return {
            _without_surrogates(name): _without_surrogates(inner) for name, inner in value.items()
        }
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return values


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _decoder(infinite: bool) -> json.JSONDecoder:
    numbers = (float, float) if infinite else (_finite, _constant)
    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_float=numbers[0], parse_constant=numbers[1]
    )


_STRICT = _decoder(False)  # shared, for the many rows of a corpus


def check_shape(value: Any, shape: Any, where: object, remedy: str) -> None:
    """Check types, lists, fields and file names of JSON before a program relies on them.

    :param shape: a type (``int`` excludes bool; ``float`` is any finite number); a tuple of
        alternatives (which may include ``None``); ``[shape]``, a list; ``{str: shape}``, an object
        with any names (or with names of the shape in place of ``str``); ``{"name": shape}``, an
        object with at least these names (``{"name?": shape}`` may be missing); a function that
        returns whether a value is valid.
    :param where: the file of the value.
    :raises InputError: the value has another shape; the message names the first wrong field.
    """
    if fault := next(_faults(value, shape, ""), ""):
        raise InputError(f"{where}: {fault}; {remedy}")


def file_name(value: Any) -> bool:
    """Whether ``value`` is the name of a file inside a folder: relative, without ``..``, the same
    on every system.
    """
    if not isinstance(value, str) or not value or "\0" in value or "\\" in value:
        return False
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts and str(path) == value != "."


def _faults(value: Any, shape: Any, name: str) -> Iterator[str]:
    """A description of each fault."""
    if isinstance(shape, tuple):
        if all(any(_faults(value, alternative, name)) for alternative in shape):
            yield _wrong(value, name)
    elif isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, shape[0], f"{name}[{index}]")
    elif isinstance(shape, dict) and isinstance(value, dict):
        for key, inner in shape.items():
            if not isinstance(key, str):
                for item_name, item in value.items():
                    yield from _faults(item_name, key, name)
                    yield from _faults(item, inner, _join(name, item_name))
            elif (field := key.removesuffix("?")) in value:
                yield from _faults(value[field], inner, _join(name, field))
            elif field == key:
                yield f"there is no {_join(name, key)}"
    elif isinstance(shape, (list, dict)) or not _fits(value, shape):
        yield _wrong(value, name)


def _fits(value: Any, shape: Any) -> bool:
    if shape is None:
        return value is None
    if shape is Any:
        return True
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    if shape is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return abs(value) < 1 << 63 if isinstance(value, int) else math.isfinite(value)
    return isinstance(value, shape) if isinstance(shape, type) else bool(shape(value))


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _wrong(value: Any, name: str) -> str:
    text = repr(value)
    return (
        f"{name or 'its content'} is {text if len(text) <= 40 else text[:39] + '…'}, which is not"
        " valid"
    )
