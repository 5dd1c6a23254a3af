"""Pairs that are no pairs are found, with their first line; pairs are not touched."""

import random

import pytest

from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.inspection import look_at
from cgbench.text.normalisation import Normalisation
from cgbench.text.pairing import find_faults
from cgbench.text.sampling import spread_runs
from tests.helpers.shared_data import SHARED, needs


def corpus(count=4000, seed=1):
    """Pairs of two invented languages: word by word, with names and numbers in a tenth of them."""
    draw = random.Random(seed)
    sides = [[f"{letter}{number}o" for number in range(400)] for letter in "kz"]
    pairs = []
    for _ in range(count):
        words = [draw.randrange(400) for _ in range(draw.randrange(3, 20))]
        extra = [f"Name{draw.randrange(3000)}"] if draw.random() < 0.1 else []
        pairs.append(tuple(" ".join([*(side[word] for word in words), *extra]) for side in sides))
    return pairs


def faults_of(pairs, training=None):
    runs = spread_runs(iter(pairs))
    return find_faults(runs, spread_runs(iter(training)) if training else None)


def shifted(pairs, begin, shift):
    """One side without some lines at ``begin``: the source if ``shift`` is above 0."""
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    del sides[0 if shift > 0 else 1][begin : begin + abs(shift)]
    return list(zip(*sides, strict=False))


def mojibake(text):
    return text.encode().decode("latin-1")


@pytest.mark.parametrize("seed", range(5))
def test_pairs_have_no_fault(seed):
    pairs = corpus(seed=seed)
    assert not faults_of(pairs) and not faults_of(pairs[:100]) and not faults_of(pairs[:5])
    assert not faults_of(sorted(pairs, key=lambda pair: len(pair[0])))
    assert not faults_of(corpus(seed=seed + 100), pairs)


@pytest.mark.parametrize("begin", [0, 2000, 3000])
@pytest.mark.parametrize("shift", [1, -1, 2, -3])
def test_a_shift_is_found_where_it_begins(begin, shift):
    (fault,) = faults_of(shifted(corpus(), begin, shift))
    ahead = "source" if shift > 0 else "target"
    assert fault.text.startswith(f"the {ahead} is {abs(shift)} line")
    assert abs(fault.line - begin) < 150


def test_swapped_pairs():
    pairs = corpus()
    half = [*pairs[:3000], *(pair[::-1] for pair in pairs[3000:])]
    (fault,) = faults_of(half)
    assert "have source and target swapped" in fault.text and fault.line == 3001
    draw = random.Random(1)
    mixed = [pair[::-1] if draw.random() < 0.2 else pair for pair in pairs]
    assert "swapped" in faults_of(mixed, corpus(seed=2))[0].text


def test_copies_scripts_and_encodings():
    pairs = corpus()
    copied = [pair if row % 5 else (pair[0], pair[0]) for row, pair in enumerate(pairs)]
    assert "the same text on both sides" in faults_of(copied)[0].text
    cyrillic = str.maketrans("kzo", "кзо")
    other = [
        pair if row < 1000 else (pair[0].translate(cyrillic), pair[1])
        for row, pair in enumerate(pairs)
    ]
    (fault,) = faults_of(other, pairs)
    assert fault.line == 1001 and "a source in another script than Latin" in fault.text
    umlauts = [(source.replace("o", "ö"), target) for source, target in pairs]
    broken = [pair if row % 3 else (mojibake(pair[0]), pair[1]) for row, pair in enumerate(umlauts)]
    assert not faults_of(umlauts)
    (fault,) = faults_of(broken)
    assert fault.line == 1 and "mojibake" in fault.text


def test_few_wrong_pairs_are_noise():
    pairs = corpus()
    few = [pair if row % 50 else (pair[0], pair[0]) for row, pair in enumerate(pairs)]
    assert not faults_of(few)
    assert not faults_of([pair if row % 50 else pair[::-1] for row, pair in enumerate(pairs)])


def test_the_build_stops_with_the_line(tmp_path):
    files = []
    for name, pairs in (("train", corpus()), ("pool", shifted(corpus(seed=2), 2000, 1))):
        paths = tuple(tmp_path / f"{name}.{language}" for language in ("de", "en"))
        for side, path in enumerate(paths):
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs))
        files.append(CorpusSpec(paths))
    (finding,) = look_at(files[0], files[1:], Normalisation())
    assert finding.stops
    assert "pool.en: the source is 1 line ahead of the target, from line 2,0" in finding.text


@needs("wmt-20k/train.de.gz", "multi30k/train.lc.norm.tok.de.gz", "react/valid.de.gz")
@pytest.mark.parametrize(
    "name", ["wmt-20k/train.{}.gz", "multi30k/train.lc.norm.tok.{}.gz", "react/valid.{}.gz"]
)
def test_real_corpora(name):
    paths = tuple(SHARED / name.format(language) for language in ("de", "en"))
    pairs = list(read_pairs(CorpusSpec(paths)))
    assert not faults_of(pairs)
    (fault,) = faults_of(shifted(pairs, len(pairs) // 2, 1))
    assert "the source is 1 line ahead" in fault.text
    assert abs(fault.line - len(pairs) // 2) < 300
