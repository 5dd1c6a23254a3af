"""The options of ``cgbench score agreement``."""

from typing import Annotated, Any, TypeAlias

from cgbench.argument_types import Kind, is_text
from cgbench.request import KW_ONLY, Request, option

HumanScores: TypeAlias = Annotated[
    Any,
    Kind(
        "scores",
        "a file with the judgements of several systems, or a data frame",
        lambda value: is_text(value) or hasattr(value, "iloc"),
    ),
]
MetricScores: TypeAlias = Annotated[
    Any,
    Kind("systems", "files by metric", lambda value: hasattr(value, "items"), many=True),
]


class AgreementRequest(Request):
    """How well metrics agree with people, and people with each other."""

    human: HumanScores = option(
        "--human",
        help="Judgements of several systems: a table of ratings, MQM, Pearmut or .seg.score",
        group="Input",
        metavar="FILE[:COLUMN]",
    )
    scores: MetricScores | None = option(
        "--scores",
        default=None,
        help="Scores of a metric for the same outputs, by system and example; repeatable",
        group="Input",
        metavar="METRIC=FILE[:COLUMN]",
    )
    _: KW_ONLY
    lower_is_better: tuple[str, ...] = option(
        "--lower-is-better",
        default=(),
        help="Metric whose lower scores are better; repeatable",
        group="Input",
        metavar="METRIC",
    )
    samples: int = option(
        default=1_000, help="Number of resamples for intervals and tests", least=100
    )
    seed: int = option(default=12345, help="Seed of resampling", least=0)
