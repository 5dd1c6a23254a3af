"""Systems with their scores: the comparison, its signature, and warnings about it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from cgbench.benchmark.measure.metrics.bins import Feature, make_bins
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.score.comparison.comparison import (
    Comparison,
    compare,
)
from cgbench.benchmark.score.comparison.design import Sampling
from cgbench.benchmark.score.comparison.intervals import FEWEST
from cgbench.benchmark.score.comparison.paired_tests import TESTS
from cgbench.benchmark.score.comparison.results import Pair, Score
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.significance import LEVEL
from cgbench.benchmark.score.comparison.variance_components import FEWEST_CLUSTERS, FEWEST_UNITS
from cgbench.benchmark.score.outputs.hypotheses import System
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import p_text
from cgbench.records import Record
from cgbench.text.columns import Column
from cgbench.text.plain_text import words_of
from cgbench.text.sidecar import PROMPT, settings_label

if TYPE_CHECKING:
    from cgbench.benchmark.measure.metrics.published import PublishedScore
    from cgbench.benchmark.score.comparison.drop import ControlSet


class Binning(Record):
    """The requested bins."""

    feature: Feature
    how: str | None = None
    made_from: Mapping[str, str | int] = field(default_factory=dict)
    """What the values are made from, as items of the signature."""


def scoring_warnings(
    metric: Metric,
    sampling: Sampling,
    systems: Sequence[System],
    comparison: Comparison,
    binned: bool,
) -> list[str]:
    """Warnings about suspicious input and limits of the scores."""
    lines = list(metric.notes)
    # Texts that are empty, in pieces or tokenised.
    for system in systems if metric.of_texts else ():
        if empty := _most(system, lambda text: not words_of(text)):
            many = "hypotheses are" if empty > 1 else "hypothesis is"
            lines.append(
                f"{system.name}: {empty:,} {many} empty and {'count' if empty > 1 else 'counts'} as"
                " wrong"
            )
        if (pieces := _most(system, lambda text: "@@ " in text)) and not metric.joins_pieces:
            lines.append(
                f"{system.name}: {pieces:,} lines contain '@@ ', the mark of BPE pieces; join them"
                " before scoring"
            )
        if metric.tokenises and (ended := _most(system, lambda text: text.endswith(" ."))) >= 100:
            lines.append(
                f"{system.name}: {ended:,} lines end in ' .', so the text looks tokenised and will"
                f" be tokenised again; detokenise it, or give {argument('tokenize', 'none')}"
                f" ({argument('preset', 'react')})"
            )
    # Too few examples, samples or runs.
    if metric.n == 1:
        lines.append(
            "one example: there is nothing to resample, so there are no intervals and no tests"
        )
    elif comparison.paired and metric.n < FEWEST_UNITS:
        lines.append(
            f"{metric.n} examples are too few for a test, which needs at least {FEWEST_UNITS}"
        )
    elif comparison.paired and sampling.clusters:
        lines += [
            f"{count} clusters by {name} are too few for a test, which needs at least"
            f" {FEWEST_CLUSTERS}"
            for name, count in sampling.clusters.counts.items()
            if count < FEWEST_CLUSTERS
        ]
    if comparison.count("bootstrap") < FEWEST and sampling.independent:
        lines.append(
            f"{comparison.samples} samples are too few for an interval of 95%; use at least"
            f" {FEWEST}"
        )
    single = [system.name for system in systems if len(system.runs) == 1 and metric.of_texts]
    is_mixed = len(single) < len(systems)
    # Outputs that name no seed may be from a system that has none, such as a service; models that
    # cgbench trained have.
    kinds = {record["system"]["kind"] for system in systems for record in system.made if record}
    if single and (is_mixed or "cgbench" in kinds):
        runs_text = f"one run of {', '.join(single)}" if is_mixed else "one run per system"
        if comparison.confidence or comparison.paired or binned:
            lines.append(
                f"{runs_text}: intervals and tests ignore the variance between seeds, which is"
                " large on these benchmarks"
            )
            if is_mixed and comparison.paired:
                lines[-1] += (
                    "; against a system with several runs, the same variance between seeds is"
                    " assumed"
                )
        elif len(systems) > 1:
            lines.append(f"with {runs_text}, a difference may be no more than that between seeds")
    if over_prompts := [system.name for system in systems if runs_are_prompts(system)]:
        lines.append(
            f"{', '.join(over_prompts)}: runs differ only in their prompt, so intervals and tests"
            " include the variance between prompts, not between training seeds"
        )
    return lines + metric.warnings(
        {system.name: system.runs for system in systems}, comparison.test
    )


def _most(system: System, holds: Callable[[str], bool]) -> int:
    """The number of outputs for which something holds, of the run that has most of them."""
    return max(sum(map(holds, run)) for run in system.runs)


def disagreements(scored: ScoredSystems) -> list[str]:
    """Warnings about differences for which sacrebleu's rule and the calibrated test disagree."""
    lines = []
    for result in scored.results:
        for name, estimate in result.whole.figures.items():
            compared: list[tuple[str | None, Score | Pair]] = [(scored.baseline, estimate)]
            compared += [(pair.against, pair) for pair in estimate.pairs]
            for against, test in compared:
                if test.tests_disagree:
                    lines.append(
                        f"{result.system} and {against}: the tests disagree about"
                        f" {scored.metric.label(name)}: p (Holm) is {p_text(test.p_holm)} by"
                        " sacrebleu's paired bootstrap, which rejects too often, and"
                        f" {p_text(test.p_star)} by the calibrated test, which decides about stars"
                    )
    return lines


def out_of_reach(scored: ScoredSystems, comparison: Comparison) -> list[str]:
    """A warning if Holm's correction makes every p-value of the bootstrap larger than 5%."""
    least = 1 / (comparison.count("bootstrap") + 1)
    families = [
        [result.whole for result in scored.results],
        [subset for of in scored.results for _, subset in of.bins],
    ]
    tests = 0
    for family in families:
        scores = [subset.figures[scored.metric.figures[0]] for subset in family]
        tested: list[Any] = [test for score in scores for test in (score, *score.pairs)]
        tests = max(
            tests, sum(test.p_value is not None and test.p_calibrated is None for test in tested)
        )
    if scored.test != "bootstrap" or tests * least < LEVEL:
        return []
    return [
        f"no difference can be significant: with {tests:,} tests, Holm's correction makes the"
        f" smallest p-value of {comparison.count('bootstrap'):,} samples"
        f" {p_text(min(1.0, tests * least))}; use at least {math.ceil(tests / LEVEL):,}"
        f" {argument('samples')}, or the calibrated test"
    ]


def made_otherwise(systems: Sequence[System], control_systems: Sequence[System]) -> list[str]:
    """Warnings about systems that translated the control set with other settings than the test
    set.
    """
    lines = []
    for system, control_system in zip(systems, control_systems, strict=False):
        settings, control_settings = _made(system), _made(control_system)
        if settings != control_settings and any((*system.made, *control_system.made)):
            lines.append(
                f"{system.name}: the test set was translated with other settings ({settings}) than"
                f" the control set ({control_settings}), which may explain part of the drop"
            )
    return lines


def score(
    metric: Metric,
    systems: Sequence[System],
    comparison: Comparison,
    binning: Binning | None = None,
    human: Column | None = None,
    published: Sequence[PublishedScore] = (),
    control: ControlSet | None = None,
    sampling: Sampling | None = None,
    normalised: str | None = None,
) -> ScoredSystems:
    """Score the systems and collect everything for a report.

    :param control: outputs of the same systems on a control set.
    :param sampling: clusters and design of the examples; by default, they are independent.
    :param normalised: how hypotheses were normalised, for the signature.
    :raises InputError: judgements, test or bins are invalid.
    """
    if human is not None and (len(systems) > 1 or len(systems[0].runs) > 1):
        raise InputError(
            f"{argument('human')} judges one file of hypotheses; give one {argument('systems')}"
            " with one file"
        )
    if binning:
        feature = binning.feature
        values = len(feature.values if feature.labels is None else feature.labels)
        if values != metric.n:
            raise InputError(
                f"the feature {feature.name} has {values:,} values for {metric.n:,} examples"
            )
    sampling = sampling or Sampling.of(metric)
    bins = make_bins(binning.feature, binning.how) if binning else []
    results = compare(metric, systems, comparison, bins, sampling)
    baseline = comparison.baseline
    if baseline is None and comparison.paired and not comparison.all_pairs:
        baseline = systems[0].name
    signature = _signature(metric, sampling, systems, comparison, binning, control, normalised)
    lost = {}
    if control:
        from cgbench.benchmark.score.comparison.drop import drops

        tested_against = baseline if comparison.paired else None
        lost = drops(metric, sampling, results, control, comparison, tested_against)
    findings = [
        metric.findings(system.runs, list(result.statistics), human)
        for system, result in zip(systems, results, strict=True)
    ]
    by = binning.feature.name if binning else None
    return ScoredSystems(
        metric,
        tuple(results),
        signature,
        baseline,
        comparison.test,
        by,
        tuple(findings),
        tuple(published),
        control.metric.n if control else None,
        lost,
        {system.name: list(system.made) for system in systems if any(system.made)},
        sampling=sampling,
        require=comparison.require,
    )


def _signature(
    metric: Metric,
    sampling: Sampling,
    systems: Sequence[System],
    comparison: Comparison,
    binning: Binning | None,
    control: ControlSet | None,
    normalised: str | None,
) -> Signature:
    signature = metric.signature()
    items = signature.items
    if normalised:
        items["norm"] = normalised
    # How intervals are made.
    if comparison.confidence or comparison.paired or binning or control:
        if sampling.design:
            items["estimate"] = sampling.design.population
        if sampling.design and not sampling.clusters:
            items["design"] = "jackknife"
        elif sampling.clusters:
            items["clusters"] = sampling.clusters.signature()
        elif sampling.jackknife:
            items["intervals"] = "jackknife"
        else:
            items["bs"] = comparison.count("bootstrap")
            items["seed"] = comparison.seed
    # The test, where its name is not that of sacrebleu.
    if comparison.test is not None:
        runs_of_systems = [len(system.runs) for system in systems]
        items |= TESTS[comparison.test].signature(
            metric, runs_of_systems, sampling, comparison.samples
        )
    if comparison.shared_seeds:
        items["seeds"] = "shared"
    if comparison.all_pairs:
        items["pairs"] = "all"
    # What the runs are, and how they were generated.
    runs = {len(system.runs) for system in systems}
    if any(record for system in systems for record in system.made):
        settings = [_made(system) for system in systems]
        items["gen"] = settings[0] if len(set(settings)) == 1 else "+".join(settings)
    if runs != {1}:
        items["runs"] = (
            "+".join(str(len(system.runs)) for system in systems) if len(runs) > 1 else runs.pop()
        )
        if any(map(runs_are_prompts, systems)):
            items["over"] = "+".join(
                dict.fromkeys(
                    "prompts" if runs_are_prompts(system) else "seeds"
                    for system in systems
                    if len(system.runs) > 1
                )
            )
    if control:
        items["control"] = control.metric.n
    if binning:
        items["by"] = binning.feature.name.replace(":", "-")
        items["bins"] = binning.how.replace(":", "-") if binning.how else None
        items |= binning.made_from
    return signature


def runs_are_prompts(system: System) -> bool:
    """Whether the runs of a system differ in nothing but their prompt, by their records."""
    records = [record["system"] for record in system.made if record]
    other_settings = [
        {name: value for name, value in record.items() if name not in PROMPT} for record in records
    ]
    prompts = {json.dumps([record.get(name) for name in PROMPT]) for record in records}
    return (
        len(system.runs) > 1
        and len(prompts) == len(system.runs)
        and all(settings == other_settings[0] for settings in other_settings)
    )


def _made(system: System) -> str:
    """The generation settings of a system as one word; ``unknown`` if not recorded."""
    words = ["unknown" if record is None else settings_label(record) for record in system.made]
    if runs_are_prompts(system):
        import hashlib

        shared_settings = words[0].rpartition("-prompt@")[0]
        return (
            f"{shared_settings}-prompts@{hashlib.sha256(','.join(words).encode()).hexdigest()[:8]}"
        )
    return words[0] if len(set(words)) == 1 else ",".join(words)
