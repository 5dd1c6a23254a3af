"""Prepare a test set or a control set for scoring: read and join texts, create the metric,
normalise hypotheses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.measure.metrics.registry import make_metric, metric_class
from cgbench.benchmark.score.evaluation.hypotheses import check_translated, in_release_form, prepare
from cgbench.benchmark.score.evaluation.request import ExampleOptions, ScoreRequest
from cgbench.benchmark.score.outputs.systems import (
    ROLES,
    System,
    absent,
    in_release,
    join_texts,
    read_references,
    read_systems,
    same_systems,
)
from cgbench.errors import InputError, argument
from cgbench.text.columns import Column, read_column
from cgbench.text.formats import form
from cgbench.text.inputs import AnyPath, as_column
from cgbench.text.joins import Examples
from cgbench.text.rows import Table
from cgbench.text.streams import split_name

OF_METRIC = ("compounds", "human")
"""Texts among the options of a metric, which are joined with the other texts."""


@dataclass(frozen=True)
class MetricContext:
    """What belongs to a metric that is passed as an object.

    :param outputs: the texts of each run behind external scores, by system.
    :param columns: what is known of each example, by name (rater, document); ``control_columns``:
        the same of the control set.
    :param control: the metric of the control set.
    :param shared: what several metrics of one request read once: texts and systems, clusters and
        designs.
    """

    outputs: Mapping[str, tuple[Sequence[str], ...]] = field(default_factory=dict)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    control: Metric | None = None
    control_columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, read: Callable[[], Any]) -> Any:
        """What ``read`` returned the first time."""
        if name not in self.shared:
            self.shared[name] = read()
        return self.shared[name]


@dataclass(frozen=True)
class ExampleSet:
    """A test set or a control set, with its metric and the outputs of the systems.

    :param references: those of each example, if any. ``names``: names of their texts in messages.
    :param examples: to join further tables with.
    :param table: a table with one row per example, if any.
    :param warnings: about the form of the hypotheses.
    :param control: it is the control set.
    :param normalised: how hypotheses were normalised, for the signature.
    :param columns: what is known of each example without a table, by name.
    """

    metric: Metric
    systems: tuple[System, ...]
    references: list[list[str]]
    names: list[str]
    sources: Column | None
    human: Column | None
    examples: Examples
    table: AnyPath | None
    warnings: list[str]
    control: bool
    normalised: str | None
    columns: Mapping[str, Sequence[str]]

    @property
    def targets(self) -> Column | None:
        """The first reference of each example, or the sources if there are no references."""
        return (
            Column(self.names[0], [of_example[0] for of_example in self.references])
            if self.references
            else self.sources
        )


def read_test_set(request: ScoreRequest, context: MetricContext) -> ExampleSet:
    """The test set of a request.

    :raises InputError: a text is missing or has another length, or an option does not suit the
        metric.
    """
    texts = {
        "references": request.references,
        "sources": request.sources,
        "human": None,
        "compounds": None,
    }
    texts |= {name: (request.settings or {}).get(name) for name in OF_METRIC}
    table = request.examples.table
    if request.release is not None:
        files = release_files(request.release, request.examples.drawn_set(request.release))
        texts = _with_release(request, texts, files)
        table = files["table"] if table is None else table
    metric = request.metric if isinstance(request.metric, Metric) else None
    return _read(request, metric, texts, request.systems, table, context)


def read_control_set(request: ScoreRequest, context: MetricContext) -> ExampleSet | None:
    """The control set of a request, with systems in the order of the test set, or None.

    :raises InputError: something is missing, or the systems are not those of the test set.
    """
    control = request.control
    texts = {
        "references": control.control_references,
        "sources": control.control_sources,
        "compounds": control.control_compounds,
    }
    if control.control_systems is None:
        if not all(map(absent, texts.values())):
            raise InputError(
                f"the control set has no hypotheses; give {argument('control_systems')}"
            )
        return None
    by_name, table = isinstance(request.metric, str), None
    if (
        request.release is not None
        and by_name
        and metric_class(request.metric).needs == "references"
    ):
        files = release_files(request.release, "control" if absent(texts["references"]) else "test")
        if absent(texts["references"]):
            table = files["table"]
            texts = _with_release(request, texts, files)
    metric = context.control
    if not by_name and metric is None:
        raise InputError(
            f"{argument('control_systems')}: the given Metric has no metric for the control set"
        )
    systems = same_systems("control_systems", control.control_systems, request.systems)
    return _read(request, metric, texts, systems, table, context, control=True)


def _with_release(
    request: ScoreRequest, texts: Mapping[str, Any], files: Mapping[str, Path]
) -> dict[str, Any]:
    """``texts`` with those of a release where they are absent, and their normalised forms if the
    release has them.
    """
    keys = {"references": "reference", "sources": "source"}
    forms = {"normalised": "normalised", "normalised_sources": "normalised_source"}
    if not absent(texts["references"]):
        forms = {}
    chosen = {
        name: key
        for name, key in (keys | forms).items()
        if key in files and absent(texts.get(name))
    }
    return {
        **texts,
        **{
            name: in_release(request.examples.ids, files[key], files["table"])
            for name, key in chosen.items()
        },
    }


def _read(
    request: ScoreRequest,
    metric: Metric | None,
    texts: dict[str, Any],
    systems: Any,
    table: AnyPath | None,
    context: MetricContext,
    *,
    control: bool = False,
) -> ExampleSet:
    """The set of these texts and systems; ``metric``: None if the request names it."""
    metric_name, by_name = request.metric, metric is None
    options = {
        name: value for name, value in request.metric_options.items() if name not in OF_METRIC
    }
    if options and not by_name:
        raise InputError(
            f"{argument(next(iter(options)))}: the given Metric already has its options"
        )
    joined, runs, examples = context.once(
        f"texts, control: {control}",
        lambda: join_texts(
            request.examples.ids,
            texts,
            systems,
            leads=not by_name,
            lines=lines_of_release(request.release, request.examples, control=control),
        ),
    )
    roles = {
        name: (
            None
            if joined.get(name) is None
            else as_column(joined[name], f"control_{name}" if control else name, *ROLES[name])
        )
        for name in ("sources", "compounds", "human")
    }
    sources, lacks_references = roles["sources"], absent(joined["references"])
    references: list[list[str]] = []
    names: list[str] = []
    if by_name and metric_class(metric_name).needs == "sources":
        if control and (sources is None or roles["compounds"] is None):
            missing = " and ".join(map(argument, ("control_sources", "control_compounds")))
            raise InputError(f"CTER of a control set needs its compounds: give {missing}")
        names = [sources.name] if sources else []
    elif by_name or not lacks_references:
        if control and lacks_references:
            raise InputError(
                f"the control set needs references: give {argument('control_references')} (or a"
                f" {argument('release')} with a control set)"
            )
        references, names = read_references(joined["references"])
        beside = sources if metric is None else next(iter(runs.values()))[0]
        if beside and len(references) != (len(beside) if metric is None else metric.n):
            noun = "lines" if metric is None or metric.of_texts else "scores"
            raise InputError(
                f"{beside.name} has {len(beside):,} {noun} and {names[0]} has {len(references):,}"
                " lines: check where the alignment breaks"
            )
    against = names[0] if names else "its control set" if control and metric else "the metric"
    if metric is None:
        metric = make_metric(
            metric_name, ExampleTexts(references, sources, roles["compounds"]), options
        )
    read, release_form = read_systems(runs, metric.n, against), False
    normalised_sources = None
    if by_name and sources and not absent(joined.get("normalised_sources")):
        normalised_sources = as_column(joined["normalised_sources"], "sources", *ROLES["sources"])
    check_translated(request, read, sources, normalised_sources)
    # Hypotheses in the normalised form of a release are compared with its references in that form.
    if by_name and not absent(joined.get("normalised")):
        normalised_references, normalised_names = read_references(joined["normalised"])
        if release_form := in_release_form(
            request, metric, read, references, normalised_references
        ):
            references, names = normalised_references, normalised_names
            sources = normalised_sources or sources
            metric = make_metric(
                metric_name, ExampleTexts(references, sources, roles["compounds"]), options
            )
    prepared, normalised, warnings = prepare(
        request, metric, read, references, release_form=release_form
    )
    outputs = {} if control else context.outputs
    with_texts = tuple(
        replace(system, texts=tuple(outputs.get(system.name, ()))) for system in prepared
    )
    files = [*([sources.name] if sources else []), *names]
    if not metric.of_texts:
        given_scores = [run.name for runs_of_system in runs.values() for run in runs_of_system]
        files += [name for name in given_scores if split_name(name)[0].is_file()]
    # The first file that is a table has columns that describe the same examples.
    paths = (split_name(name)[0] for name in files)
    table = table or next((str(path) for path in paths if form(path) != "plain"), None)
    return ExampleSet(
        metric,
        with_texts,
        references,
        names,
        sources,
        roles["human"],
        examples,
        table,
        warnings,
        control,
        normalised,
        context.control_columns if control else context.columns,
    )


def lines_of_release(
    release: Any, examples: ExampleOptions, *, control: bool = False
) -> list[str] | None:
    """The column ``line`` of the scored set or the control set of a release, if one was given and
    has it.
    """
    if release is None:
        return None
    from cgbench.benchmark.release.manifest import CONTROL, ID, SAMPLE, SPLIT
    from cgbench.benchmark.release.release import Release

    release = Release.of(release)
    if control and not release.has_control:
        return None
    drawn = SAMPLE if examples.drawn_set(release) == "sample" else SPLIT
    path = release.path(CONTROL if control else drawn)
    return read_column(f"{path}:{ID}").values if ID in Table(path, named=True).names else None


def release_files(release: Any, name: str = "test") -> dict[str, Path]:
    """The ``source``, ``reference`` and ``table`` of a release; the ``normalised`` references and
    the ``normalised_source`` if it contains them.

    :param name: of its test set, its ``control`` set or its stratified ``sample``.
    :param release: a release, or its folder.
    :raises InputError: the folder is not a finished release, or has no such set.
    """
    from cgbench.benchmark.release.manifest import SPLIT, normalised_text
    from cgbench.benchmark.release.release import Release

    release = Release.of(release)
    release.check_finished()
    read = release.text_path if name == "test" else partial(release.set_path, name)
    paths = {"source": read("source"), "reference": read("target")}
    if release.keeps_normalised:
        forms = (("normalised_source", "source"), ("normalised", "reference"))
        paths |= {form: release.path(normalised_text(paths[key].name)) for form, key in forms}
    return {**paths, "table": release.path(SPLIT if name == "test" else f"{name}.jsonl")}
