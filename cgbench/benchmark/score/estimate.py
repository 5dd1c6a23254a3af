"""``--estimate``: the score on a population of candidates, from the set of a release that was drawn from it.

Every drawn pair counts as many pairs of the population as its probability says (Hajek 1971): sums of statistics are
weighted by 1 / inclusion, so means, corpus BLEU and any other metric of sums become estimates for the population. Their
variance is that of the design (:func:`~cgbench.benchmark.comparison.variance.covariance_of_design`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.inclusion import INCLUSION
from cgbench.benchmark.candidates.strata import SAMPLE_INCLUSION, STRATUM
from cgbench.benchmark.comparison.design import Design
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.release.manifest import ID
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.score.example_sets import ExampleSet, release_files
from cgbench.benchmark.score.features import FeatureInputs, table_column
from cgbench.benchmark.score.request import ScoreRequest
from cgbench.errors import InputError, argument


def design_of(request: ScoreRequest, test: ExampleSet, inputs: FeatureInputs) -> Design | None:
    """How the examples were drawn from the population of the request's ``estimate``; None without it.

    :raises InputError: the set of the release does not speak for that population, or the metric or test is not one of
        sums over independent draws.
    """
    population, drawn = request.examples.estimate, request.examples.drawn_set(request.release)
    if population is None:
        return None
    asked = argument("estimate", population)
    if type(test.metric).collect is not Metric.collect:
        raise InputError(f"{asked}: {test.metric.name} scores groups of examples, which are not drawn one by one")
    if request.comparison.test not in (None, "calibrated"):
        test_name = argument("paired", request.comparison.test)
        raise InputError(f"{asked}: {test_name} takes examples as drawn alike; use {argument('paired', 'calibrated')}")
    for name, value in (
        ("control_systems", request.control.control_systems), ("differences", request.breakdown.differences),
    ):  # fmt: skip
        if value:
            raise InputError(f"{asked}: {argument(name)} compares the examples as they are; leave one of them out")
    assert request.release is not None  # checked with the request
    release = Release.open(request.release)
    config, counts, columns = release.configuration, release.manifest["counts"], release.table().to_pydict()
    lines = columns[ID]
    if drawn == "sample":
        inclusion, stratum = np.array(columns[SAMPLE_INCLUSION]), np.array(columns[STRATUM]) - 1
    else:
        inclusion, stratum = np.array(columns[INCLUSION]), np.zeros(len(lines), np.int64)
    members = np.isin(np.array(columns["stage"], str), ("window", "selected")) | (population != "window")
    pool = counts["pool"] - counts["empty"]
    if population == "pool" and pool > len(lines):
        raise InputError(
            f"{release.folder}: {asked}: {pool - len(lines):,} of the {pool:,} pairs of the pool are not candidates "
            "(they have a rare word, a seen sentence or a low degree), so they are never drawn, and no sample of "
            f"candidates says anything about them; use {argument('estimate', 'candidates')}, or score a random sample "
            f"of the pool without {argument('estimate')}"
        )
    if never := int((members & (inclusion <= 0)).sum()):
        raise InputError(
            f"{release.folder}: {asked}: the {'sample' if drawn == 'sample' else 'test set'} was not drawn from "
            f"{never:,} of the {members.sum():,} candidates; build with {argument('design', 'stratified')} (finished "
            f"steps are kept), or use {argument('estimate', 'window')}"
        )
    units = np.arange(len(lines))
    if drawn == "test" and config.get("draw_by") == DOCUMENT:
        units = np.unique(np.array(columns[DOCUMENT], str), return_inverse=True)[1]
    first = np.unique(units[members], return_index=True)[1]  # one pair of each unit
    place = {line: row for row, line in enumerate(lines)}
    own = replace(inputs, table=release_files(release.folder, drawn)["table"], columns={})
    try:
        rows = np.array([place[int(line)] for line in table_column(own, asked, (ID,), test.metric.n).values])
    except (KeyError, ValueError):
        raise InputError(f"{release.folder}: a pair is not among the candidates; see cgbench verify") from None
    return Design(
        population,
        pairs=int(members.sum()),
        inclusion=inclusion[rows],
        strata=stratum[rows],
        units=np.unique(units[rows], return_inverse=True)[1],
        sizes=np.bincount(stratum[members][first]),
    )
