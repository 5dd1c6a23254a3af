"""What ``overlap()`` and ``cgbench overlap`` are asked for."""

from __future__ import annotations

from typing import Annotated, Any

from cgbench.requests import KW_ONLY, AnyEngine, File, Files, Folder, Kind, Text, option, request
from cgbench.text.normalisation import TextOptions

_INDEX = Kind(
    "", "the name of an index, or an object with count()", lambda it: isinstance(it, str) or hasattr(it, "count")
)


@request
class OverlapRequest(TextOptions):
    """What :func:`~cgbench.benchmark.overlap.overlap.overlap` is asked for."""

    test: Text = option(help="Test text, one example per line, or its two sides as a tuple", python_only=True)
    corpus: Files | None = option(
        default=None, help="Corpus: files, TABLE:COLUMN, folders, quoted 'patterns*'", group="Corpus", metavar="FILES"
    )
    _: KW_ONLY
    infini_gram: Annotated[Any, _INDEX] | None = option(
        default=None, help="Ask an infini-gram index for counts instead of reading a corpus", group="Corpus",
        metavar="INDEX[@URL]",
    )  # fmt: skip
    column: str = option(default="text", help="Column of the corpus's tables (.jsonl, .parquet)", group="Corpus")
    skip_bad: bool = option(default=False, help="Skip unreadable parts of the corpus, and count them", group="Corpus")
    orders: list[int] = option(
        default=tuple(range(1, 14)), help="Lengths of n-grams to count, such as 1-13 or 2,3,13 (default 1-13)", least=1,
        most=1000, group="Counts", metavar="N,N-N,...",
    )  # fmt: skip
    min_count: int = option(default=1, help="Minimum count for an n-gram to be known", group="Counts", least=1)
    tokenizer: File | None = option(
        default=None,
        help="Count n-grams of a model's token ids instead of words",
        group="Text",
        metavar="tokenizer.json",
    )
    out: Folder | None = option(
        default=None, help="Keep the result for --known-from; a stopped run resumes", metavar="FOLDER"
    )
    engine: AnyEngine | None = option(default=None, help="Where tasks run", python_only=True)
    shard_bytes: int | None = option(
        default=None, help="Size of the parts that files are read in", least=1, python_only=True
    )
