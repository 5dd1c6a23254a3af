"""Files with one score per segment, as written by other programs.

=============================  =====================================================================
plain text                     one number per line
``NAME.seg.score``             mt-metrics-eval: one ``SYSTEM  SCORE`` per line, all systems
``.tsv`` ``.csv`` ``.jsonl``   a column; by default ``score``, ``COMET``, ``prediction`` (MetricX),
``.parquet``                   ``rating``, ``value``, ``correct``
``.json``                      COMET (``comet-score --to_json``); a list of objects, or JSON lines,
                               as tables
=============================  =====================================================================

Logs of evaluation harnesses are read in ``harness_logs.py``, human judgements in ``judgements.py``.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from cgbench.benchmark.measure.metrics.registry import METRICS
from cgbench.benchmark.measure.metrics.segment_scores import number_of, plain_numbers
from cgbench.errors import InputError
from cgbench.files import parse_json
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, chosen_rows, read_table_column
from cgbench.text.identities import is_identity, rows_by_id
from cgbench.text.joins import Examples
from cgbench.text.rows import Table, is_array
from cgbench.text.streams import COMPRESSED, form, is_there, open_bytes, read_lines, split_name

MEMORY = 1 << 30
"""Maximum memory of a JSON value, including all objects; the file may have half as many bytes."""
SACREBLEU = {"name", "score", "signature"}
"""Fields of a score in sacrebleu's JSON."""
ROLES = ("score", "COMET", "comet", "prediction", "rating", "value", "correct")
"""Names of columns with scores, in the order of preference."""


class ScoreColumn(Column):
    """The scores of one run as text, and what identifies its examples.

    ``field``: the metric of a log, with its filter. ``prints``: a checksum or the text of each
    example, if the file has them. ``version``: of the
    task. ``path``: the table of this column, if the rows are in its order. ``columns``: of human
    judgements, what is known of each row; ``by_judgement``: a row is a judgement, not an example.
    ``metadata`` of judgements: the documents by the name of their column.
    """

    field: str | None = None
    prints: list[str] | None = None
    version: str | None = None
    columns: Mapping[str, list[str]] | None = None
    by_judgement: bool = False

    def row(self, index: int) -> str:
        """The name of row ``index`` (from 0) in messages."""
        return super().row(index) + ("" if self.ids is None else f" (id {self.ids[index]})")

    def at(self, rows: Sequence[int]) -> Self:
        """The column with these rows, in this order."""
        prints = self.prints and [self.prints[row] for row in rows]
        return replace(super().at(rows), prints=prints, columns=chosen_rows(self.columns, rows))


SystemRuns = dict[str, list[ScoreColumn]]
"""The runs of each system; the name is "" if a file names none."""


@dataclass(frozen=True)
class ReadOptions:
    """How scores are read.

    ``ids``: the column with the ids of examples. ``standardise``: convert human judgements to
    z-scores for each rater. ``by_rater``: of human judgements with several raters for an example, a
    row per judgement. ``columns``: those of a table of ratings by what they hold, where their names
    are unusual.
    """

    ids: str | None = None
    standardise: bool = False
    by_rater: bool = False
    columns: Mapping[str, str] | None = None


def split_field(text: str) -> tuple[Path, str | None]:
    """Split ``FILE:COLUMN``, where FILE may also be a ``.json`` or ``.eval``; None if no column is
    named.
    """
    path, sign, field = text.rpartition(":")
    if sign and field and Path(path).suffix in (".json", ".eval") and not is_there(Path(text)):
        return Path(path), field
    return split_name(text)


def read_systems_file(path: Path, field: str | None, _: ReadOptions) -> SystemRuns | None:
    """All systems in a file that may contain the scores of several by name; None if its name is of
    another form.

    :raises InputError: it has another format than its name says.
    """
    if form(path) == "json":
        return None if has_rows(path) else _read_json(path, field)
    if not path.name.endswith(tuple(f".seg.score{suffix}" for suffix in ("", *COMPRESSED))):
        return None
    systems: dict[str, list[str]] = {}
    for row_number, line in enumerate(read_lines(path), 1):
        name, sign, value = line.rstrip("\r").rpartition("\t")
        if not sign or not name:
            raise InputError(
                f"{path}, row {row_number}: {line[:60]!r} is not a system, a tab and a score"
            )
        systems.setdefault(name, []).append(value)
    if not systems:
        raise InputError(f"{path}: no scores")
    return {name: [ScoreColumn(f"{path}, {name}", values)] for name, values in systems.items()}


def read_table(path: Path, chosen: str | None, ids: str | None) -> ScoreColumn:
    """A column of a table, and optionally a column of ids.

    :raises InputError: there is no such column, or an id is missing.
    """
    chosen = chosen or _score_column(path)
    column, values, keys = read_table_column(path, chosen, ROLES, ids, as_score)
    return ScoreColumn(f"{path}:{column}", values, path, keys)


def _is_named_as_score(name: str) -> bool:
    """Whether a word of a name is a usual name of scores or a metric of this program."""
    usual = {*(role.lower() for role in ROLES), *METRICS}
    return not usual.isdisjoint(re.split(r"[\W_]+", name.lower()))


def _score_column(path: Path) -> str | None:
    """The column of a table with one of the usual names of scores, whatever its case, or the only
    one with numbers; None if the table has no header.

    :raises InputError: several columns may be meant, or none.
    """
    table = Table(path, named=True)
    first = next(iter(table.read(table.names)), (0, ()))[1] if _are_distinct(table.names) else ()
    numeric = [
        name
        for name, value in zip(table.names, first, strict=False)
        if is_score(value) and not is_identity(name)
    ]
    if set(table.names) >= SACREBLEU:
        raise InputError(
            f"{path}: scores of whole texts by sacrebleu, not of segments; give the scores of the"
            " segments (sacrebleu --sentence-level), or the texts to cgbench score"
        )
    lower = {role.lower() for role in ROLES}
    usual = [name for name in table.names if name.strip().lower() in lower]
    scores = [name for name in usual if name in numeric] or usual
    if scores:  # such as bleu beside comet, or comet_score beside score
        scores += [name for name in numeric if name not in scores and _is_named_as_score(name)]
    if len({name.lower() for name in scores}) > 1:
        raise InputError(
            f"{path}: which column has the scores? Write {path}:{scores[0]} or {path}:{scores[1]}"
        )
    if scores:
        return scores[0]
    if len(table.names) < 2 or not numeric:
        return None
    raise InputError(
        f"{path}: which column? Write {path}:COLUMN, such as {path}:{numeric[0]}; it has"
        f" {', '.join(table.names)}"
    )


def _are_distinct(names: Sequence[str]) -> bool:
    return bool(names) and len(set(names)) == len(names)


def is_score(value: Any) -> bool:
    """Whether a value of a table is a number, as text or not."""
    if isinstance(value, str):
        (text,) = plain_numbers([value])
        score = number_of(text)
        return score is not None and score == score
    return isinstance(value, (int, float))


def as_score(value: Any, column: str, path: object, row_number: int) -> str:
    """A value of a table or of JSON as the text of a score; a missing one as ``nan``.

    :raises InputError: it is an object or a list.
    """
    if value is None:
        return "nan"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    raise InputError(
        f"{path}, row {row_number}: {column!r} is not a number but {type(value).__name__}"
    )


def has_rows(path: Path) -> bool:
    """Whether a JSON file is a table: an array, or more than one line, the first of which is an
    object.
    """
    if is_array(path):
        return True
    try:
        lines = list(islice(filter(str.strip, read_lines(path)), 2))
        return len(lines) > 1 and isinstance(parse_scores(lines[0].encode(), path), dict)
    except InputError:  # such as a very long line
        return False


def _read_json(path: Path, field: str | None) -> SystemRuns:
    """COMET's JSON: ``{hypotheses: [{"src": ..., "mt": ..., "COMET": 0.8}, ...]}``."""
    systems = read_json(path)
    if (
        not isinstance(systems, dict)
        or not systems
        or not all(isinstance(rows, list) for rows in systems.values())
    ):
        raise InputError(
            f"{path}: not JSON of scores: an object with one list of objects per system"
        )
    runs: SystemRuns = {}
    for name, rows in systems.items():
        values = []
        for row_number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise InputError(f"{path}, row {row_number}: not an object with a score")
            if (field := field or next((role for role in ROLES if role in row), None)) is None:
                raise InputError(
                    f"{path}: which field has the scores? Write {path}:FIELD; there is"
                    f" {', '.join(row)}"
                )
            if field not in row:
                raise InputError(
                    f"{path}, row {row_number}: no field {field!r}{did_you_mean(field, row)}"
                )
            values.append(as_score(row[field], field, path, row_number))
        runs[name] = [ScoreColumn(f"{path}, {name}" if len(systems) > 1 else str(path), values)]
    return runs


def read_json(path: Path) -> Any:
    """A JSON file.

    :raises InputError: as :func:`parse_scores` does.
    """
    with open_bytes(path) as file:
        data = file.read(MEMORY // 2 + 1)
    return parse_scores(data, path)


def parse_scores(data: bytes, where: object) -> Any:
    """JSON from another program, in which NaN is a missing number.

    :raises InputError: it is not JSON, or would take more than :data:`MEMORY`: a list of empty
        lists takes thirty times its size in the file.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8") from None
    # An upper bound for CPython: the text twice, and an object, list, string or pointer for each
    # sign.
    signs = (("{", 200), ("[", 72), ('"', 28), (",", 34))
    if (
        2 * sys.getsizeof(text) + sum(bytes_each * text.count(sign) for sign, bytes_each in signs)
        > MEMORY
    ):
        raise InputError(
            f"{where}: {len(data):,} bytes of JSON, which would take more than {MEMORY >> 20:,} MB"
            " of memory; give the scores as plain text or as a table (a log of inspect as .eval,"
            " which is read sample by sample)"
        )
    return parse_json(text, where, infinite=True)


def answered_by_all(columns: Sequence[ScoreColumn]) -> list[ScoreColumn]:
    """The runs of results that grow, without examples that some run lacks so far: by their ids, or
    by the rows.
    """
    ids = [column.ids for column in columns if column.ids is not None]
    if len(ids) < len(columns):
        shortest = min(map(len, columns))
        return [column.at(range(shortest)) for column in columns]
    common = set(ids[0]).intersection(*ids[1:])
    return [
        column.at([row for row, name in enumerate(names) if name in common])
        for column, names in zip(columns, ids, strict=True)
    ]


def common_order(columns: Sequence[ScoreColumn], ids: str | None = None) -> list[ScoreColumn]:
    """The runs in the order of the first.

    :param ids: as in :class:`~cgbench.text.joins.Examples`.
    :raises InputError: lengths, ids, examples or versions of the task differ.
    """
    examples, first, ordered = Examples(ids), columns[0], list[ScoreColumn]()
    for column in columns:
        if (
            first.version is not None
            and column.version is not None
            and first.version != column.version
        ):
            raise InputError(
                f"{column.name} has version {column.version} of the task but {first.name} has"
                f" version {first.version}: run both on the same version"
            )
        rows_by_id(column.name, column.ids or ())
        column = examples.join(column)
        if len(column) != len(first):
            raise InputError(
                f"{column.name} has {len(column):,} scores and {first.name} has {len(first):,}:"
                " give one score per example, and check where the alignment breaks"
            )
        if first.prints is not None and column.prints is not None:
            for index, (print_, of_first) in enumerate(
                zip(column.prints, first.prints, strict=True)
            ):
                if print_ != of_first:
                    raise InputError(
                        f"{column.row(index)} is another example than {first.row(index)}: the logs"
                        " are from different versions of the task, or different data"
                    )
        ordered.append(column)
    examples.check()
    return ordered
