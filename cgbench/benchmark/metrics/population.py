"""``--estimate``: the score on a population of candidates, from the set of a release that was drawn from it.

Every drawn pair counts as many pairs of the population as its probability says (Hajek 1971): sums of statistics are
weighted by 1 / inclusion, so means, corpus BLEU and any other metric of sums become estimates for the population. Their
variance is that of the design (:func:`~cgbench.benchmark.metrics.variance.covariance_of_design`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.candidates.documents import DOCUMENT
from cgbench.benchmark.candidates.inclusion import INCLUSION, inclusion_of
from cgbench.benchmark.candidates.selection import selection_sizes
from cgbench.benchmark.candidates.strata import SAMPLE_INCLUSION, STRATUM
from cgbench.benchmark.metrics.example_sets import ExampleSet, release_files
from cgbench.benchmark.metrics.features import FeatureInputs, table_column
from cgbench.benchmark.metrics.metric import Design, Metric
from cgbench.benchmark.metrics.score_request import ScoreRequest
from cgbench.benchmark.release.manifest import ID
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def design_of(request: ScoreRequest, test: ExampleSet, inputs: FeatureInputs) -> Design | None:
    """How the examples were drawn from the population of ``request.estimate``; None without it.

    :raises InputError: the set of the release does not speak for that population, or the metric or test is not one of
        sums over independent draws.
    """
    if request.estimate is None:
        return None
    asked = argument("estimate", request.estimate)
    if type(test.metric).collect is not Metric.collect:
        raise InputError(f"{asked}: {test.metric.name} scores groups of examples, which are not drawn one by one")
    if request.test not in (None, "calibrated"):
        test_name = argument("paired", request.test)
        raise InputError(f"{asked}: {test_name} takes examples as drawn alike; use {argument('paired', 'calibrated')}")
    for name in ("control_systems", "differences"):
        if getattr(request, name):
            raise InputError(f"{asked}: {argument(name)} compares the examples as they are; leave one of them out")
    assert request.release is not None  # checked with the request
    release = Release.open(request.release)
    table = release.table()
    columns = {name: table[name].to_pylist() for name in _COLUMNS if name in table.column_names}
    place = {line: row for row, line in enumerate(columns[ID])}
    own = replace(inputs, table=release_files(release.folder, request.drawn_set)["table"], metric=None)
    lines = table_column(own, asked, (ID,), test.metric.n).values
    try:
        rows = np.array([place[int(line)] for line in lines])
    except (KeyError, ValueError):
        raise InputError(f"{release.folder}: a pair is not among the candidates; see cgbench verify") from None
    return _design(release, columns, rows, request.estimate, request.drawn_set)


_COLUMNS = (ID, "stage", DOCUMENT, INCLUSION, SAMPLE_INCLUSION, STRATUM)


def _design(
    release: Release, columns: Mapping[str, Sequence[Any]], rows: np.ndarray, population: str, drawn: str
) -> Design:
    config, counts = release.configuration, release.manifest["counts"]
    sizes = selection_sizes(config, len(columns[ID]))
    if drawn == "sample":
        inclusion, stratum = np.array(columns[SAMPLE_INCLUSION]), np.array(columns[STRATUM]) - 1
    else:
        stratum = np.zeros(len(columns[ID]), np.int64)
        known = columns.get(INCLUSION)  # earlier versions did not write it
        inclusion = inclusion_of(columns, config, sizes["select"]) if known is None else np.array(known)
    members = np.full(len(inclusion), True)
    if population == "window":
        members = np.isin(np.array(columns["stage"], str), ("window", "selected"))
    asked = f"{release.folder}: {argument('estimate', population)}"
    left = counts["pool"] - counts["empty"] - len(inclusion) if population == "pool" else 0
    if left:
        raise InputError(
            f"{asked}: only candidates were drawn, and {left:,} pairs of the pool are not candidates; use "
            f"{argument('estimate', 'candidates')}"
        )
    if never := int((members & (inclusion <= 0)).sum()):
        raise InputError(
            f"{asked}: the {'sample' if drawn == 'sample' else 'test set'} was not drawn from {never:,} of the "
            f"{members.sum():,} candidates; build with {argument('design', 'stratified')} (finished steps are kept), "
            f"or use {argument('estimate', 'window')}"
        )
    units = np.arange(len(inclusion))
    if drawn == "test" and config.get("draw_by") == DOCUMENT:
        units = np.unique(np.array(columns[DOCUMENT], str), return_inverse=True)[1]
    first = np.unique(units[members], return_index=True)[1]  # one pair of each unit
    of_strata = np.bincount(stratum[members][first])
    labels = np.unique(units[rows], return_inverse=True)[1]
    return Design(population, int(members.sum()), inclusion[rows], stratum[rows], labels, of_strata)
