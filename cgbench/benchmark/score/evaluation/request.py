"""The options of ``cgbench score`` and the arguments of :func:`cgbench.evaluate`."""

import inspect
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from cgbench.argument_types import (
    AnyRelease,
    Bitext,
    File,
    Folder,
    Kind,
    Name,
    Options,
    Systems,
    Text,
)
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.measure.metrics.registry import metric_class
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.analysis import (
    Analysis,
    added_analyses,
    fields_of_analyses,
    of_all_packages,
    of_all_studies,
)
from cgbench.benchmark.score.evaluation.features import FEATURES, features_that_take
from cgbench.errors import InputError, argument
from cgbench.request import KW_ONLY, Request, changed, flat_values, option
from cgbench.request_fields import Field, read_field
from cgbench.text.inputs import is_path


def _is_bins(value: Any) -> bool:
    if isinstance(value, str):
        return True
    if isinstance(value, Iterable):
        return all(isinstance(edge, Real) and not isinstance(edge, bool) for edge in value)
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def _is_series(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping))


References: TypeAlias = Annotated[
    Any,
    Kind(
        "references",
        "a text, a list of files, or a list of each example's references",
        lambda value: is_path(value) or _is_series(value),
        many=True,
    ),
]
Grouping: TypeAlias = Annotated[
    Any, Kind("by", "the name of a feature, or one value per example", _is_series)
]
BinEdges: TypeAlias = Annotated[
    Any, Kind("bins", "a number of bins, quantiles:N, or rising edges", _is_bins)
]


def _is_metric(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(name, str) for name in value)
    return isinstance(value, (str, Metric)) or _is_metric_class(value)


def _is_metric_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Metric) and not inspect.isabstract(value)


MetricOrNames: TypeAlias = Annotated[
    Any,
    Kind(
        "metric", "the name of a metric, a list of names, or a Metric (class or object)", _is_metric
    ),
]


class Breakdown(Request):
    """Breakdowns of scores: bins by a feature, and differences between systems."""

    by: Grouping | None = option(
        "--by",
        default=None,
        help=(
            f"Break scores down by {', '.join(FEATURES.built_in)}, column:NAME or a feature of the"
            " metric or of another package"
        ),
        metavar="NAME",
    )
    _: KW_ONLY
    bins: BinEdges | None = option(
        "--bins",
        default=None,
        help=(
            "Bins of --by: of equal width, quantiles, or edges [default: one bin per label or per"
            " value if these are few (below ten examples merged), else quartiles]"
        ),
        metavar="N|quantiles:N|e1,e2,...",
    )
    side: Literal["source", "target"] | None = option(
        "--side",
        default=None,
        help="Side of the text that --by measures [default: target]",
        group="Advanced",
    )
    train: Text | None = option(
        "--train",
        default=None,
        help=f"Training text of that side, for --by {features_that_take('train')}",
    )
    min_count: int = option(
        "--set min_count",
        default=3,
        help=(
            f"Minimum count for an n-gram to be known, for --by {features_that_take('min_count')}"
        ),
        least=1,
    )
    exposure: Folder | None = option(
        "--exposure",
        default=None,
        help=(
            f"Corpus that a model may have seen, for --by {features_that_take('exposure')}: a"
            " folder of overlap --out on this text"
        ),
        group="Advanced",
    )
    lm: File | None = option(
        "--set lm",
        default=None,
        help=f"Language model, for --by {features_that_take('lm')}",
        group="Advanced",
    )
    differences: bool = option(
        "--differences",
        default=False,
        help="Show where systems differ from the baseline: n-grams, words, types of examples",
        group="Advanced",
    )


class ExampleOptions(Request):
    """How examples are read and joined, and the population that they represent."""

    _: KW_ONLY
    table: File | None = option(
        "--table",
        default=None,
        help=f"Table with one row per example, for --by {features_that_take('table')}",
        group="Breakdown",
    )
    ids: Name | None = option(
        "--id",
        default=None,
        help=(
            "Column with the ID of the example, to join tables by; none: by row order [default:"
            " what tables have]"
        ),
        group="Advanced",
        metavar="COLUMN",
    )
    normalise: Name | None = option(
        "--set normalise",
        default=None,
        help=(
            "Normalise hypotheses like the release, with a tokeniser (en=moses, jieba), or with "
            "detokenize"
        ),
        group="Text",
        metavar="release|[LANG=]NAME",
    )
    accept_text: bool = option(
        "--accept-text",
        default=False,
        help=(
            "Score hypotheses whose case, tokenisation or language differs from the references, or"
            " of which many are empty or cut short"
        ),
        group="Advanced",
    )
    estimate: Literal["pool", "candidates", "window"] | None = option(
        "--estimate",
        default=None,
        help=(
            "Estimate the score on all candidates (from the stratified sample of --release), on the"
            " window (from its test set) or on the pool, with intervals of the design"
        ),
        group="Advanced",
    )
    published: str | bool | None = option(
        "--set published",
        default=None,
        help="Show published results too [default benchmark: the preset's]",
        group="Output",
        metavar="[BENCHMARK]",
    )

    def drawn_set(self, release: Any) -> str:
        """The set of an open release that is scored: the stratified sample (``sample``) if needed,
        else ``test``.
        """
        is_drawn = self.estimate not in (None, "window") and release is not None
        return "sample" if is_drawn and release.has_sample else "test"

    def comparison(self, comparison: Comparison, release: Any) -> Comparison:
        """The comparison of these examples; an estimate always has intervals.

        :raises InputError: an estimate has no release.
        """
        if self.estimate is None:
            return comparison
        if release is None:
            raise InputError(
                f"{argument('estimate', self.estimate)} needs the probabilities of the draws; give "
                f"{argument('release')}"
            )
        return changed(comparison, confidence=True)


class Control(Request):
    """The control set, and its translations by the same systems; and a translation memory as a
    control.
    """

    control_systems: Systems | None = option(
        "--control-hyp",
        default=None,
        help="Hypotheses of the same systems on the control set, runs in the same order",
    )
    control_references: References | None = option(
        "--control-ref",
        default=None,
        help="References of the control set",
        group="Advanced",
    )
    _: KW_ONLY
    control_sources: Text | None = option(
        "--control-source",
        default=None,
        help="Sources of the control set, also for --cluster source",
    )
    control_compounds: Text | None = option(
        "--set control_compounds",
        default=None,
        help="Compound of each source of the control set",
    )
    memory: Bitext | None = option(
        "--memory",
        default=None,
        help=(
            "Training corpus (a table with both sides, or SOURCE TARGET): add a system that gives"
            " the target of the nearest training source"
        ),
        group="Advanced",
        metavar="FILES",
    )


class ScoreRequest(Request):
    """What :func:`cgbench.evaluate` is asked for."""

    open_field = "settings"
    added: ClassVar[tuple[Analysis, ...]]  # the analyses that may add options to it

    metric: MetricOrNames = option(
        help=(
            "Metric: bleu, chrf, ter, exact, cter, one that another package registers, a list of"
            " these, or a Metric"
        ),
    )
    systems: Systems = option(
        "--hyp",
        help="Hypotheses of a system, one file per seed; repeatable",
        group="Input",
    )
    references: References | None = option(
        "--ref",
        default=None,
        help="References, one per example; repeatable",
        group="Input",
    )
    _: KW_ONLY
    sources: Text | None = option(
        "--source",
        default=None,
        help="Sources, for --side source, additional references and the report",
        group="Input",
    )
    release: AnyRelease | None = option(
        "--release",
        default=None,
        help="Release whose test set gives --ref, --source and --table",
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
    by_word: Name | None = option(
        "--by-word",
        default=None,
        help=(
            "Precision, recall and F1 of words by their frequency in --train, whether they are new,"
            " their length, their part of speech (of a spaCy pipeline), or a label from a file"
        ),
        group="Breakdown",
        metavar="frequency|known|length|pos:MODEL|table:FILE",
    )
    examples: ExampleOptions = option(
        default=ExampleOptions(),
        help="How examples are read, and the population that they represent (ExampleOptions)",
    )
    control: Control = option(
        default=Control(),
        help="The control set (Control)",
        group="Control set",
    )
    settings: Options | None = option(
        default=None,
        help=(
            "Options of the metric and of analyses, which may also be given by name, such as"
            " lowercase, lexicon or parts"
        ),
    )

    def implied(self) -> dict[str, Any]:
        """The comparison that an estimate needs; one metric by its name; options, converted, and
        the analyses that may add some of them.
        """
        given_options = {
            name: value for name, value in (self.settings or {}).items() if value is not None
        }
        # The options of the metrics and of analyses that are not part of this request.
        of_metrics = set[str]()
        fields: dict[str, Field] = {}
        for metric in self.metrics:
            kind = metric_class(metric)
            fields |= kind.option_fields()
            of_metrics |= {*kind.options()[0], *kind.option_fields()}
        added = added_analyses(given_options.keys() - of_metrics)
        fields = fields_of_analyses(added) | fields
        options = {
            name: read_field(fields[name], value) if name in fields else value
            for name, value in given_options.items()
        }
        return {
            "comparison": self.examples.comparison(self.comparison, self.release),
            "metric": self.metrics[0] if len(self.metrics) == 1 else self.metric,
            "settings": options,
            "added": added,
        }

    @staticmethod
    def added_fields(packages: bool = False) -> dict[str, Field]:
        """The options that analyses of studies add, by name.

        :param packages: also those of analyses of other packages, which take time to list.
        """
        return fields_of_analyses(of_all_studies() + (of_all_packages() if packages else ()))

    @property
    def metrics(self) -> tuple[Any, ...]:
        """The names of the metrics, each once, or a class of metrics; empty for a Metric."""
        if isinstance(self.metric, Metric):
            return ()
        if isinstance(self.metric, (list, tuple)):
            return tuple(dict.fromkeys(self.metric))
        return (self.metric,)

    @property
    def metric_options(self) -> dict[str, Any]:
        """The options that are not of an analysis."""
        of_analyses = fields_of_analyses(self.added)
        options: Any = self.settings
        return {name: value for name, value in options.items() if name not in of_analyses}

    def value(self, name: str) -> Any:
        """The value of an argument by its name, also of one that an analysis adds."""
        return flat_values(self).get(name, (self.settings or {}).get(name))

    def by_metric(self) -> list[Self]:
        """A request for each metric, with those of the options that it has.

        :raises InputError: the metrics are of different texts, or none is known to have an option.
        """
        if len(self.metrics) < 2:
            return [self]
        several = " and ".join(self.metrics)
        classes = {name: metric_class(name) for name in self.metrics}
        if len({kind.needs for kind in classes.values()}) > 1:
            raise InputError(
                f"{several}: cter has sources, other metrics have references; score them one by one"
            )
        settings: Any = self.settings
        of_analyses = settings.keys() - self.metric_options.keys()
        for name in sorted(settings.keys() - of_analyses):
            if not any(kind.has_option(name) for kind in classes.values()):
                raise InputError(
                    f"{argument(name)}: which of {several} has it is not known; score them one"
                    " by one"
                )
        return [
            changed(
                self,
                metric=metric,
                settings={
                    name: value
                    for name, value in settings.items()
                    if name in of_analyses or kind.has_option(name)
                },
            )
            for metric, kind in classes.items()
        ]
