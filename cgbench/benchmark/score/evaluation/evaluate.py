"""Metrics as functions of texts in files or in memory, for several systems and seeds, with
intervals, tests and bins.

``cgbench score`` reads its options, calls :func:`evaluate` and prints the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Feature, coinciding, feature_of_column
from cgbench.benchmark.score.evaluation.analyses import options_of, requested_analyses
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.example_sets import (
    ExampleSet,
    MetricContext,
    read_control_set,
    read_test_set,
)
from cgbench.benchmark.score.evaluation.features import (
    FeatureInputs,
    find_feature,
    make_feature,
    signature_of,
)
from cgbench.benchmark.score.evaluation.hypothesis_checks import Once, check_form, check_training
from cgbench.benchmark.score.evaluation.request import Breakdown, ScoreRequest
from cgbench.benchmark.score.evaluation.result import Evaluation, EvaluationInputs
from cgbench.benchmark.score.evaluation.sampling import sampling_of, unused_clusters
from cgbench.benchmark.score.evaluation.scored import (
    Binning,
    disagreements,
    made_otherwise,
    out_of_reach,
    score,
    scoring_warnings,
)
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.forms.analyses import ROWS, AnalysisLayout
from cgbench.benchmark.score.outputs.hypotheses import Runs, check_same_runs
from cgbench.errors import InputError, InputWarning, argument, warn
from cgbench.request import accepts
from cgbench.text.columns import Column, short_name
from cgbench.text.hypothesis_form import Reading
from cgbench.text.identities import index_of
from cgbench.text.inputs import Texts
from cgbench.text.joins import Examples

if TYPE_CHECKING:
    from cgbench.benchmark.measure.metrics.published import PublishedScore


@accepts(ScoreRequest)
def evaluate(request: ScoreRequest) -> Evaluation:
    """Score systems by one or more metrics, with confidence intervals and significance tests.

    A text is a file (``str`` or path: plain, .gz, .zst, ``TABLE:COLUMN``) or a list of strings, one
    per example. ``systems`` are the hypotheses of one system, or ``{name: hypotheses}``. Several
    runs (seeds) of a system are a list of texts; files in it must be :class:`pathlib.Path`, since a
    list of ``str`` is a text. ``references`` are a text, a list of paths (each with one reference
    per example), or a list with the references of each example; CTER has none. pandas Series are
    joined by their index. Of several metrics (``["bleu", "chrf"]``) the result has one table; it is
    the :class:`Evaluation` by the first, with the others as ``more``.

    :raises InputError: lengths differ, arguments contradict each other, or the form of hypotheses
        would make their score meaningless.
    """
    return evaluation_of(request)


def evaluation_of(request: ScoreRequest, context: MetricContext | None = None) -> Evaluation:
    """:func:`evaluate`; ``context``: what belongs to a metric that is passed as an object."""
    context = context or MetricContext()
    if request.release is not None:
        from cgbench.benchmark.release.release import Release

        request = replace(request, release=Release.of(request.release))  # its files are read once
    if request.control.memory is not None:
        from cgbench.benchmark.score.evaluation.with_memory import with_memory

        request = with_memory(request)
    first, *more = (
        _by_one_metric(of_metric, context, is_first=position == 0)
        for position, of_metric in enumerate(request.by_metric())
    )
    evaluation = replace(first, more=tuple(more))
    for warning in evaluation.warned:
        warn(warning)
    return evaluation


def _by_one_metric(request: ScoreRequest, context: MetricContext, *, is_first: bool) -> Evaluation:
    """The evaluation by the metric of a request.

    :param is_first: whether it is the first of several, with the analyses that do not depend on the
        metric.
    """
    comparison, breakdown = request.comparison, request.breakdown
    # Read the test set and the control set.
    test = read_test_set(request, context)
    check_effects(request, test)
    control = read_control_set(request, context)
    check_resampled(request, control)
    # What examples are grouped by: the same for all metrics, unless it is a feature of this one.
    by: Any = breakdown.by
    is_of_metric = isinstance(by, str) and test.metric.feature(by) is not None
    shared = MetricContext() if is_of_metric else context
    inputs = shared.once("feature inputs", lambda: feature_inputs(request, test))
    binning = None
    if by is not None:
        binning = shared.once("binning", lambda: binning_of(breakdown, test.metric.n, inputs))
    # How examples were drawn and count, in both sets.
    sampling = context.once("sampling", lambda: sampling_of(request, test))
    control_set = None
    if control:
        from cgbench.benchmark.score.comparison.drop import ControlSet

        check_same_runs("control_systems", control.systems, test.systems)
        control_sampling = context.once("control sampling", lambda: sampling_of(request, control))
        control_set = ControlSet(control.metric, control_sampling, control.systems)
    # Check the texts.
    lines = [*test.warnings, *_warnings_of_texts(request, test, inputs, context.once)]
    # Score.
    scored = score(
        test.metric,
        test.systems,
        comparison,
        binning=binning,
        human=test.human,
        published=published_beside(request, test),
        control=control_set,
        sampling=sampling,
        normalised=test.normalised,
    )
    # Analyse the scores.
    scoring = ScoringContext(request, test, control, scored, binning, inputs)
    analyses, layouts, analysis_warnings = run_analyses(scoring, is_first=is_first)
    # Collect the warnings.
    sources = test.sources.values if test.sources else None
    if comparison.confidence or comparison.paired:
        lines += unused_clusters(scored, sources)
    if control:
        lines += [f"control set: {line}" for line in control.warnings if line not in test.warnings]
    has_bins = bool(binning or control_set)
    lines += scoring_warnings(test.metric, sampling, test.systems, comparison, has_bins)
    lines += made_otherwise(test.systems, control.systems if control else ())
    lines += analysis_warnings
    if binning and (line := coinciding(binning.feature, binning.how)):
        lines.append(line)
    lines += [*disagreements(scored), *out_of_reach(scored, comparison)]
    made_from = EvaluationInputs(
        comparison,
        inputs,
        sources,
        scoring.references,
        warned=tuple(map(InputWarning, lines)),
        benchmark=_benchmark_name(request, test),
        # Only a control set from the release has the table of the release.
        has_control_of_release=control is not None and control.table is not None,
    )
    return Evaluation(scored, test.systems, made_from, analyses, layouts=layouts)


def _warnings_of_texts(
    request: ScoreRequest, test: ExampleSet, inputs: FeatureInputs, once: Once
) -> list[str]:
    """Warnings about the form of outputs behind external scores, and about the training text.

    :raises InputError: the form would make scores of these outputs meaningless.
    """
    lines = []
    with_texts = [system for system in test.systems if system.texts]
    if test.references and with_texts:
        # Only --differences compares the words behind external scores.
        accept = request.examples.accept_text or not request.breakdown.differences
        lines += check_form(
            request, Reading(), with_texts, test.references, accept=accept, once=once
        )
    if inputs.train is not None and inputs.text is not None:
        lines += check_training(request, inputs.text, inputs.train)
    return lines


def _benchmark_name(request: ScoreRequest, test: ExampleSet) -> str:
    """The name of the release, or of the file with references or sources."""
    if request.release is not None:
        return Path(request.release.folder).resolve().name
    return short_name(test.names[0] if test.names else test.metric.name).partition(":")[0]


def run_analyses(
    context: ScoringContext, *, is_first: bool = True
) -> tuple[dict[str, Any], dict[str, AnalysisLayout], list[str]]:
    """The results of the requested analyses by name, how these are shown, and warnings."""
    results: dict[str, Any] = {}
    layouts: dict[str, AnalysisLayout] = {}
    warnings_of_all: list[str] = []
    for analysis in requested_analyses(context.request):
        if analysis.for_first_metric and not is_first:
            continue
        options = options_of(analysis, context.request)
        result = analysis.run(replace(context, options=options))
        if isinstance(result, str):  # why there is none
            warnings_of_all.append(result)
            continue
        results[analysis.name] = result
        if analysis.layout is not ROWS:
            layouts[analysis.name] = analysis.layout
        warnings_of_all += getattr(result, "warnings", ())
    return results, layouts, warnings_of_all


def feature_inputs(request: ScoreRequest, test: ExampleSet) -> FeatureInputs:
    """What features of the test set are made from."""
    breakdown = request.breakdown
    return FeatureInputs(
        text=test.sources if breakdown.side == "source" else test.targets,
        train=breakdown.train,
        min_count=breakdown.min_count,
        lm=breakdown.lm,
        exposure=breakdown.exposure,
        table=test.table,
        metric=test.metric,
        examples=test.examples,
        columns=test.columns,
    )


def check_effects(request: ScoreRequest, test: ExampleSet) -> None:
    """Refuse an argument that would have no effect, and an analysis that lacks one.

    :raises InputError: there is such an argument.
    """
    breakdown = request.breakdown
    if breakdown.side == "target" and test.metric.needs == "sources":
        raise InputError(
            f"{argument('side', breakdown.side)}: CTER has no references; {argument('by')} measures"
            " the source"
        )
    for name in _arguments_of_features(request):
        _check_effect_on_feature(name, breakdown.by)
    for analysis in request.added:
        _check_needs(request, analysis)


def _arguments_of_features(request: ScoreRequest) -> list[str]:
    """The given arguments that have an effect on nothing but the feature of ``by``."""
    used_elsewhere = {
        "table": request.release is not None or bool(request.comparison.cluster),
        "train": request.breakdown.differences or request.by_word is not None,
    }
    names = ("bins", "side", "train", "min_count", "exposure", "table", "lm")
    given = request.breakdown.given | request.examples.given
    return [
        name
        for name in names
        if name in given and request.value(name) is not None and not used_elsewhere.get(name)
    ]


def _check_effect_on_feature(name: str, by: Any) -> None:
    """Refuse an argument without ``by``, or with one on which it has no effect."""
    if by is None:
        raise InputError(f"{argument(name)} needs {argument('by')}")
    if name == "bins":
        return
    feature = find_feature(by) if isinstance(by, str) else None
    if feature is None or not feature.takes(name):
        by_argument = argument("by", by) if isinstance(by, str) else "given values"
        raise InputError(f"{argument(name)} has no effect on {by_argument}; leave it out")


def _check_needs(request: ScoreRequest, analysis: Analysis) -> None:
    """Refuse an analysis without an argument that it needs, and its options without it."""
    value = request.value(analysis.name)
    if not value:
        for name in analysis.option_fields:
            if request.value(name):
                raise InputError(f"{argument(name)} needs {argument(analysis.name)}")
        return
    for name, words in analysis.needs.items():
        if request.value(name) is None:
            raise InputError(
                f"{argument(analysis.name, str(value))} needs {words}; give {argument(name)}"
            )


def check_resampled(request: ScoreRequest, control: ExampleSet | None) -> None:
    """Refuse the number and the seed of resamples if nothing is resampled."""
    comparison, breakdown = request.comparison, request.breakdown
    resamples_pairs = comparison.paired in ("bootstrap", "randomization") or control
    if request.examples.estimate and comparison.samples is not None and not resamples_pairs:
        raise InputError(
            f"{argument('samples')} has no effect with {argument('estimate')}: its intervals leave"
            " out one example at a time; leave it out"
        )
    if (
        comparison.paired
        or comparison.confidence
        or control
        or breakdown.differences
        or breakdown.by is not None
    ):
        return
    for name in ("samples", "seed"):
        if name in comparison.given and getattr(comparison, name) is not None:
            raise InputError(
                f"{argument(name)} needs {argument('confidence')}, {argument('paired')} or"
                f" {argument('by')}"
            )


def binning_of(breakdown: Breakdown, n: int, inputs: FeatureInputs) -> Binning:
    """The requested bins."""
    by: Any = breakdown.by
    bins = breakdown.bins
    feature = (
        make_feature(by, n, inputs) if isinstance(by, str) else _feature_of(by, inputs.examples)
    )
    if bins is not None and isinstance(bins, Iterable) and not isinstance(bins, str):
        edges = list(bins)
        bins = ",".join(map(str, edges)) + ("," if len(edges) == 1 else "")
    made_from = signature_of(by, inputs, breakdown.side) if isinstance(by, str) else {}
    return Binning(feature, None if bins is None else str(bins), made_from)


def _feature_of(values: Iterable[Any], examples: Examples) -> Feature:
    """Values of the caller, one per example: numbers or labels; a pandas Series is joined by its
    index.
    """
    name = str(getattr(values, "name", None) or "values")
    index = index_of(values)
    items = list(values)
    if index is not None:
        rows = examples.rows_of(Column(argument("by"), list(index), ids=index), more=True)
        items = [items[row] for row in rows]
    if all(isinstance(value, str) for value in items):
        return Feature(name, labels=tuple(items))
    try:
        numbers = np.array([float(value) for value in items])
    except (TypeError, ValueError):
        raise InputError(f"{argument('by')}: give numbers or strings, one per example") from None
    return feature_of_column(name, Column(name, [repr(number) for number in numbers.tolist()]))


def published_beside(request: ScoreRequest, test: ExampleSet) -> list[PublishedScore]:
    """The requested published results."""
    requested, metric = request.examples.published, test.metric
    if requested is None or requested is False:
        return []
    name = metric.published_benchmark() if requested is True else str(requested)
    if name is None:
        example = argument("published", "COGS gen", "'COGS gen'")
        raise InputError(f"{argument('published')}: which benchmark? Name it, such as {example}")
    from cgbench.benchmark.measure.metrics.published import published_scores

    label = {"exact": "exact match"}.get(metric.name, metric.name)
    return published_scores(name, "BLEU" if getattr(metric, "kind", "") == "bleu" else label)


def bleu(systems: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """Score systems by BLEU: :func:`evaluate` with that metric, and the same further arguments."""
    return evaluate("bleu", systems, references, **options)


def chrf(systems: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """Score systems by chrF: :func:`evaluate` with that metric, and the same further arguments."""
    return evaluate("chrf", systems, references, **options)


def ter(systems: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """Score systems by TER: :func:`evaluate` with that metric, and the same further arguments."""
    return evaluate("ter", systems, references, **options)


def exact_match(
    systems: Runs | Mapping[str, Runs], references: Any = None, **options: Any
) -> Evaluation:
    """Score systems by exact match: :func:`evaluate` with that metric, and the same further
    arguments.
    """
    return evaluate("exact", systems, references, **options)


def cter(
    systems: Runs | Mapping[str, Runs], sources: Texts, compounds: Texts, **options: Any
) -> Evaluation:
    """Compound translation error rate in percent, of rows (instance) and of groups (aggregate).

    :param compounds: the compound of each source.
    :param options: ``lexicon`` (required), and other options of :func:`evaluate` and of CTER.
    """
    return evaluate("cter", systems, sources=sources, **{"compounds": compounds, **options})
