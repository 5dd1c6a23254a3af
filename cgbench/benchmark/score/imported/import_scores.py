"""External scores with intervals, tests, bins and seeds, for ``cgbench score import``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, TypeAlias

import numpy as np

from cgbench.argument_types import AnyRelease, Kind, Name, Systems, Text
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.measure.metrics.segment_scores import (
    BEYOND,
    SegmentScores,
    number_of,
    scores_of,
)
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.comparison.prediction_powered import HumanMean, human_means
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.example_sets import MetricContext, lines_of_release
from cgbench.benchmark.score.evaluation.features import table_column
from cgbench.benchmark.score.evaluation.request import (
    Breakdown,
    Control,
    ExampleOptions,
    References,
    ScoreRequest,
)
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.outputs.hypotheses import absent, join_texts, read_runs, read_systems
from cgbench.benchmark.score.outputs.judgements import EXAMPLE, RATER
from cgbench.benchmark.score.outputs.log_outputs import by_rows
from cgbench.benchmark.score.outputs.score_files import (
    ReadOptions,
    ScoreColumn,
    answered_by_all,
    common_order,
    split_field,
)
from cgbench.benchmark.score.outputs.score_readers import is_frame, read_score_columns
from cgbench.errors import InputError, argument, warn
from cgbench.request import KW_ONLY, Request, accepts, changed, leaves_of, option
from cgbench.text.columns import Column
from cgbench.text.inputs import AnyPath, is_path
from cgbench.text.joins import NONE, Examples
from cgbench.text.output_checks import check_outputs
from cgbench.text.streams import form

NAMED = 5  # rows named in a message
NOT_PERCENT = 0.1
"""Smallest share of scores below 1 (except zeros) in a column on a scale that ends at 1."""
MOST_COUNTS = 3  # beside labels of 0 and 1, which may be counts
MOST_NEGATIVE, ENOUGH = 0.25, 20  # share of negative scores beside as many scores without any


def _is_scale(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and len(value) == 2)


def _as_columns(value: Any) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in value.split(",")] if isinstance(value, str) else []
    return (
        dict(value)
        if isinstance(value, Mapping)
        else {role.strip(): name.strip() for role, _, name in pairs}
    )


ColumnNames: TypeAlias = Annotated[
    Any,
    Kind(
        "columns",
        "columns by what they hold: system, segment, rater, document, score",
        lambda value: isinstance(value, Mapping) or (isinstance(value, str) and "=" in value),
        read=_as_columns,
    ),
]
Scale: TypeAlias = Annotated[
    Any, Kind("scale", "the lowest and the highest score, such as 0:1", _is_scale)
]


class ImportedMetric(Request):
    """Name, scale and direction of external scores."""

    _: KW_ONLY
    name: str = option(
        "--name",
        default="scores",
        help="Name of the metric, for tables and the signature",
        group="Metric",
    )
    statistic: str = option(
        "--set statistic",
        default="mean",
        help=(
            "How segment scores are aggregated: their mean, or share:X, the percentage of scores of"
            " at least X"
        ),
        group="Metric",
        metavar="mean|share:X",
    )
    scale: Scale | None = option(
        "--scale",
        default=None,
        help="Lowest and highest possible score; 0:1 is shown in percent",
        group="Metric",
        metavar="LOW:HIGH",
    )
    lower_is_better: bool = option(
        "--lower-is-better",
        default=False,
        help="Lower scores are better (error rates, MetricX)",
        group="Metric",
    )
    drop_missing: bool = option(
        "--drop-missing",
        default=False,
        help="Leave out examples for which some run has no finite score",
        group="Advanced",
    )


class ScoredTexts(Request):
    """The texts behind external scores."""

    _: KW_ONLY
    hypotheses: Systems | None = option(
        "--hyp",
        default=None,
        help="Hypotheses behind the scores, for the report and --differences",
    )
    references: References | None = option(
        "--ref",
        default=None,
        help="References, for --by and the report",
    )
    sources: Text | None = option(
        "--source",
        default=None,
        help="Sources, for --side source, additional references and the report",
    )
    release: AnyRelease | None = option(
        "--release",
        default=None,
        help="Release whose test set gives --ref, --source and --table",
    )


class HumanJudgements(Request):
    """Human judgements: of some of the examples, or as the scores themselves."""

    people: Systems | None = option(
        "--people",
        default=None,
        help="Human judgements of some examples, to estimate their mean over all with the scores",
    )
    _: KW_ONLY
    columns_of: ColumnNames | None = option(
        "--set columns_of",
        default=None,
        help="Columns of a table of ratings with unusual names",
        metavar="system=COLUMN,rater=COLUMN",
        group="Advanced",
    )
    standardise_raters: bool = option(
        "--standardise-raters",
        default=False,
        help="Convert judgements to z-scores for each rater",
        group="Advanced",
    )
    people_scale: Scale | None = option(
        "--set people_scale",
        default=None,
        help="Lowest and highest possible judgement of --people; 0:1 is right or wrong, in percent",
        metavar="LOW:HIGH",
        group="Advanced",
    )
    strata: Name | None = option(
        "--set strata",
        default=None,
        help="Column of the table by which the judged examples were sampled",
        metavar="COLUMN",
        group="Advanced",
    )


class ImportRequest(Request):
    """What :func:`import_scores` is asked for."""

    systems: Systems = option(
        "--scores",
        help="Segment scores of a system, one file per seed; repeatable",
        group="Input",
    )
    _: KW_ONLY
    metric: ImportedMetric = option(
        default=ImportedMetric(),
        help="Name, scale and direction of the scores (ImportedMetric)",
    )
    texts: ScoredTexts = option(
        default=ScoredTexts(),
        help="The texts behind the scores (ScoredTexts)",
        group="Input",
    )
    comparison: Comparison = option(
        default=Comparison(),
        help="Intervals and tests (Comparison)",
        group="Comparison",
    )
    breakdown: Breakdown = option(
        default=Breakdown(),
        help="Bins and differences (Breakdown)",
        group="Breakdown",
    )
    examples: ExampleOptions = option(
        default=ExampleOptions(),
        help="How examples are joined, and the population that they represent (ExampleOptions)",
    )
    judgements: HumanJudgements = option(
        default=HumanJudgements(),
        help="Human judgements (HumanJudgements)",
        group="Human judgements",
    )
    control_systems: Systems | None = option(
        "--control-scores",
        default=None,
        help="Scores of the same systems on the control set",
        group="Advanced",
    )

    def implied(self) -> dict[str, Any]:
        """The comparison that an estimate needs."""
        return {"comparison": self.examples.comparison(self.comparison, self.texts.release)}


@accepts(ImportRequest)
def import_scores(request: ImportRequest) -> Evaluation:
    """Intervals, tests, bins and seeds for segment scores of any metric.

    ``systems`` maps names to a file (:mod:`.score_files`, or a log of a harness) or numbers, or to
    a list of these for several runs. The first one determines the order of examples. Scores that
    are all 0 or 1 have the scale 0:1. Logs of harnesses and pandas Series have their own ids.

    :raises InputError: a file cannot be read, runs have different examples, or a score is missing
        or outside the scale.
    """
    _check_request(request)
    scale = read_scale(request.metric.scale)
    # Read the files, and refuse what does not fit together.
    scores = _read_scores(request)
    by_judgement = _check_judgements(request, scores)
    scores, blank = _without_blank(scores) if request.metric.drop_missing else (scores, [])
    if scale is None:
        _check_one_scale([*_all_runs(scores.systems), *_all_runs(scores.control or {})])
    # The metric, and the runs of each system in its order of examples.
    notes = [f"left out, because they have no scores: {', '.join(blank)}"] if blank else []
    notes += ["a row is the judgement of one rater"] if by_judgement else []
    notes += _skewed(scores.systems)
    metric, runs, known = _metric_of(scores.systems, request, scale, notes)
    if _ids(request) is None and _have_ids_of_their_own(scores.systems):
        # Ids of a harness or of judgements; other texts have them only with --id.
        runs = {
            name: [replace(column, ids=None) for column in columns]
            for name, columns in runs.items()
        }
    # What else the evaluation reads: the control set in the same scale, and the outputs behind the
    # scores.
    context, control_runs = MetricContext(columns=known), None
    if scores.control is not None:
        control_metric, control_runs, known = _metric_of(scores.control, request, metric.scale)
        context = replace(context, control=control_metric, control_columns=known)
    if request.texts.hypotheses:
        log_ids = scores.first.ids if scores.first.prints else None
        outputs = _outputs(request, metric, runs, blank, log_ids)
        context = replace(context, outputs=outputs)
    # The same as for scores that are computed here; then the mean by people, if they judged some.
    score_request = ScoreRequest(
        metric,
        runs,
        request.texts.references,
        sources=request.texts.sources,
        release=request.texts.release,
        comparison=_comparison(request, by_judgement),
        breakdown=request.breakdown,
        examples=_examples(request, scores.first),
        control=Control(control_runs),
    )
    evaluation = evaluation_of(score_request, context)
    if scores.people is None:
        return evaluation
    means = human_means_of(
        evaluation,
        scores.systems,
        scores.people,
        request.examples,
        request.judgements.strata,
        scale=read_scale(request.judgements.people_scale, "people_scale"),
    )
    return replace(evaluation, scored=replace(evaluation.scored, people=tuple(means)))


Columns: TypeAlias = Mapping[str, Sequence[ScoreColumn]]
"""The runs of each system."""


@dataclass(frozen=True)
class Scores:
    """The files of scores of a request, by system."""

    systems: Columns
    control: Columns | None
    """Of the same systems on the control set."""
    people: Columns | None
    """Human judgements of some examples."""

    @property
    def first(self) -> ScoreColumn:
        """The run that determines the order of examples."""
        return next(iter(self.systems.values()))[0]


def _check_request(request: ImportRequest) -> None:
    judgements = request.judgements
    if judgements.people is not None and request.examples.estimate:
        raise InputError(
            f"{argument('people')} has an estimate of its own; leave {argument('estimate')} out"
        )
    if judgements.people is None and judgements.people_scale is not None:
        raise InputError(
            f"{argument('people_scale', judgements.people_scale)} needs {argument('people')}"
        )
    if judgements.people is None and judgements.strata:
        raise InputError(f"{argument('strata', judgements.strata)} needs {argument('people')}")


def _ids(request: ImportRequest) -> str | None:
    """The column with the ids of examples, if there is one."""
    ids = request.examples.ids
    return None if ids == NONE else ids


def _read_scores(request: ImportRequest) -> Scores:
    """Read the files of scores; those of logs in the order of the test set."""
    judgements, texts, by = request.judgements, request.texts, request.breakdown.by
    by_rater = RATER in request.comparison.cluster
    by_rater |= isinstance(by, str) and by == f"column:{RATER}"
    options = ReadOptions(
        _ids(request), judgements.standardise_raters, by_rater, judgements.columns_of
    )
    systems = request.systems
    if not isinstance(systems, Mapping):  # a file may have several systems
        systems = {"" if is_path(systems) or is_frame(systems) else "system": systems}
    columns = read_score_columns(systems, options)
    control = people = None
    if request.control_systems is not None:
        control = read_score_columns(request.control_systems, options)
    if judgements.people is not None:
        people = read_score_columns(judgements.people, replace(options, by_rater=False))
    if _ids(request) is None and not _are_absent(texts.release, texts.references, texts.sources):
        lines = lines_of_release(texts.release, request.examples)
        # Scores of a log, which has ids, in the order of the test set, as far as these tell.
        columns = {
            name: [
                by_rows(column, lines, strict=False) if column.prints and column.ids else column
                for column in runs
            ]
            for name, runs in columns.items()
        }
    return Scores(columns, control, people)


def _without_blank(scores: Scores) -> tuple[Scores, list[str]]:
    """The scores without the systems that have none, and the names of these."""
    blank = _without_scores(scores.systems)
    systems = {name: runs for name, runs in scores.systems.items() if name not in blank}
    return replace(scores, systems=systems), blank


def _have_ids_of_their_own(systems: Columns) -> bool:
    return any(
        column.prints is not None or column.columns is not None for column in _all_runs(systems)
    )


def _are_absent(*texts: Any) -> bool:
    return all(map(absent, texts))


def _comparison(request: ImportRequest, by_judgement: bool) -> Comparison:
    """The comparison; judgements of the same example are not independent."""
    cluster = tuple(request.comparison.cluster)
    if by_judgement and cluster in ((), (RATER,)):
        return changed(request.comparison, cluster=(*cluster, EXAMPLE))
    return request.comparison


def _examples(request: ImportRequest, first: ScoreColumn) -> ExampleOptions:
    """How examples are joined; without other texts, the file of scores may be the table of
    clusters and bins.
    """
    texts, by = request.texts, request.breakdown.by
    cluster = request.comparison.cluster
    table = request.examples.table
    if _are_absent(table, texts.release, texts.references, texts.sources) and (
        cluster or str(by).startswith("column:")
    ):
        table = _table_of(first)
    if request.judgements.strata and by is None and not cluster:
        table = None  # the table is that of the strata, which human_means_of reads
    if table is request.examples.table:
        return request.examples
    return changed(request.examples, table=table)


def _all_runs(systems: Columns) -> list[ScoreColumn]:
    """The runs of all systems, one after another."""
    return [column for columns in systems.values() for column in columns]


def _skewed(columns: Columns) -> list[str]:
    """A warning if scores are too skewed for intervals of their number (Cochran 1977, *Sampling
    Techniques*, 2.15).
    """
    lines = []
    for name, runs in columns.items():
        values = scores_of(runs[0].values, runs[0].name)
        values = values[np.abs(values) < BEYOND]
        if len(values) < 3 or np.isin(values, (0.0, 1.0)).all() or not values.std():
            continue
        standardised = (values - values.mean()) / values.std()
        needed = math.ceil(25 * float((standardised**3).mean()) ** 2)
        if len(values) < needed:
            lines.append(
                f"{name}: the scores are skewed; with {len(values):,} examples, 95% intervals"
                f" contain the mean less often (about {needed:,} are needed)"
            )
    return lines


def _check_judgements(request: ImportRequest, scores: Scores) -> bool:
    """Whether rows are judgements; refuse what cannot be joined with them."""
    flat = _all_runs(scores.systems)
    judged = [column for column in flat if column.columns is not None]
    other_runs = [*_all_runs(scores.control or {}), *_all_runs(scores.people or {})]
    has_raters = judged or any(column.columns is not None for column in other_runs)
    if request.judgements.standardise_raters and not has_raters:
        raise InputError(f"{argument('standardise_raters')}: the files of scores have no raters")
    if not judged:
        return False
    first, texts = judged[0], request.texts
    alone = len(judged) == len(flat) and _are_absent(
        request.examples.table, texts.release, texts.references, texts.sources, texts.hypotheses
    )
    if first.by_judgement and not alone:
        raise InputError(
            f"{first.name}: examples have several raters, so a row is a judgement, which cannot be"
            f" joined with other texts or scores; leave them out, or leave out {RATER}"
        )
    row_numbers = [str(row_number) for row_number in range(1, len(first) + 1)]
    if request.examples.ids is None and not alone and first.ids != row_numbers:
        raise InputError(
            f"{first.name}: judgements are joined with other texts and scores by the example; name"
            f" the column with its id ({argument('ids')})"
        )
    return first.by_judgement


def human_means_of(
    evaluation: Evaluation,
    scores: Columns,
    people: Columns,
    options: ExampleOptions,
    by_strata: str | None,
    exact: np.ndarray | None = None,
    scale: tuple[float, float] | None = None,
) -> list[HumanMean]:
    """The mean judgements of the systems that people judged, by their scores.

    :param by_strata: a column of the table.
    :param exact: bool ``[n]``: examples whose judgement is known without people.
    :param scale: the lowest and highest possible judgement.
    """
    metric, inputs = evaluation.scored.metric, evaluation.inputs
    assert inputs is not None
    # The judgements and the scores of the same examples.
    human, proxy, examples = {}, {}, Examples(options.ids)
    first = examples.join(next(iter(scores.values()))[0])
    for name, columns in people.items():
        if name not in scores:
            raise InputError(
                f"{argument('people', name)}: there are no scores of a system of that name"
            )
        if len(columns) > 1 or len(scores[name]) > 1:
            raise InputError(
                f"{argument('people', name)}: give the scores and judgements of one run per system"
            )
        human[name] = _judgements(columns[0], examples, len(first))
        proxy[name] = scores_of(examples.join(scores[name][0]).values, scores[name][0].name)
    human, scale = _on_scale(human, scale, metric)
    # Strata and clusters of the examples that count.
    sampling = evaluation.scored.sampling
    rows, strata, clusters = sampling.counted(np.arange(metric.n)), None, sampling.clusters
    if by_strata:
        features = replace(inputs.features, table=options.table or _table_of(first))
        labels = table_column(
            features, argument("strata", by_strata), (by_strata,), metric.n
        ).values
        strata = np.array(labels)[rows]
    comparison = inputs.comparison
    baseline = comparison.baseline or (next(iter(human)) if comparison.paired else None)
    if baseline is not None and baseline not in human:
        raise InputError(f"{argument('people')}: the baseline {baseline} has no judgements")
    human, proxy = (
        {name: judgements[rows] for name, judgements in of.items()} for of in (human, proxy)
    )
    if clusters:
        clusters = replace(
            clusters, labels=tuple(labels[rows] for labels in clusters.labels), rows=None
        )
    return human_means(
        human,
        proxy,
        clusters=clusters,
        strata=strata,
        exact=None if exact is None else exact[rows],
        baseline=baseline,
        scale=scale,
    )


def _on_scale(
    human: dict[str, np.ndarray], scale: tuple[float, float] | None, metric: Metric
) -> tuple[dict[str, np.ndarray], tuple[float, float] | None]:
    """The judgements, in percent if they are right or wrong, and their scale.

    Judgements that are all equal do not show their scale, since 0 is the best of MQM and the worst
    of right or wrong. The scores may: 0 and 1.
    """
    every = np.concatenate([values[np.isfinite(values)] for values in human.values()])
    if scale is not None and len(every) and (every.min() < scale[0] or every.max() > scale[1]):
        outside = every.min() if every.min() < scale[0] else every.max()
        raise InputError(
            f"{argument('people_scale')}: a judgement of {outside:g} is outside the scale"
            f" {scale[0]:g} to {scale[1]:g}"
        )
    constant = len(every) > 0 and every.min() == every.max()
    if scale is None and np.isin(every, (0.0, 1.0)).all():
        of_scores = metric.binary if isinstance(metric, SegmentScores) else metric.unit == "%"
        scale = (0.0, 1.0) if of_scores or not constant else None
    if scale is None and constant:
        warn(
            f"{argument('people')}: all {len(every):,} judgements are {every[0]:g}, which does not"
            f" show their scale, so there is no interval; give it ({argument('people_scale')}),"
            " such as -25:0 for MQM"
        )
    if scale == (0.0, 1.0):
        return {name: 100 * values for name, values in human.items()}, (0.0, 100.0)
    return human, scale


def _judgements(column: ScoreColumn, examples: Examples, n: int) -> np.ndarray:
    """The judgements of each of ``n`` examples; NaN where there is none."""
    rows = np.array(examples.rows_of(column, fewer=True, sorts=column.columns is not None))
    examples.check()
    if len(rows) != n:
        raise InputError(
            f"{column.name} has {len(rows):,} rows for {n:,} examples: leave a cell empty where"
            f" nobody judged, or join by {argument('ids')}"
        )
    return np.where(rows < 0, np.nan, scores_of(column.values, column.name)[rows])


def _outputs(
    request: ImportRequest,
    metric: SegmentScores,
    runs: Mapping[str, Sequence[Column]],
    blank: Sequence[str],
    ids: Sequence[str] | None,
) -> dict[str, tuple[Sequence[str], ...]]:
    """The texts behind the scores, by system, in the order of the scores.

    :param ids: of the scores, if they come from a log.
    """
    first = next(iter(runs.values()))
    assert request.texts.hypotheses is not None
    hypotheses = read_runs(request.texts.hypotheses, _ids(request), ids)
    joined = join_texts(request.examples.ids, {}, {"": first, **hypotheses}, leads=True)[1]
    texts_of_systems = {name: texts for name, texts in joined.items() if name and name not in blank}
    systems = read_systems(texts_of_systems, metric.n, first[0].name) if texts_of_systems else ()
    runs_of_systems = {system.name: system.runs for system in systems}
    for name, texts in runs_of_systems.items():
        if name not in runs:
            raise InputError(
                f"{argument('hypotheses', name)}: there are no scores of a system of that name"
            )
        if len(texts) not in (1, len(runs[name])):
            raise InputError(
                f"{name}: {len(texts)} files of hypotheses for {len(runs[name])} runs of scores"
            )
    if _are_absent(request.texts.references, request.texts.release):
        # With references, evaluate() checks the texts. The scores are not of this program.
        for line in check_outputs(runs_of_systems, [""] * metric.n, accept=True):
            warn(line)
    return runs_of_systems


def _without_scores(systems: Columns) -> list[str]:
    """Systems without any score (as references in human scores of mt-metrics-eval), unless all
    are.
    """
    blank = [
        name
        for name, columns in systems.items()
        if all(
            len(column) and np.isnan(scores_of(column.values, column.name)).all()
            for column in columns
        )
    ]
    return blank if len(blank) < len(systems) else []


def read_scale(
    scale: str | tuple[float, float] | None, name: str = "scale"
) -> tuple[float, float] | None:
    """Parse ``LOW:HIGH``, the value of the argument ``name``.

    :raises InputError: it is not two rising numbers.
    """
    if scale is None:
        return None
    try:
        ends = (
            [number_of(end) for end in scale.split(":")]
            if isinstance(scale, str)
            else map(float, scale)
        )
        low, high = (math.nan if end is None else end for end in ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not -math.inf < low < high < math.inf:
        raise InputError(
            f"{argument(name, scale)}: give the lowest and the highest score, such as 0:1"
        )
    return low, high


def _metric_of(
    systems: Columns,
    request: ImportRequest,
    scale: tuple[float, float] | None,
    more_notes: Sequence[str] = (),
) -> tuple[SegmentScores, dict[str, list[Column]], Mapping[str, Sequence[str]]]:
    """The metric of these scores, the runs of each system in its order, and what is known of each
    example.
    """
    options = request.metric
    flat = answered_by_all(_all_runs(systems)) if request.comparison.anytime else _all_runs(systems)
    # All runs in one order.
    ordered = common_order(flat, request.examples.ids)
    if not len(ordered[0]):
        raise InputError(f"{ordered[0].name}: no scores")
    # Examples without a score are refused or left out.
    values = [scores_of(column.values, column.name) for column in ordered]
    is_missing = np.isnan(values)
    lacking = [
        (run, np.flatnonzero(in_run))
        for run, in_run in zip(ordered, is_missing, strict=True)
        if in_run.any()
    ]
    missing = np.logical_or.reduce(is_missing)
    notes = []
    if lacking:
        if not options.drop_missing:
            _refuse_missing(lacking)
        if missing.all():
            raise InputError("no example is left: for each one, some run has no finite score")
        counts = ", ".join(f"{column.name} {len(rows):,}" for column, rows in lacking)
        notes.append(
            f"{np.count_nonzero(missing):,} of {len(missing):,} examples are left out of all"
            f" systems, because a score is missing or infinite ({counts})"
        )
    # The scale, if it is known or all scores are 0 and 1.
    has_score = ~missing
    zero_or_one = all(
        bool(np.isin(column_values[has_score], (0.0, 1.0)).all()) for column_values in values
    )
    scale = scale or ((0.0, 1.0) if zero_or_one else None)
    if scale:
        _check_scale(ordered, values, scale)
    fields = dict.fromkeys(column.field for column in ordered if column.field)
    metric = SegmentScores(
        len(ordered[0]),
        name=_name(options.name, list(fields)),
        statistic=options.statistic,
        scale=scale,
        lower_is_better=options.lower_is_better,
        binary=zero_or_one and scale == (0.0, 1.0),
        missing=missing,
        notes=[*notes, *more_notes],
        reading={
            "field": "+".join(fields) or None,
            "raters": "standardised" if request.judgements.standardise_raters else None,
        },
        largest=max(
            float(np.quantile(np.abs(column_values[has_score]), 0.99)) for column_values in values
        ),
    )
    in_order = iter(ordered)
    runs: dict[str, list[Column]] = {
        name: list(islice(in_order, len(columns))) for name, columns in systems.items()
    }
    return metric, runs, {**(ordered[0].columns or {}), **(ordered[0].metadata or {})}


def _name(name: str, fields: Sequence[str]) -> str:
    """The name of the metric: the given one, else that of the metric of logs."""
    is_default = name == leaves_of(ImportedMetric)["name"].default
    return fields[0].removesuffix(",none") if is_default and len(fields) == 1 else name


def _refuse_missing(lacking: Sequence[tuple[ScoreColumn, np.ndarray]]) -> None:
    """Refuse runs that lack scores, each with the rows that have none."""
    column, bad = lacking[0]
    rows = ", ".join(f"{row + 1} ({column.values[row] or 'empty'})" for row in bad[:NAMED].tolist())
    further = f" and {len(bad) - NAMED:,} more" if len(bad) > NAMED else ""
    files = len(lacking) - 1
    other_files = (
        f"; {files:,} more {'files lack' if files > 1 else 'file lacks'} some" if files else ""
    )
    raise InputError(
        f"{column.name}: {len(bad):,} of {len(column):,} scores are missing or infinite:"
        f" row{'s' * (len(bad) > 1)} {rows}{further}{other_files}. {argument('drop_missing')}"
        " leaves these examples out of all systems"
    )


def _check_scale(
    columns: Sequence[ScoreColumn], values: Sequence[np.ndarray], scale: tuple[float, float]
) -> None:
    for column, column_values in zip(columns, values, strict=True):
        if len(beyond := np.flatnonzero((column_values < scale[0]) | (column_values > scale[1]))):
            row = int(beyond[0])
            raise InputError(
                f"{column.row(row)}: {column.values[row]} is outside the scale {scale[0]:g} to"
                f" {scale[1]:g} ({len(beyond):,} of {len(column_values):,} scores are); give the"
                f" scale of these scores ({argument('scale')}), or none"
            )


def _check_one_scale(columns: Sequence[ScoreColumn]) -> None:
    """Refuse columns whose ranges cannot be those of one metric: from 0 to 1 beside 0 to 10, 1 to
    5, -1 to 1, -25 to 0.

    Zeros are on every scale. Others are compared with each column within 0 to 1, or without
    negative scores.
    """
    ranges = []
    for column in columns:
        values = scores_of(column.values, column.name)
        if len(values := values[~np.isnan(values) & (values != 0)]):
            ranges.append((column, values))
    units = [bounds for bounds in ranges if np.abs(bounds[1]).max() <= 1]
    positive = [bounds for bounds in ranges if bounds[1].min() > 0]
    pairs = [
        (unit, second)
        for unit in units
        for second in ranges
        if np.mean(np.abs(second[1]) < 1) < NOT_PERCENT and np.abs(second[1]).max() > MOST_COUNTS
    ]
    pairs += [
        (bounds, second)
        for bounds in positive
        for second in ranges
        if np.mean(second[1] < 0) >= (MOST_NEGATIVE if len(bounds[1]) >= ENOUGH else 1)
    ]
    if pairs:
        (column, low), (second, high) = pairs[0]
        raise InputError(
            f"{column.name} has scores from {low.min():g} to {low.max():g} but {second.name} from"
            f" {high.min():g} to {high.max():g}: they seem to have different scales; convert them"
            f" to one scale, or give the scale if they have the same ({argument('scale')}, such as"
            " 0:100)"
        )


def _table_of(column: ScoreColumn) -> AnyPath | None:
    """The file of scores if it is a table; its other columns describe the same examples."""
    path = split_field(column.name)[0]
    return path if form(path) != "plain" and path.is_file() else None
