"""The request of ``overlap()`` and ``cgbench overlap``."""

from cgbench.argument_types import Files, Folder, Text
from cgbench.request import KW_ONLY, Request, option
from cgbench.steps import TaskOptions
from cgbench.text.normalisation import TextOptions


class OverlapRequest(Request):
    """What :func:`~cgbench.benchmark.measure.overlap.overlap.overlap` is asked for."""

    test: Text = option(
        help="Test text, one example per line, or its two sides as a tuple",
    )
    corpus: Files = option(
        "--corpus",
        help="Corpus: files, TABLE:COLUMN, folders, quoted 'patterns*'",
        group="Input",
        metavar="FILES",
    )
    _: KW_ONLY
    column: str = option(
        "--column",
        default="text",
        help="Text column of tables (.jsonl, .parquet)",
        group="Input",
    )
    orders: list[int] = option(
        "--orders",
        default=tuple(range(1, 14)),
        help="Lengths of n-grams to count, such as 1-13 or 2,3,13 [default: 1-13]",
        least=1,
        most=1000,
        group="N-grams",
        metavar="N,N-N,...",
    )
    min_count: int = option(
        "--min-count",
        default=1,
        help="Minimum count for an n-gram to be known",
        group="N-grams",
        least=1,
    )
    out: Folder | None = option(
        "--out",
        default=None,
        help="Folder for the counts, which --known-from reads; an interrupted run resumes from it",
        group="Output",
    )
    text: TextOptions = option(default=TextOptions(), help="How text is normalised (TextOptions)")
    tasks: TaskOptions = option(default=TaskOptions(), help="Where tasks run (TaskOptions)")
    shard_bytes: int | None = option(
        default=None,
        help="Number of bytes per task when a file is read in parts",
        least=1,
    )
