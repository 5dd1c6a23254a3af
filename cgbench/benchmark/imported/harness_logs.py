"""Logs of evaluation harnesses: what a model scored on each example, and which example that was.

lm-evaluation-harness   ``samples_TASK_DATE.jsonl`` (``--log_samples``); the task's version is in ``results_DATE.json``
                        beside it.
lighteval               ``details_TASK_DATE.parquet`` (``--save-details``).
inspect                 ``.eval`` and ``.json``; every epoch is a run.

Nothing of these programs has to be installed.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cgbench.benchmark.imported.score_files import ScoreColumn, as_score, read_json
from cgbench.errors import InputError
from cgbench.settings import did_you_mean
from cgbench.text.parquet import ParquetTable
from cgbench.text.rows import Table
from cgbench.text.streams import COMPRESSED, form

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What inspect writes for correct, incorrect, partial and no answer, and what these are worth there."""
LARGEST = 256 << 20  # bytes of one sample of a .eval
_OF_DOC = frozenset(("doc_id", "doc_hash"))
_NOT_METRICS = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
     "target_hash")
)  # fmt: skip


def read_log(path: Path, metric: str | None) -> list[ScoreColumn] | None:
    """The scores of a log, a run each; None where the file is no log.

    :param metric: which of the log's metrics (``acc_norm``; of a log with several filters ``acc@FILTER``).
    :raises InputError: the log is damaged, or has several metrics and none was named.
    """
    kind = form(path)
    if kind == "jsonl":
        table = Table(path, named=True)
        return [_lm_eval(path, table, metric)] if set(table.names) >= _OF_DOC else None
    if kind == "parquet":
        names = ParquetTable(path).names
        column = next((name for name in ("metric", "metrics") if name in names), None)
        return [_lighteval(path, column, "doc" in names, metric)] if column and _is_lighteval(names) else None
    if path.suffix == ".eval":
        return _inspect(path, *_unpack(path), metric)
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    if plain.suffix == ".json":
        data = read_json(path)
        if isinstance(data, dict) and isinstance(data.get("eval"), dict) and "samples" in data:
            return _inspect(path, data, data["samples"] or [], metric)
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_lighteval(names: Sequence[str]) -> bool:
    return "doc" in names or {"full_prompt", "specifics"} & set(names) != set()


def _lm_eval(path: Path, table: Table, metric: str | None) -> ScoreColumn:
    """``samples_*.jsonl``: ``doc_id``, ``doc_hash``, ``filter``, and each metric under its name."""
    wanted, _, chosen = (metric or "").partition("@")
    columns = ("doc_id", "doc_hash", "filter", "metrics")
    fields = [name for name in table.names if name not in _NOT_METRICS]
    rows = list(table.read((*columns, *fields)))
    filters = list(dict.fromkeys(str(row[2]) for _, row in rows))
    if chosen and chosen not in filters:
        raise InputError(f"{path}: no filter {chosen!r}{did_you_mean(chosen, filters)}")
    if not chosen and len(filters) > 1:
        raise InputError(
            f"{path}: several filters ({', '.join(filters)}), a row an example each; write {path}:METRIC@{filters[0]}"
        )
    listed = rows[0][1][3] if rows else None
    known = [name for name in (listed if isinstance(listed, list) else fields) if name in fields]
    name = _metric(path, wanted or None, known)
    place = len(columns) + fields.index(name)
    values, ids, prints = [], [], []
    for number, row in rows:
        if chosen and str(row[2]) != chosen:
            continue
        if row[0] is None or row[1] is None:
            raise InputError(f"{path}, row {number}: no {'doc_id' if row[0] is None else 'doc_hash'}")
        values.append(as_score(row[place], path, number, name))
        ids.append(str(row[0]))
        prints.append(str(row[1]))
    return ScoreColumn(f"{path}:{name}", values, ids, prints, _lm_eval_version(path), sort=True)


def _lm_eval_version(path: Path) -> str | None:
    """The version of the task, from the results that the harness writes beside the samples."""
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    task, sign, date = plain.stem.removeprefix("samples_").rpartition("_")
    results = path.parent / f"results_{date}.json"
    if not sign or not plain.stem.startswith("samples_") or not results.is_file():
        return None
    versions = read_json(results)
    versions = versions.get("versions") if isinstance(versions, dict) else None
    found = versions.get(task) if isinstance(versions, dict) else None
    return None if found is None else str(found)


def _lighteval(path: Path, column: str, has_doc: bool, metric: str | None) -> ScoreColumn:
    """Details: a struct of metrics, and the ``doc`` with its id and query."""
    values, ids, prints, name = [], [], [], metric
    wanted = (column, "doc") if has_doc else (column, "full_prompt")
    for number, (found, doc) in enumerate(ParquetTable(path).read(wanted), 1):
        if not isinstance(found, Mapping):
            raise InputError(f"{path}, row {number}: {column!r} is no object of metrics")
        name = _metric(path, name, list(found))
        values.append(as_score(found[name], path, number, name))
        of = doc if isinstance(doc, Mapping) else {"query": doc}
        ids.append(str(of.get("id") if of.get("id") not in (None, "") else number - 1))
        prints.append(_digest(json.dumps(of.get("query"), ensure_ascii=False, default=str)))
    return ScoreColumn(f"{path}:{name}" if name else str(path), values, ids, prints, sort=True)


def _metric(path: Path, wanted: str | None, known: Sequence[str]) -> str:
    if wanted is not None:
        if wanted not in known:
            raise InputError(f"{path}: no metric {wanted!r}{did_you_mean(wanted, known)}")
        return wanted
    if len(known) != 1:
        raise InputError(f"{path}: which metric? Write {path}:METRIC; there is {', '.join(known) or 'none'}")
    return known[0]


def _unpack(path: Path) -> tuple[dict[str, Any], list[Any]]:
    """Header and samples of a ``.eval``, which is a zip file of JSON."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(f"{path}: no header.json in it; the log of an evaluation that has ended is needed")
            samples = sorted(name for name in names if name.startswith("samples/") and name.endswith(".json"))
            header, *found = [_entry(path, archive, name) for name in ("header.json", *samples)]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise InputError(f"{path}: no log of inspect that can be read ({error})") from None
    except NotImplementedError:
        raise InputError(
            f"{path}: its compression is not known to this Python; write it as JSON: inspect log convert --to json"
        ) from None
    return header, found


def _entry(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(name) as file:
        data = file.read(LARGEST + 1)  # never what the archive claims
    if len(data) > LARGEST:
        raise InputError(f"{path}: {name} has more than {LARGEST >> 20} MB")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {name} is not JSON ({error})") from None


def _inspect(path: Path, header: Mapping[str, Any], samples: Iterable[Any], metric: str | None) -> list[ScoreColumn]:
    """A log of inspect: ``metric`` is the scorer, or ``SCORER@KEY`` where a score has several values."""
    scorer, _, key = (metric or "").partition("@")
    task = header.get("eval")
    version = task.get("task_version") if isinstance(task, Mapping) else None
    status = header.get("status")
    if status not in (None, "success"):
        raise InputError(f"{path}: the evaluation has ended with status {status!r}; its log is not whole")
    epochs: dict[int, list[tuple[str, str, str]]] = {}
    name = scorer or None
    for number, sample in enumerate(samples, 1):
        scores = sample.get("scores") if isinstance(sample, Mapping) else None
        if not isinstance(scores, Mapping):
            raise InputError(f"{path}, sample {number}: no scores; score the log first (inspect score)")
        name = _metric(path, name, list(scores))
        value = scores[name].get("value") if isinstance(scores[name], Mapping) else None
        if isinstance(value, Mapping):
            key = _metric(path, key or None, list(value))
            value = value[key]
        value = LETTERS.get(value, value) if isinstance(value, str) else value
        print_of = _digest(json.dumps(sample.get("input"), ensure_ascii=False, sort_keys=True))
        row = (as_score(value, path, number, name), str(sample.get("id")), print_of)
        epochs.setdefault(sample.get("epoch") or 1, []).append(row)
    label = f"{path}:{name}" if name else str(path)
    columns = []
    for epoch, rows in sorted(epochs.items()):
        values, ids, prints = (list(column) for column in zip(*rows, strict=True))
        shown = f"{label}, epoch {epoch}" if len(epochs) > 1 else label
        columns.append(ScoreColumn(shown, values, ids, prints, None if version is None else str(version), sort=True))
    if not columns:
        raise InputError(f"{path}: there is no sample in it")
    return columns
