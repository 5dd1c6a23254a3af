"""Saved known n-grams: every flipped bit is found by its digest; without digests none harms a
compiled loop.
"""

import contextlib
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from text_files import flip

from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.errors import InputError

LINES = (
    ["the cat sat on the mat with the other cat"] * 3
    + ["the dog sat on the mat"] * 2
    + ["a dog"] * 3
)


def save(folder: Path) -> KnownNgrams:
    ngrams = KnownNgrams.learn(LINES, word_min_count=2)
    ngrams.save(folder)
    assert len(ngrams.tails[0])  # else there is less to check
    return ngrams


def drop_digests(folder: Path) -> None:
    """Make a folder what older versions wrote."""
    for name in ("words.json", "ngrams.json"):
        sizes = json.loads((folder / name).read_text())
        del sizes["files"], sizes["sha256"]
        (folder / name).write_text(json.dumps(sizes))


def test_every_flipped_bit_is_found(tmp_path: Path):
    save(tmp_path)
    chance = random.Random(1)
    for path in sorted(tmp_path.iterdir()):
        before = path.read_bytes()
        for _ in range(8):
            flip(path, *divmod(chance.randrange(8 * len(before)), 8))
            try:
                KnownNgrams.load(tmp_path)
            except InputError as error:
                assert str(tmp_path) in str(error) and "\n" not in str(error)
            else:  # the name of a digest: what it would have checked is whole
                assert path.suffix == ".json" and path.read_bytes() != before
            path.unlink()
            path.write_bytes(before)
    KnownNgrams.load(tmp_path)


def put(row, value):
    def change(array):
        array[row] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("words.starts.npy", put(1, 1 << 40)),
        ("words.starts.npy", put(2, -1)),
        ("words.starts.npy", lambda array: array[:-1]),
        ("words.arena.npy", lambda array: array[:-10]),
        ("words.counts.npy", lambda array: array.astype(np.float64)),
        ("words.table.npy", lambda array: array[array[:, 0] != 0]),
        ("words.table.npy", lambda array: array | np.uint64(1 << 31)),
        ("words.table.npy", lambda array: np.asfortranarray(array)),
        ("trie.slots.npy", lambda array: array[:-1]),
        ("trie.slots.npy", lambda array: array | np.uint64(2)),
        ("trie.slots.npy", lambda array: array | np.uint64(1)),
        ("trie.slots.npy", lambda array: np.uint64(3)),
        ("tail.nodes.npy", put(0, 1 << 30)),
        ("tail.nodes.npy", lambda array: array[::-1].copy()),
        ("tail.nodes.npy", lambda array: array[:-1]),
        ("tail.starts.npy", put(0, 1 << 30)),
        ("tail.lengths.npy", put(0, 2**31 - 1)),
        ("tail.text.npy", lambda array: array[:-1]),
    ],
)
def test_bounds_are_checked_where_there_are_no_digests(tmp_path: Path, name, change):
    save(tmp_path)
    drop_digests(tmp_path)
    KnownNgrams.load(tmp_path)
    array = np.load(tmp_path / name)
    changed = change(array)
    (tmp_path / name).unlink()
    np.save(tmp_path / name, array if changed is None else changed)
    with pytest.raises(InputError, match=str(tmp_path)):
        KnownNgrams.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("words.json", "usable", 10**6),
        ("words.json", "words", 2),
        ("words.json", "files", {"../x": "0"}),
        ("ngrams.json", "slots", 8),
        ("ngrams.json", "longest", None),
    ],
)
def test_sizes_are_checked(tmp_path: Path, name, key, value):
    save(tmp_path)
    drop_digests(tmp_path)
    sizes = json.loads((tmp_path / name).read_text())
    (tmp_path / name).write_text(json.dumps({**sizes, key: value}))
    with pytest.raises(InputError, match=str(tmp_path)):
        KnownNgrams.load(tmp_path)


def test_empty_vocabularies_are_saved_too(tmp_path: Path):
    Vocabulary.learn([]).save(tmp_path / "empty")
    assert len(Vocabulary.load(tmp_path / "empty")) == 0


USE = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_saved import LINES, survive
survive(Path({folder!r}))
"""


def survive(folder: Path) -> None:
    """Flip bits of files without digests, one at a time, and use what is not refused."""
    save(folder)
    drop_digests(folder)
    chance = random.Random(2)
    for path in sorted(folder.iterdir()):
        before = path.read_bytes()
        for _ in range(60):
            flip(path, *divmod(chance.randrange(8 * len(before)), 8))
            with contextlib.suppress(InputError):
                KnownNgrams.load(folder).measure(
                    [*LINES, "the dog sat with a zebra of 17 or more bytes"]
                )
            path.unlink()
            path.write_bytes(before)


def test_no_flipped_bit_ends_the_process(tmp_path: Path):
    program = USE.format(
        path=[str(Path(__file__).parent), *sys.path], folder=str(tmp_path / "ngrams")
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
