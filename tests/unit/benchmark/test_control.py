"""The control set: like the test set in length and corpus, disjoint from it, drawn without regard to anything else."""

import numpy as np
import pytest
import twins

from cgbench.benchmark import scan as scan_module
from cgbench.benchmark.control import allocate, bins_of, distance, draw_control
from cgbench.benchmark.known_ngrams import KnownNgrams
from cgbench.benchmark.scan import content_of, scan
from cgbench.benchmark.selection import seeded_hash
from cgbench.benchmark.vocabulary import Vocabulary
from cgbench.text.corpus import index_pair

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


def write(folder, name, corpus):
    for side in (0, 1):
        (folder / f"{name}.{side}").write_text("".join(pair[side] + "\n" for pair in corpus))
    return index_pair(folder / f"{name}.0", folder / f"{name}.1")


def sentence(rng, most):
    return " ".join(rng.choice(WORDS, rng.integers(1, most + 1)))


def corpus(rng, size, most=4):
    return [(sentence(rng, most), sentence(rng, most)) for _ in range(size)]


def build(folder, train, pools, jobs=1):
    """A scan in which every word is known."""
    ngrams = KnownNgrams.learn(train.target.path, min_count=1, jobs=1)
    words = Vocabulary.learn(train.source.path, min_count=1)
    parts = []
    for number, pool in enumerate(pools):
        out = folder / f"scan-{number}-{jobs}"
        out.mkdir()
        scan(pool, number=number, ngrams=ngrams, other_words=words, out=out, jobs=jobs)
        parts += sorted(out.glob("part-*.parquet"))
    return parts


def draw(parts, pools, chosen, pairs, **options):
    """A control set for the pairs ``chosen``, (corpus, line) each."""
    test = {
        "pool": np.array([number for number, _ in chosen]),
        "source_length": np.array([len(pairs[number][line][0].split()) for number, line in chosen]),
        "target_length": np.array([len(pairs[number][line][1].split()) for number, line in chosen]),
    }
    texts = tuple([pairs[number][line][side].encode() for number, line in chosen] for side in (0, 1))
    return test, draw_control(parts, pools, test, texts, **options)


@pytest.mark.parametrize("case", range(6))
def test_the_slow_way_draws_the_same(tmp_path, monkeypatch, case):
    monkeypatch.setattr("cgbench.text.corpus.CHUNK", 64)
    monkeypatch.setattr(scan_module, "CHUNK", 200)
    rng = np.random.default_rng(case)
    most, least = (2, 1) if case % 2 else (4, 2)  # short sentences repeat a lot; bins run out
    pairs = [corpus(rng, 150, most), corpus(rng, 60, most)]
    known = [(WORDS[0], " ".join(WORDS)), (" ".join(WORDS), WORDS[0]), *corpus(rng, 5, most)]
    train = write(tmp_path, "train", known)
    pools = [write(tmp_path, f"pool-{number}", one) for number, one in enumerate(pairs)]
    parts = build(tmp_path, train, pools)
    chosen = [(0, line) for line in range(12) if len(pairs[0][line][1].split()) >= least] + [(1, 3), (1, 5)]
    test, control = draw(parts, pools, chosen, pairs, seed=case, min_length=least, seen=[train])

    rows, lines = [], []
    for number, one in enumerate(pairs):
        for line, (source, target) in enumerate(one):
            lengths = len(source.split()), len(target.split())
            if lengths[1] >= least:
                rows.append(((number, *lengths), source, target))
                lines.append((number, line))
    hashes = seeded_hash(content_of([row[1] for row in rows], [row[2] for row in rows]), case, "control").tolist()
    wanted = {}
    for number, line in chosen:
        key = (number, *(len(text.split()) for text in pairs[number][line]))
        wanted[key] = wanted.get(key, 0) + 1
    held = [[pairs[number][line][side] for number, line in chosen] + [one[side] for one in known] for side in (0, 1)]
    expected = twins.control(
        rows, wanted, held, [(value, *rows[place][0]) for place, value in enumerate(hashes)],
        lambda a, b: abs(a[1] - b[1]) + abs(a[2] - b[2]) if a[0] == b[0] else None,
    )  # fmt: skip
    found = list(zip(control.rows["pool"].tolist(), control.rows["line"].tolist(), strict=True))
    assert found == [lines[place] for place in expected]
    assert list(zip(control.sources, control.targets, strict=True)) == [pairs[number][line] for number, line in found]
    assert len(found) == len(chosen) - (control.missing - control.moved)
    if not control.short:
        assert sorted(bins_of(test)) == sorted(bins_of(control.rows))
    assert bool(control.warning) == bool(control.short)


def test_same_lengths_and_corpus_disjoint_and_by_content_alone(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [corpus(rng, 3_000, 6), corpus(rng, 3_000, 6)]
    train = write(tmp_path, "train", [(" ".join(WORDS), " ".join(WORDS))])
    pools = [write(tmp_path, f"pool-{number}", one) for number, one in enumerate(pairs)]
    parts = build(tmp_path, train, pools)
    distinct = {number: {text: line for line, text in enumerate(one)} for number, one in enumerate(pairs)}
    # Long pairs, of which there are many: what a bin has is enough.
    long = [(number, line) for number in (0, 1) for line in distinct[number].values()
            if all(len(text.split()) > 4 for text in pairs[number][line])]  # fmt: skip
    chosen = long[::25]
    test, control = draw(parts, pools, chosen, pairs, seed=1)
    assert not control.short and len(control.sources) == len(chosen) > 20
    assert sorted(bins_of(test)) == sorted(bins_of(control.rows))
    texts = [{pairs[number][line][side] for number, line in chosen} for side in (0, 1)]
    assert not texts[0] & set(control.sources) and not texts[1] & set(control.targets)
    assert len(set(control.sources)) == len(set(control.targets)) == len(chosen)
    assert control.sources != draw(parts, pools, chosen, pairs, seed=2)[1].sources
    # The other way round, by two threads: the same pairs.
    other = tmp_path / "other"
    other.mkdir()
    turned = [write(other, f"pool-{number}", one[::-1]) for number, one in enumerate(pairs)]
    again = draw(build(other, train, turned, jobs=2), turned, [(n, len(pairs[n]) - 1 - line) for n, line in chosen],
                 [one[::-1] for one in pairs], seed=1)[1]  # fmt: skip
    assert sorted(zip(again.sources, again.targets, strict=True)) == sorted(
        zip(control.sources, control.targets, strict=True)
    )


def key(pool, source, target):
    return int(bins_of({"pool": np.array([pool]), "source_length": np.array([source]),
                        "target_length": np.array([target])})[0])  # fmt: skip


def test_a_bin_that_has_too_few_takes_from_the_nearest_of_its_corpus_by_hand():
    wanted = {key(0, 5, 5): 4, key(0, 6, 5): 2, key(1, 5, 5): 1}
    usable = {key(0, 5, 5): 1, key(0, 6, 5): 3, key(0, 9, 5): 9, key(2, 5, 5): 9}
    quota, moves = allocate(wanted, usable)
    # One of its own, the one that 6:5 can spare, two from 9:5; corpus 1 has none, and those of corpus 2 do not count.
    assert quota == {key(0, 5, 5): 1, key(0, 6, 5): 3, key(0, 9, 5): 2}
    assert moves == [(key(0, 5, 5), key(0, 6, 5), 1), (key(0, 5, 5), key(0, 9, 5), 2)]
    assert distance(key(0, 5, 5), key(0, 9, 4)) == 5


def test_too_few_pairs_are_one_line(tmp_path):
    pairs = [[("a b", "a b"), ("c d", "b a"), ("a b c", "b c"), ("e f", "d c")]]
    train = write(tmp_path, "train", [(" ".join(WORDS), " ".join(WORDS))])
    pools = [write(tmp_path, "pool", pairs[0])]
    parts = build(tmp_path, train, pools)
    _, control = draw(parts, pools, [(0, 0), (0, 3)], pairs, seed=1)
    assert control.sources == ["c d", "a b c"] and control.targets == ["b a", "b c"]
    assert control.warning == (
        "control set: 1 of 1 bins of corpus and lengths have too few pairs for those of the test set (1 missing); 1 "
        "were drawn from the nearest bins of the same corpus (up to 1 words away)"
    )
    _, control = draw(parts, pools, [(0, 0), (0, 1), (0, 3)], pairs, seed=1)
    assert control.sources == ["a b c"] and "2 are not to be had" in control.warning
    assert control.counts == {"control": 1, "control_bins": 1, "control_short_bins": 1}
