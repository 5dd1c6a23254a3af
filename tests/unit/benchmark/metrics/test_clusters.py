"""Examples that belong together: the variance of clusters, in scores, tests and drops."""

import itertools
import math

import numpy as np
import pytest

from cgbench import evaluate
from cgbench.benchmark.metrics.evaluate import cter
from cgbench.benchmark.metrics.metric import Clusters, Metric
from cgbench.benchmark.metrics.variance import covariance_of_clusters
from cgbench.errors import InputError, InputWarning

R = pytest.mark.filterwarnings("ignore::cgbench.errors.InputWarning")


class Mean(Metric):
    """The mean of values: its clustered variance is known from econometrics."""

    def statistics(self, hypotheses):
        values = np.array(hypotheses, float)
        return np.stack([values, np.ones_like(values)], axis=1)

    def compute(self, sums):
        return sums[:, :1] / sums[:, 1:]


def error_of(values, *ways):
    """Standard error and degrees of freedom of a mean."""
    metric = Mean([["-"]] * len(values))
    clusters = Clusters(("a", "b")[: len(ways)], tuple(map(np.asarray, ways)))
    found = covariance_of_clusters(metric, [metric.statistics(values)[None]], np.arange(len(values)), clusters)
    variance, degrees = found.variance(lambda part: part[0, 0, 0])
    return math.sqrt(variance), float(degrees)


def leave_out(values, labels):
    """The jackknife as its definition says: score without each cluster in turn."""
    means = [np.mean([v for v, one in zip(values, labels, strict=True) if one != out]) for out in sorted(set(labels))]
    return (len(means) - 1) / len(means) * sum((mean - np.mean(means)) ** 2 for mean in means)


def test_clusters_of_equal_size_have_the_robust_standard_error_of_econometrics():
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(12), 5)
    values = rng.standard_normal(60) + rng.standard_normal(12)[labels]
    sums = np.bincount(labels, values - values.mean())
    cr1 = math.sqrt(12 / 11 * np.sum(sums**2)) / 60  # statsmodels: cov_type="cluster" of a regression on a constant
    assert error_of(values, labels) == (pytest.approx(cr1, rel=1e-12), pytest.approx(11))


def test_an_example_per_cluster_is_the_usual_standard_error():
    values = np.random.default_rng(2).standard_normal(40)
    assert error_of(values, np.arange(40))[0] == pytest.approx(values.std(ddof=1) / math.sqrt(40), rel=1e-12)


def test_unequal_clusters_are_left_out_one_by_one_and_worth_fewer():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(6), [20, 10, 7, 5, 4, 2])
    values = rng.standard_normal(48) + rng.standard_normal(6)[labels]
    error, degrees = error_of(values, labels)
    assert error**2 == pytest.approx(leave_out(values, labels), rel=1e-12)
    assert degrees == pytest.approx(48**2 / np.sum(np.bincount(labels) ** 2) - 1)  # Kish's effective number


def test_two_ways_add_and_take_off_what_both_share():
    rng = np.random.default_rng(4)
    first, second = np.repeat(np.arange(10), 8), rng.permutation(np.resize(np.arange(16), 80))
    values = rng.standard_normal(80) + rng.standard_normal(10)[first] + rng.standard_normal(16)[second]
    both = [f"{a} {b}" for a, b in zip(first, second, strict=True)]
    one, other, shared = (leave_out(values, list(way)) for way in (first, second, both))
    error, degrees = error_of(values, first, second)
    assert error**2 == pytest.approx(max(one, other, one + other - shared), rel=1e-12)
    assert 9 <= degrees <= 9 + 15


def test_a_cluster_of_everything_has_no_error():
    metric = Mean([["-"]] * 5)
    one = Clusters(("a",), (np.zeros(5, np.int64),))
    assert covariance_of_clusters(metric, [metric.statistics(range(5))[None]], np.arange(5), one) is None


DOCUMENTS = [f"d{number}" for number in range(12) for _ in range(5)]


def document_texts(system, seed=0):
    """Hypotheses that are right or wrong by document, much the same with every seed."""
    skill = np.random.default_rng(system).random(12)
    rng = np.random.default_rng([system, seed])
    return ["yes" if 0.2 * rng.random() + 0.8 * skill[int(one[1:])] < 0.5 else "no" for one in DOCUMENTS]


def table(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("document\treference\n" + "".join(f"{one}\tyes\n" for one in DOCUMENTS))
    return path


@R
@pytest.mark.parametrize("runs", [1, 3])
def test_score_by_document_knows_its_design_effect_and_signs_it(tmp_path, runs):
    systems = {name: [document_texts(start, seed) for seed in range(runs)] for start, name in enumerate("ab")}
    given = {"references": f"{table(tmp_path)}:reference", "paired": True}
    plain = evaluate("exact", systems, **given)
    found = evaluate("exact", systems, cluster=["document"], **given)
    ours, alone = (one.scored.results[1].whole.figures["exact"] for one in (found, plain))
    assert ours.value == alone.value and ours.difference == alone.difference
    assert ours.design_effect > 1.5 and ours.ci_high - ours.ci_low > alone.ci_high - alone.ci_low
    assert (ours.p_value < 0.05) == (not ours.difference_low < 0 < ours.difference_high)
    assert "clusters:document(12)|" in str(found.scored.signature) and "|bs:" not in str(found.scored.signature)
    assert "|cl:document(12)|" in found.scored.signature.format(short=True)


@R
@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_corpus_metrics_are_scored_without_each_document_in_turn(tmp_path, metric):
    rng = np.random.default_rng(6)
    references = [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in DOCUMENTS]
    hypotheses = [" ".join(word if rng.random() < 0.8 else "x" for word in line.split()) for line in references]
    (path := tmp_path / "t.tsv").write_text("document\n" + "".join(f"{one}\n" for one in DOCUMENTS))
    found = evaluate(metric, hypotheses, references, cluster=["document"], table=path, confidence=True)
    score = found.scored.results[0].whole.figures[found.scored.metric.figures[0]]
    without = []
    for out in dict.fromkeys(DOCUMENTS):
        kept = [number for number, one in enumerate(DOCUMENTS) if one != out]
        one = evaluate(metric, [hypotheses[number] for number in kept], [references[number] for number in kept])
        without.append(one.scored.results[0].whole.figures[found.scored.metric.figures[0]].value)
    variance = 11 / 12 * np.sum((np.array(without) - np.mean(without)) ** 2)
    width = 2 * 2.2009851600829 * math.sqrt(variance)  # Student's t, 11 degrees of freedom
    assert score.ci_high - score.ci_low == pytest.approx(width, rel=0.02)  # bent a little by the limits 0 and 100


SOURCES = [f"the {context} saw {compound}" for compound in ("a cat", "a dog", "a cow") for context in "xyxyz"]
COMPOUNDS = [compound for compound in ("a cat", "a dog", "a cow") for _ in range(5)]


@R
def test_cter_is_clustered_by_compound_and_context(tmp_path):
    (lexicon := tmp_path / "lexicon").write_text("a\tA\ncat\tCAT\ndog\tDOG\ncow\tCOW\n")
    (atoms := tmp_path / "atoms").write_text("DET\ta\ta\nN\tcat\tcat\nN\tdog\tdog\nN\tcow\tcow\n")
    options = {"lexicon": lexicon, "atoms": atoms, "keep_blanks": True, "confidence": True}
    words = {"x": "A CAT", "y": "A DOG", "z": "A COW"}
    hypotheses = [words[one.split()[1]] for one in SOURCES]
    found = cter(hypotheses, SOURCES, COMPOUNDS, **options)
    assert "clusters:compound(3)+context(3)|" in str(found.scored.signature)
    first, second = found.scored.metric.clusters.labels
    assert [len(set(group)) for group in (first, second)] == [3, 3]
    assert len({(a, b) for a, b in zip(second, (one.split()[1] for one in SOURCES), strict=True)}) == 3
    # Groups are of a compound: leaving out a context changes rows alone.
    aggregate = found.scored.results[0].whole.figures["aggregate"]
    assert aggregate.design_effect is None
    by_compound = cter(hypotheses, SOURCES, COMPOUNDS, cluster=["compound"], **options)
    assert "clusters:compound(3)|" in str(by_compound.scored.signature)


@R
def test_drops_and_all_pairs_take_clusters():
    sources = [f"s{number // 3}" for number in range(60)]
    systems = {name: [document_texts(start, seed) for seed in (1, 2)] for start, name in enumerate("abc")}
    given = {"sources": sources, "cluster": ["source"], "control_systems": systems,
             "control_references": ["yes"] * 60, "control_sources": sources}  # fmt: skip
    found = evaluate("exact", systems, ["yes"] * 60, all_pairs=True, **given)
    pairs = itertools.chain(*(one.whole.figures["exact"].pairs for one in found.scored.results))
    assert all((one.p_value < 0.05) == (not one.difference_low < 0 < one.difference_high) for one in pairs)
    assert found.scored.drops["b"]["exact"].ci_low is not None


def test_repeated_sources_that_are_not_clusters_are_warned_of():
    texts = ["yes" if number // 5 % 2 else "no" for number in range(60)]
    with pytest.warns(InputWarning, match=r"48 examples repeat the source .* cluster='source' .* times as wide"):
        evaluate("exact", texts, ["yes"] * 60, sources=DOCUMENTS, confidence=True)


def test_what_cannot_be_clustered_is_one_line(tmp_path):
    texts = document_texts(1)
    with pytest.raises(InputError, match="cluster='document' needs a table"):
        evaluate("exact", texts, ["yes"] * 60, cluster=["document"])
    with pytest.raises(InputError, match="has no column 'paragraph'|no column.*paragraph"):
        evaluate("exact", texts, ["yes"] * 60, cluster=["paragraph"], table=table(tmp_path))
    with pytest.raises(InputError, match="cluster='source' needs the sources"):
        evaluate("exact", texts, ["yes"] * 60, cluster=["source"])
    with pytest.raises(InputError, match="at most two ways"):
        evaluate("exact", texts, ["yes"] * 60, cluster=["a", "b", "c"])
    with pytest.raises(InputError, match="treats examples as independent"):
        evaluate(
            "exact", {"a": texts, "b": texts}, ["yes"] * 60, sources=DOCUMENTS, cluster=["source"], paired="mcnemar"
        )
