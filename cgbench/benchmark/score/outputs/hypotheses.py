"""Read systems with their runs (seeds), references, and other texts of the same examples, from
files or memory.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.errors import InputError, argument, warn
from cgbench.numbers_as_text import counted
from cgbench.records import Record
from cgbench.text.columns import Column, read_column, short_name
from cgbench.text.identities import index_of
from cgbench.text.inputs import AnyPath, Texts, as_column, is_path
from cgbench.text.joins import NONE, Examples
from cgbench.text.plain_text import words_of
from cgbench.text.remote import local
from cgbench.text.sidecar import read_sidecar

CONTROL_SET = "control set"
REASONING = "think>"
"""In the marks around reasoning."""
LOG_MARKS = ("json", ".eval")
"""What the name of every log contains."""
Runs = Texts | Sequence[Texts]


class System(Record):
    """A system and its outputs: one list of hypotheses per run (training seed).

    ``texts``: its outputs, if ``runs`` are external scores. ``made``: how each run was generated,
    None if not recorded (:mod:`cgbench.text.sidecar`).
    """

    name: str
    runs: tuple[Sequence[str], ...]
    texts: tuple[Sequence[str], ...] = ()
    made: tuple[Mapping[str, Any] | None, ...] = ()


def absent(references: Any) -> bool:
    """Whether no references are given."""
    return references is None or (isinstance(references, (list, tuple)) and not len(references))


def read_references(texts: Any) -> tuple[list[list[str]], list[str]]:
    """The references of each example, and the names of their texts in messages.

    :param texts: as in :func:`~cgbench.benchmark.score.evaluation.evaluate.evaluate`.
    :raises InputError: there are none, texts differ in length, or all references are empty.
    """
    if absent(texts):
        raise InputError(
            f"references are needed: give {argument('references')}, or {argument('release')}"
        )
    columns = _columns_of("references", texts, None)
    examples: list[list[str]] = []
    if columns is None:
        for row, item in enumerate(texts, 1):
            listed = isinstance(item, Iterable) and not is_path(item)
            # None is an absent reference, as in sacrebleu.
            example = [text for text in item if text is not None] if listed else []
            if not example or not all(isinstance(text, str) for text in example):
                raise InputError(
                    f"references, row {row}: {item!r} is not a list with the references of that"
                    " example"
                )
            examples.append(example)
        columns = [Column("references", [" ".join(example) for example in examples])]
    else:
        for column in columns[1:]:
            if len(column) != len(columns[0]):
                raise InputError(
                    f"{columns[0].name} has {len(columns[0]):,} lines but {column.name} has"
                    f" {len(column):,}: each needs one reference per example"
                )
        examples = _without_absent(columns)
    name = columns[0].name
    if not examples:
        raise InputError(f"{name}: no examples")
    if not any(words_of(text) for column in columns for text in column.values):
        raise InputError(f"{name}: all references are empty, so no score is defined")
    return examples, [column.name for column in columns]


def _without_absent(columns: Sequence[Column]) -> list[list[str]]:
    """The references of each example, without the blank lines of a text whose other lines are full
    where another text has a reference; warns of them.
    """
    examples, left_out = [], 0
    for example in zip(*(column.values for column in columns), strict=True):
        full = [text for text in example if words_of(text)]
        examples.append(full if full and len(columns) > 1 else list(example))
        left_out += len(example) - len(examples[-1])
    if left_out:
        warn(
            f"{counted(left_out, 'blank line')} of {columns[0].name} and further references count"
            " as absent references of these examples"
        )
    return examples


def _check_orientation(references: Sequence[Any], outputs: Sequence[str]) -> None:
    """Refuse lists of references in the orientation of sacrebleu, as far as lengths tell, or else
    the words.

    :raises InputError: they are, or there is not one list per output.
    """
    lists = [
        list(item) if isinstance(item, Iterable) and not is_path(item) else []
        for item in references
    ]
    n, turned = len(outputs), {len(example) for example in lists} == {len(outputs)}
    if turned and len(lists) == n and n > 1:
        by_example = sum(map(_shared, outputs, lists))
        turned = sum(map(_shared, outputs, zip(*lists, strict=True))) > by_example
    elif len(lists) == n:
        turned = False
    if turned:
        raise InputError(
            f"references: {len(lists):,} lists of {n:,} references each are one list per text, as"
            " in sacrebleu; give one list per example: list(zip(*references))"
        )
    if len(lists) != n:
        raise InputError(
            f"references: {len(lists):,} lists for {n:,} hypotheses; give one list per example (not"
            " one per text, as in sacrebleu)"
        )


def _shared(output: str, references: Iterable[Any]) -> int:
    """The most words that an output has in common with a reference."""
    words = Counter(words_of(output))
    texts = [text for text in references if isinstance(text, str)]
    return max(((words & Counter(words_of(text))).total() for text in texts), default=0)


def read_systems(
    outputs: Runs | Mapping[str, Runs], n: int, against: str, examples: Examples | None = None
) -> list[System]:
    """The systems and their runs.

    :param outputs: as in :func:`.evaluate`; ``against``: name of a text with the ``n`` examples;
        ``examples``: to join runs that have not been joined.
    :raises InputError: there is no system, a run has another number of hypotheses, or its record of
        generation settings is for other hypotheses.
    """
    systems = []
    for name, columns in read_runs(outputs).items():
        if examples is not None:
            columns = [examples.join(run) for run in columns]
            examples.check()
        for run in columns:
            if len(run) != n:
                raise InputError(
                    f"{run.name} has {len(run):,} lines and {against} has {n:,}: a hypothesis is"
                    " needed for each; check where the alignment breaks"
                )
        made = tuple(None if run.path is None else read_sidecar(run.path) for run in columns)
        systems.append(System(name, tuple(run.values for run in columns), made=made))
    return systems


def read_runs(
    outputs: Runs | Mapping[str, Runs], ids: str | None = None, lines: Sequence[str] | None = None
) -> dict[str, list[Column]]:
    """The runs of every system.

    :param outputs: as in :func:`.evaluate`; ``ids``: the table column with the example ids. A
        log of a harness has its own; without ``ids`` it is put into the order of rows.
    :param lines: the column ``line`` of a release, by which rows of logs are found.
    :raises InputError: there is no system, or a file cannot be read.
    """
    outputs = _by_column(outputs)
    if not isinstance(outputs, Mapping):
        outputs = {short_name(str(outputs)) if is_path(outputs) else "system": outputs}
    if not outputs:
        raise InputError(
            f"{argument('systems')} is empty; give at least one system with its hypotheses"
        )
    systems: dict[str, list[Column]] = {}
    for name, runs in outputs.items():
        texts = _texts_of(runs)
        for run_number, text in enumerate(texts, 1):
            label = "hypotheses" if len(outputs) == 1 else f"hypotheses of {name}"
            label += f", run {run_number}" if len(texts) > 1 else ""
            logged = _from_log(local(os.fspath(text)), ids, lines) if is_path(text) else None
            systems.setdefault(str(name), []).extend(logged or [_read_output(text, label, ids=ids)])
    return systems


def _read_output(text: Texts, label: str, *, ids: str | None) -> Column:
    """The hypotheses of a text, without reasoning, as in logs and in answers of servers."""
    column = as_column(text, label, "hypothesis", "prediction", "translation", ids=ids)
    if not any(REASONING in value for value in column.values):
        return column
    from cgbench.benchmark.score.outputs.harness_logs import reasoning_remark, warn_of_reasoning
    from cgbench.models.servers.answers import cut_reasoning

    answers = [cut_reasoning(value) or "" for value in column.values]
    pairs = list(zip(answers, column.values, strict=True))
    reasoned = [answer for answer, value in pairs if answer != value]
    remark = reasoning_remark(sum(not answer for answer in reasoned))
    warn_of_reasoning(column.name, len(reasoned), len(answers), remark)
    return replace(column, values=answers)


def _by_column(outputs: Any) -> Any:
    """A DataFrame as its columns by name: each is a system. Anything else as it is."""
    if hasattr(outputs, "columns") and hasattr(outputs, "items"):
        return dict(outputs.items())
    return outputs


def _from_log(path: str, ids: str | None, lines: Sequence[str] | None) -> list[Column] | None:
    """The hypotheses in a log of a harness; None if the file is not one."""
    if not any(mark in path for mark in LOG_MARKS):
        return None
    from cgbench.benchmark.score.outputs.log_outputs import by_rows, read_outputs

    columns = read_outputs(path)
    if columns is None or ids is not None:
        return columns
    return [replace(by_rows(column, lines), ids=None) for column in columns]


def same_systems(name: str, outputs: Any, systems: Any, texts: str = CONTROL_SET) -> Any:
    """The outputs of the same systems on other texts, in the order of the test set.

    :param name: the argument that gives them. ``texts``: the other texts, in words.
    :raises InputError: they are not the systems of the test set.
    """
    outputs, systems = _by_column(outputs), _by_column(systems)
    if isinstance(outputs, Mapping) != isinstance(systems, Mapping):
        raise InputError(
            f"{argument(name)} and {argument('systems')}: name the systems in both, or in neither"
        )
    if not isinstance(outputs, Mapping):
        return outputs
    strange = [system for system in outputs if system not in systems]
    lacking = [system for system in systems if system not in outputs]
    if strange or lacking:
        problem = (
            f"{strange[0]} is not one of the systems" if strange else f"{lacking[0]} is missing"
        )
        raise InputError(
            f"{argument(name)}: {problem}; give the same systems for the test set"
            f" ({', '.join(systems)}) and the {texts}"
        )
    return {system: outputs[system] for system in systems}


def check_same_runs(
    name: str, outputs: Sequence[System], systems: Sequence[System], texts: str = CONTROL_SET
) -> None:
    """Refuse another number of runs on other texts than on the test set.

    :param name: the argument that gives the outputs. ``texts``: the other texts, in words.
    """
    for system, on_test_set in zip(outputs, systems, strict=True):
        if len(system.runs) != len(on_test_set.runs):
            raise InputError(
                f"{argument(name)}: {on_test_set.name} has {len(system.runs)} runs on the"
                f" {texts} and {len(on_test_set.runs)} on the test set; give the same seeds in"
                " the same order"
            )


ROLES = {
    "references": ("reference", "target"),
    "sources": ("source",),
    "compounds": ("compound",),
    "human": ("human_correct", "human", "correct"),
    "normalised": ("reference", "target"),
    "normalised_sources": ("source",),
}
"""Default names of the columns of texts in tables."""


def join_texts(
    ids: str | None,
    texts: Mapping[str, Any],
    systems: Any,
    *,
    leads: bool = False,
    lines: Sequence[str] | None = None,
) -> tuple[dict[str, Any], dict[str, list[Column]], Examples]:
    """Join texts and systems so that their rows have the same order of examples.

    :param ids: the table column with the example ids; without it, what texts and tables say of
        their rows counts (:mod:`cgbench.text.joins`).
    :param texts: texts by the names of :data:`ROLES`; the first determines the order.
    :param leads: the first run of the first system determines the order instead.
    :param lines: as for :func:`read_runs`.
    :returns: texts, systems, and the examples, to join further tables
    :raises InputError: ids are missing or differ.
    """
    ids_column = None if ids == NONE else ids
    whole_texts = {
        name: text if _is_whole(text) or not isinstance(text, Iterable) else list(text)
        for name, text in texts.items()
    }
    columns = {
        name: _columns_of(name, text, ids_column)
        for name, text in whole_texts.items()
        if not absent(texts[name])
    }
    runs = read_runs(systems, ids_column, lines)
    if ids_column is not None:
        if None in columns.values():
            raise InputError(
                f"{argument('ids', ids_column)}: lists of references have no ids; give columns"
            )
        every = [text for group in (*columns.values(), *runs.values()) for text in group or ()]
        if without := next((column for column in every if column.ids is None), None):
            raise InputError(
                f"{argument('ids', ids_column)}: {without.name} has no ids; give it as a column of"
                " a table, or as a pandas Series with these ids as its index"
            )
    if "references" in columns and columns["references"] is None and runs:
        first_run = next(iter(runs.values()))[0]
        _check_orientation(whole_texts["references"], first_run.values)
    examples = Examples(ids)
    if leads:
        runs = {
            name: [examples.join(run) for run in columns_of_system]
            for name, columns_of_system in runs.items()
        }
    columns = {
        name: columns_of_text and [examples.join(column, name) for column in columns_of_text]
        for name, columns_of_text in columns.items()
    }
    if not leads:
        runs = {name: [examples.join(run) for run in several] for name, several in runs.items()}
    examples.check()
    # One column each, except references, which may have several.
    joined = {
        name: several if name == "references" else several[0]
        for name, several in columns.items()
        if several
    }
    return {**whole_texts, **joined}, runs, examples


def in_release(ids: str | None, text: Any, table: AnyPath | None) -> Any:
    """A text of a release with its table, which has the same rows, and with the ids from it.

    :raises InputError: the release has no table, or the table has no such column.
    """
    if text is None or table is None:
        if ids in (None, NONE) or text is None:
            return text
        raise InputError(f"{argument('ids', ids)}: this release has no table with ids")
    keys = None if ids in (None, NONE) else read_column(f"{os.fspath(table)}:{ids}").values
    return replace(as_column(text, "release"), ids=keys, table=Path(table))


def _is_whole(text: Any) -> bool:
    """Whether this is None, or a text that is not a list."""
    return text is None or is_path(text) or isinstance(text, Column) or index_of(text) is not None


def _columns_of(name: str, text: Any, ids: str | None) -> list[Column] | None:
    """A text (or several, for references) as columns; None for one list of references per
    example.
    """
    if _is_whole(text):
        return [as_column(text, name, *ROLES[name], ids=ids)]
    if isinstance(text, Mapping) or not isinstance(text, Iterable):
        raise InputError(f"{name}: {text!r:.60} is no text; give a file, or a list of strings")
    values = list(text)
    if name != "references" or all(isinstance(value, str) for value in values):
        return [as_column(values, name, *ROLES[name], ids=ids)]
    if all(is_path(value) or isinstance(value, Column) for value in values):
        return [as_column(value, name, *ROLES[name], ids=ids) for value in values]
    return None


def _texts_of(runs: Runs) -> list[Any]:
    if _is_whole(runs):
        return [runs]
    if isinstance(runs, Mapping) or not isinstance(runs, Iterable):
        raise InputError(
            f"{argument('systems')}: {runs!r:.60} is no text; give a file, or a list of strings"
        )
    values = list(runs)
    return values if values and not any(isinstance(value, str) for value in values) else [values]


def outputs_of(metric: Metric, systems: Sequence[System]) -> list[tuple[Sequence[str], ...]]:
    """The outputs of every run of every system; empty for external scores without outputs."""
    return [system.texts or (system.runs if metric.of_texts else ()) for system in systems]
