"""Prepare a test set or a control set for scoring: read and join texts, create the metric,
normalise hypotheses.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.metrics.metric import ExampleTexts, Metric
from cgbench.benchmark.measure.metrics.registry import make_metric, metric_class
from cgbench.benchmark.score.evaluation.hypothesis_checks import (
    check_against_itself,
    check_translated,
    in_release_form,
    prepare,
)
from cgbench.benchmark.score.evaluation.request import ExampleOptions, ScoreRequest
from cgbench.benchmark.score.outputs.hypotheses import (
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
from cgbench.records import Record
from cgbench.text.columns import Column, read_column
from cgbench.text.formats import form
from cgbench.text.inputs import AnyPath, as_column
from cgbench.text.joins import Examples
from cgbench.text.rows import Table
from cgbench.text.streams import split_name

OF_METRIC = ("compounds", "human")
"""Texts among the options of a metric, which are joined with the other texts."""


class MetricContext(Record):
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
    shared: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, name: Hashable, read: Callable[[], Any]) -> Any:
        """What ``read`` returned the first time."""
        if name not in self.shared:
            self.shared[name] = read()
        return self.shared[name]


class ExampleSet(Record):
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
    is_object, table = isinstance(request.metric, Metric), None
    if (
        request.release is not None
        and not is_object
        and metric_class(request.metric).needs == "references"
    ):
        files = release_files(request.release, "control" if absent(texts["references"]) else "test")
        if absent(texts["references"]):
            table = files["table"]
            texts = _with_release(request, texts, files)
    metric = context.control
    if is_object and metric is None:
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


class _Texts(Record):
    """The joined texts of a set, by their role; ``normalised``: the references in that form."""

    sources: Column | None
    compounds: Column | None
    human: Column | None
    references: list[list[str]]
    names: list[str]
    normalised: Any = None
    normalised_sources: Column | None = None

    def for_metric(self) -> ExampleTexts:
        """What a metric is made from."""
        return ExampleTexts(self.references, self.sources, self.compounds)

    def in_normalised_form(self) -> "_Texts":
        """The same with the references, and the sources if there are such, in normalised form."""
        references, names = read_references(self.normalised)
        sources = self.normalised_sources or self.sources
        return replace(self, references=references, names=names, sources=sources)


def _read(
    request: ScoreRequest,
    given_metric: Metric | None,
    texts: dict[str, Any],
    systems: Any,
    table: AnyPath | None,
    context: MetricContext,
    *,
    control: bool = False,
) -> ExampleSet:
    """The set of these texts and systems; ``given_metric``: None if the request names it."""
    options = _options_of_metric(request, given_metric)
    # Join the texts and the outputs, and read each by its role.
    joined, runs, examples = context.once(
        f"texts, control: {control}",
        lambda: join_texts(
            request.examples.ids,
            texts,
            systems,
            leads=given_metric is not None,
            lines=lines_of_release(request.release, request.examples, control=control),
        ),
    )
    set_texts = _read_roles(request, given_metric, joined, runs, control=control)
    # Make the metric, and read the outputs.
    metric = given_metric or make_metric(request.metric, set_texts.for_metric(), options)
    against = "the metric" if given_metric is None or not control else "its control set"
    read = read_systems(runs, metric.n, set_texts.names[0] if set_texts.names else against)
    check_translated(request, read, set_texts.sources, set_texts.normalised_sources)
    # Hypotheses in the normalised form of a release are compared with its references in that form.
    release_form = False
    if not absent(set_texts.normalised):
        in_form = set_texts.in_normalised_form()
        if in_release_form(request, metric, read, set_texts.references, in_form.references):
            release_form, set_texts = True, in_form
            metric = make_metric(request.metric, set_texts.for_metric(), options)
    prepared, normalised, warnings = prepare(
        request,
        metric,
        read,
        set_texts.references,
        sources=set_texts.sources.values if set_texts.sources else (),
        release_form=release_form,
        once=context.once,
    )
    if given_metric is None:
        warnings += check_against_itself(
            request,
            metric,
            set_texts.references,
            lambda some: make_metric(request.metric, ExampleTexts(some), options),
        )
    # The outputs behind external scores.
    outputs = {} if control else context.outputs
    with_texts = tuple(
        replace(system, texts=tuple(outputs.get(system.name, ()))) for system in prepared
    )
    return ExampleSet(
        metric=metric,
        systems=with_texts,
        references=set_texts.references,
        names=set_texts.names,
        sources=set_texts.sources,
        human=set_texts.human,
        examples=examples,
        table=table or _first_table(metric, set_texts, runs),
        warnings=warnings,
        control=control,
        normalised=normalised,
        columns=_known_columns(runs, context.control_columns if control else context.columns),
    )


def _known_columns(
    runs: Mapping[str, Sequence[Column]], columns: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """What is known of each example: ``columns``, else what the first log of outputs says."""
    metadata = (run.metadata for several in runs.values() for run in several if run.metadata)
    return columns or next(metadata, {})


def _options_of_metric(request: ScoreRequest, given_metric: Metric | None) -> dict[str, Any]:
    """The options that the named metric is made with.

    :raises InputError: there are such, but the metric is given as an object.
    """
    options = {
        name: value for name, value in request.metric_options.items() if name not in OF_METRIC
    }
    if options and given_metric is not None:
        raise InputError(
            f"{argument(next(iter(options)))}: the given Metric already has its options"
        )
    return options


def _read_roles(
    request: ScoreRequest,
    given_metric: Metric | None,
    joined: Mapping[str, Any],
    runs: Mapping[str, Sequence[Column]],
    *,
    control: bool,
) -> _Texts:
    """The texts by their role.

    :param runs: of each system; their scores belong to the examples of a given metric.
    :raises InputError: a text that the metric needs is missing, or has another length.
    """
    roles = {
        name: None
        if joined.get(name) is None
        else as_column(joined[name], f"control_{name}" if control else name, *ROLES[name])
        for name in ("sources", "compounds", "human")
    }
    sources = roles["sources"]
    if given_metric is not None:
        references, names = _references_of(joined, given_metric, runs)
        return _Texts(**roles, references=references, names=names)
    if metric_class(request.metric).needs == "sources":
        if control and (sources is None or roles["compounds"] is None):
            missing = " and ".join(map(argument, ("control_sources", "control_compounds")))
            raise InputError(f"CTER of a control set needs its compounds: give {missing}")
        references, names = [], [sources.name] if sources else []
    else:
        if control and absent(joined["references"]):
            raise InputError(
                f"the control set needs references: give {argument('control_references')} (or a"
                f" {argument('release')} with a control set)"
            )
        references, names = read_references(joined["references"])
        if sources and len(sources) != len(references):
            raise _unequal(sources, "lines", names[0], len(references))
    normalised_sources = None
    if sources and not absent(joined.get("normalised_sources")):
        normalised_sources = as_column(joined["normalised_sources"], "sources", *ROLES["sources"])
    return _Texts(
        **roles,
        references=references,
        names=names,
        normalised=joined.get("normalised"),
        normalised_sources=normalised_sources,
    )


def _references_of(
    joined: Mapping[str, Any], given_metric: Metric, runs: Mapping[str, Sequence[Column]]
) -> tuple[list[list[str]], list[str]]:
    """The references of the examples of a given metric, and their names; empty if there are none.

    :raises InputError: there is another number of them.
    """
    if absent(joined["references"]):
        return [], []
    references, names = read_references(joined["references"])
    if len(references) != given_metric.n:
        noun = "lines" if given_metric.of_texts else "scores"
        raise _unequal(next(iter(runs.values()))[0], noun, names[0], len(references))
    return references, names


def _unequal(column: Column, noun: str, references: str, count: int) -> InputError:
    return InputError(
        f"{column.name} has {len(column):,} {noun} and {references} has {count:,} lines: check"
        " where the alignment breaks"
    )


def _first_table(metric: Metric, texts: _Texts, runs: Mapping[str, Sequence[Column]]) -> str | None:
    """The first file that is a table: its columns describe the same examples."""
    names = [*([texts.sources.name] if texts.sources else []), *texts.names]
    if not metric.of_texts:
        of_scores = [run.name for runs_of_system in runs.values() for run in runs_of_system]
        names += [name for name in of_scores if split_name(name)[0].is_file()]
    paths = (split_name(name)[0] for name in names)
    return next((str(path) for path in paths if form(path) != "plain"), None)


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
