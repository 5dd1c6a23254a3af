"""What can be asked of a score: the options of ``cgbench score`` and the arguments of :func:`cgbench.evaluate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeAlias

from cgbench.benchmark.metrics.comparison import Comparison
from cgbench.benchmark.metrics.metric import Metric
from cgbench.requests import KW_ONLY, Corpora, File, Folder, Kind, Name, Systems, Text, fields_of, option, request
from cgbench.text.inputs import is_path

TEXT_FEATURES = ("length", "degree", "frequency", "one-shot", "perplexity")
FEATURES_OF: dict[str, tuple[str, ...] | None] = {
    "bins": None,
    "groups": ("column:",),
    "side": TEXT_FEATURES,
    "train": ("degree", "frequency", "one-shot"),
    "min_count": ("degree",),
    "table": ("degree", "uncertainty", "difficulty", "perplexity", "column:"),
    "lm": ("perplexity",),
}
"""Arguments that go with ``by``, and the features that they are for (None: all)."""


def _is_bins(value: Any) -> bool:
    if isinstance(value, str):
        return True
    if isinstance(value, Iterable):
        return all(isinstance(one, Real) and not isinstance(one, bool) for one in value)
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
Grouping: TypeAlias = Annotated[Any, Kind("by", "the name of a feature, or one value per example", _is_series)]
BinEdges: TypeAlias = Annotated[Any, Kind("bins", "a number of bins, quantiles:N, or rising edges", _is_bins)]
TableOrObject: TypeAlias = Annotated[
    Any,
    Kind(
        "file", "the name of a file, or what was read from it", lambda value: is_path(value) or hasattr(value, "sha256")
    ),
]
MetricOrName: TypeAlias = Annotated[
    Any, Kind("metric", "the name of a metric, or a Metric", lambda value: isinstance(value, (str, Metric)))
]


@request
class ScoreOptions(Comparison):
    """What is asked of scores, whether cgbench makes them or another program has."""

    _: KW_ONLY
    by: Grouping | None = option(
        default=None,
        help="Break down by length, degree, frequency, one-shot, uncertainty, difficulty, reference, perplexity or "
        "column:NAME; CTER: also compound-length, context-length, modifier, type",
        group="Breakdown",
        metavar="NAME",
    )
    bins: BinEdges | None = option(
        default=None, help="Bins of --by (default: quartiles)", group="Breakdown", metavar="N|quantiles:N|e1,e2,..."
    )
    groups: Literal["table6"] | None = option(
        default=None, help="Group COGS' categories as Table 6 of Akyürek and Andreas (2021) does", group="Breakdown"
    )
    side: Literal["source", "target"] | None = option(
        default=None, help="Side of the text that --by measures (default: target)", group="Breakdown"
    )
    train: Text | None = option(
        default=None, help="Training text of that side, for --by degree, frequency or one-shot", group="Breakdown"
    )
    min_count: int = option(
        default=3, help="Minimum count for an n-gram to be known, for --by degree", group="Breakdown", least=1
    )
    table: File | None = option(
        default=None,
        help="Table with one row per example, for --by column:NAME, uncertainty or difficulty",
        group="Breakdown",
    )
    lm: File | None = option(default=None, help="Language model, for --by perplexity", group="Breakdown")
    ids: Name | None = option(
        default=None,
        help="Column that says which example a row of a table is of: join the rows by it (default: by their order)",
        group="Texts",
        flag="id",
        metavar="COLUMN",
    )
    sources: Text | None = option(
        default=None,
        help="Sources, for CTER, --by ... --side source, --more-refs and the report",
        group="Texts",
        flag="source",
    )
    release: Folder | None = option(
        default=None, help="Release whose test set gives --ref, --source and --table", group="Texts"
    )
    accept_text: bool = option(
        default=False,
        help="Score hypotheses even if their form (case, tokenisation, language) is not the references'",
        group="Texts",
    )
    control_systems: Systems | None = option(
        default=None,
        help="The same systems on the control set, in the same order of runs: how much they lose from it",
        group="Control set",
        flag="control-hyp",
    )
    differences: bool = option(
        default=False,
        help="Show where systems differ from the baseline: n-grams, words, types of examples",
        group="Comparison",
    )
    published: str | bool | None = option(
        default=None,
        help="Show published results too; without a name those of the preset",
        group="Output",
        metavar="[BENCHMARK]",
    )

    def comparison(self) -> Comparison:
        """What is asked for beside the figures."""
        return Comparison(**{name: getattr(self, name) for name in fields_of(Comparison)})


@request
class MetricOptions:
    """The options of the metrics that come with cgbench; each takes some of them (:meth:`Metric.options`)."""

    _: KW_ONLY
    preset: Literal["sacrebleu", "react", "cognition", "lexicon"] | None = option(
        default=None, help="Score as a paper's script did: react, cognition or lexicon", group="Metric"
    )
    tokenize: Name | None = option(
        default=None, help="sacrebleu's tokeniser (default: 13a)", group="Metric", metavar="NAME"
    )
    lowercase: bool = option(default=False, help="Ignore case", group="Metric")
    jobs: int = option(
        default=1,
        help="Number of processes for large input; they change no figure (default: the cores)",
        group="Metric",
        least=1,
    )
    compounds: Text | None = option(default=None, help="Compound of each source", group="Metric")
    lexicon: TableOrObject | None = option(
        default=None, help="Translations of the atoms; cognition: CoGnition's", group="Metric", metavar="FILE|cognition"
    )
    atoms: TableOrObject = option(default="cognition", help="Atoms by type", group="Metric")
    grammar: TableOrObject = option(default="cognition", help="Types of atoms and their order", group="Metric")
    match: Literal["substring", "word", "regex"] = option(
        default="substring",
        help="Find translations as characters, as whole words, or as regular expressions",
        group="Metric",
    )
    group_size: int = option(default=5, help="Number of contexts of a compound", group="Metric", least=1)
    keep_blanks: bool = option(default=False, help="Search hypotheses with their blanks (not Chinese)", group="Metric")


@request
class ScoreRequest(ScoreOptions, MetricOptions):
    """What :func:`cgbench.evaluate` is asked for."""

    open_field = "settings"

    metric: MetricOrName = option(
        help="Metric: bleu, chrf, ter, exact, semantic, cter, one that another package registers, or a Metric",
        python_only=True,
    )
    systems: Systems = option(
        help="Hypotheses of a system, one file per run (seed); repeatable", group="Texts", flag="hyp"
    )
    references: References | None = option(
        default=None, help="References, one per example; repeatable", group="Texts", flag="ref", metavar="FILE"
    )
    _: KW_ONLY
    more_references: Corpora = option(
        default=(), help="Corpus whose targets of equal sources are references too", group="Texts", flag="more-refs"
    )
    normalise: Name | None = option(
        default=None,
        help="Normalise hypotheses as the release was, or with a tokeniser (en=moses, jieba), or detokenize",
        group="Texts",
        metavar="release|[LANG=]NAME",
    )
    control_references: References | None = option(
        default=None, help="References of the control set", group="Control set", flag="control-ref", metavar="FILE"
    )
    control_sources: Text | None = option(
        default=None,
        help="Sources of the control set, for --more-refs and CTER",
        group="Control set",
        flag="control-source",
    )
    control_compounds: Text | None = option(
        default=None, help="Compound of each of them, for CTER", group="Control set"
    )
    human: Text | None = option(default=None, help="Human judgements for CTER: 1 right, 0 wrong", group="Metric")
    settings: dict[str, Any] | None = option(
        default=None, help="Further options of the metric, such as those of sacrebleu's classes", python_only=True
    )

    def metric_options(self) -> dict[str, Any]:
        """The options of the metric that were given."""
        named = {name: getattr(self, name) for name in fields_of(MetricOptions) if name in self.given}
        return {name: value for name, value in named.items() if value is not None} | (self.settings or {})
