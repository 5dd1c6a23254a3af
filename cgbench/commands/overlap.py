"""``cgbench overlap``: how much of a test text is in a corpus of any size."""

import contextlib
from itertools import chain
from pathlib import Path
from typing import Any

import click

from cgbench.benchmark.overlap.request import OverlapRequest
from cgbench.commands.click_types import ranges
from cgbench.commands.command import Resumable, engine_options, format_option, grouped_option
from cgbench.commands.lines import warn_of
from cgbench.commands.options import takes
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)
SAMPLED = 4  # files of a corpus that are checked


@click.command(
    "overlap", cls=Resumable, example="cgbench overlap test.de test.en --corpus crawl.jsonl.zst --per-example rows.tsv"
)
@click.argument("test", nargs=-1, required=True, metavar="TEST [TARGET]", type=click.Path())
@takes(OverlapRequest, but=("engine", "test"), read={"orders": ranges, "corpus": lambda paths: [*chain(*paths)]})
@grouped_option("Output", "--per-example", type=PATH, metavar="FILE.tsv", help="Write one row per example and side")
@engine_options
@format_option
def overlap_command(
    values: dict[str, Any], test: tuple[str, ...], per_example: Path | None, form: str, engine: Any
) -> None:  # fmt: skip
    """Measure how much of TEST occurs in a corpus: n-grams by length, longest spans, compositional degree.

    Counts are exact for a corpus of any size, which is read once; memory depends only on the test text. An n-gram
    counts as known if it occurs within one line or row of the corpus. Paraphrases are not found.

    TEST is a file or TABLE:COLUMN, or two of them, source and target.
    """
    from cgbench.benchmark.overlap.overlap import overlap
    from cgbench.files import check_output, write_atomic
    from cgbench.text.streams import split_name

    if len(test) > 2:
        raise InputError(f"{len(test)} test texts are given; give one text, or source and target")
    request = OverlapRequest(test[0] if len(test) == 1 else test, engine=engine, **values)
    if per_example:
        check_output(per_example, [split_name(name)[0] for name in (*test, *map(str, request.corpus))])
    _inspect(test, request)
    result = overlap(request)
    if per_example:
        write_atomic(per_example, result.table())
    click.echo(result.report(form))


def _inspect(test: tuple[str, ...], request: OverlapRequest) -> None:
    """Warn if the test text and the first files of the corpus differ in tokenisation, case or the like."""
    from cgbench.text.inspection import look_at_texts
    from cgbench.text.shards import find_files

    with contextlib.suppress(InputError):  # errors are raised, or skipped, when the whole corpus is read
        files = find_files(request.corpus, request.column)
        names = [f"{file.path}:{file.column}" if file.column else str(file.path) for file in files[:SAMPLED]]
        warn_of(look_at_texts(names[0], [*test, *names[1:]], request.normalisation))
