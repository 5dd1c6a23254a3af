"""What examples stand for: clusters that are not independent (``--cluster document``), and a
population (``--estimate``) from which the set of a release was drawn.

For an estimate, every drawn pair counts as many pairs of the population as its probability says
(Hajek 1971): sums of statistics are weighted by 1 / inclusion, so means, corpus BLEU and any other
metric of sums become estimates for the population. Their variance is that of the design
(:func:`~cgbench.benchmark.score.comparison.variance.covariance_of_design`).
"""

from collections.abc import Sequence

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.design import Clusters, Design, Sampling
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.variance import covariance_of_clusters, design_effects
from cgbench.benchmark.score.evaluation.example_sets import ExampleSet, release_files
from cgbench.benchmark.score.evaluation.features import FeatureInputs, table_column
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.errors import InputError, argument, warn
from cgbench.text.identities import MISSING, spelled_alike

WIDER = 1.05
"""Unused clusters are reported if they would widen an interval by this factor."""


def sampling_of(request: ScoreRequest, test: ExampleSet) -> Sampling:
    """The clusters of a set, and the design of its draw; a control set is not drawn.

    :raises InputError: as :func:`clusters_of` and :func:`design_of_estimate` do.
    """
    clusters = clusters_of(request.comparison, test)
    return Sampling.of(
        test.metric, clusters, None if test.control else design_of_estimate(request, test)
    )


def clusters_of(comparison: Comparison, test: ExampleSet) -> Clusters | None:
    """The clusters of a test set, by default those of its metric; None if all examples are
    independent.

    :raises InputError: more than two kinds of clusters are named, or one cannot be formed.
    """
    names = list(
        dict.fromkeys(name.removeprefix("column:") for name in comparison.cluster)
    )  # as in --by column:NAME
    if len(names) > 2:
        raise InputError(
            f"{argument('cluster', names[2])}: at most two ways to form clusters are supported;"
            " leave one out"
        )
    if comparison.test not in (None, CALIBRATED):
        if not names:
            return None
        raise InputError(
            f"{argument('paired', comparison.test)} treats examples as independent; with"
            f" {argument('cluster')} use {argument('paired', CALIBRATED)}"
        )
    rows = test.metric.counted(np.arange(test.metric.n))
    clusters = {}
    for name in names or test.metric.cluster_labels():
        labels = cluster_numbers(_labels(name, test))
        if len(np.unique(labels[rows])) > 1:
            clusters[name] = labels
        elif names:
            raise InputError(
                f"{argument('cluster', name)}: all {len(rows):,} examples are in one cluster, but"
                " intervals need at least two; leave it out"
            )
    return Clusters(tuple(clusters), tuple(clusters.values()), rows) if clusters else None


def _labels(name: str, test: ExampleSet) -> Sequence[str]:
    metric = test.metric
    # Clusters that need no table.
    if name == "source":
        if test.sources is None:
            raise InputError(
                f"{argument('cluster', name)} needs the sources; give {argument('sources')}"
            )
        return test.sources.values
    if (labels := metric.cluster_labels().get(name)) is not None:
        return labels
    try:
        column = table_column(test, argument("cluster", name), (name,), metric.n)
    except InputError:
        if test.table is not None or not test.control:
            raise
        raise InputError(
            f"{argument('cluster', name)}: the control set has no column {name}; give its texts or"
            " scores as columns of a table that has one (TABLE:COLUMN)"
        ) from None
    # Labels that are missing, or written in two ways.
    missing = (row for row, label in enumerate(column.values) if label.strip().lower() in MISSING)
    if (empty := next(missing, None)) is not None:
        value = column.values[empty].strip() or "empty"
        raise InputError(
            f"{column.row(empty)}: it is {value}; name the cluster of each example (one of its own"
            " if it is independent)"
        )
    if alike := spelled_alike(column.values):
        clusters = f"{argument('cluster', name)}: {alike[0]!r} and {alike[1]!r} are two clusters"
        warn(f"{clusters}; write them in one way if they are one")
    return column.values


def cluster_numbers(labels: Sequence[str]) -> np.ndarray:
    """The labels as int64 ``[n]``, numbered from 0 in the order in which they occur."""
    numbers = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], np.int64)


def unused_clusters(scored: ScoredSystems, sources: Sequence[str] | None) -> list[str]:
    """A warning if several examples have the same source, but are treated as independent."""
    metric, sampling, statistics = (
        scored.metric,
        scored.sampling,
        [result.statistics for result in scored.results],
    )
    if sampling.clusters or sources is None or len(set(sources)) in (1, len(sources)):
        return []
    # By which factor the sources as clusters widen the interval of the first score, at most over
    # the systems.
    rows = sampling.counted(np.arange(metric.n))
    clustered = covariance_of_clusters(
        metric, statistics, rows, Clusters(("source",), (cluster_numbers(sources),))
    )
    effects = (
        None if clustered is None else design_effects(metric, statistics, rows, clustered)[:, 0]
    )
    wider = 0.0 if effects is None else float(np.sqrt(np.nan_to_num(effects).max()))
    if wider < WIDER:
        return []
    return [
        f"{len(sources) - len(set(sources)):,} examples repeat the source of another and are not"
        f" independent: with {argument('cluster', 'source')} intervals are up to {wider:.2f} times"
        " as wide"
    ]


def design_of_estimate(request: ScoreRequest, test: ExampleSet) -> Design | None:
    """How the examples were drawn from the population of the request's ``estimate``; None without
    it.

    :raises InputError: the set of the release does not speak for that population, or the metric or
        test is not one of sums over independent draws.
    """
    population, drawn = request.examples.estimate, request.examples.drawn_set(request.release)
    if population is None:
        return None
    flag = argument("estimate", population)
    if type(test.metric).collect is not Metric.collect:
        raise InputError(
            f"{flag}: {test.metric.name} scores groups of examples, which are not drawn one by one"
        )
    if request.comparison.test not in (None, "calibrated"):
        test_name = argument("paired", request.comparison.test)
        raise InputError(
            f"{flag}: {test_name} takes examples as drawn alike; use"
            f" {argument('paired', 'calibrated')}"
        )
    for name, value in (
        ("control_systems", request.control.control_systems),
        ("differences", request.breakdown.differences),
    ):
        if value:
            raise InputError(
                f"{flag}: {argument(name)} compares the examples as they are; leave one of them out"
            )
    from cgbench.benchmark.candidates.documents import DOCUMENT
    from cgbench.benchmark.candidates.inclusion import INCLUSION
    from cgbench.benchmark.candidates.strata import SAMPLE_INCLUSION, STRATUM
    from cgbench.benchmark.release.manifest import ID

    # what the release says of its candidates
    release = request.release
    assert release is not None  # checked with the request
    config, counts, columns = (
        release.configuration,
        release.manifest["counts"],
        release.table().to_pydict(),
    )
    lines = columns[ID]
    if drawn == "sample":
        inclusion, stratum = np.array(columns[SAMPLE_INCLUSION]), np.array(columns[STRATUM]) - 1
    else:
        inclusion, stratum = np.array(columns[INCLUSION]), np.zeros(len(lines), np.int64)
    # the population, of which every member must have had a chance
    members = np.isin(np.array(columns["stage"], str), ("window", "selected")) | (
        population != "window"
    )
    pool = counts["pool"] - counts["empty"]
    if population == "pool" and pool > len(lines):
        raise InputError(
            f"{release.folder}: {flag}: {pool - len(lines):,} of the {pool:,} pairs of the pool are"
            " not candidates (they have a rare word, a seen sentence or a low degree), so they are"
            " never drawn, and no sample of candidates says anything about them; use"
            f" {argument('estimate', 'candidates')}, or score a random sample of the pool without"
            f" {argument('estimate')}"
        )
    if never := int((members & (inclusion <= 0)).sum()):
        raise InputError(
            f"{release.folder}: {flag}: the {'sample' if drawn == 'sample' else 'test set'} was not"
            f" drawn from {never:,} of the {members.sum():,} candidates; build with"
            f" {argument('design', 'stratified')} (finished steps are kept), or use"
            f" {argument('estimate', 'window')}"
        )
    # the units of the draw, and the drawn rows
    units = np.arange(len(lines))
    if drawn == "test" and config.get("draw_by") == DOCUMENT:
        units = np.unique(np.array(columns[DOCUMENT], str), return_inverse=True)[1]
    first = np.unique(units[members], return_index=True)[1]  # one pair of each unit
    row_of = {line: row for row, line in enumerate(lines)}
    drawn_inputs = FeatureInputs(
        table=release_files(release, drawn)["table"], examples=test.examples
    )
    try:
        rows = np.array(
            [
                row_of[int(line)]
                for line in table_column(drawn_inputs, flag, (ID,), test.metric.n).values
            ]
        )
    except (KeyError, ValueError):
        raise InputError(
            f"{release.folder}: a pair is not among the candidates; see cgbench verify"
        ) from None
    return Design(
        population,
        pairs=int(members.sum()),
        inclusion=inclusion[rows],
        strata=stratum[rows],
        units=np.unique(units[rows], return_inverse=True)[1],
        sizes=np.bincount(stratum[members][first]),
    )
