"""``cgbench overlap``: how much of a test text is in a corpus of any size."""

import contextlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from cgbench.benchmark.measure.overlap.request import OverlapRequest
from cgbench.commands.click_types import orders
from cgbench.commands.command import Resumable, format_option, grouped_option
from cgbench.commands.lines import warn_of_texts
from cgbench.commands.options import takes
from cgbench.errors import InputError
from cgbench.files import check_output, write_atomic
from cgbench.text.streams import split_name

PATH = click.Path(path_type=Path)
SAMPLED = 4  # files of a corpus that are checked


def _sides(words: tuple[str, ...]) -> str | tuple[str, ...]:
    """A test text, or source and target."""
    if len(words) > 2:
        raise InputError(f"{len(words)} test texts are given; give one text, or source and target")
    return words[0] if len(words) == 1 else words


@click.command(
    "overlap",
    cls=Resumable,
    example="cgbench overlap test.de test.en --corpus crawl.jsonl.zst --per-example rows.tsv",
)
@click.argument("test", nargs=-1, required=True, metavar="TEST [TARGET]", type=click.Path())
@takes(
    OverlapRequest,
    read={"test": _sides, "orders": orders, "corpus": lambda paths: [*chain(*paths)]},
)
@grouped_option(
    "Output",
    "--per-example",
    type=PATH,
    metavar="FILE.tsv",
    help="Write one row per example and side",
)
@format_option
def overlap_command(request: OverlapRequest, per_example: Path | None, form: str) -> None:
    """Measure how much of TEST occurs in a corpus: n-grams by length, longest spans, compositional
    degree.

    Counts are exact for a corpus of any size, which is read once; memory depends only on the test
    text. An n-gram counts as known if it occurs within one line or row of the corpus. Paraphrases
    are not found.

    TEST is a file or TABLE:COLUMN, or two of them, source and target.
    """
    from cgbench.benchmark.measure.overlap.overlap import overlap

    test = [request.test] if isinstance(request.test, str) else [*request.test]
    if per_example:
        check_output(
            per_example, [split_name(name)[0] for name in (*test, *map(str, request.corpus))]
        )
    _inspect(test, request)
    result = overlap(request)
    if per_example:
        write_atomic(per_example, result.table())
    click.echo(result.report(form))


def _inspect(test: Sequence[str], request: OverlapRequest) -> None:
    """Warn if the test text and the first files of the corpus differ in tokenisation, case or the
    like.
    """
    from cgbench.text.shards import find_files

    with contextlib.suppress(
        InputError
    ):  # errors are raised, or skipped, when the whole corpus is read
        files = find_files(request.corpus, request.column)
        names = [
            f"{file.path}:{file.column}" if file.column else str(file.path)
            for file in files[:SAMPLED]
        ]
        warn_of_texts(names[0], [*test, *names[1:]], request.text.normalisation)
