"""Scores in files of any form: a table of readers, each of which says whether it knows a file.

A reader is a function of the path, the field that was named (``FILE:FIELD``), and
:class:`ReadOptions`. It returns the runs of each system, under "" if the file names none, or None
if the file has another form.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from pathlib import Path
from typing import Any

from cgbench.benchmark.measure.metrics.segment_scores import number_of, plain_numbers
from cgbench.benchmark.score.outputs.harness_logs import read_log
from cgbench.benchmark.score.outputs.judgements import (
    FrameTable,
    judgements_of_table,
    read_judgements,
    usual_columns,
)
from cgbench.benchmark.score.outputs.score_files import (
    ReadOptions,
    ScoreColumn,
    SystemRuns,
    has_rows,
    read_systems_file,
    read_table,
    split_field,
)
from cgbench.errors import InputError, argument
from cgbench.extensions import Registry
from cgbench.settings import did_you_mean
from cgbench.text.columns import short_name
from cgbench.text.identities import index_of, is_identity
from cgbench.text.inputs import is_path
from cgbench.text.remote import local
from cgbench.text.rows import Table
from cgbench.text.streams import form, read_lines
from cgbench.text.table_formats import may_be_added

DEFAULTS = ReadOptions()
FEWEST = 3  # rows that tell a mean of them
MEANS = ("", "mean", "average", "avg", "avg.", "all", "total", "overall", "corpus", "system")
"""Cells of a row that has the mean of the others."""
Reader = Callable[[Path, str | None, ReadOptions], SystemRuns | None]


def _table(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    is_object = form(path) == "json" and not has_rows(path)
    if (form(path) == "plain" or is_object) and options.ids is None:
        return None
    column = read_table(path, field, options.ids)
    _check_unused(path, column)
    _check_rows(path, column)
    return {"": [column]}


_REMEDY = (
    f"name the columns with {argument('columns_of')} (system=COLUMN,segment=COLUMN,rater=COLUMN),"
    " or give a table without the other rows"
)


def _check_rows(path: Path, scores: ScoreColumn) -> None:
    """Refuse a column that numbers its rows, and a last row with the mean of those before.

    :raises InputError: there is one.
    """
    table, chosen = Table(path, named=True), scores.name.rpartition(":")[2]
    others = [name for name in table.names if name != chosen]
    values = [number_of(value) for value in plain_numbers(scores.values)]
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    if len(numbers) < FEWEST or chosen not in table.names:
        return
    numbered = [round(number - numbers[0]) for number in numbers] == list(range(len(values)))
    if numbered and numbers[0] in (0.0, 1.0):
        for name in filter(is_identity, others):
            cells = [str(cell) for _, (cell,) in table.read([name])]
            fractions = sum("." in cell and number_of(cell) is not None for cell in cells)
            if 2 * fractions > len(cells):
                raise InputError(
                    f"{path}: its column {chosen!r} counts the rows; is {name!r} the score? Write"
                    f" {path}:{name}"
                )
        table = Table(path, named=True)
    # The cells beside the mean are empty or name it.
    *_, (row_number, last) = table.read(others or [chosen])
    named = [str(cell or "").strip().lower() for cell in last] if others else []
    text = scores.values[-1].strip()
    digits = len(text.partition(".")[2])
    is_mean = abs(numbers[-1] - sum(numbers[:-1]) / (len(numbers) - 1)) <= 0.51 * 10**-digits
    if is_mean and named and any(cell in MEANS for cell in named):
        raise InputError(
            f"{path}, row {row_number}: the mean of the rows before, and no example; remove the row"
        )


def _check_unused(path: Path, scores: ScoreColumn) -> None:
    """Refuse a table whose rows seem to be of several systems or raters, or of an example more than
    once.

    :raises InputError: they do.
    """
    table, chosen = Table(path, named=True), scores.name.rpartition(":")[2]
    if chosen not in table.names:
        return  # the number of a column
    roles = usual_columns([name for name in table.names if name != chosen])
    roles.pop("score", None)
    rows = [row for _, row in table.read(list(roles.values()))] if roles else []
    values = dict(zip(roles, zip(*rows, strict=True), strict=True)) if rows else {}
    for role in ("system", "rater"):
        if (count := len(set(map(str, values.get(role, ()))))) > 1:
            raise InputError(f"{path}: its column {roles[role]!r} has {count:,} {role}s; {_REMEDY}")
    examples = list(
        map(
            str,
            zip(*(values[role] for role in ("segment", "document") if role in values), strict=True),
        )
    )
    if "segment" in roles and len(set(examples)) < len(examples):
        raise InputError(
            f"{path}: an example has several rows by its column {roles['segment']!r}; {_REMEDY}"
        )


def _plain(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    return {"": [ScoreColumn(str(path), [line.rstrip("\r") for line in read_lines(path)])]}


BUILT_IN: dict[str, Reader] = {
    "plain text": _plain,
    "several systems": read_systems_file,
    "tables": _table,
    "human judgements": read_judgements,
    "logs of harnesses": read_log,
}
"""The readers of cgbench; the last one is asked first, and the first one knows every file."""

ADDED: Registry[Reader] = Registry("readers", {})
"""Readers of other packages, by the suffix of their files without the dot; asked before those."""


def _read(text: str, options: ReadOptions) -> SystemRuns:
    """The scores in ``FILE`` or ``FILE:FIELD`` by system; a file that names none has one named
    after the file.

    :raises InputError: there is no such file or column, or the file has another form than its name
        says.
    """
    path, field = split_field(local(text))
    suffix = path.suffix.removeprefix(".")
    added = ADDED.get(suffix) if may_be_added(suffix) else None
    readers = [*([added] if added else []), *reversed(BUILT_IN.values())]
    results = (read(path, field, options) for read in readers)
    systems = next(systems for systems in results if systems is not None)
    return {system or short_name(path): runs for system, runs in systems.items()}


def read_score_columns(scores: Mapping[str, Any], options: ReadOptions = DEFAULTS) -> SystemRuns:
    """The scores of every system, one column per run.

    :param scores: by system: a file, a list of numbers, or a list of these, one per run; files in a
        list must be :class:`pathlib.Path`. An empty name is for files that name their systems, or
        whose name is that of the system.
    :raises InputError: a file has another form than its name says, or a system is given twice.
    """
    systems: SystemRuns = {}
    for name, runs in scores.items():
        run_list = list(runs) if _are_runs(runs) else [runs]
        runs_of_systems: SystemRuns = {}
        for run_number, run in enumerate(run_list, 1):
            if is_path(run) or is_frame(run):
                label = str(run) if is_path(run) else "the data frame"
                columns = (
                    _read(os.fspath(run), options) if is_path(run) else _of_frame(run, options)
                )
                columns = {str(name): _runs_of(label, columns, str(name))} if name else columns
            else:
                label = f"{name}, run {run_number}" if len(run_list) > 1 else str(name)
                if isinstance(run, Mapping) or not isinstance(run, Iterable):
                    raise InputError(
                        f"{label}: {run!r:.60} is not a list of scores; give a file, or numbers"
                    )
                columns = {
                    str(name): [
                        ScoreColumn(label, [_as_text(value) for value in run], ids=index_of(run))
                    ]
                }
            for system, added in columns.items():
                if system in systems or (not name and system in runs_of_systems):
                    raise InputError(
                        f"{argument('scores')}: the system {system} is given twice; use different"
                        " names"
                    )
                runs_of_systems.setdefault(system, []).extend(added)
        systems |= runs_of_systems
    if not systems:
        raise InputError(f"no system; give {argument('scores')}")
    return systems


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas data frame."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def _of_frame(frame: Any, options: ReadOptions) -> SystemRuns:
    systems = judgements_of_table("the data frame", FrameTable(frame), None, options)
    if systems is None:
        raise InputError(
            "the data frame has no columns of examples, scores and systems or raters: name them"
            f" with {argument('columns_of')}, or give a list of numbers per system"
        )
    return {system or "system": runs for system, runs in systems.items()}


def _are_runs(runs: Any) -> bool:
    return (
        isinstance(runs, (list, tuple))
        and bool(runs)
        and not any(value is None or isinstance(value, (Number, str)) for value in runs[:1])
    )


def _as_text(value: Any) -> str:
    return "nan" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _runs_of(text: str, systems: SystemRuns, system: str) -> list[ScoreColumn]:
    """The runs of a system in a file with several, or those of the only one."""
    if len(systems) == 1:
        return next(iter(systems.values()))
    near = [name for name in systems if system in (name, short_name(name))]
    if len(near) != 1:
        raise InputError(
            f"{text}: no system {system!r}{did_you_mean(system, systems)}; give its name in that"
            " file"
        )
    return systems[near[0]]
