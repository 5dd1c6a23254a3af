"""The requests of ``cgbench consistency make`` and ``cgbench consistency score``."""

from __future__ import annotations

from typing import Literal

from cgbench.benchmark.metrics.comparison import Comparison
from cgbench.requests import KW_ONLY, File, Folder, Systems, Text, option, request


@request
class ItemsRequest:
    """What :func:`~cgbench.benchmark.consistency.make.make_items` is asked for."""

    text: Text = option(help="Monolingual text, one sentence per line", python_only=True)
    pieces: Text | None = option(
        default=None, help="Draw contexts of these pieces: a list, or a column of a table", group="Items",
        metavar="FILE",
    )  # fmt: skip
    _: KW_ONLY
    out: Folder = option(help="Folder of the sentences and items", group="Output")
    swap: bool = option(
        default=False, help="Swap each piece for another that occurs between the same words, as GECA does",
        group="Items",
    )  # fmt: skip
    synonyms: File | None = option(
        default=None, help="Replace words by synonyms: a word and its synonym per line, separated by a tab",
        group="Items", metavar="FILE.tsv",
    )  # fmt: skip
    conjunction: str | None = option(
        default=None, help="Join sentences by this text, such as ', and ', with its blanks", group="Items",
        metavar="TEXT",
    )  # fmt: skip
    contexts: int = option(default=5, help="Number of sentences per piece", group="Items", least=2)
    most: int = option(default=1000, help="Maximum number of pieces, or of sentences to join", group="Items", least=1)
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
