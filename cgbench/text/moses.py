"""Moses tokenisation and its undoing, by sacremoses, a port of the Moses scripts: escapes as Moses writes them, hyphens
kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice

from cgbench.engines import Engine, Local
from cgbench.errors import InputError, argument, require
from cgbench.progress import bar
from cgbench.text.plain_text import words_of

Pair = tuple[str, str]
BLOCK = 2_000  # pairs handed to a worker process at a time


@cache  # in each process: making one takes as long as a thousand lines
def moses(language: str) -> Callable[[str], str]:
    """What tokenises a line of ``language``.

    :raises InputError: sacremoses is not installed.
    """
    return partial(require("sacremoses", "text").MosesTokenizer(lang=language).tokenize, return_str=True)


def map_pairs(
    work: Callable[[list[Pair]], list[Pair]], pairs: Iterable[Pair], what: str, engine: Engine | None = None
) -> Iterator[Pair]:
    """``work`` on blocks of pairs, in order, with a bar that names the text ``what``.

    :param engine: where they are worked on side by side (default: in this process).
    """
    waiting = iter(pairs)
    blocks = iter(lambda: list(islice(waiting, BLOCK)), [])
    with bar(None, f"tokenise {what}", "pair") as progress:
        for block in (engine or Local(1)).map(work, blocks):
            progress.update(len(block))
            yield from block


@cache
def detokenizer(language: str) -> Callable[[str], str]:
    """What undoes Moses tokenisation of a line of ``language``: words joined, escapes undone.

    A blank is put where words of the language have one: it need not be where the text once had it.

    :raises InputError: the language is not known, or sacremoses is not installed.
    """
    if language in ("", "source", "target"):
        raise InputError(
            f"{argument('detokenize')} has rules of each language: name both with {argument('languages')}, "
            "such as de,en"
        )
    join = require("sacremoses", "text").MosesDetokenizer(lang=language).detokenize
    return lambda line: str(join(words_of(line)))
