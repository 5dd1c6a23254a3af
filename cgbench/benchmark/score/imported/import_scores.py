"""External scores with intervals, tests, bins and seeds, for ``cgbench score import``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cgbench.benchmark.measure.metrics.segment_scores import (
    SegmentScores,
)
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.example_sets import MetricContext
from cgbench.benchmark.score.evaluation.request import (
    Control,
    ExampleOptions,
    ScoreRequest,
)
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.imported.external_metric import (
    check_one_scale,
    metric_of,
    read_scale,
    skewed_notes,
)
from cgbench.benchmark.score.imported.human_means import human_means_of
from cgbench.benchmark.score.imported.request import ImportRequest
from cgbench.benchmark.score.imported.scores import (
    Scores,
    all_runs,
    are_absent,
    have_own_ids,
    ids_column,
    read_scores,
    table_of,
    without_blank,
)
from cgbench.benchmark.score.outputs.hypotheses import join_texts, read_runs, read_systems
from cgbench.benchmark.score.outputs.judgements import EXAMPLE, RATER
from cgbench.benchmark.score.outputs.score_files import (
    ScoreColumn,
)
from cgbench.errors import InputError, argument, warn
from cgbench.request import accepts, changed
from cgbench.text.columns import Column
from cgbench.text.output_checks import check_outputs


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
    scores = read_scores(request)
    by_judgement = _check_judgements(request, scores)
    scores, blank = without_blank(scores) if request.metric.drop_missing else (scores, [])
    if scale is None:
        check_one_scale([*all_runs(scores.systems), *all_runs(scores.control or {})])
    # The metric, and the runs of each system in its order of examples.
    notes = [f"left out, because they have no scores: {', '.join(blank)}"] if blank else []
    notes += ["a row is the judgement of one rater"] if by_judgement else []
    notes += skewed_notes(scores.systems)
    external = metric_of(scores.systems, request, scale, notes)
    runs = external.runs
    if ids_column(request) is None and have_own_ids(scores.systems):
        # Ids of a harness or of judgements; other texts have them only with --id.
        runs = {
            name: [replace(column, ids=None) for column in columns]
            for name, columns in runs.items()
        }
    # What else the evaluation reads: the control set in the same scale, and the outputs behind the
    # scores.
    context, control_runs = MetricContext(columns=external.columns), None
    if scores.control is not None:
        control = metric_of(scores.control, request, external.metric.scale)
        control_runs = control.runs
        context = replace(context, control=control.metric, control_columns=control.columns)
    if request.texts.hypotheses:
        log_ids = scores.first.ids if scores.first.prints else None
        outputs = _outputs(request, external.metric, runs, blank, log_ids)
        context = replace(context, outputs=outputs)
    # The same as for scores that are computed here; then the mean by people, if they judged some.
    score_request = ScoreRequest(
        external.metric,
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
    if are_absent(table, texts.release, texts.references, texts.sources) and (
        cluster or str(by).startswith("column:")
    ):
        table = table_of(first)
    if request.judgements.strata and by is None and not cluster:
        table = None  # the table is that of the strata, which human_means_of reads
    if table is request.examples.table:
        return request.examples
    return changed(request.examples, table=table)


def _check_judgements(request: ImportRequest, scores: Scores) -> bool:
    """Whether rows are judgements; refuse what cannot be joined with them."""
    flat = all_runs(scores.systems)
    judged = [column for column in flat if column.columns is not None]
    other_runs = [*all_runs(scores.control or {}), *all_runs(scores.people or {})]
    has_raters = judged or any(column.columns is not None for column in other_runs)
    if request.judgements.standardise_raters and not has_raters:
        raise InputError(f"{argument('standardise_raters')}: the files of scores have no raters")
    if not judged:
        return False
    first, texts = judged[0], request.texts
    alone = len(judged) == len(flat) and are_absent(
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
    hypotheses = read_runs(request.texts.hypotheses, ids_column(request), ids)
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
    if are_absent(request.texts.references, request.texts.release):
        # With references, evaluate() checks the texts. The scores are not of this program.
        for line in check_outputs(runs_of_systems, [""] * metric.n, accept=True):
            warn(line)
    return runs_of_systems
