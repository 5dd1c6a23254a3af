"""The requests of ``cgbench consistency make`` and ``cgbench consistency score``."""

from cgbench.argument_types import File, Systems, Text
from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.request import KW_ONLY, Request, option


class ItemsRequest(Request):
    """What :func:`~cgbench.studies.consistency.make.make_items` is asked for."""

    text: Text = option(
        help="Monolingual text, one sentence per line",
    )
    pieces: Text | None = option(
        "--pieces",
        default=None,
        help="Draw contexts of these pieces: a list, or a column of a table",
        group="Items",
    )
    _: KW_ONLY
    out: File = option(
        "--out",
        help="Table of the items, a .tsv file",
        group="Output",
        metavar="FILE.tsv",
    )
    swap: bool = option(
        "--swap",
        default=False,
        help="Swap each piece for another that occurs between the same words, as GECA does",
        group="Items",
    )
    synonyms: Text | None = option(
        "--synonyms",
        default=None,
        help="Replace each piece by its synonym: a list as long as that of --pieces",
        group="Items",
    )
    conjunction: str | None = option(
        "--conjunction",
        default=None,
        help="Join sentences by this text, such as ', and ', with its blanks",
        group="Items",
    )
    contexts: int = option(
        "--contexts",
        default=5,
        help="Maximum number of sentences per piece",
        group="Items",
        least=2,
    )


class ConsistencyRequest(Request):
    """What :func:`~cgbench.studies.consistency.linked_translations.consistency` is asked for."""

    items: File = option(
        help=(
            "Table of consistency make, or one with columns source and piece; or a folder of parts"
        ),
    )
    systems: Systems = option(
        "--hyp",
        help="Outputs of a system for the sentences, one file per seed; repeatable",
        group="Input",
    )
    _: KW_ONLY
    probe_systems: Systems | None = option(
        "--probe-hyp",
        default=None,
        help=(
            "Outputs of a system for the probes of a folder of parts, one file per seed; repeatable"
        ),
        group="Input",
    )
    comparison: Comparison = option(
        default=Comparison(),
        help="Intervals and tests (Comparison)",
        group="Comparison",
    )
