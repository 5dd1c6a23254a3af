"""The control set: like the test set in corpus, length and word frequency, disjoint from it,
whatever the rest.
"""

import math
from collections import Counter

import numpy as np
import pytest
import twins
from scipy.stats import ks_2samp
from text_files import write_pairs

from cgbench.benchmark.build.react.control import bins_of, draw_control, nearest_bins
from cgbench.benchmark.candidates import pool_scan as scan_module
from cgbench.benchmark.candidates.cut import Bounds
from cgbench.benchmark.candidates.matching import (
    BALANCED,
    COVARIATES,
    balance,
    match,
    shown_balance,
    worst,
)
from cgbench.benchmark.candidates.pool_scan import Scan, scan
from cgbench.benchmark.candidates.selection import seeded_hash
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.vocabulary import Vocabulary
from cgbench.text.hashes import content_of

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


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
        scan(Scan(pool, number, ngrams, words), out, jobs=jobs)
        parts += sorted(out.glob("part-*.parquet"))
    return parts


def draw(parts, pools, chosen, pairs, train, **options):
    """A control set for the pairs ``chosen``, (corpus, line) each."""
    test = {
        "pool": np.array([number for number, _ in chosen]),
        "source_length": np.array([len(pairs[number][line][0].split()) for number, line in chosen]),
        "target_length": np.array([len(pairs[number][line][1].split()) for number, line in chosen]),
    }
    texts = tuple(
        [pairs[number][line][side].encode() for number, line in chosen] for side in (0, 1)
    )
    words = tuple(
        Vocabulary.learn(getattr(train, side).path, min_count=1) for side in ("source", "target")
    )
    return draw_control(parts, pools, test, texts, words, **{"bounds": Bounds(), **options})


def skewed(rng, size):
    """Training text whose words occur 1 to 2^7 times."""
    odds = 2.0 ** np.arange(8)
    return [
        tuple(" ".join(rng.choice(WORDS, 5, p=odds / odds.sum())) for _ in range(2))
        for _ in range(size)
    ]


@pytest.mark.parametrize("case", range(6))
def test_the_slow_way_draws_the_same(tmp_path, monkeypatch, case):
    monkeypatch.setattr("cgbench.text.corpus.CHUNK", 64)
    monkeypatch.setattr(scan_module, "CHUNK", 200)
    near = (1, 3, 16)[case // 2]
    monkeypatch.setattr("cgbench.benchmark.build.react.control.NEAR", near)
    rng = np.random.default_rng(case)
    most, least = (
        (2, 1) if case % 2 else (4, 2)
    )  # short sentences repeat a lot; the nearest lengths run out
    pairs = [corpus(rng, 150, most), corpus(rng, 60, most)]
    known = [
        (WORDS[0], " ".join(WORDS)),
        (" ".join(WORDS), WORDS[0]),
        *corpus(rng, 5, most),
        *skewed(rng, 30),
    ]
    train = write_pairs(tmp_path, "train", known)
    pools = [write_pairs(tmp_path, f"pool-{number}", one) for number, one in enumerate(pairs)]
    parts = build(tmp_path, train, pools)
    chosen = [(0, line) for line in range(12) if len(pairs[0][line][1].split()) >= least] + [
        (1, 3),
        (1, 5),
    ]
    control = draw(
        parts, pools, chosen, pairs, train, seed=case, bounds=Bounds(least), seen=[train]
    )

    places = [(number, line) for number, one in enumerate(pairs) for line in range(len(one))]
    places = [
        (number, line) for number, line in places if len(pairs[number][line][1].split()) >= least
    ]
    rows = [(number, *pairs[number][line]) for number, line in places]
    hashes = seeded_hash(
        content_of([row[1] for row in rows], [row[2] for row in rows]), case, "control"
    ).tolist()
    test = [(number, *pairs[number][line]) for number, line in chosen]
    held = [[row[1 + side] for row in test] + [one[side] for one in known] for side in (0, 1)]
    counts = [twins.count_words(one[side] for one in known) for side in (0, 1)]
    expected = twins.control(rows, test, held, hashes, near, counts)
    found = list(zip(control.rows["pool"].tolist(), control.rows["line"].tolist(), strict=True))
    assert found == [places[place] for place in expected]
    assert list(zip(control.sources, control.targets, strict=True)) == [
        pairs[number][line] for number, line in found
    ]
    assert control.missing == len(chosen) - len(found)
    for side in (0, 1):
        rarest = [
            min(counts[side].get(word, 0) for word in pairs[n][line][side].split())
            for n, line in found
        ]
        assert control.rows[("source_rarest", "target_rarest")[side]].tolist() == rarest


@pytest.fixture(scope="module")
def two_corpora(tmp_path_factory):
    """Sentences of words of unequal frequency; those of the test set have rarer words than the
    pool.
    """
    folder, rng = tmp_path_factory.mktemp("corpora"), np.random.default_rng(0)
    pairs = [corpus(rng, 3_000, 8), corpus(rng, 3_000, 8)]
    train = write_pairs(folder, "train", skewed(rng, 300))
    pools = [write_pairs(folder, f"pool-{number}", one) for number, one in enumerate(pairs)]
    rare = set(WORDS[:3])
    chosen = [
        (number, line)
        for number in (0, 1)
        for line, text in {pair: line for line, pair in enumerate(pairs[number])}.items()
        if all(len(side.split()) > 4 for side in line)
        and sum(word in rare for word in line[1].split()) > 2
        for line in (text,)
    ][::10]
    return folder, pairs, train, pools, build(folder, train, pools), chosen


def test_matched_on_corpus_length_and_word_frequency(two_corpora):
    _, pairs, train, pools, parts, chosen = two_corpora
    control = draw(parts, pools, chosen, pairs, train, seed=1)
    assert len(control.sources) == len(chosen) > 50 and control.warning is None
    assert Counter(control.rows["pool"].tolist()) == Counter(number for number, _ in chosen)
    assert [row["covariate"] for row in control.balance] == list(COVARIATES)
    assert worst(control.balance)[0] < BALANCED
    # By length alone, as many pairs have far more frequent words.
    counts = twins.count_words(train.target.path.read_text().splitlines())
    both = (
        [pairs[n][line][1] for n, line in chosen],
        [pair[1] for pair in pairs[0] if len(pair[1].split()) > 4],
    )
    means = [
        np.mean([twins.covariates("a", text, [counts, counts])[3] for text in texts])
        for texts in both
    ]
    assert means[1] - means[0] > 0.3
    texts = [{pairs[number][line][side] for number, line in chosen} for side in (0, 1)]
    assert not texts[0] & set(control.sources) and not texts[1] & set(control.targets)
    assert len(set(control.sources)) == len(set(control.targets)) == len(chosen)


def test_by_content_alone(two_corpora, tmp_path):
    _, pairs, train, pools, parts, chosen = two_corpora
    control = draw(parts, pools, chosen, pairs, train, seed=1)
    assert control.sources != draw(parts, pools, chosen, pairs, train, seed=2).sources
    # The other way round, by two threads: the same pairs.
    turned = [
        write_pairs(tmp_path, f"pool-{number}", one[::-1]) for number, one in enumerate(pairs)
    ]
    again = draw(
        build(tmp_path, train, turned, jobs=2),
        turned,
        [(n, len(pairs[n]) - 1 - line) for n, line in chosen],
        [one[::-1] for one in pairs],
        train,
        seed=1,
    )
    assert sorted(zip(again.sources, again.targets, strict=True)) == sorted(
        zip(control.sources, control.targets, strict=True)
    )


def key(pool, source, target):
    return int(
        bins_of(
            {
                "pool": np.array([pool]),
                "source_length": np.array([source]),
                "target_length": np.array([target]),
            }
        )[0]
    )


def test_the_nearest_lengths_of_the_same_corpus_are_looked_at_by_hand():
    wanted = {key(0, 5, 5): 2, key(0, 9, 5): 1, key(1, 5, 5): 1}
    there = {key(0, 5, 5): 3, key(0, 6, 5): 2, key(0, 9, 5): 9, key(2, 5, 5): 9}
    # 6 for the first: 3 of its own lengths, 2 of 6:5, 1 of 9:5; 3 more of 9:5; corpus 1 has none, 2
    # does not count.
    assert nearest_bins(wanted, there, 3) == {key(0, 5, 5): 3, key(0, 6, 5): 2, key(0, 9, 5): 4}


def test_differences_cancel_out_by_hand():
    # The nearest are 1 and 1.2, both above; after 1, which is 0.5 too high, -0.2 cancels more than
    # it is farther away.
    assert match(np.array([[0.5], [0.5]]), np.array([[1.0], [1.2], [-0.2]])).tolist() == [0, 2]
    assert match(np.array([[0.5]] * 3), np.array([[1.0], [0.0]])).tolist() == [0, 1]
    assert match(np.array([[0.5]]), np.zeros((0, 1))).tolist() == []


def test_balance_by_hand():
    test, control = (
        {"x": np.array([1.0, 3.0]), "y": np.ones(2)},
        {
            "x": np.array([2.0, 6.0]),
            "y": np.full(2, 2.0),
        },
    )
    difference = round(2 / math.sqrt((2 + 8) / 2), 6)
    spread, constant = {"variance_ratio": 0.25, "ks": 0.5}, {"variance_ratio": None, "ks": 1.0}
    assert balance(test, control) == [
        {"covariate": "x", "test": 2.0, "control": 4.0, "difference": difference, **spread},
        {"covariate": "y", "test": 1.0, "control": 2.0, "difference": None, **constant},
    ]
    assert balance(test, test)[1]["difference"] == 0.0 and worst(balance(test, control)) == (
        math.inf,
        "y",
    )
    assert worst(balance(test, control)[:1]) == (pytest.approx(0.894427), "x")


def test_equal_means_do_not_hide_different_spreads():
    names = ("source_length",)
    test, control = np.array([9.0, 9.0, 10.0, 11.0, 11.0]), np.array([7.0, 7.0, 10.0, 13.0, 13.0])
    rows = balance(dict.fromkeys(names, test), dict.fromkeys(names, control))
    assert rows[0]["variance_ratio"] == pytest.approx(1 / 9, abs=1e-6)
    assert rows[0]["ks"] == pytest.approx(ks_2samp(test, control).statistic, abs=1e-6) == 0.4
    assert shown_balance(rows) == [
        ("words of the source", "10.00", "10.00", "0.000", "0.11", "0.400")
    ]


def test_what_the_pool_cannot_supply_is_one_line(tmp_path):
    pairs = [[("a b", "a b"), ("c d", "b a"), ("a b c", "b c"), ("e f", "d c")]]
    train = write_pairs(tmp_path, "train", [(" ".join(WORDS), " ".join(WORDS))])
    pools = [write_pairs(tmp_path, "pool", pairs[0])]
    parts = build(tmp_path, train, pools)
    control = draw(parts, pools, [(0, 0), (0, 3)], pairs, train, seed=1)
    assert control.sources == ["c d", "a b c"] and control.targets == ["b a", "b c"]
    assert (
        control.warning
        == "control set: differs from the test set by 1.00 standard deviations (words of the"
        " source); below 0.1 is balanced; the pool has too few pairs like those of the test set"
    )
    control = draw(parts, pools, [(0, 0), (0, 1), (0, 3)], pairs, train, seed=1)
    assert (
        control.sources == ["a b c"]
        and "and is 2 pairs smaller than the test set; the pool" in control.warning
    )
