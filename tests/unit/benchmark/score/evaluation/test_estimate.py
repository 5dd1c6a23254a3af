"""Estimates for a population: textbook formulas, every possible sample of a small population,
simulated draws.
"""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from few import few

from cgbench.benchmark.candidates.inclusion import document_inclusion
from cgbench.benchmark.measure.metrics.bleu_chrf_ter import Bleu, ChrF
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison, compare
from cgbench.benchmark.score.comparison.design import Clusters, Design, Sampling
from cgbench.benchmark.score.comparison.variance import covariance_of_design
from cgbench.benchmark.score.evaluation import sampling as population
from cgbench.benchmark.score.evaluation.request import ExampleOptions, ScoreRequest
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError


class Mean(Metric):
    """The mean of the hypotheses, which are numbers."""

    name, bottom, top = "mean", None, None

    def __init__(self, n):
        super().__init__([["x"]] * n)

    def statistics(self, hypotheses):
        return np.array([[float(one), 1.0] for one in hypotheses])

    def compute(self, sums):
        return sums[:, :1] / sums[:, 1:]


def stratified(sizes, strata, units=None):
    """The design of a stratified sample with these strata."""
    strata = np.array(strata)
    inclusion = (np.bincount(strata) / sizes)[strata]
    units = np.arange(len(strata)) if units is None else np.array(units)
    return Design("candidates", int(sum(sizes)), inclusion, strata, units, np.array(sizes))


def variance(metric, values, design):
    weighted = values * design.weights[:, None]
    found = covariance_of_design(metric, [weighted[None]], np.arange(metric.n), design)
    return found.variance(lambda part: part[:, 0, 0])


def test_a_stratified_mean_has_the_variance_of_the_textbook():
    rng = np.random.default_rng(1)
    sizes, strata = [40, 25, 9], np.repeat([0, 1, 2], [6, 5, 3])
    values, design = rng.normal(size=14) * (1 + strata), stratified(sizes, strata)
    found, degrees = variance(Mean(14), np.stack([values, np.ones(14)], 1), design)
    parts = [
        (size / 74) ** 2 * (1 - len(own) / size) * own.var(ddof=1) / len(own)
        for size, own in ((size, values[strata == number]) for number, size in enumerate(sizes))
    ]  # Cochran (1977), 5.13
    assert found[0] == pytest.approx(sum(parts))
    of = sum(parts) ** 2 / sum(
        part**2 / n for part, n in zip(parts, (5, 4, 2), strict=True)
    )  # Satterthwaite
    assert degrees[0] == pytest.approx(of)


def test_over_every_sample_estimate_and_variance_are_unbiased():
    """All 6 * 10 samples of two strata of four and five values."""
    strata, values = [np.array([1.0, 4, 9, 7]), np.array([0.0, 2, 2, 5, 20])], []
    truth = np.concatenate(strata).mean()
    for one in itertools.combinations(range(4), 2):
        for other in itertools.combinations(range(5), 3):
            drawn = np.concatenate([strata[0][list(one)], strata[1][list(other)]])
            design = stratified([4, 5], [0, 0, 1, 1, 1])
            estimate = drawn @ design.weights / design.weights.sum()
            values.append(
                (estimate, variance(Mean(5), np.stack([drawn, np.ones(5)], 1), design)[0][0])
            )
    estimates, variances = map(np.array, zip(*values, strict=True))
    assert len(values) == 60 and estimates.mean() == pytest.approx(truth)
    assert variances.mean() == pytest.approx(estimates.var())


def test_a_census_has_no_variance_and_its_interval_is_the_score():
    systems = [System("a", (["1", "2", "3", "5", "8", "13"],))]
    sampling = Sampling(design=stratified([4, 2], [0, 0, 0, 0, 1, 1]))
    scored = compare(Mean(6), systems, Comparison(confidence=True), sampling=sampling)
    score = scored[0].whole.figures["score"]
    assert score.value == pytest.approx(32 / 6)
    assert score.ci_low == score.ci_high == score.value
    clusters = Clusters(("c",), (np.array([0, 0, 1, 1, 2, 2]),))  # drawn from many more clusters
    sampling = Sampling(clusters, sampling.design)
    score = compare(Mean(6), systems, Comparison(confidence=True), sampling=sampling)[0]
    assert score.whole.figures["score"].ci_low < 32 / 6 < score.whole.figures["score"].ci_high


def texts(n, seed):
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(40)]
    references = [
        [words[one] for one in rng.integers(0, 40, rng.integers(5, 15))] for _ in range(n)
    ]
    wrong = rng.random(n) * 0.7

    def system(extra):
        return [
            " ".join(
                words[rng.integers(40)] if rng.random() < error + extra else word
                for word in reference
            )
            for reference, error in zip(references, wrong, strict=True)
        ]

    return [[" ".join(reference)] for reference in references], [system(0.0), system(0.05)], wrong


@pytest.mark.parametrize("kind", few([Bleu, ChrF], Bleu))
def test_corpus_scores_of_a_census_of_strata_are_those_of_the_corpus_and_intervals_hold_them(kind):
    references, systems, wrong = texts(600, 3)
    metric = kind(references)
    statistics = np.stack([metric.statistics(one) for one in systems])
    truth = metric.compute(statistics.sum(axis=1))[:, 0]
    stratum = (np.argsort(np.argsort(wrong)) * 4) // 600
    rng, held, tested, n = np.random.default_rng(4), [], [], np.array([15, 25, 35, 25])
    for _ in range(150):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(stratum == h), n[h], replace=False) for h in range(4)]
        )
        of_sample = kind([references[row] for row in rows])
        sampling = Sampling(design=stratified([150] * 4, stratum[rows]))
        named = [System(str(k), ([one[row] for row in rows],)) for k, one in enumerate(systems)]
        scored = compare(
            of_sample, named, Comparison(confidence=True, paired="calibrated"), sampling=sampling
        )
        figures = [one.whole.figures[of_sample.figures[0]] for one in scored]
        held += [
            one.ci_low <= value <= one.ci_high for one, value in zip(figures, truth, strict=True)
        ]
        gap = figures[1]
        tested.append(gap.difference_low <= truth[1] - truth[0] <= gap.difference_high)
        assert (gap.p_value < 0.05) == (gap.difference_low > 0 or gap.difference_high < 0)
    assert 0.9 < np.mean(held) < 0.985 and 0.89 < np.mean(tested) <= 0.99


def test_a_single_draw_from_a_stratum_shows_no_variance():
    sampling, systems = (
        Sampling(design=stratified([60, 80], [0, 0, 0, 1])),
        [System("a", (["3", "9", "4", "20"],))],
    )
    scored = compare(Mean(4), systems, Comparison(confidence=True), sampling=sampling)[0]
    assert scored.whole.figures["score"].ci_low is None


def test_whole_documents_are_the_units_of_the_variance():
    rng = np.random.default_rng(6)
    units = np.repeat(np.arange(12), 5)
    values = np.repeat(rng.normal(size=12), 5)
    design = Design("window", 200, np.full(60, 0.3), np.zeros(60, int), units, np.array([40]))
    found = variance(Mean(60), np.stack([values, np.ones(60)], 1), design)[0]
    assert found[0] == pytest.approx((1 - 12 / 40) * values[::5].var(ddof=1) / 12)


def test_a_bin_is_a_domain_whose_size_varies():
    """The mean of a domain is a ratio: compared with Taylor linearisation of the ratio (Cochran
    1977, 5A.14).
    """
    rng = np.random.default_rng(7)
    strata, sizes, n = np.repeat([0, 1], [900, 600]), np.array([6000, 9000]), 1500
    values, inside = rng.normal(5, 1, n), rng.random(n) < 0.4
    design, metric = stratified(sizes, strata), Mean(n)
    weighted = np.stack([values, np.ones(n)], 1) * design.weights[:, None]
    found = covariance_of_design(metric, [weighted[None]], np.flatnonzero(inside), design)
    residual = inside * (
        values - (values * design.weights)[inside].sum() / design.weights[inside].sum()
    )
    expected = sum(
        size**2
        * (1 - (strata == h).sum() / size)
        * residual[strata == h].var(ddof=1)
        / (strata == h).sum()
        for h, size in enumerate(sizes)
    )
    expected /= design.weights[inside].sum() ** 2
    assert found.variance(lambda part: part[:, 0, 0])[0][0] == pytest.approx(expected, rel=0.01)


ONE, THREE, _, _ = document_inclusion(
    np.array([1, 3, 1, 1]), 3
).tolist()  # documents of the window by their pairs
CANDIDATES = {
    "line": [3, 5, 8, 9, 12, 14, 20, 21],
    "stage": ["rest", "window", "selected", "selected", "window", "window", "selected", "dropped"],
    "document": ["a", "a", "b", "b", "b", "c", "d", "d"],
    "stratum": [1, 1, 1, 1, 2, 2, 2, 2],
    "inclusion": [0.0, ONE, THREE, THREE, THREE, ONE, ONE, 0.0],
    "sample_inclusion": [0.5] * 4 + [0.75] * 4,
}


def design_of(monkeypatch, lines, drawn="test", pool=8, metric=None, **asked):
    """The design of the drawn lines of a release with these candidates, drawn by document."""
    config = {"window": 6, "select": 3, "draw_by": "document"}
    release = SimpleNamespace(
        folder=Path("r"),
        configuration=config,
        manifest={"counts": {"pool": pool + 2, "empty": 2}},
        table=lambda: pyarrow.table(CANDIDATES),
    )
    monkeypatch.setattr(population, "release_files", lambda folder, name: {"table": name})
    monkeypatch.setattr(
        population,
        "table_column",
        lambda *asked: SimpleNamespace(values=[str(one) for one in lines]),
    )
    monkeypatch.setattr(ExampleOptions, "drawn_set", lambda *asked: drawn)
    test = SimpleNamespace(metric=metric or Mean(len(lines)), examples=None)
    request = ScoreRequest(**{"metric": "exact", "systems": "s", "release": release, **asked})
    return population.design_of_estimate(request, test)


def test_the_units_of_a_test_set_are_its_documents_and_those_of_a_sample_its_pairs(monkeypatch):
    design = design_of(monkeypatch, [20, 9, 8], estimate="window")
    assert (
        design.inclusion.tolist() == [ONE, THREE, THREE]
        and design.pairs == 6
        and design.sizes.tolist() == [4]
    )
    assert design.units.tolist() == [1, 0, 0] and design.strata.tolist() == [0, 0, 0]
    design = design_of(monkeypatch, [3, 21, 12, 5], "sample", estimate="candidates")
    assert design.inclusion.tolist() == [0.5, 0.75, 0.75, 0.5] and design.strata.tolist() == [
        0,
        1,
        1,
        0,
    ]
    assert (
        design.pairs == 8
        and sorted(design.units) == [0, 1, 2, 3]
        and design.sizes.tolist() == [4, 4]
    )
    design = design_of(
        monkeypatch, [3, 21, 12, 5], "sample", estimate="pool"
    )  # every pair is a candidate
    assert design.pairs == 8


def test_what_an_estimate_cannot_compare_is_refused(monkeypatch):
    groups = type("Groups", (Mean,), {"collect": lambda self, statistics, rows: statistics})
    for asked, said in (
        (
            {"pool": 9, "drawn": "sample", "estimate": "pool"},
            "1 of the 9 pairs of the pool are not candidates",
        ),
        ({"estimate": "candidates"}, "was not drawn from 2 of the 8 candidates"),
        ({"paired": "randomization", "estimate": "window"}, "takes examples as drawn alike"),
        (
            {"control_systems": {"a": "b"}, "estimate": "window"},
            "control_systems compares the examples as they are",
        ),
        (
            {"differences": True, "estimate": "window"},
            "differences compares the examples as they are",
        ),
        ({"metric": groups(2), "estimate": "window"}, "mean scores groups of examples"),
    ):
        with pytest.raises(InputError, match=said):
            design_of(monkeypatch, [8, 9], **asked)
    with pytest.raises(InputError, match="a pair is not among the candidates"):
        design_of(monkeypatch, [8, 10], estimate="window")
    assert design_of(monkeypatch, [8, 9], estimate=None) is None
