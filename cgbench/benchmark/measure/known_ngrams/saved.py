"""Files of known n-gram arrays: written with checksums, and checked before a compiled loop reads
them.

For speed, the compiled loops do not check indices: a wrong index would crash the process. So the
files of a folder are checked twice when it is opened: their bytes against the checksums in the JSON
file (older folders have none), and the bounds that the loops rely on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.measure.known_ngrams.trie_arrays import Tails
from cgbench.checksums import check_digests, digests_of
from cgbench.errors import InputError
from cgbench.files import atomic_path, ordinary_file, read_json, write_json
from cgbench.steps import hash_value
from cgbench.text.streams import PAD
from cgbench.text.word_counts import LARGEST

FORMAT = 1
REMEDY = "save it again"
_CHUNK = 1 << 21  # rows checked at once

WORD_ARRAYS = {"arena": "uint8", "starts": "int64", "counts": "int64", "table": "uint64"}


def save_arrays(
    folder: Path, name: str, sizes: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write ``arrays`` (by file name) and, last, ``sizes`` with all checksums as the JSON file
    ``name``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file, array in arrays.items():
        with atomic_path(folder / file) as temporary, temporary.open("wb") as out:
            np.save(out, array, allow_pickle=False)
    record = {"format": FORMAT, **sizes, "files": digests_of(folder, arrays)}
    write_json(folder / name, {**record, "sha256": hash_value(record)})


def read_sizes(path: Path, fields: Mapping[str, type]) -> dict[str, Any]:
    """Read the JSON file of :func:`save_arrays`, and check the files that it has checksums of.

    :param fields: required fields and their types.
    :raises InputError: it or one of the files is missing, damaged or of another format version.
    """
    sizes = read_json(ordinary_file(path))
    if not isinstance(sizes, dict):
        raise InputError(f"{path}: not an object of names and sizes; {REMEDY}")
    if sizes.get("format") != FORMAT:
        raise InputError(
            f"{path}: format {sizes.get('format')!r}, but this version reads format {FORMAT};"
            f" {REMEDY}"
        )
    if (digest := sizes.pop("sha256", None)) is not None and digest != hash_value(sizes):
        raise InputError(f"{path}: its checksum does not match, the file is damaged; {REMEDY}")
    for field, kind in fields.items():
        if type(sizes.get(field)) is not kind:
            raise InputError(f"{path}: {field} is missing or of the wrong type; {REMEDY}")
    if (files := sizes.get("files")) is not None:
        if not isinstance(files, dict) or not all(Path(file).name == file for file in files):
            raise InputError(
                f'{path}: "files" is not an object of file names and checksums; {REMEDY}'
            )
        check_digests(path.parent, files, REMEDY)
    return sizes


def read_array(
    path: Path, dtype: str, columns: int | None = None, remedy: str = REMEDY
) -> np.ndarray:
    """Map an array into memory: ``[rows]``, or ``[rows, columns]``."""
    ordinary_file(path)
    try:
        # Copy-on-write rather than read-only: numba compiles a separate version for read-only
        # arrays.
        array = np.lib.format.open_memmap(path, mode="c").view(np.ndarray)
    except Exception as error:  # numpy passes on any error of Python's parser
        raise InputError(
            f"{path}: not a complete array file ({' '.join(str(error).split())}); {remedy}"
        ) from None
    shape = array.shape[:1] if columns is None else (*array.shape[:1], columns)
    good = (
        array.ndim > 0 and array.shape == shape and array.dtype == np.dtype(dtype).newbyteorder("<")
    )
    if not (good and array.flags.c_contiguous and array.flags.aligned):
        expected = f"{dtype} [rows]" if columns is None else f"{dtype} [rows, {columns}]"
        raise InputError(
            f"{path}: an array of {array.dtype} {list(array.shape)}, but {expected} is needed;"
            f" {remedy}"
        )
    return array


def check_vocabulary(
    folder: Path, word_count: int, usable: int, arrays: Mapping[str, np.ndarray]
) -> None:
    """Check the bounds that the loops over words rely on: all words inside the arena, all rows of
    the table valid, and one free row, where the search for an unknown word ends.

    :param word_count: the number of words.
    :raises InputError: names the invalid file.
    """
    arena, starts, counts, table = (arrays[name] for name in WORD_ARRAYS)
    if len(counts) != word_count or not 0 <= usable <= word_count or word_count > LARGEST:
        raise InputError(f"{folder}: words.json and words.counts.npy do not match; {REMEDY}")
    rising = len(starts) == word_count + 1 and starts[0] == 0
    for low in range(0, word_count if rising else 0, _CHUNK):
        rising = rising and bool(np.all(np.diff(starts[low : low + _CHUNK + 1]) > 0))
    if not rising or starts[-1] + PAD > len(arena):
        raise InputError(
            f"{folder / 'words.starts.npy'}: the words are not consecutive in the arena; {REMEDY}"
        )
    free = False
    for low in range(0, len(table), _CHUNK):
        rows = table[low : low + _CHUNK, 0]
        words = (rows & np.uint64(0xFFFFFFFF))[rows != 0]
        free = free or len(words) < len(rows)
        if len(words) and not 1 <= int(words.min()) <= int(words.max()) <= word_count:
            raise InputError(
                f"{folder / 'words.table.npy'}: a row refers to a word that does not exist;"
                f" {REMEDY}"
            )
    if not free:
        raise InputError(f"{folder / 'words.table.npy'}: no row is free; {REMEDY}")


def check_trie(folder: Path, words: int, slots: np.ndarray, tails: Tails) -> None:
    """Check the bounds that the loops over known n-grams rely on: a bucket with a free slot, where
    searches end, and a valid tail for every slot whose flag is set."""
    from cgbench.benchmark.measure.known_ngrams.trie_table import BUCKET

    path = folder / "trie.slots.npy"
    if len(slots) == 0 or len(slots) % BUCKET or words + len(slots) > LARGEST:
        raise InputError(f"{path}: {len(slots):,} slots is not a valid size; {REMEDY}")
    free, flagged = False, 0
    for low in range(0, len(slots), _CHUNK):
        some = slots[low : low + _CHUNK]
        free = free or not some[BUCKET - 1 :: BUCKET].all()
        flagged += int(np.count_nonzero(some & np.uint64(1)))
    if not free:
        raise InputError(f"{path}: no slot is free; {REMEDY}")
    nodes, starts, lengths, text = tails
    tail = folder / "tail.nodes.npy"
    if not len(nodes) == len(starts) == len(lengths) == flagged:
        raise InputError(f"{tail}: the number of tails does not match the slots; {REMEDY}")
    for low in range(0, len(nodes), _CHUNK):
        some = nodes[low : low + _CHUNK + 1]
        inside = 0 <= int(some.min()) <= int(some.max()) < len(slots)
        if not inside or np.any(np.diff(some) <= 0) or not np.all(slots[some] & np.uint64(1)):
            raise InputError(f"{tail}: tails of slots without a tail; {REMEDY}")
        begins, sizes = starts[low : low + _CHUNK].astype(np.int64), lengths[low : low + _CHUNK]
        if begins.min() < 0 or sizes.min() < 0 or np.any(begins + sizes > len(text)):
            raise InputError(
                f"{folder / 'tail.starts.npy'}: a tail outside tail.text.npy; {REMEDY}"
            )
