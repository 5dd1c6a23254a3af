"""Read the scores and ids of examples from logs of evaluation harnesses.

lm-evaluation-harness   ``samples_TASK_DATE.jsonl`` (``--log_samples``); the version of the task is
                        in ``results_DATE.json`` in the same folder.
inspect                 ``.eval`` and ``.json``; every epoch is a run.
Every Eval Ever         ``UUID_samples.jsonl``; every ``run`` of the metadata is a run.

The programs themselves need not be installed.
"""

import hashlib
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from cgbench.benchmark.score.outputs.score_files import (
    ReadOptions,
    ScoreColumn,
    SystemRuns,
    as_score,
    has_rows,
    parse_scores,
    read_json,
)
from cgbench.errors import InputError, warn
from cgbench.models.servers.answers import START
from cgbench.numbers_as_text import counted
from cgbench.settings import did_you_mean
from cgbench.text.limits import Budget
from cgbench.text.rows import Table
from cgbench.text.streams import COMPRESSED, form

T = TypeVar("T")
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""inspect's values of correct, incorrect, partial and no answer."""
ZSTANDARD = 93  # zip's number of the method
LARGEST = 128 << 20  # bytes of one sample in a .eval
MOST_REASONED = 0.02  # answers of a log that may contain reasoning without a warning
SCORED = "which the harness scored; score the text instead: cgbench score bleu --hyp LOG"
NAMED = 20  # metrics named in a message
LONGEST_LABEL = 100  # characters of a value that bins are formed by
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    LookupError,
    RuntimeError,
    ValueError,
)
"""Errors of zipfile on an archive that is damaged, or has a password."""
_OF_RECORD = frozenset(("evaluation_id", "sample_id", "evaluation"))
OF_DOC = frozenset(("doc_id", "doc_hash"))
_NOT_METRICS = frozenset(
    (
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    )
)


def read_log(path: Path, metric: str | None, _: ReadOptions) -> SystemRuns | None:
    """The scores of a log, one column per run; None if the file is not a log.

    :param metric: one of the log's metrics (``acc_norm``; in a log with several filters
        ``acc@FILTER``).
    :raises InputError: the log is damaged, or has several metrics and none was named.
    """
    if form(path) == "jsonl":
        table = Table(path, named=True)
        if set(table.names) >= _OF_RECORD:
            return _every_eval_ever(path, table, metric)
        return _lm_eval(path, table, metric) if set(table.names) >= OF_DOC else None
    return read_inspect(path, lambda header, samples: _inspect(path, header, samples, metric))


def read_inspect(path: Path, read: Callable[[Any, Iterable[Any]], T]) -> T | None:
    """Apply ``read`` to the header and the samples of a log of inspect; None if the file is not
    one.

    :raises InputError: the log is damaged.
    """
    if path.suffix == ".eval":
        return _packed(path, read)
    if form(path) == "json" and not has_rows(path):
        data = read_json(path)
        if isinstance(data, dict) and isinstance(data.get("eval"), dict) and "samples" in data:
            samples = [] if data["samples"] is None else data["samples"]
            if not isinstance(samples, list):
                raise InputError(f"{path}: not a log of inspect ('samples' is not a list)")
            return read(data, samples)
    return None


def lm_eval_rows(
    path: Path, table: Table, columns: Sequence[str], chosen: str | None, example: str
) -> list[tuple[int, list[Any]]]:
    """The numbered rows of ``samples_*.jsonl`` with the ``chosen`` filter, or with the only one.

    :param example: what is before the name of a filter in an argument.
    :raises InputError: there is no such filter, or there are several and none was chosen.
    """
    by_filter: dict[str, list[tuple[int, list[Any]]]] = {}
    for row_number, (name, *row) in table.read(("filter", *columns)):
        by_filter.setdefault(str(name), []).append((row_number, row))
    if chosen and chosen not in by_filter:
        raise InputError(f"{path}: no filter {chosen!r}{did_you_mean(chosen, by_filter)}")
    if not chosen and len(by_filter) > 1:
        filters, first = ", ".join(list(by_filter)[:NAMED]), next(iter(by_filter))
        raise InputError(
            f"{path}: several filters ({filters}); choose one with {path}:{example}{first}"
        )
    return by_filter.get(chosen or next(iter(by_filter), ""), [])


def _lm_eval(path: Path, table: Table, metric: str | None) -> SystemRuns:
    """``samples_*.jsonl``: ``doc_id``, ``doc_hash``, ``filter``, and metrics by name."""
    chosen_metric, _, chosen = (metric or "").partition("@")
    columns = ("doc_id", "doc_hash", "metrics", "filtered_resps", "doc")
    fields = [name for name in table.names if name not in _NOT_METRICS]
    named = chosen_metric or (fields[0] if len(fields) == 1 else "METRIC")
    rows = lm_eval_rows(path, table, (*columns, *fields), chosen, f"{named}@")
    if not rows:
        raise InputError(f"{path}: no scores")
    listed = rows[0][1][2] if isinstance(rows[0][1][2], list) else fields
    name = _metric(path, chosen_metric or None, [field for field in fields if field in listed])
    position, examples = len(columns) + fields.index(name), list[_Row]()
    for row_number, row in rows:
        of = f"{path}, row {row_number}"
        if not isinstance(row[1], str):
            raise InputError(f"{of}: no doc_hash")
        examples.append(
            (
                as_score(row[position], name, path, row_number),
                identity(row[0], f"{of}: no doc_id"),
                row[1],
            )
        )
    warn_of_reasoning(str(path), sum(is_reasoning(row[3]) for _, row in rows), len(rows), SCORED)
    field = f"{name}@{chosen}" if chosen else name
    version = _lm_eval_version(path)
    known = {chosen: [row[4] for _, row in rows]}
    runs = {chosen: examples}
    return _columns(f"{path}:{name}", runs, "filter", version, path, field, known)


_Row = tuple[str, str, str]
"""The score, the id and the digest of an example."""


def _columns(
    label: str,
    runs: Mapping[Any, list[_Row]],
    noun: str,
    version: str | None = None,
    path: Path | None = None,
    field: str | None = None,
    known: Mapping[Any, Sequence[Any]] = MappingProxyType({}),
) -> SystemRuns:
    """One column for each run, which is named with the ``noun`` if there are several.

    :param known: what the log says of each example of a run.
    """
    columns = []
    for run, rows in runs.items():
        scores, ids, prints = (list(column) for column in zip(*rows, strict=True))
        name = f"{label}, {noun} {run}" if len(runs) > 1 else label
        columns.append(
            ScoreColumn(
                name,
                scores,
                path,
                ids,
                field=field,
                prints=prints,
                version=version,
                metadata=metadata_of(known.get(run, ())) or None,
            )
        )
    return {"": columns}


def metadata_of(objects: Sequence[Any]) -> dict[str, list[str]]:
    """The fields of objects with short values, such as a category, as columns; empty for none."""
    objects = [item if isinstance(item, Mapping) else {} for item in objects]
    columns = {}
    for name in dict.fromkeys(name for item in objects for name in item):
        values = [item.get(name) for item in objects]
        if all(value is None or isinstance(value, (str, int, float)) for value in values):
            texts = ["" if value is None else str(value) for value in values]
            if max(map(len, texts)) <= LONGEST_LABEL and all(map(str.isprintable, texts)):
                columns[str(name)] = texts
    return columns


def _every_eval_ever(path: Path, table: Table, metric: str | None) -> SystemRuns:
    """``*_samples.jsonl``: ``evaluation.score`` by ``sample_id``; ``metric`` is an
    ``evaluation_result_id``.
    """
    runs: dict[str, list[_Row]] = {}
    fields = ("sample_id", "sample_hash", "evaluation", "evaluation_result_id", "metadata")
    names = [name for name in fields if name in table.names]
    metrics: dict[str, None] = {}
    for row_number, row in table.read(names):
        values = dict(zip(names, row, strict=True))
        name = str(values.get("evaluation_result_id") or "score")
        metrics.setdefault(name)
        if metric is not None and name != metric:
            continue
        evaluation, metadata = values["evaluation"], values.get("metadata")
        if not isinstance(evaluation, Mapping) or "score" not in evaluation:
            raise InputError(f"{path}, row {row_number}: no evaluation.score")
        run = str(metadata.get("run", "1")) if isinstance(metadata, Mapping) else "1"
        score = as_score(evaluation["score"], name, path, row_number)
        example = identity(values["sample_id"], f"{path}, row {row_number}: no sample_id")
        runs.setdefault(run, []).append((score, example, str(values.get("sample_hash") or "")))
    name = _metric(path, metric, list(metrics))
    return _columns(f"{path}:{name}", runs, "run", field=name)


def identity(value: Any, complaint: str) -> str:
    """The id of an example as text."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InputError(f"{complaint} that is a whole number or text")
    return str(value)


def epoch_of(sample: Mapping[str, Any], of: str) -> int:
    """The epoch of a sample of inspect."""
    epoch = 1 if sample.get("epoch") is None else sample["epoch"]
    if type(epoch) is not int or epoch < 1:
        raise InputError(f"{of}: its epoch is not a whole number of at least 1")
    return epoch


def _lm_eval_version(path: Path) -> str | None:
    """The version of the task, from the results file in the same folder."""
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    task, sign, date = plain.stem.removeprefix("samples_").rpartition("_")
    results = path.parent / f"results_{date}.json"
    if not sign or not plain.stem.startswith("samples_") or not results.is_file():
        return None
    versions = read_json(results)
    versions = versions.get("versions") if isinstance(versions, dict) else None
    version = versions.get(task) if isinstance(versions, dict) else None
    return _version(results, version)


def _version(path: Path, value: Any) -> str | None:
    if value is not None and not isinstance(value, (int, float, str)):
        raise InputError(f"{path}: the version of the task is neither a number nor text")
    return None if value is None else str(value)


def _metric(path: object, chosen: str | None, known: Sequence[str]) -> str:
    if chosen is not None:
        if chosen not in known:
            raise InputError(f"{path}: no metric {chosen!r}{did_you_mean(chosen, known)}")
        return chosen
    if len(known) != 1:
        raise InputError(
            f"{path}: which metric? Write {path}:METRIC; there is"
            f" {', '.join(known[:NAMED]) or 'none'}"
        )
    return known[0]


def _packed(path: Path, read: Callable[[Any, Iterable[Any]], T]) -> T:
    """A ``.eval``, a zip archive of JSON files, read one sample at a time and within limits."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a regular file")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(
                    f"{path}: no header.json in it; give the log of a finished evaluation"
                )
            samples = sorted(
                {name for name in names if name.startswith("samples/") and name.endswith(".json")}
            )
            budget = Budget(path)
            header, *_ = _entries(path, archive, ["header.json"], budget)
            return read(header, _entries(path, archive, samples, budget))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except NotImplementedError:
        raise InputError(
            f"{path}: this Python does not support its compression; convert it: inspect log convert"
            " --to json"
        ) from None
    except _DAMAGED as error:
        raise InputError(f"{path}: not a readable log of inspect ({error})") from None


def _entries(
    path: Path, archive: zipfile.ZipFile, names: Sequence[str], budget: Budget
) -> Iterator[Any]:
    for name in names:
        info = archive.getinfo(name)
        with (
            _zstandard(path, info) if info.compress_type == ZSTANDARD else archive.open(info)
        ) as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InputError(f"{path}: {name} has more than {LARGEST >> 20} MB")
        budget.take(len(data), path.stat().st_size)
        yield parse_scores(data, f"{path}: {name}")


def _zstandard(path: Path, info: zipfile.ZipInfo) -> Any:
    """A file in an archive that Inspect has compressed with Zstandard, which zipfile reads from
    Python 3.14 on.
    """
    import pyarrow

    with path.open("rb") as file:
        file.seek(info.header_offset)
        *_, name, extra = struct.unpack("<4s22x2H", file.read(30))  # PKZIP's APPNOTE.TXT, 4.3.7
        file.seek(name + extra, 1)
        data = file.read(info.compress_size)
    return pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd")


def _inspect(path: Path, header: Any, samples: Iterable[Any], metric: str | None) -> SystemRuns:
    """A log of inspect: ``metric`` is the scorer, or ``SCORER@KEY`` if a score has several
    values.
    """
    scorer, _, key = (metric or "").partition("@")
    # The header: which task, and did the evaluation end?
    task = header.get("eval") if isinstance(header, Mapping) else None
    if not isinstance(task, Mapping):
        raise InputError(f"{path}: not a log of inspect (its header has no 'eval')")
    version = _version(path, task.get("task_version"))
    if (status := header.get("status")) not in (None, "success"):
        raise InputError(
            f"{path}: the evaluation ended with status {str(status)[:40]!r}; its log is incomplete"
        )
    epochs: dict[int, list[_Row]] = {}
    known: dict[int, list[Any]] = {}
    reasoned = scored = 0
    name = scorer or None
    for sample_number, sample in enumerate(samples, 1):
        of = f"{path}, sample {sample_number}"
        if not isinstance(sample, Mapping):
            raise InputError(f"{of}: not an object")
        scores = sample.get("scores") or {}
        if not isinstance(scores, Mapping):
            raise InputError(f"{of}: its scores are not an object")
        # The score of the sample, its epoch, its id, and a digest of its input.
        scored += bool(scores)
        if scores:
            name = _metric(path if name is None else of, name, list(scores))
        # A sample that ended with an error or a limit has no score.
        of_scorer = scores.get(name) if name is not None else None
        value = of_scorer.get("value") if isinstance(of_scorer, Mapping) else None
        if isinstance(value, Mapping):
            key = _metric(of, key or None, list(value))
            value = value[key]
        value = LETTERS.get(value, value) if isinstance(value, str) else value
        epoch = epoch_of(sample, of)
        try:
            data = json.dumps(sample.get("input"), ensure_ascii=False, sort_keys=True).encode(
                "utf-8", "surrogatepass"
            )
        except RecursionError:
            raise InputError(f"{of}: its input is nested too deeply") from None
        row = (
            as_score(value, name or "value", path, sample_number),
            identity(sample.get("id"), f"{of}: no id"),
            hashlib.sha256(data).hexdigest(),
        )
        epochs.setdefault(epoch, []).append(row)
        known.setdefault(epoch, []).append(sample.get("metadata"))
        reasoned += isinstance(of_scorer, Mapping) and is_reasoning(of_scorer.get("answer"))
    # One run per epoch.
    if not epochs:
        raise InputError(f"{path}: no samples")
    if not scored:
        raise InputError(f"{path}: no sample has scores; score the log first (inspect score)")
    warn_of_reasoning(str(path), reasoned, sum(map(len, epochs.values())), SCORED)
    runs = dict(sorted(epochs.items()))
    return _columns(f"{path}:{name}", runs, "epoch", version, known=known)


def first_text(answers: Any) -> Any:
    """The first answer in nested lists."""
    while isinstance(answers, list) and answers:
        answers = answers[0]
    return answers


def is_reasoning(answers: Any) -> bool:
    """Whether the answer that a harness scored begins with a mark of reasoning."""
    answer = first_text(answers)
    return isinstance(answer, str) and answer.lstrip().startswith(START)


def reasoning_remark(empty: int) -> str:
    """What became of reasoning, of which ``empty`` answers had nothing else."""
    return "which was left out" + (
        f"; {counted(empty, 'answer')} had nothing else" if empty else ""
    )


def warn_of_reasoning(name: str, reasoned: int, answer_count: int, consequence: str) -> None:
    """Warn if more than :data:`MOST_REASONED` of the answers of a log or a file contain
    reasoning.
    """
    if reasoned > MOST_REASONED * answer_count:
        warn(
            f"{name}: {reasoned:,} of {answer_count:,} answers contain reasoning ({START}),"
            f" {consequence}"
        )
