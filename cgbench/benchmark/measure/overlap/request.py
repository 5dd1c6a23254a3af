"""The request of ``overlap()`` and ``cgbench overlap``."""

from cgbench.argument_types import AnyEngine, Files, Folder, Text
from cgbench.requests import KW_ONLY, option, request
from cgbench.text.normalisation import TextOptions


@request
class OverlapRequest(TextOptions):
    """What :func:`~cgbench.benchmark.measure.overlap.overlap.overlap` is asked for."""

    test: Text = option(
        help="Test text, one example per line, or its two sides as a tuple", python_only=True
    )
    corpus: Files = option(
        help="Corpus: files, TABLE:COLUMN, folders, quoted 'patterns*'",
        group="Input",
        metavar="FILES",
    )
    _: KW_ONLY
    column: str = option(
        default="text", help="Text column of tables (.jsonl, .parquet)", group="Input"
    )
    orders: list[int] = option(
        default=tuple(range(1, 14)),
        help="Lengths of n-grams to count, such as 1-13 or 2,3,13 [default: 1-13]",
        least=1,
        most=1000,
        group="N-grams",
        metavar="N,N-N,...",
    )
    min_count: int = option(
        default=1, help="Minimum count for an n-gram to be known", group="N-grams", least=1
    )
    out: Folder | None = option(
        default=None,
        help="Folder for the counts, which --known-from reads; an interrupted run resumes from it",
        group="Output",
    )
    engine: AnyEngine | None = option(
        default=None, help="Engine that runs the tasks [default: local processes]", python_only=True
    )
    shard_bytes: int | None = option(
        default=None,
        help="Number of bytes per task when a file is read in parts",
        least=1,
        python_only=True,
    )
