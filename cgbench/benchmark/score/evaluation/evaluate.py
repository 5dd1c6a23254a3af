"""Metrics as functions of texts in files or in memory, for several systems and seeds, with
intervals, tests and bins.

``cgbench score`` reads its options, calls :func:`evaluate` and prints the result.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from cgbench.benchmark.measure.metrics.bins import Feature, coinciding, feature_of_column
from cgbench.benchmark.measure.metrics.published import PublishedScore, published_scores
from cgbench.benchmark.score.comparison.drop import ControlSet
from cgbench.benchmark.score.evaluation.example_sets import (
    ExampleSet,
    MetricContext,
    read_control_set,
    read_test_set,
)
from cgbench.benchmark.score.evaluation.features import FeatureInputs, make_feature
from cgbench.benchmark.score.evaluation.hypotheses import check_form, check_training
from cgbench.benchmark.score.evaluation.request import FEATURES_OF, Breakdown, ScoreRequest
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
from cgbench.benchmark.score.outputs.systems import Runs, check_same_runs
from cgbench.errors import InputError, InputWarning, argument
from cgbench.requests import accepts
from cgbench.text.columns import Column, short_name
from cgbench.text.hypothesis_form import Reading
from cgbench.text.inputs import Texts
from cgbench.text.joins import Examples, index_of

P = ParamSpec("P")
R = TypeVar("R")


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
    first, *more = (_by_one_metric(of_metric, context) for of_metric in request.by_metric())
    evaluation = replace(first, more=tuple(more))
    for warning in evaluation.warned:
        warnings.warn(warning, stacklevel=2)
    return evaluation


def _by_one_metric(request: ScoreRequest, context: MetricContext) -> Evaluation:
    # Read the test set and the control set.
    test = read_test_set(request, context)
    check_effects(request, test)
    control = read_control_set(request, context)
    check_resampled(request, control)
    comparison, breakdown = request.comparison, request.breakdown
    # How examples were drawn and count, in both sets.
    systems, lines = test.systems, list(test.warnings)
    if test.references and (with_texts := [system for system in systems if system.texts]):
        # Only --differences compares the words behind external scores.
        accept = request.examples.accept_text or not breakdown.differences
        lines += check_form(request, Reading(), with_texts, test.references, accept=accept)
    text = test.sources if breakdown.side == "source" else test.targets
    inputs = FeatureInputs(text, breakdown, test.table, test.metric, test.examples, test.columns)
    sampling = context.once("sampling", lambda: sampling_of(request, test))
    control_set = None
    if control:
        check_same_runs("control_systems", control.systems, systems)
        control_sampling = context.once("control sampling", lambda: sampling_of(request, control))
        control_set = ControlSet(control.metric, control_sampling, control.systems)
    if breakdown.train is not None and text is not None:
        lines += check_training(request, text, breakdown.train)
    # Score.
    sources, references = test.sources.values if test.sources else None, test.references or None
    binning = binning_of(breakdown, test.metric.n, inputs) if breakdown.by is not None else None
    published = published_beside(request, test)
    scored = score(
        test.metric,
        systems,
        comparison,
        binning,
        test.human,
        published,
        control_set,
        sampling,
        test.normalised,
    )
    if comparison.confidence or comparison.paired:
        lines += unused_clusters(scored, sources)
    # Warnings, then the further analyses.
    lines += [
        f"control set: {line}"
        for line in (control.warnings if control else [])
        if line not in test.warnings
    ]
    lines += scoring_warnings(
        test.metric, sampling, systems, comparison, bool(binning or control_set)
    )
    lines += made_otherwise(systems, control.systems if control else ())
    values = {
        "request": request,
        "test": test,
        "control": control,
        "systems": systems,
        "references": references,
        "material": inputs,
        "text": text,
        "binning": binning,
        "comparison": comparison,
        "metric": test.metric,
        "sampling": sampling,
        "scored": scored,
        "results": scored.results,
    }
    analyses, analysis_warnings = analyses_of(request, values)
    lines += analysis_warnings
    if binning and (line := coinciding(binning.feature, binning.how)):
        lines.append(line)
    warned = tuple(
        map(InputWarning, [*lines, *disagreements(scored), *out_of_reach(scored, comparison)])
    )
    if request.release is not None:
        benchmark = Path(request.release.folder).resolve().name
    else:  # the file with references or sources
        benchmark = short_name(test.names[0] if test.names else test.metric.name).partition(":")[0]
    made_from = EvaluationInputs(comparison, inputs, sources, references, warned, benchmark)
    return Evaluation(scored, systems, made_from, analyses)


@dataclass(frozen=True)
class Analysis:
    """An analysis besides the scores: a function, ``MODULE:FUNCTION``, and whether a request asks
    for it.

    The function gets those of the values of :func:`evaluation_of` that its parameters name. It
    returns rows of the long table, a result that :mod:`~cgbench.benchmark.score.forms.analyses`
    makes rows of, or a line why there is none.
    """

    function: str
    is_requested: Callable[[ScoreRequest], bool]


ANALYSES = {
    "parts": Analysis(
        f"{__package__}.known_parts:score_known_parts",
        lambda request: request.breakdown.parts is not None,
    ),
    "exposure": Analysis(
        f"{__package__}.exposure:compare_exposure",
        lambda request: request.breakdown.exposure is not None and request.by is not None,
    ),
    "anytime": Analysis(
        f"{__package__}.anytime:anytime_rows", lambda request: request.comparison.anytime
    ),
    "differences": Analysis(
        f"{__package__}.differences:find_differences", lambda request: request.breakdown.differences
    ),
}


def analyses_of(
    request: ScoreRequest, values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The results of the requested analyses by name, and warnings."""
    results, lines = {}, []
    for name, analysis in ANALYSES.items():
        if not analysis.is_requested(request):
            continue
        function = resolve_name(analysis.function)
        result = function(**{name: values[name] for name in inspect.signature(function).parameters})
        if isinstance(result, str):
            lines.append(result)
        else:
            results[name] = result
            lines += getattr(result, "warnings", ())
    return results, lines


def check_effects(request: ScoreRequest, test: ExampleSet) -> None:
    """Refuse an argument that would have no effect."""
    breakdown = request.breakdown
    by = breakdown.by
    if breakdown.side == "target" and test.metric.needs == "sources":
        raise InputError(
            f"{argument('side', breakdown.side)}: CTER has no references; {argument('by')} measures"
            " the source"
        )
    elsewhere = {
        "table": request.release is not None or request.comparison.cluster,
        "train": breakdown.differences,
    }
    for name, features in FEATURES_OF.items():
        values = request.examples if name == "table" else breakdown
        if name not in values.given or getattr(values, name) is None or elsewhere.get(name):
            continue
        if by is None:
            raise InputError(f"{argument(name)} needs {argument('by')}")
        if features and not (isinstance(by, str) and by.startswith(features)):
            by_argument = argument("by", by) if isinstance(by, str) else "given values"
            raise InputError(f"{argument(name)} has no effect on {by_argument}; leave it out")
    if breakdown.parts is None:
        for name in ("probe_systems", "known"):
            if name in breakdown.given and getattr(breakdown, name) is not None:
                raise InputError(f"{argument(name)} needs {argument('parts')}")
    elif breakdown.probe_systems is None:
        raise InputError(
            f"{argument('parts', str(breakdown.parts))} needs the translations of its probes; give "
            f"{argument('probe_systems')}"
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
    return Binning(feature, None if bins is None else str(bins))


def _feature_of(values: Iterable[Any], examples: Examples) -> Feature:
    """Given values, one per example: numbers or labels; a pandas Series is joined by its index."""
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
    label = {"exact": "exact match"}.get(metric.name, metric.name)
    return published_scores(name, "BLEU" if getattr(metric, "kind", "") == "bleu" else label)


def _by(metric: str, name: str, function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """:func:`evaluate` with a fixed metric."""

    def call(*values: P.args, **options: P.kwargs) -> R:
        return function(metric, *values, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"Score systems by {metric}: :func:`evaluate` with that metric, and the same further"
        " arguments."
    )
    signature = inspect.signature(function)
    call.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return call


bleu = _by("bleu", "bleu", evaluate)
chrf = _by("chrf", "chrf", evaluate)
ter = _by("ter", "ter", evaluate)
exact_match = _by("exact", "exact_match", evaluate)


def cter(
    systems: Runs | Mapping[str, Runs], sources: Texts, compounds: Texts, **options: Any
) -> Evaluation:
    """Compound translation error rate in percent, of rows (instance) and of groups (aggregate).

    :param compounds: the compound of each source.
    :param options: ``lexicon`` (required), and other options of :func:`evaluate` and of CTER.
    """
    return evaluate("cter", systems, sources=sources, **{"compounds": compounds, **options})
