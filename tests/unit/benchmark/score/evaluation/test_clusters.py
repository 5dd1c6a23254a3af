"""Examples that belong together: the variance of clusters, in scores, tests and drops."""

import itertools
import math
import warnings

import numpy as np
import pytest

from cgbench import evaluate, exact_match
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.design import Clusters
from cgbench.benchmark.score.comparison.variance import covariance_of_clusters
from cgbench.benchmark.score.evaluation.evaluate import cter
from cgbench.benchmark.score.evaluation.request import Control
from cgbench.benchmark.score.imported.import_scores import import_scores
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
    found = covariance_of_clusters(
        metric, [metric.statistics(values)[None]], np.arange(len(values)), clusters
    )
    variance, degrees = found.variance(lambda part: part[0, 0, 0])
    return math.sqrt(variance), float(degrees)


def leave_out(values, labels):
    """The jackknife as its definition says: score without each cluster in turn."""
    means = [
        np.mean([v for v, one in zip(values, labels, strict=True) if one != out])
        for out in sorted(set(labels))
    ]
    return (len(means) - 1) / len(means) * sum((mean - np.mean(means)) ** 2 for mean in means)


def test_clusters_of_equal_size_have_the_robust_standard_error_of_econometrics():
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(12), 5)
    values = rng.standard_normal(60) + rng.standard_normal(12)[labels]
    sums = np.bincount(labels, values - values.mean())
    cr1 = (
        math.sqrt(12 / 11 * np.sum(sums**2)) / 60
    )  # statsmodels: cov_type="cluster" of a regression on a constant
    assert error_of(values, labels) == (pytest.approx(cr1, rel=1e-12), pytest.approx(11))


def test_an_example_per_cluster_is_the_usual_standard_error():
    values = np.random.default_rng(2).standard_normal(40)
    assert error_of(values, np.arange(40))[0] == pytest.approx(
        values.std(ddof=1) / math.sqrt(40), rel=1e-12
    )


def test_unequal_clusters_are_left_out_one_by_one_and_worth_fewer():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(6), [20, 10, 7, 5, 4, 2])
    values = rng.standard_normal(48) + rng.standard_normal(6)[labels]
    error, degrees = error_of(values, labels)
    assert error**2 == pytest.approx(leave_out(values, labels), rel=1e-12)
    assert degrees == pytest.approx(
        48**2 / np.sum(np.bincount(labels) ** 2) - 1
    )  # Kish's effective number


def test_two_ways_add_and_take_off_what_both_share():
    rng = np.random.default_rng(7)
    first, second = np.repeat(np.arange(10), 8), rng.permutation(np.resize(np.arange(16), 80))
    values = (
        rng.standard_normal(80) + rng.standard_normal(10)[first] + rng.standard_normal(16)[second]
    )
    both = [f"{a} {b}" for a, b in zip(first, second, strict=True)]
    one, other, shared = (leave_out(values, list(way)) for way in (first, second, both))
    error, degrees = error_of(values, first, second)
    assert error**2 == pytest.approx(max(one, other, one + other - shared), rel=1e-12)
    # Satterthwaite's degrees of freedom, from 9 and 15 of the two ways.
    expected = max(one, other, one + other - shared) ** 2 / (one**2 / 9 + other**2 / 15)
    assert degrees == pytest.approx(min(max(expected, 9), 9 + 15))


def test_a_cluster_of_everything_has_no_error():
    metric = Mean([["-"]] * 5)
    one = Clusters(("a",), (np.zeros(5, np.int64),))
    assert (
        covariance_of_clusters(metric, [metric.statistics(range(5))[None]], np.arange(5), one)
        is None
    )


DOCUMENTS = [f"d{number}" for number in range(12) for _ in range(5)]


def figure_of(found, system=0, name="exact"):
    return found.scored.results[system].whole.figures[name]


def document_texts(system, seed=0):
    """Hypotheses that are right or wrong by document, much the same with every seed."""
    skill = np.random.default_rng(system).random(12)
    rng = np.random.default_rng([system, seed])
    return [
        "yes" if 0.2 * rng.random() + 0.8 * skill[int(one[1:])] < 0.5 else "no" for one in DOCUMENTS
    ]


def table(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("document\treference\n" + "".join(f"{one}\tyes\n" for one in DOCUMENTS))
    return path


@R
@pytest.mark.parametrize("runs", [1, 3])
def test_score_by_document_knows_its_design_effect_and_signs_it(tmp_path, runs):
    systems = {
        name: [document_texts(start, seed) for seed in range(runs)]
        for start, name in enumerate("ab")
    }
    given = {"references": f"{table(tmp_path)}:reference", "paired": True}
    plain = evaluate("exact", systems, **given)
    found = evaluate(
        "exact", systems, comparison={"cluster": ["column:document", "document"]}, **given
    )
    ours, alone = (figure_of(one, 1) for one in (found, plain))
    assert ours.value == alone.value and ours.difference == alone.difference
    assert ours.design_effect > 1.5 and ours.ci_high - ours.ci_low > alone.ci_high - alone.ci_low
    assert (ours.p_value < 0.05) == (not ours.difference_low < 0 < ours.difference_high)
    assert "clusters:document(12)|" in str(found.scored.signature) and "|bs:" not in str(
        found.scored.signature
    )
    assert "|cl:document(12)|" in found.scored.signature.format(short=True)


@R
@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_corpus_metrics_are_scored_without_each_document_in_turn(tmp_path, metric):
    rng = np.random.default_rng(6)
    references = [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in DOCUMENTS]
    hypotheses = [
        " ".join(word if rng.random() < 0.8 else "x" for word in line.split())
        for line in references
    ]
    (path := tmp_path / "t.tsv").write_text("document\n" + "".join(f"{one}\n" for one in DOCUMENTS))
    found = evaluate(
        metric, hypotheses, references, cluster=["document"], confidence=True, table=path
    )
    name = found.scored.metric.figures[0]
    score = figure_of(found, name=name)
    without = []
    for out in dict.fromkeys(DOCUMENTS):
        kept = [number for number, one in enumerate(DOCUMENTS) if one != out]
        one = evaluate(
            metric, [hypotheses[number] for number in kept], [references[number] for number in kept]
        )
        without.append(figure_of(one, name=name).value)
    variance = 11 / 12 * np.sum((np.array(without) - np.mean(without)) ** 2)
    width = 2 * 2.2009851600829 * math.sqrt(variance)  # Student's t, 11 degrees of freedom
    assert score.ci_high - score.ci_low == pytest.approx(
        width, rel=0.02
    )  # bent a little by the limits 0 and 100


SOURCES = [
    f"the {context} saw {compound}"
    for compound in ("a cat", "a dog", "a cow")
    for context in "xyxyz"
]
COMPOUNDS = [compound for compound in ("a cat", "a dog", "a cow") for _ in range(5)]


@pytest.fixture
def options(tmp_path):
    """What CTER needs for them."""
    (tmp_path / "lexicon").write_text("a\tA\ncat\tCAT\ndog\tDOG\ncow\tCOW\n")
    (tmp_path / "atoms").write_text("DET\ta\ta\nN\tcat\tcat\nN\tdog\tdog\nN\tcow\tcow\n")
    return {"lexicon": tmp_path / "lexicon", "atoms": tmp_path / "atoms", "keep_blanks": True}


@R
def test_cter_is_clustered_by_compound_and_context(options):
    words = {"x": "A CAT", "y": "A DOG", "z": "A COW"}
    hypotheses = [words[one.split()[1]] for one in SOURCES]
    found = cter(hypotheses, SOURCES, COMPOUNDS, comparison={"confidence": True}, **options)
    assert "clusters:compound(3)+context(3)|" in str(found.scored.signature)
    first, second = found.scored.sampling.clusters.labels
    assert [len(set(group)) for group in (first, second)] == [3, 3]
    assert (
        len({(a, b) for a, b in zip(second, (one.split()[1] for one in SOURCES), strict=True)}) == 3
    )
    # Groups are of a compound: leaving out a context changes rows alone.
    assert figure_of(found, name="aggregate").design_effect is None
    by_compound = cter(
        hypotheses, SOURCES, COMPOUNDS, comparison={"cluster": ["compound"]}, **options
    )
    assert "clusters:compound(3)|" in str(by_compound.scored.signature)
    alone = cter(
        ["A CAT"] * 15, COMPOUNDS, COMPOUNDS, comparison={"confidence": True}, **options
    )  # one context
    assert "clusters:compound(3)|" in str(alone.scored.signature)


@R
def test_groups_that_clusters_cut_have_the_variance_of_the_other_clusters_or_none(options):
    sources = [
        f"the {context} saw {compound}"
        for compound in dict.fromkeys(COMPOUNDS)
        for context in "vwxyz"
    ]
    right = [f"A {one.split()[1].upper()}" for one in COMPOUNDS]
    systems = {"a": right, "b": ["A CAT"] * 15}

    def aggregate(*cluster):
        found = cter(
            systems, sources, COMPOUNDS, comparison={"cluster": cluster, "paired": True}, **options
        )
        return figure_of(found, 1, "aggregate")

    alone = aggregate("context")  # contexts cut through all groups: there is no error to be known
    assert (alone.ci_low, alone.p_value, alone.difference_low, alone.design_effect) == (None,) * 4
    assert alone.difference == pytest.approx(200 / 3)
    ways = [
        aggregate(*cluster)
        for cluster in (["compound"], ["compound", "context"], ["context", "compound"])
    ]
    assert ways[0].ci_low is not None and ways[0].p_value is None  # three compounds
    assert len({(one.ci_low, one.ci_high, one.p_value) for one in ways}) == 1


@pytest.mark.parametrize(("count", "tested"), [(3, False), (4, True)])
@pytest.mark.parametrize("seeds", [1, 2])
def test_three_clusters_are_too_few_for_a_test(count, tested, seeds):
    """With several seeds, tests with two or three clusters reject too often."""
    rng = np.random.default_rng(count)
    sources = [f"s{number % count}" for number in range(40)]
    systems = {
        name: [(rng.random(40) < rate).astype(float).tolist() for _ in range(seeds)]
        for name, rate in (("a", 0.1), ("b", 0.9))
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = import_scores(
            systems,
            texts={"sources": sources},
            comparison={"cluster": ["source"], "paired": True},
        )
    score = found.scored.results[1].whole.figures["score"]
    assert (score.p_value is not None, score.difference_low is not None) == (tested, tested)
    assert score.ci_low is not None and (tested or score.mark == "")
    few = "3 clusters by source are too few for a test, which needs at least 4"
    assert any(few in str(warning.message) for warning in caught) is not tested


@R
def test_drops_and_all_pairs_take_clusters():
    sources = [f"s{number // 3}" for number in range(60)]
    systems = {
        name: [document_texts(start, seed) for seed in (1, 2)] for start, name in enumerate("abc")
    }
    found = evaluate(
        "exact",
        systems,
        ["yes"] * 60,
        sources=sources,
        comparison={"cluster": ["source"], "all_pairs": True},
        control=Control(systems, ["yes"] * 60, control_sources=sources),
    )
    pairs = itertools.chain(*(one.whole.figures["exact"].pairs for one in found.scored.results))
    assert all(
        (one.p_value < 0.05) == (not one.difference_low < 0 < one.difference_high) for one in pairs
    )
    assert found.scored.drops["b"]["exact"].ci_low is not None


def test_repeated_sources_that_are_not_clusters_are_warned_of():
    texts = ["yes" if number // 5 % 2 else "no" for number in range(60)]
    with pytest.warns(
        InputWarning, match=r"48 examples repeat the source .* cluster='source' .* times as wide"
    ):
        evaluate("exact", texts, ["yes"] * 60, sources=DOCUMENTS, comparison={"confidence": True})


def test_what_cannot_be_clustered_is_one_line(tmp_path):
    systems = dict.fromkeys("ab", document_texts(1))
    for cluster, more, said in (
        (["document"], {}, "cluster='document' needs a table"),
        (
            ["paragraph"],
            {"table": table(tmp_path)},
            "has no column 'paragraph'|no column.*paragraph",
        ),
        (["source"], {}, "cluster='source' needs the sources"),
        (["a", "b", "c"], {}, "at most two ways"),
        (["source"], {"sources": DOCUMENTS, "paired": "mcnemar"}, "treats examples as independent"),
    ):
        with pytest.raises(InputError, match=said):
            evaluate("exact", systems, ["yes"] * 60, comparison={"cluster": cluster}, **more)


@R
def test_a_cluster_per_example_is_the_error_of_independent_examples(tmp_path):
    texts = document_texts(1)
    (path := tmp_path / "t.tsv").write_text(
        "own\n" + "".join(f"{number}\n" for number in range(60))
    )
    score = figure_of(evaluate("exact", texts, ["yes"] * 60, cluster=["own"], table=path))
    assert score.design_effect == pytest.approx(1)
    assert score.ci_low is not None  # clusters are named to know an interval


def test_one_cluster_of_all_and_an_example_of_none_are_refused_with_the_place(tmp_path):
    texts, references = document_texts(1), ["yes"] * 60
    with pytest.raises(InputError, match="all 60 examples are in one cluster"):
        evaluate("exact", texts, references, sources=["s"] * 60, comparison={"cluster": ["source"]})
    (path := tmp_path / "t.tsv").write_text("id\tdocument\n1\td\n2\t\n" + "3\te\n" * 58)
    with pytest.raises(
        InputError, match=r"t.tsv:document, row 2: it is empty; name the cluster of each example"
    ):
        evaluate(
            "exact",
            texts,
            references,
            examples={"table": path},
            comparison={"cluster": ["document"]},
        )


@R
def test_a_bin_of_one_cluster_has_a_score_without_interval_and_test(tmp_path):
    systems = {name: document_texts(start) for start, name in enumerate("ab")}
    (path := tmp_path / "t.tsv").write_text(
        "document\tgenre\n"
        + "".join(f"{one}\t{'news' if one == 'd0' else 'books'}\n" for one in DOCUMENTS)
    )
    options = {"examples": {"table": path}, "comparison": {"cluster": ["document"]}, "paired": True}
    found = evaluate("exact", systems, ["yes"] * 60, by="column:genre", **options)
    parts = {one.label: part.figures["exact"] for one, part in found.scored.results[1].bins}
    alone = parts["news"]
    assert (
        alone.value is not None
        and (alone.ci_low, alone.p_value, alone.design_effect) == (None,) * 3
    )
    assert parts["books"].ci_low is not None and parts["books"].p_value is not None


@R
def test_clusters_of_scores_leave_out_missing_ones(tmp_path):
    rng = np.random.default_rng(7)
    skill = rng.random(12)
    scores = [0.8 * skill[int(one[1:])] + 0.2 * rng.random() for one in DOCUMENTS]
    rows = [
        f"{one}\t{'' if place < 5 or place == 9 else scores[place]}\n"
        for place, one in enumerate(DOCUMENTS)
    ]
    (path := tmp_path / "s.tsv").write_text("document\tcomet\n" + "".join(rows))
    (kept := tmp_path / "k.tsv").write_text(
        "document\tcomet\n" + "".join(row for row in rows if "\t\n" not in row)
    )
    found, without = (
        import_scores(
            {"a": f"{one}:comet"},
            comparison={"cluster": ["document"]},
            metric={"drop_missing": True},
        ).scored
        for one in (path, kept)
    )
    assert (
        found.results[0].whole == without.results[0].whole and found.results[0].whole.examples == 54
    )
    assert (
        "clusters:document(11)|" in str(found.signature)
        and "clusters: 11 by document" in found.clusters
    )


@R
@pytest.mark.parametrize("runs", [(3, 1), (2, 3)])
def test_systems_with_other_numbers_of_seeds_are_compared_in_clusters(tmp_path, runs):
    systems = {
        name: [document_texts(start, seed) for seed in range(count)]
        for start, (name, count) in enumerate(zip("ab", runs, strict=True))
    }
    found = evaluate(
        "exact",
        systems,
        ["yes"] * 60,
        sources=DOCUMENTS,
        comparison={"cluster": ["source"]},
        paired=True,
    )
    score = figure_of(found, 1)
    assert (score.p_value < 0.05) == (not score.difference_low < 0 < score.difference_high)


@R
def test_a_control_set_has_clusters_of_its_own_table(tmp_path):
    systems = {name: document_texts(start) for start, name in enumerate("ab")}
    control = {name: texts[:30] for name, texts in systems.items()}
    path = table(tmp_path)
    (small := tmp_path / "c.tsv").write_text(
        "document\tref\n" + "".join(f"{one}\tyes\n" for one in DOCUMENTS[:30])
    )
    options = {
        "references": f"{path}:reference",
        "comparison": {"cluster": ["document"]},
        "paired": True,
    }
    found = evaluate("exact", systems, control=Control(control, f"{small}:ref"), **options)
    assert found.scored.drops["b"]["exact"].p_value is not None
    with pytest.raises(
        InputError,
        match="the control set has no column document; give its texts or scores as columns",
    ):
        evaluate("exact", systems, control=Control(control, ["yes"] * 30), **options)


def test_scores_that_never_vary_give_no_warning_about_their_sources(recwarn):
    evaluate("exact", ["no"] * 60, ["yes"] * 60, sources=DOCUMENTS, comparison={"confidence": True})
    assert not [
        one
        for one in recwarn
        if one.category is RuntimeWarning or "repeat the source" in str(one.message)
    ]


@pytest.mark.parametrize("missing", ["nan", "NA", " ", "None"])
def test_missing_labels_are_no_cluster_and_two_spellings_are_told(tmp_path, missing):
    table = tmp_path / "t.tsv"
    texts, labels = ["a", "b", "c", "d"], ["x", "y", "y", missing]
    table.write_text("document\n" + "".join(f"{label}\n" for label in labels))
    with pytest.raises(InputError, match="row 4: it is .*name the cluster of each example"):
        exact_match(texts, texts, table=table, cluster=("document",), confidence=True)
    table.write_text("document\nx\nTalk 1\ntalk 1 \nz\n")
    with pytest.warns(InputWarning, match="'Talk 1' and 'talk 1 ' are two clusters"):
        exact_match(texts, texts, table=table, cluster=("document",), confidence=True)
