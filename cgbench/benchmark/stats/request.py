"""What ``stats()`` and ``cgbench stats`` are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cgbench.requests import KW_ONLY, Folder, Kind, NamePair, is_text, option, request
from cgbench.text.normalisation import TextOptions

_TRAINING = Kind("corpus", "a file, two files (source, target), or a list of strings", is_text)
_TESTS = Kind("corpora", "a text, or several by name", lambda it: is_text(it) or isinstance(it, Mapping), many=True)


@request
class StatsRequest(TextOptions):
    """What :func:`~cgbench.benchmark.stats.stats.stats` is asked for."""

    train: Annotated[Any, _TRAINING] | None = option(
        default=None, help="Training text: a file, two (source, target), a table, or TABLE:COLUMN", group="Texts"
    )
    tests: Annotated[Any, _TESTS] | None = option(
        default=None, help="Test text; repeatable", group="Texts", flag="test", metavar="[NAME=]FILES"
    )
    _: KW_ONLY
    release: Folder | None = option(
        default=None, help="Take the test set and the training text of a release, both sides", group="Texts"
    )
    known_from: Folder | None = option(
        default=None, help="Use n-gram counts from an `overlap --out` folder instead of a training text", group="Texts"
    )
    side: Literal["source", "target", "both"] | None = option(
        default=None, help="Side of a corpus (default: source)", group="Texts"
    )
    columns: NamePair | None = option(
        default=None, help="Source and target column of a table (TSV: from 1)", group="Texts", metavar="S,T"
    )
    orders: list[int] = option(
        default=(2, 3), help="Lengths of novel n-grams to count, such as 2,3 or 1-6", group="N-grams", least=1,
        most=64, metavar="N,N-N,...",
    )  # fmt: skip
    show: int = option(default=0, help="List the N most frequent novel n-grams of each order", group="N-grams", least=0)
    min_count: int = option(default=3, help="Minimum count for an n-gram to be known", group="N-grams", least=1)
    published: bool = option(default=False, help="Add Table 2 of the R-Dangle paper", group="N-grams")
    pos: str | None = option(
        default=None, help="Count tags too: a spaCy pipeline, or CoNLL-U files of train and each test",
        group="Parts of speech", metavar="MODEL|conllu:F,F",
    )  # fmt: skip
    tags: Literal["xpos", "upos"] = option(
        default="xpos", help="Which CoNLL-U tag column to use", group="Parts of speech"
    )
    trust: bool = option(
        default=False, help="Load a spaCy pipeline from a folder, which may run any code", group="Parts of speech"
    )
    divergence: str | None = option(
        default=None, help="Measure the divergence of atoms and compounds: words:2,3, triples:F,F, scan and more",
        group="Divergence", metavar="KIND[:F,F]",
    )  # fmt: skip
    weights: Literal["specific", "count"] = option(
        default="specific", help="Weigh compounds as Keysers et al. 2020 do, or 1 each", group="Divergence"
    )
