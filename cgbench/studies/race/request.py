"""The options of ``cgbench race``."""

from typing import Annotated, Any, Literal, TypeAlias

from cgbench.argument_types import File, Folder, Kind, Models, Text, are_paths
from cgbench.benchmark.score.comparison.requirements import Requirements
from cgbench.benchmark.score.comparison.sequential import Claim
from cgbench.models.server_options import AnyLimit, Price, read_price
from cgbench.models.translation_request import PromptingOptions
from cgbench.request import KW_ONLY, Request, option

MetricName: TypeAlias = Literal["exact", "chrf-sentence", "rules"]


def _prices(value: Any) -> tuple[Price | None, ...]:
    return tuple(map(read_price, value if isinstance(value, (list, tuple)) else [value]))


Prices: TypeAlias = Annotated[
    Any,
    Kind(
        "name",
        "a price such as in=2.5,out=10, or a list of these",
        lambda value: all(_prices(value)),
        many=True,
        read=_prices,
    ),
]
References: TypeAlias = Annotated[
    Any, Kind("references", "a text, or a list of files", are_paths, many=True)
]


class RaceRequest(Request):
    """What ``cgbench race`` is asked for."""

    systems: Models = option(
        "--system",
        help=(
            "Server to ask, openai:URL?model=M or NAME=openai:URL?model=M; repeatable, runs of one"
            " NAME are seeds"
        ),
        group="Models",
        metavar="[NAME=]openai:URL",
    )
    _: KW_ONLY
    release: Folder | None = option(
        "--release",
        default=None,
        help="Release whose test set gives --source and --ref",
        group="Input",
    )
    sources: Text | None = option(
        "--source",
        default=None,
        help="Sources of the test set",
        group="Input",
    )
    references: References | None = option(
        "--ref",
        default=None,
        help="References, one per example; repeatable",
        group="Input",
    )
    cluster: Text | None = option(
        "--cluster",
        default=None,
        help=(
            "Cluster of each example, such as its document: TABLE:COLUMN, or a file with one per"
            " line; whole clusters are sent, and each counts as one example"
        ),
        group="Input",
    )
    rules: File | None = option(
        "--rules",
        default=None,
        help="Rules of each example, for --metric rules; their `source` is sent",
        group="Input",
    )
    metric: MetricName = option(
        "--metric",
        default="exact",
        help="Metric of single examples",
        group="Comparison",
    )
    level: float = option(
        default=0.05,
        help="Probability of any wrong decision, among all systems",
        above=0,
        below=1,
        group="Comparison",
    )
    margin: float = option(
        "--margin",
        default=0.0,
        help="Differences of at most this are equivalent",
        least=0,
        unit="points",
        group="Comparison",
    )
    require: Requirements = option(
        "--require",
        default=(),
        help=(
            "Exit with status 1 unless this is shown against every other system: SYSTEM=better, or"
            " SYSTEM=not-worse:POINTS; repeatable"
        ),
        group="Comparison",
        metavar="SYSTEM=CLAIM",
    )
    about: Claim = option(
        default="models",
        help=(
            "What the result is about: the models, or only their answers to this test set, on which"
            " equally good models also differ"
        ),
        group="Comparison",
    )
    batch: int = option(
        "--batch",
        default=50,
        help="Number of examples between two tests",
        least=1,
        group="Comparison",
    )
    seed: int = option(
        default=0,
        help="Seed of the order of examples",
        least=0,
        group="Comparison",
    )
    accept_text: bool = option(
        default=False,
        help=(
            "Continue if many answers of the first batch are empty or cut short, or differ in form"
            " from the references"
        ),
        group="Advanced",
    )
    prompting: PromptingOptions = option(
        default=PromptingOptions(),
        help="Prompts, and how answers are read",
    )
    price: Prices = option(
        "--price",
        default=(),
        help=(
            "Price in US dollars per million tokens, such as in=2.5,out=10 (and ,cached=1.25); one"
            " for all systems, or one per system"
        ),
        group="Server",
        metavar="in=USD,out=USD",
    )
    budget: AnyLimit | None = option(
        "--budget",
        default=None,
        help=(
            "Stop before more than this is spent on all systems: 5USD (needs --price) or"
            " 100000tokens"
        ),
        group="Server",
        metavar="USD|TOKENS",
    )
    dry_run: bool = option(
        "--dry-run",
        default=False,
        help="Print the expected number of examples, and send nothing",
        group="Server",
    )
    output: Folder | None = option(
        "--output",
        short="-o",
        default=None,
        help="Folder for answers, scores and the result; the same command resumes in it",
        group="Output",
    )
    plot: File | None = option(
        "--plot",
        default=None,
        help="Plot the intervals of the differences after each batch (.svg, .png or .pdf)",
        group="Output",
    )
