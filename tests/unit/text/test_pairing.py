"""Pairs that are no pairs are found, with their first line; pairs are not touched."""

import random
from pathlib import Path

import pytest

from cgbench.text.formats import CorpusSpec, read_pairs
from cgbench.text.inspection import look_at
from cgbench.text.normalisation import Normalisation
from cgbench.text.pair_sample import PairSample
from cgbench.text.pairing import find_faults
from cgbench.text.sampling import spread_runs
from tests.helpers.invented_pairs import invented_pairs as corpus
from tests.helpers.invented_pairs import shifted, write_pairs
from tests.helpers.shared_data import SHARED, needs


def faults_of(pairs, training=None):
    samples = [PairSample(spread_runs(iter(corpus))) for corpus in (pairs, training) if corpus]
    return find_faults(*samples)


def mojibake(text):
    return text.encode().decode("latin-1")


@pytest.mark.parametrize("seed", range(5))
def test_pairs_have_no_fault(seed):
    pairs = corpus(seed=seed)
    assert not faults_of(pairs) and not faults_of(pairs[:100]) and not faults_of(pairs[:5])
    assert not faults_of(sorted(pairs, key=lambda pair: len(pair[0])))
    assert not faults_of(corpus(seed=seed + 100), pairs)


@pytest.mark.parametrize("begin", [0, 0.5, 0.75])
@pytest.mark.parametrize("shift", [1, -1, 2, -3])
@pytest.mark.parametrize("count", [500, 1000, 4000])
def test_a_shift_is_found_where_it_begins(count, shift, begin):
    line = int(begin * count)
    (fault,) = faults_of(shifted(corpus(count), line, shift))
    ahead = "source" if shift > 0 else "target"
    assert fault.text.startswith(f"the {ahead} is {abs(shift)} line")
    assert abs(fault.line - line) <= 8


def test_pairs_at_random_are_not_shifted():
    """No shift fits them better; nor of documents, whose neighbouring lines share words."""
    pairs, draw = corpus(), random.Random(3)
    targets = [target for _, target in pairs]
    draw.shuffle(targets)
    assert not faults_of(
        [(source, target) for (source, _), target in zip(pairs, targets, strict=True)]
    )
    topics = [f"thema{row // 20}a topic{row // 20}" for row in range(4000)]
    talks = [
        (f"{source} {topic.split()[0]}", f"{target} {topic.split()[1]}")
        for (source, target), topic in zip(pairs, topics, strict=True)
    ]
    assert not faults_of(talks)


def without_blanks(count):
    """Pairs whose targets are characters; nothing is the same on both sides."""
    return [
        (
            source,
            "".join(chr(0x4E00 + int(word[1:-1])) for word in source.split() if word[0] == "k"),
        )
        for source, _ in corpus(count)
    ]


def test_a_shift_without_blanks_between_words():
    pairs = without_blanks(1000)
    assert not faults_of(pairs)
    (fault,) = faults_of(shifted(pairs, 500, 1))
    assert fault.text.startswith("the source is 1 line") and abs(fault.line - 500) <= 5


def test_swapped_pairs():
    pairs = corpus()
    half = [*pairs[:3000], *(pair[::-1] for pair in pairs[3000:])]
    (fault,) = faults_of(half)
    assert "have source and target swapped" in fault.text and fault.line == 3001
    draw = random.Random(1)
    # A few single pairs before are noise, and not where the swapped half begins.
    with_noise = [pair[::-1] if row in (40, 700, 1900) else pair for row, pair in enumerate(half)]
    assert faults_of(with_noise)[0].line == 3001
    mixed = [pair[::-1] if draw.random() < 0.2 else pair for pair in pairs]
    assert "swapped" in faults_of(mixed, corpus(seed=2))[0].text
    # A corpus with all of its pairs swapped is known by another one only.
    swapped = [pair[::-1] for pair in pairs]
    assert not faults_of(swapped)
    (fault,) = faults_of(swapped, corpus(seed=2))
    assert "swapped" in fault.text and fault.line == 1


@pytest.mark.parametrize("count", [300, 6000])
@pytest.mark.parametrize("seed", range(3))
def test_half_of_the_pairs_swapped_at_random(count, seed):
    """No part of the corpus tells the languages, and no other corpus does."""
    draw = random.Random(seed)
    mixed = [pair[::-1] if draw.random() < 0.5 else pair for pair in corpus(count, seed=seed)]
    (fault,) = faults_of(mixed)
    assert "swapped" in fault.text and fault.line <= 20
    count_of_swapped = int(fault.text.split()[0].replace(",", ""))
    assert 0.4 * min(count, 2512) < count_of_swapped < 0.6 * max(count, 2512)


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


def test_copies_without_blanks_between_words():
    """Characters are words: a sentence is not a single one, which could be a name."""
    pairs = [
        pair if row % 5 else (pair[1], pair[1]) for row, pair in enumerate(without_blanks(1000))
    ]
    (copies,) = (fault for fault in faults_of(pairs) if "the same text" in fault.text)
    assert copies.line == 1


def test_equal_sides_of_one_language_are_no_fault():
    """A corpus of edits: a fifth of the sentences needs none."""
    pairs = corpus()
    edits = [
        (source, source if row % 5 == 0 else source.replace(source.split()[0], "new"))
        for row, (source, _) in enumerate(pairs)
    ]
    assert not faults_of(edits)
    assert "the same text" in faults_of([(source, source) for source, _ in pairs])[0].text


def test_few_wrong_pairs_are_noise():
    pairs = corpus()
    few = [pair if row % 50 else (pair[0], pair[0]) for row, pair in enumerate(pairs)]
    assert not faults_of(few)
    assert not faults_of([pair if row % 50 else pair[::-1] for row, pair in enumerate(pairs)])


def test_the_build_stops_with_the_line(tmp_path):
    files = []
    for name, pairs in (("train", corpus()), ("pool", shifted(corpus(seed=2), 2000, 1))):
        files.append(CorpusSpec(tuple(map(Path, write_pairs(tmp_path, name, pairs)))))
    (finding,) = look_at(files[0], files[1:], Normalisation())
    assert finding.stops
    assert "pool.en: the source is 1 line ahead of the target, from line 2,0" in finding.text


REAL = (
    "wmt-20k/train.{}.gz",
    "wmt-20k/test.{}",
    "multi30k/val.lc.norm.tok.{}.gz",
    "react/valid.{}.gz",
)


@needs(*(name.format("de") for name in REAL))
@pytest.mark.parametrize("name", REAL)
def test_real_corpora(name):
    """Of 1,000 to 20,000 pairs; of the largest, every fifth run is sampled."""
    paths = tuple(SHARED / name.format(language) for language in ("de", "en"))
    pairs = list(read_pairs(CorpusSpec(paths)))
    assert not faults_of(pairs)
    (fault,) = faults_of(shifted(pairs, len(pairs) // 2, 1))
    assert "the source is 1 line ahead" in fault.text
    assert abs(fault.line - len(pairs) // 2) < 150
