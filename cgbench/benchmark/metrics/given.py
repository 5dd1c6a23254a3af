"""From what is given to be scored, in files or in memory, to references and systems."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cgbench.benchmark.metrics.evaluation import System
from cgbench.benchmark.metrics.features import more_references
from cgbench.errors import InputError, argument
from cgbench.models.outside.sidecar import read_sidecar
from cgbench.text.columns import Column, short_name
from cgbench.text.given import Corpus, Texts, as_column, as_corpus, is_path
from cgbench.text.plain_text import words_of

Runs = Texts | Sequence[Texts]


def absent(references: Any) -> bool:
    """Whether no references are given."""
    return references is None or (isinstance(references, (list, tuple)) and not len(references))


def read_references(given: Any) -> tuple[list[list[str]], list[str]]:
    """The references of each example, and what messages call the texts that they are from.

    :param given: as :func:`evaluate` has it.
    :raises InputError: there are none, texts differ in length, or every reference is empty.
    """
    if absent(given):
        raise InputError(f"{argument('references')} are needed (or {argument('release')})")
    given = given if is_path(given) or isinstance(given, Column) else list(given)
    if isinstance(given, list) and any(not isinstance(one, (str, os.PathLike, Column)) for one in given):
        examples: list[list[str]] = []
        for row, one in enumerate(given, 1):
            example = [] if is_path(one) else list(one)
            if not example or not all(isinstance(text, str) for text in example):
                raise InputError(f"references, row {row}: {one!r}, where a list of that example's is needed")
            examples.append(example)
        columns = [Column("references", [" ".join(example) for example in examples])]
    else:
        several = isinstance(given, list) and given and not isinstance(given[0], str)
        columns = [as_column(one, "references", "reference", "target") for one in (given if several else [given])]
        for column in columns[1:]:
            if len(column) != len(columns[0]):
                raise InputError(
                    f"{columns[0].name} has {len(columns[0]):,} lines and {column.name} has {len(column):,}: "
                    "a reference of each example is needed"
                )
        examples = [list(example) for example in zip(*(column.values for column in columns), strict=True)]
    name = columns[0].name
    if not examples:
        raise InputError(f"{name}: there is no example in it")
    if not any(words_of(text) for column in columns for text in column.values):
        raise InputError(f"{name}: every reference is empty, and no score is defined")
    return examples, [column.name for column in columns]


def check_sources(sources: Column | None, n: int, against: str) -> None:
    """Check that there is a source of each of ``n`` examples.

    :raises InputError: there is not.
    """
    if sources and len(sources) != n:
        raise InputError(f"{sources.name} has {len(sources):,} lines and {against} has {n:,}: check where they part")


def with_more(examples: list[list[str]], corpora: Sequence[Corpus], sources: Column | None) -> list[list[str]]:
    """The references of each example with those that corpora have for its source.

    :raises InputError: there are no sources.
    """
    if sources is None:
        raise InputError(f"{argument('more_references')} finds references by their source; give {argument('sources')}")
    more = more_references([as_corpus(corpus) for corpus in corpora], sources.values)
    return [list(dict.fromkeys([*own, *others])) for own, others in zip(examples, more, strict=True)]


def read_systems(given: Runs | Mapping[str, Runs], n: int, against: str) -> list[System]:
    """The systems and their runs.

    :param given: as :func:`evaluate` has it; ``n`` examples, in what ``against`` names.
    :raises InputError: there is no system, a run has another number of hypotheses, or what stands beside it is of
        other hypotheses.
    """
    if not isinstance(given, Mapping):
        given = {short_name(str(given)) if is_path(given) else "system": given}
    if not given:
        raise InputError(f"{argument('systems')} is empty; a system is needed, with its hypotheses")
    systems = []
    for name, runs in given.items():
        texts = _texts_of(runs)
        columns = []
        for number, text in enumerate(texts, 1):
            what = "hypotheses" if len(given) == 1 else f"hypotheses of {name}"
            what += f", run {number}" if len(texts) > 1 else ""
            run = as_column(text, what, "hypothesis", "prediction")
            if len(run) != n:
                raise InputError(
                    f"{run.name} has {len(run):,} lines and {against} has {n:,}: a hypothesis is needed for each; "
                    "check where they part"
                )
            columns.append(run)
        made = tuple(None if run.path is None else read_sidecar(run.path) for run in columns)
        systems.append(System(str(name), tuple(run.values for run in columns), made=made))
    return systems


def _texts_of(runs: Runs) -> list[Any]:
    """The text of each run: a list of strings is one text, a list of anything else several."""
    if is_path(runs) or isinstance(runs, Column):
        return [runs]
    values = list(runs)  # type: ignore[arg-type]
    return values if values and not any(isinstance(value, str) for value in values) else [values]
