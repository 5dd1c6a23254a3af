"""The requests of ``cgbench consistency make`` and ``cgbench consistency score``."""

from __future__ import annotations

from typing import Literal

from cgbench.benchmark.metrics.comparison import Comparison
from cgbench.benchmark.metrics.score_request import BinEdges, Grouping
from cgbench.requests import KW_ONLY, File, Folder, Systems, Text, option, request


@request
class ItemsRequest:
    """What :func:`~cgbench.benchmark.consistency.make.make_items` is asked for."""

    text: Text = option(help="Monolingual text, one sentence per line", python_only=True)
    pieces: Text | None = option(
        default=None, help="Pieces or compounds: a list, or a column of a table", group="Pieces", metavar="FILE"
    )
    _: KW_ONLY
    out: Folder = option(help="Folder of the sentences and items", group="Output")
    release: Folder | None = option(
        default=None, help="Take the pieces of the covers of this release's sources", group="Pieces"
    )
    change: Literal["context", "swap", "conjunction", "synonym"] = option(
        default="context", help="What changes between the sentences of an item: the context of a piece, the piece "
        "(swapped for one with the same surroundings), a second sentence, or a word for its synonym", group="Items",
    )  # fmt: skip
    synonyms: File | None = option(
        default=None, help="Pairs of a word and its synonym, separated by tabs", group="Items", metavar="FILE.tsv"
    )
    conjunction: str = option(default=", and", help="Words between two sentences", group="Items", metavar="TEXT")
    contexts: int = option(default=5, help="Number of sentences per piece", group="Items", least=2)
    most: int = option(
        default=1000, help="Maximum number of pieces, or of sentences for conjunction", group="Items", least=1
    )
    max_words: int = option(default=40, help="Maximum length of a sentence", group="Items", least=1, unit="words")
    window: int = option(
        default=1, help="Number of words on each side that surroundings have", group="Advanced", least=1, unit="words"
    )
    seed: int = option(default=1, help="Random seed of the draw", group="Advanced", least=0)


@request
class ConsistencyRequest(Comparison):
    """What :func:`~cgbench.benchmark.consistency.score.consistency` is asked for."""

    items: File = option(help="Folder of consistency make, or a table with columns source and piece", python_only=True)
    systems: Systems = option(
        help="Outputs of a system for the sentences, one file per seed; repeatable", group="Input", flag="hyp"
    )
    _: KW_ONLY
    method: Literal["align", "ngrams"] = option(
        default="align", help="Find what became of a piece by word alignment, or compare n-grams of whole outputs",
        group="Metric",
    )  # fmt: skip
    units: Literal["words", "characters"] = option(default="characters", help="What is compared", group="Metric")
    orders: list[int] | None = option(
        default=None, help="Lengths of the units [default: 4 characters, 1,2 in scripts without blanks, for ngrams 2; "
        "1 word]", group="Metric", least=1, most=20,
    )  # fmt: skip
    by: Grouping | None = option(
        default=None, help="Break scores down by length or a column of the items: column:change, column:piece",
        group="Breakdown", metavar="NAME",
    )  # fmt: skip
    bins: BinEdges | None = option(
        default=None, help="Bins of --by [default: quartiles]", group="Breakdown", metavar="N|quantiles:N|e1,e2,..."
    )
