"""Exposure: new combinations by a slow definition, scores matched on length by hand, and estimates
of planted leaks.
"""

import random
import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import cgbench
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.metrics.bins import Feature
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu
from cgbench.benchmark.measure.metrics.exact_match import ExactMatch
from cgbench.benchmark.measure.overlap.exposure import exposure_of, new_combinations
from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.comparison.design import Clusters, Design, Sampling
from cgbench.benchmark.score.evaluation import exposure as exposure_module
from cgbench.benchmark.score.evaluation.exposure import (
    Matched,
    compare_exposure,
    length_strata,
)
from cgbench.benchmark.score.evaluation.scored import Binning
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError
from cgbench.text.columns import Column

TRAIN = ["a b c"] * 3 + ["d e"] * 3


@pytest.fixture
def seen(tmp_path):
    """The folder that ``overlap`` makes of some lines and a corpus."""

    def of(lines, corpus):
        (tmp_path / "corpus.txt").write_text("".join(f"{line}\n" for line in corpus))
        folder = tmp_path / f"seen{len(list(tmp_path.iterdir()))}"
        cgbench.overlap(lines, tmp_path / "corpus.txt", out=folder)
        return folder

    return of


def ngrams_of(words):
    return [tuple(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]


def test_a_new_combination_is_the_shortest_ngram_that_joins_two_pieces(seen):
    # a b | d e: the pieces are known, "b d" is not. a b c | a: "c a". d e: nothing is new.
    lines, known = ["a b d e", "a b c a", "d e"], KnownNgrams.learn(TRAIN)
    assert [new_combinations(line, known) for line in lines] == [[(2, 2)], [(3, 2)], []]
    for corpus, wanted in (
        ("x b d", [1, 0, np.nan]),
        ("c a b", [0, 1, np.nan]),
        ("a b", [0, 0, np.nan]),
    ):
        found = exposure_of(lines, seen(lines, [corpus]), TRAIN, 3)
        assert np.array_equal(found, np.array(wanted, float), equal_nan=True)
    # Without a training text: the longest span.
    assert exposure_of(
        ["a b d e", "d e"], seen(["a b d e", "d e"], ["b d e"]), None, 3
    ).tolist() == [0.75, 1]


@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_new_combinations_are_as_defined(min_count, seen):
    draw = random.Random(min_count)
    text = [" ".join(draw.choices("abcde", k=draw.randint(1, 7))) for _ in range(160)]
    train, lines, corpus = text[:60], text[60:100], text[100:]
    counts = Counter(ngram for line in train for ngram in ngrams_of(line.split()))
    known = {ngram for ngram, count in counts.items() if count >= min_count}
    there = {ngram for line in corpus for ngram in ngrams_of(line.split())}
    wanted = []
    for line in lines:
        words, begin, found = line.split(), 0, []
        for at in range(1, len(words)):
            if tuple(words[begin : at + 1]) not in known:
                size = next(
                    size
                    for size in range(1, at + 2)
                    if tuple(words[at + 1 - size : at + 1]) not in known
                )
                found.append(tuple(words[at + 1 - size : at + 1]) in there)
                begin = at
        wanted.append(np.mean(found) if found else np.nan)
    assert np.array_equal(
        exposure_of(lines, seen(lines, corpus), train, min_count), np.array(wanted), equal_nan=True
    )


def matched(metric, outputs, exposed, lengths, monkeypatch, rows=None):
    monkeypatch.setattr(exposure_module, "OTHERS", 1)
    statistics = metric.statistics(outputs)[None]
    results = [type("Result", (), {"statistics": statistics})()]
    own = Matched(
        metric, results, exposed, lengths, np.arange(len(lengths)) if rows is None else rows
    )
    return own, own.all_statistics([outputs])[0]


def test_others_are_weighted_to_the_lengths_of_the_exposed(monkeypatch):
    # Short pairs: 1 exposed (right), 3 others (1 right). Long pairs: 3 exposed (1 right), 1 other
    # (wrong).
    exposed = np.array([1, 0, 0, 0, 1, 1, 1, 0], bool)
    lengths = np.array([2, 2, 2, 2, 6, 6, 6, 6.0])
    metric = ExactMatch([["a"]] * 8)
    own, wide = matched(
        metric, ["a", "a", "b", "b", "a", "b", "b", "b"], exposed, lengths, monkeypatch
    )
    # Exposed: 2 of 4. Matched: (1 · 1/3 + 3 · 0) of 4. Without: others (1 of 4) and that, 4/3 of 8.
    assert own.value(wide) == pytest.approx([50, 100 / 12, 50 - 100 / 12, 100 * (1 + 1 / 3) / 8])
    # A stratum without others does not count: 1 of 1, 1 of 3, (1 + 1/3) of 4.
    assert own.compute(wide[:7].sum(axis=0, keepdims=True))[0] == pytest.approx(
        [100, 100 / 3, 200 / 3, 100 / 3]
    )
    assert "exposed:4|others:4|strata:2" in str(own.signature())


def context(metric, sampling, systems, results, comparison, exposure, lengths):
    """What the analysis gets: bins of pairs by their exposure, and a text of these lengths."""
    text = Column("text", ["word " * int(length) for length in lengths])
    return SimpleNamespace(
        metric=metric,
        sampling=sampling,
        systems=systems,
        results=results,
        comparison=comparison,
        binning=Binning(Feature("exposure", exposure)),
        text=text,
    )


def test_an_estimate_weighs_pairs_by_their_design(monkeypatch):
    exposed, lengths = np.array([1, 1, 0, 0], bool), np.full(4, 3.0)
    metric = ExactMatch([["a"]] * 4)
    inclusion, units = np.array([0.5, 0.25, 0.5, 0.25]), np.arange(4)
    sampling = Sampling(
        design=Design("pool", 12, inclusion, np.zeros(4, int), units, np.array([12]))
    )
    systems = [System("system", (["a", "b", "b", "a"],))]
    comparison = Comparison()
    monkeypatch.setattr(exposure_module, "FEWEST", 1)
    results = compare(metric, systems, comparison, sampling=sampling)
    found = compare_exposure(
        context(metric, sampling, systems, results, comparison, exposed * 0.5, lengths)
    )
    # Weights are 2, 4, 2 and 4: 2 of 6 exposed are right, 4 of 6 others.
    assert found.results[0].whole.figures["difference"].value == pytest.approx(100 * (2 - 4) / 6)


def test_a_corpus_score_is_computed_from_weighted_statistics(monkeypatch):
    lines = ["a b c d e", "a b c d", "d e f g a b", "x y z a b c", "b c d e", "a b c d e f"]
    outputs = ["a b c d e", "a b c e", "d e f g b a", "x y z a b", "b c d e", "a b d e f"]
    exposed, lengths = np.array([1, 1, 1, 0, 0, 0], bool), np.zeros(6)
    metric = Bleu([[line] for line in lines], preset="react")
    own, wide = matched(metric, outputs, exposed, lengths, monkeypatch)
    statistics = metric.statistics(outputs)
    sums = [
        statistics[exposed].sum(0),
        statistics[~exposed].sum(0),
        2 * statistics[~exposed].sum(0),
    ]
    ours, theirs, without = (metric.compute(one[None])[0, 0] for one in sums)
    assert own.value(wide) == pytest.approx([ours, theirs, ours - theirs, without])


def test_what_cannot_be_compared_is_left_out(monkeypatch):
    class Partial(ExactMatch):
        def counted(self, rows):
            return rows[rows > 0]

    class Grouped(ExactMatch):
        def collect(self, statistics, rows):
            return statistics[rows].reshape(2, -1)

    values = np.array([1, 1, 0, 0, 1, np.nan, 0, 0])
    monkeypatch.setattr(exposure_module, "FEWEST", 2)

    def found(metric, values):
        sampling = Sampling.of(metric, Clusters(("document",), (np.arange(8) // 2,)))
        results = [type("Result", (), {"statistics": metric.statistics(["a"] * 8)[None]})()]
        systems = [System("s", (["a"] * 8,))]
        return compare_exposure(
            context(metric, sampling, systems, results, Comparison(), values, np.ones(8))
        )

    made = found(Partial([["a"]] * 8), values)
    assert "clusters:document(4)" in str(made.signature) and "exposed:2|others:4" in str(
        made.signature
    )
    assert made.results[0].whole.examples == 6
    assert found(Partial([["a"]] * 8), np.ones(8)).startswith(
        "7 of 7 pairs are exposed; a comparison"
    )
    assert found(Partial([["a"]] * 8), np.eye(8)[1]).startswith(
        "1 of 7 pairs are exposed; a comparison"
    )
    assert (
        found(Grouped([["a"]] * 8), values)
        == "exact groups its examples: exposed pairs are not matched on length"
    )


@pytest.mark.parametrize(
    ("n", "share"), [(500, 0.2), (500, 0.8), (20_000, 0.2), (530, 0.2), (200, 0.05), (60, 0.2)]
)
def test_strata_have_the_nearest_others(n, share):
    draw = np.random.default_rng(2)
    lengths, exposed = draw.integers(1, 40, n).astype(float), draw.random(n) < share
    strata = length_strata(lengths, exposed)
    members = np.stack([stratum.holds(lengths) for stratum in strata])
    # Each exposed pair is in one stratum, others in at most one; each stratum has enough of both.
    assert (members[:, exposed].sum(axis=0) == 1).all() and (members.sum(axis=0) <= 1).all()
    assert (members[:, exposed].sum(axis=1) >= 1).all()
    assert (members[:, ~exposed].sum(axis=1) >= 5).all() and len(strata) <= 20
    # No pair outside is nearer to the exposed pairs of a stratum than those inside.
    for stratum, inside in zip(strata, members, strict=True):
        distances = np.maximum(np.maximum(stratum.low - lengths, lengths - stratum.high), 0)
        assert distances[~exposed & inside].max() < distances[~exposed & ~inside].min()


def test_few_exposed_pairs_are_matched_too():
    """Ten exposed pairs of 10 words: only others of about that length count."""
    lengths = np.array([10.0] * 10 + list(range(1, 31)) * 5)
    exposed = np.arange(160) < 10
    (stratum,) = length_strata(lengths, exposed)
    assert (stratum.low, stratum.high, stratum.reach) == (10, 10, 0)
    spread = np.where(exposed, np.linspace(2, 29, 160).round(), lengths)
    spread[:10] = [2, 5, 8, 11, 14, 17, 20, 23, 26, 29]
    assert len(length_strata(spread, exposed)) == 10


def simulate(seed, n, gain, runs, leaked_longer=True):
    """Pairs of which long ones are leaked more often; a system is right less often on long pairs,
    and more often by ``gain`` on leaked ones."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(4, 34, n).astype(float)
    leaked = draw.random(n) < (lengths / 60 if leaked_longer else 0.3)
    right = 0.65 - lengths / 80 + gain * leaked
    texts = [["right" if one else "wrong" for one in draw.random(n) < right] for _ in range(runs)]
    return lengths, np.where(leaked, 1.0, 0.0), texts


def estimate(seed, n, gain, runs):
    lengths, values, texts = simulate(seed, n, gain, runs)
    metric, systems = ExactMatch([["right"]] * n), [System("system", tuple(texts))]
    comparison = Comparison(samples=100)
    results = compare(metric, systems, comparison)
    found = compare_exposure(
        context(metric, Sampling.of(metric), systems, results, comparison, values, lengths)
    )
    return found, (results, values > 0)


@pytest.mark.parametrize(("gain", "runs"), [(0.0, 1), (0.25, 2)])
def test_the_estimate_covers_a_planted_gain_and_the_plain_difference_does_not(gain, runs):
    inside, naive = 0, []
    for seed in range(30):
        found, (results, exposed) = estimate(seed, 300, gain, runs)
        one = found.results[0].whole.figures["difference"]
        inside += one.ci_low <= 100 * gain <= one.ci_high
        means = [results[0].statistics[:, exposed == which, 0].mean() for which in (True, False)]
        naive.append(100 * (means[0] - means[1]))
    assert (
        inside >= 25
    )  # of 28.5 expected; fewer has a probability of 1%; lab/consistency_exposure.py has a grid
    assert abs(np.mean(naive) - 100 * gain) > 3  # the plain difference is that of lengths, too


def test_the_command_reports_bins_and_the_comparison(tmp_path):
    draw = random.Random(7)
    sides = [[f"{side}{draw.randrange(8)}" for side in "ab"] for _ in range(400)]
    train = [" ".join(side) for side in sides[:150]] * 3
    lines = [" ".join(a + b) for a, b in zip(sides[150:275], sides[275:], strict=True)]
    seen = tmp_path / "seen"
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"{line}\n" for line in lines[:40]))
    cgbench.overlap(lines, corpus, out=seen)
    outputs = [line if number < 60 else "x" for number, line in enumerate(lines)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        systems, breakdown = {"one": outputs, "two": lines}, {"exposure": seen, "train": train}
        found = cgbench.evaluate(
            "exact", systems, lines, by="exposure", breakdown=breakdown, paired=True
        )
    items = found.exposure.signature.items
    assert (
        sum(len(one.rows) for one, _ in found.results[0].bins) == items["exposed"] + items["others"]
    )
    assert items["exposed"] >= 40
    one, two = (result.whole.figures["difference"] for result in found.exposure.results)
    right = found.exposure.results[1].whole.figures["without"]  # no error seen is not none
    assert right.ci_low < 97 and right.value == right.ci_high == 100
    assert one.value > 30 and two.value == 0 and two.difference == pytest.approx(-one.value)
    assert (
        "exact difference" in found.report("markdown")
        and f"exposed:{items['exposed']}" in found.report()
    )
    assert found.to_json()[0]["exposure"]["figures"]["difference"]["value"] == pytest.approx(
        one.value
    )
    with pytest.raises(InputError, match="needs the corpus; give exposure"):
        cgbench.evaluate(
            "exact", {"one": outputs}, lines, by="exposure", breakdown={"train": train}
        )
    with pytest.raises(InputError, match="exposure needs by"):
        cgbench.evaluate("exact", {"one": outputs}, lines, breakdown={"exposure": seen})
