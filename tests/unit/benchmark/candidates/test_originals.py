"""The original lines of pairs: found by offset in place, and by reading elsewhere."""

import gzip
import random

import numpy as np
import pytest

from cgbench import InputError
from cgbench.benchmark.candidates import originals
from cgbench.benchmark.candidates.originals import original_pairs
from cgbench.benchmark.candidates.row_texts import read_side
from cgbench.text.corpus import index_pair
from cgbench.text.formats import CorpusSpec
from cgbench.text.normalisation import Normalisation

PLAIN = Normalisation()


def originals_of(specs, pools, rows):
    sides = [read_side(rows, pools, side) for side in ("source", "target")]
    return original_pairs(specs, pools, rows, sides, PLAIN)


def pool_of(folder, pairs, mark=b"", end=b"\n", last=b"\n"):
    """The files of pairs, and the rows of the scan for every pair in another order."""
    paths, offsets = [], []
    for side, name in enumerate(("source", "target")):
        lines = [pair[side].encode() for pair in pairs]
        paths.append(folder / name)
        paths[-1].write_bytes(mark + end.join(lines) + last)
        sizes = [len(line) + len(end) for line in lines]
        offsets.append(np.cumsum([0, *sizes[:-1]]))
    order = random.Random(1).sample(range(len(pairs)), len(pairs))
    rows = {
        "pool": np.zeros(len(pairs), np.int64),
        "line": np.array(order),
        "source_offset": offsets[0][order],
        "target_offset": offsets[1][order],
    }
    return CorpusSpec(tuple(paths)), index_pair(*paths), rows, order


PAIRS = [("ein  Hund ", "a\u2028dog"), ("", "\u00e9"), ("x\ty", "\x85 z"), ("\U0001d504", "end")]
PAIRS.append(("long " * 700, "ö" * 1500))  # read in several blocks, which cut letters


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(("end", "last"), [(b"\n", b"\n"), (b"\n", b""), (b"\r\n", b"\r\n")])
def test_in_place_is_what_reading_gives(tmp_path, monkeypatch, mark, end, last):
    spec, pool, rows, order = pool_of(tmp_path, PAIRS, mark, end, last)
    expected = tuple(list(texts) for texts in zip(*(PAIRS[row] for row in order), strict=True))
    # The text is not read a second time.
    monkeypatch.setattr(originals, "read_pairs", None)
    assert originals_of([spec], [pool], rows) == expected
    monkeypatch.undo()
    monkeypatch.setattr(originals, "_in_place", lambda spec, pool: False)
    assert originals_of([spec], [pool], rows) == expected


def test_other_pools_are_read_up_to_the_last_line_needed(tmp_path):
    spec, pool, rows, order = pool_of(tmp_path, PAIRS)
    packed = []
    for path in spec.paths:
        packed.append(path.with_suffix(".gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    both = {name: np.concatenate([values, values]) for name, values in rows.items()}
    both["pool"][len(PAIRS) :] = 1
    sources, targets = originals_of([CorpusSpec(tuple(packed)), spec], [pool, pool], both)
    assert sources == [PAIRS[row][0] for row in order] * 2
    assert targets == [PAIRS[row][1] for row in order] * 2


def test_a_file_that_changed_is_named(tmp_path):
    spec, pool, rows, _ = pool_of(tmp_path, PAIRS)
    content = spec.paths[1].read_bytes()
    spec.paths[1].write_bytes(b"\xff" + content[1:])
    with pytest.raises(InputError, match="target: the file has changed while it was read"):
        originals_of([spec], [pool], rows)


def test_texts_are_words_joined_by_one_blank(tmp_path):
    _, pool, rows, order = pool_of(tmp_path, PAIRS)
    source = read_side(rows, [pool], "source")
    lines = [PAIRS[row][0].encode() for row in order]
    assert source.lines == lines
    assert source.texts == [b" ".join(line.split()) for line in lines] != lines
