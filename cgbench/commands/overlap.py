"""``cgbench overlap``: how much of a test text is in a corpus of any size."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from cgbench.commands.options import (
    FilesType,
    Resumable,
    command_line,
    engine_options,
    format_option,
    log_every_option,
    safe_tsv_option,
    tokenize_options,
    warn_of,
)
from cgbench.errors import InputError

PATH = click.Path(path_type=Path)
LOOKED_AT = 4  # files of a corpus


@click.command("overlap", cls=Resumable)
@click.argument("test", nargs=-1, required=True, metavar="TEST [TARGET]")
@click.option("--corpus", type=FilesType(many=True), help="Files, TABLE:COLUMN, folders, 'patterns*'.")
@click.option("--infini-gram", "index", metavar="INDEX[@URL]", help="Instead of a corpus: counts of such an index.")
@click.option("--column", default="text", show_default=True, help="Of the corpus's tables (.jsonl, .parquet).")
@click.option("--orders", default="1-13", show_default=True, metavar="N,N-N,...", help="Lengths of n-grams.")
@click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Known: at least so often.")
@click.option("--documents", type=click.IntRange(0), default=0, metavar="K", help="Name K that hold each longest span.")
@click.option("--per-example", type=PATH, metavar="FILE.tsv", help="Write a row an example and side.")
@click.option("--report", "page", type=PATH, metavar="FILE.html", help="Write a page to look at.")
@click.option("--out", type=PATH, metavar="FOLDER", help="Keep the result, for --known-from; a stopped run goes on.")
@tokenize_options
@click.option("--language", default="en", show_default=True, help="Language code, for moses and --detokenize.")
@click.option("--lowercase", is_flag=True, help="Normalise all text: lower case.")
@click.option("--tokenizer", type=PATH, metavar="tokenizer.json", help="N-grams of a model's ids, instead of words.")
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be read of the corpus, and count it.")
@engine_options
@format_option
@safe_tsv_option
@log_every_option
def overlap_command(
    test: tuple[str, ...],
    corpus: tuple[Path, ...] | None,
    index: str | None,
    orders: str,
    per_example: Path | None,
    page: Path | None,
    form: str,
    safe_tsv: bool,
    detokenize: bool | None,
    **given: Any,
) -> None:
    """Print how much of TEST is in a corpus of any size, exactly: n-grams by order, longest spans, degree.

    TEST is a text (a file, TABLE:COLUMN), or two, source and target. The corpus is read once; memory is that of the
    test text. An n-gram is known when it occurs within a line (or a row) of the corpus. Paraphrases are not found.
    """
    from cgbench.benchmark.overlap.overlap import overlap
    from cgbench.files import check_output, write_atomic
    from cgbench.text.streams import split_name

    if len(test) > 2:
        raise InputError(f"{len(test)} test texts are named, and one, or source and target, can be looked at")
    if (corpus is None) == (index is None):
        raise InputError("name what the text is looked for in: --corpus FILES, or --infini-gram INDEX")
    if safe_tsv and not per_example:
        raise InputError("--safe-tsv belongs to --per-example")
    for written in filter(None, (per_example, page)):
        check_output(written, [split_name(one)[0] for one in (*test, *map(str, corpus or ()))])
    text = test[0] if len(test) == 1 else (test[0], test[1])
    given |= {"orders": orders_of(orders), "detokenize": bool(detokenize)}
    if corpus and not given["tokenizer"]:
        _look(test, corpus, given)
    found = _from_index(text, index, given) if index else overlap(text, corpus or (), **given)
    if per_example:
        write_atomic(per_example, found.table(safe_tsv))
    if page:
        from cgbench.report.overlap_page import overlap_page

        write_atomic(page, overlap_page(found, command=command_line()))
    click.echo(found.report(form))


def _look(test: tuple[str, ...], corpus: tuple[Path, ...], given: dict[str, Any]) -> None:
    """Warn where the test text and the first files of the corpus differ in tokenisation or case, or the like."""
    from cgbench.text.inspection import look_at_texts
    from cgbench.text.normalisation import Normalisation
    from cgbench.text.shards import find_files

    code = given["language"] or "en"
    normalisation = Normalisation(given["tokenize"] or "none", given["lowercase"], (code, code), given["detokenize"])
    files = [f"{one.path}:{one.column}" if one.column else str(one.path) for one in find_files(corpus, given["column"])]
    with contextlib.suppress(InputError):  # what cannot be read is said, or passed over, when all of it is read
        warn_of(look_at_texts(files[0], [*test, *files[1:LOOKED_AT]], normalisation))


def _from_index(text: Any, index: str, given: dict[str, Any]) -> Any:
    """The overlap with an infini-gram index, ``INDEX[@URL]``."""
    from cgbench.benchmark.overlap.overlap import overlap_from
    from cgbench.benchmark.overlap.sources import URL, InfiniGram

    for name in ("out", "documents", "tokenizer", "skip_bad"):
        if given.pop(name):
            raise InputError(f"--{name.replace('_', '-')} belongs to --corpus")
    for name in ("column", "engine"):
        given.pop(name)
    name, _, url = index.partition("@")
    return overlap_from(text, InfiniGram(name, url or URL), **given)


def orders_of(given: str) -> tuple[int, ...]:
    """The numbers of ``1-3,13``.

    :raises InputError: it is no such list.
    """
    orders: set[int] = set()
    for part in given.split(","):
        first, sign, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not sign)) or len(part) > 12:
            raise InputError(f"--orders {given}: numbers are needed, such as 1-13 or 2,3,13")
        low, high = int(first), int(last if sign else first)
        if not 1 <= low <= high <= 1000:
            raise InputError(f"--orders {given}: lengths go from 1 to 1000, the lower first")
        orders.update(range(low, high + 1))
    return tuple(sorted(orders))
