"""The request of ``stats()`` and ``cgbench stats``."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cgbench.argument_types import Folder, Kind, is_text
from cgbench.benchmark.measure.divergence.chance import RANDOM_SPLITS
from cgbench.request import KW_ONLY, Request, option
from cgbench.text.normalisation import TableOptions, TextOptions

_TRAINING = Kind("corpus", "a file, two files (source, target), or a list of strings", is_text)
_TESTS = Kind(
    "corpora",
    "a text, or several by name",
    lambda it: is_text(it) or isinstance(it, Mapping),
    many=True,
)


class StatsRequest(Request):
    """What :func:`~cgbench.benchmark.build.stats.stats.stats` is asked for."""

    train: Annotated[Any, _TRAINING] | None = option(
        "--train",
        default=None,
        help="Training text: a file, two files (source, target), a table, or TABLE:COLUMN",
        group="Input",
    )
    tests: Annotated[Any, _TESTS] | None = option(
        "--test",
        default=None,
        help="Test text; repeatable",
        group="Input",
        metavar="[NAME=]FILES",
    )
    _: KW_ONLY
    release: Folder | None = option(
        "--release",
        default=None,
        help="Use both sides of the test set and the training text of a release",
        group="Input",
    )
    known_from: Folder | None = option(
        "--known-from",
        default=None,
        help="Use n-gram counts from an `overlap --out` folder instead of a training text",
        group="Input",
    )
    side: Literal["source", "target", "both"] | None = option(
        "--side",
        default=None,
        help="Side of a corpus to use [default: source]",
        group="Input",
    )
    orders: list[int] = option(
        "--orders",
        default=(2, 3),
        help="Lengths of novel n-grams to count, such as 2,3 or 1-6",
        group="N-grams",
        least=1,
        most=64,
        metavar="N,N-N,...",
    )
    min_count: int = option(
        "--min-count",
        default=3,
        help="Minimum count for an n-gram to be known, for the degree",
        group="N-grams",
        least=1,
    )
    pos: str | None = option(
        "--pos",
        default=None,
        help=(
            "Also count part-of-speech n-grams, with a spaCy pipeline or CoNLL-U files of train and"
            " each test"
        ),
        group="Parts of speech",
        metavar="MODEL|conllu:F,F",
    )
    tags: Literal["xpos", "upos"] = option(
        "--set tags",
        default="xpos",
        help="Which CoNLL-U tag column to use",
        group="Parts of speech",
    )
    trust: bool = option(
        "--set trust",
        default=False,
        help="Load a spaCy pipeline from a folder, which may run any code",
        group="Advanced",
    )
    divergence: str | None = option(
        "--divergence",
        default=None,
        help="Measure atom and compound divergence: words:2,3, triples:F,F, scan and more",
        group="Divergence",
        metavar="TYPE[:F,F]",
    )
    weights: Literal["specific", "count"] = option(
        "--set weights",
        default="specific",
        help="Weight of compounds: as in Keysers et al. (2020), or 1 each",
        group="Divergence",
    )
    random_splits: int = option(
        "--set random_splits",
        default=RANDOM_SPLITS,
        help="Number of random splits to compare the divergences with, 0 for none",
        group="Divergence",
        least=0,
    )
    table: TableOptions = option(default=TableOptions(), help="Columns of a table (TableOptions)")
    text: TextOptions = option(default=TextOptions(), help="How text is normalised (TextOptions)")
