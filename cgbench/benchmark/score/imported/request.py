"""The request of ``cgbench score import``: external scores and what is known of them."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from cgbench.argument_types import AnyRelease, Kind, Name, Systems, Text
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.benchmark.score.evaluation.request import (
    Breakdown,
    ExampleOptions,
    References,
)
from cgbench.request import KW_ONLY, Request, option


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
