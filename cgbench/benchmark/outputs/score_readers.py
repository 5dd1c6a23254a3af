"""Scores in files of any form: a table of readers, each of which says whether it knows a file.

A reader is a function of the path, the field that was named (``FILE:FIELD``), and :class:`ReadOptions`. It returns the
runs of each system, under "" if the file names none, or None if the file has another form.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench.benchmark.outputs.harness_logs import read_log
from cgbench.benchmark.outputs.judgements import columns_of, read_judgements
from cgbench.benchmark.outputs.score_files import (
    ScoreColumn,
    is_of_systems,
    read_plain,
    read_table,
    split_field,
    systems_of,
)
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.columns import short_name
from cgbench.text.inputs import is_path
from cgbench.text.joins import index_of
from cgbench.text.remote import local
from cgbench.text.streams import TABLES, form


@dataclass(frozen=True)
class ReadOptions:
    """How scores are read.

    ``ids``: the column with the ids of examples. ``standardise``: convert human judgements to z-scores for each rater.
    ``by_rater``: of human judgements with several raters for an example, a row per judgement.
    """

    ids: str | None = None
    standardise: bool = False
    by_rater: bool = False


SystemRuns = dict[str, list[ScoreColumn]]
Reader = Callable[[Path, str | None, ReadOptions], SystemRuns | None]


def _judgements(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    judgements = read_judgements(path, field)
    if judgements is None:
        return None
    columns = columns_of(path, judgements, standardise=options.standardise, by_rater=options.by_rater)
    return {system: [column] for system, column in columns.items()}


def _log(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    runs = read_log(path, field)
    return None if runs is None else {"": runs}


def _table(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    if form(path) == "plain" and options.ids:
        raise InputError(f"{argument('ids', options.ids)} names a column; {path} is not a table ({', '.join(TABLES)})")
    is_table = form(path) not in ("plain", "json") or (options.ids is not None and form(path) == "json")
    return {"": [read_table(path, field, options.ids)]} if is_table else None


def _of_systems(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    if not is_of_systems(path):
        return None
    text = f"{path}:{field}" if field else str(path)
    return {system: [column] for system, column in systems_of(text).items()}


def _plain(path: Path, field: str | None, options: ReadOptions) -> SystemRuns | None:
    return {"": [read_plain(path)]}


READERS: dict[str, Reader] = {
    "plain text": _plain, "several systems": _of_systems, "tables": _table, "logs of harnesses": _log,
    "human judgements": _judgements,
}  # fmt: skip
"""The readers; the last one is asked first, and the first one knows every file."""


def read_scores(text: str, options: ReadOptions | None = None) -> SystemRuns:
    """The scores in ``FILE`` or ``FILE:FIELD`` by system; a file that names none has one named after the file.

    :raises InputError: there is no such file or column, or the file has another form than its name says.
    """
    path, field = split_field(local(text))
    results = (read(path, field, options or ReadOptions()) for read in reversed(READERS.values()))
    systems = next(systems for systems in results if systems is not None)
    return {system or short_name(path): runs for system, runs in systems.items()}


def read_score_columns(scores: Mapping[str, Any], options: ReadOptions | None = None) -> SystemRuns:
    """The scores of every system, one column per run.

    :param scores: by system: a file, a list of numbers, or a list of these, one per run; files in a list must be
        :class:`pathlib.Path`. An empty name is for a file with several systems.
    :raises InputError: a file has another form than its name says, or a system is given twice.
    """
    systems: SystemRuns = {}
    for name, runs in scores.items():
        run_list = list(runs) if _are_runs(runs) else [runs]
        runs_of_systems: SystemRuns = {}
        for run_number, run in enumerate(run_list, 1):
            if is_path(run):
                columns = read_scores(os.fspath(run), options)
                columns = {str(name): _runs_of(os.fspath(run), columns, str(name))} if name else columns
            else:
                label = f"{name}, run {run_number}" if len(run_list) > 1 else str(name)
                columns = {str(name): [ScoreColumn(label, [_as_text(value) for value in run], ids=index_of(run))]}
            for system, added in columns.items():
                runs_of_systems.setdefault(system, []).extend(added)
        for system, joined in runs_of_systems.items():
            if system in systems:
                raise InputError(f"{argument('scores')}: the system {system} is given twice; use different names")
            systems[system] = joined
    if not systems:
        raise InputError(f"no system; give {argument('scores')}")
    return systems


def _are_runs(runs: Any) -> bool:
    return isinstance(runs, (list, tuple)) and bool(runs) and not isinstance(runs[0], (int, float, str))


def _as_text(value: Any) -> str:
    return "nan" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _runs_of(text: str, systems: SystemRuns, system: str) -> list[ScoreColumn]:
    """The runs of a system in a file with several, or those of the only one."""
    if len(systems) == 1:
        return next(iter(systems.values()))
    near = [name for name in systems if system in (name, short_name(name))]
    if len(near) != 1:
        path = split_field(local(text))[0]
        raise InputError(f"{path}: no system {system!r}{did_you_mean(system, systems)}; give its name in that file")
    return systems[near[0]]
