"""Scores as a user names them: of which system and run, from a file of any kind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cgbench.benchmark.metrics.harness_logs import read_log
from cgbench.benchmark.metrics.score_files import (
    ScoreColumn,
    is_of_systems,
    read_plain,
    read_table,
    split_field,
    systems_of,
)
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, short_name
from cgbench.text.inputs import is_path
from cgbench.text.joins import index_of, numbered, places
from cgbench.text.remote import local
from cgbench.text.streams import TABLES, form


def read_score_columns(given: Mapping[str, Any], ids: str | None = None) -> dict[str, list[ScoreColumn]]:
    """The scores of every system, a column a run.

    :param given: by the name of a system a file, a list of numbers, or a list of either, one a run; files among these
        are :class:`pathlib.Path`. Under an empty name a file that holds several systems.
    :param ids: the column of tables that says which example a row is of.
    :raises InputError: a file is not what its name says, or a system is given twice.
    """
    systems: dict[str, list[ScoreColumn]] = {}
    for name, runs in given.items():
        several = [runs] if is_path(runs) or not _of_runs(runs) else list(runs)
        found: dict[str, list[ScoreColumn]] = {}
        for number, run in enumerate(several, 1):
            if not is_path(run):
                label = f"{name}, run {number}" if len(several) > 1 else str(name)
                columns = {str(name): [ScoreColumn(label, [_as_text(value) for value in run], index_of(run))]}
            elif not name:
                columns = _all_of(local(os.fspath(run)), ids)
            else:
                columns = {str(name): read_scores(local(os.fspath(run)), str(name), ids)}
            for one, added in columns.items():
                found.setdefault(one, []).extend(added)
        for one, columns_of in found.items():
            if one in systems:
                raise InputError(f"{argument('scores')}: the system {one} is given twice; name systems apart")
            systems[one] = columns_of
    if not systems:
        raise InputError(f"no system is given; give {argument('scores')}")
    return systems


def _all_of(given: str, ids: str | None) -> dict[str, list[ScoreColumn]]:
    """A file without the name of a system: all that it holds, or the one of a log, by the name of the file."""
    path, field = split_field(given)
    if log := read_log(path, field):
        return {short_name(path): log}
    if ids:
        return {short_name(path): read_scores(given, short_name(path), ids)}
    return {one: [column] for one, column in systems_of(given).items()}


def _of_runs(given: Any) -> bool:
    """Whether something is a list of runs, not of numbers."""
    return isinstance(given, (list, tuple)) and bool(given) and not isinstance(given[0], (int, float, str))


def _as_text(value: Any) -> str:
    return "nan" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def read_scores(given: str, system: str, ids: str | None = None) -> list[ScoreColumn]:
    """The scores of a file, of the system of this name where the file has several.

    :param ids: the column of a table that says which example a row is of.
    :returns: one run; the epochs of a log of inspect are runs.
    :raises InputError: there is no such file, column or system, or the file is not what its name says.
    """
    path, field = split_field(given)
    found = read_log(path, field)
    if found is not None:
        return found  # with ids of its own
    if form(path) not in ("plain", "json") or (ids and form(path) == "json"):
        return [read_table(path, field, ids)]
    if ids:
        raise InputError(f"{argument('ids', ids)} names a column, and {path} is no table ({', '.join(TABLES)})")
    if not is_of_systems(path):
        return [read_plain(path)]
    systems = systems_of(given)
    near = [name for name in systems if system in (name, short_name(name))]
    if len(systems) == 1:
        return list(systems.values())
    if len(near) != 1:
        raise InputError(
            f"{path}: no system {system!r}{did_you_mean(system, systems)}; write the name that it has there"
        )
    return [systems[near[0]]]


def common_order(columns: Sequence[ScoreColumn]) -> list[ScoreColumn]:
    """The same runs, every row of the same example in all: in the order of the first, by their ids.

    :raises InputError: lengths, ids, examples or versions of the task differ; the row is named.
    """
    for column in columns:
        numbered(column.name, column.ids or ())
    first, *others = columns
    ordered = [first]
    for column in others:
        if first.version is not None and column.version is not None and first.version != column.version:
            raise InputError(
                f"{column.name} is of version {column.version} of its task and {first.name} of version "
                f"{first.version}: run both on the same version"
            )
        if first.ids is not None and column.ids is not None:
            column = _in_order(first, column)
        elif len(column) != len(first):
            raise InputError(
                f"{column.name} has {len(column):,} scores and {first.name} has {len(first):,}: a score is needed for "
                "each example; check where they part"
            )
        if first.prints is not None and column.prints is not None:
            for index, (ours, theirs) in enumerate(zip(first.prints, column.prints, strict=True)):
                if ours != theirs:
                    raise InputError(
                        f"{column.row(index)} is of another example than {first.row(index)}: the logs are of other "
                        "versions of the task, or of other data"
                    )
        ordered.append(column)
    return ordered


def _in_order(first: ScoreColumn, column: ScoreColumn) -> ScoreColumn:
    """A run in the order of the first, by ids."""
    assert column.ids is not None
    if column.ids == first.ids:
        return column
    order = places(column.name, column.ids, Column(first.name, [], ids=first.ids))
    prints = None if column.prints is None else [column.prints[index] for index in order]
    values = [column.values[index] for index in order]
    return replace(column, values=values, ids=list(first.ids or ()), prints=prints, path=None)  # not the file's order
