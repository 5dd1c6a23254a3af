"""Scores as records of Every Eval Ever (schema 0.3.0): a JSON file per system, and one line per
example and seed.

The folder has the layout of the project's data store, ``data/BENCHMARK/DEVELOPER/MODEL/UUID.json``
and ``UUID_samples.jsonl``, which its validator checks. A system named ``DEVELOPER/MODEL`` has these
names; a name without a slash gets the developer ``unknown``. The same scores give the same files:
the UUID is made from the content, and ``SOURCE_DATE_EPOCH`` sets the time. Numbers have twelve
digits, as in all forms of output: a perfect BLEU is 100.00000000000004, which the validator
refuses.
"""

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.benchmark.score.comparison.results import Score
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.benchmark.score.forms.rows import rounded
from cgbench.errors import InputError, argument
from cgbench.files import leftovers, read_json, write_atomic, write_json
from cgbench.locks import locked
from cgbench.steps import hash_file

SCHEMA = "0.3.0"


def write_records(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write a record and its examples for every system; records that an earlier command has written
    stay.

    :param folder: where ``data`` is written, an existing folder or a new one.
    :returns: the records.
    :raises InputError: a name cannot be part of a path, or a record was changed after it was
        written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", wait=True, remove=True):
        return _write_records(evaluation, folder)


def _write_records(found: Evaluation, folder: Path) -> list[Path]:
    benchmark = found.inputs.benchmark if found.inputs else found.scored.metric.name
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or str(int(time.time()))
    # All records are checked before the first is written.
    prepared = []
    for index, system in enumerate(found.systems):
        before, _, after = system.name.rpartition("/")
        developer, model = _part(before or "unknown"), _part(after)
        record = _record(found, index, benchmark, f"{developer}/{model}")
        samples = _samples(found, index, benchmark, f"{developer}/{model}")
        content = json.dumps([record, samples], ensure_ascii=False, sort_keys=True)
        name = uuid.UUID(bytes=hashlib.sha256(content.encode()).digest()[:16], version=4)
        path = folder / "data" / _part(benchmark) / developer / model / f"{name}.json"
        if path.exists() and not _is_written(path, record):
            raise InputError(
                f"{path}: was changed after it was written; remove it, or choose another folder"
            )
        evaluation = f"{_part(benchmark)}/{developer}/{model}/{seconds}"
        prepared.append(
            (path, record | {"evaluation_id": evaluation, "retrieved_timestamp": seconds}, samples)
        )
    # Examples first, so that a record with its checksum is complete.
    for path, record, samples in prepared:
        path.parent.mkdir(parents=True, exist_ok=True)
        companion = _samples_beside(path)
        for leftover in [*leftovers(path), *leftovers(companion)]:
            leftover.unlink()
        if path.exists():
            continue
        if samples:
            identity: dict[str, Any] = {"evaluation_id": record["evaluation_id"]}
            text = "".join(
                f"{json.dumps(identity | sample, ensure_ascii=False)}\n" for sample in samples
            )
            write_atomic(companion, text)
            record["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": companion.relative_to(folder).as_posix(),
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(text.encode()).hexdigest(),
                "total_rows": len(samples),
            }
        write_json(path, record)
    return [path for path, _, _ in prepared]


def _is_written(path: Path, record: dict[str, Any]) -> bool:
    """Whether a record is there with these contents, and with its examples as they were written."""
    written = read_json(path)
    details = (
        written.pop("detailed_evaluation_results", None) if isinstance(written, dict) else None
    )
    if (
        not isinstance(written, dict)
        or {**written, **record} != written
        or len(written) != len(record) + 2
    ):
        return False
    samples = _samples_beside(path)
    recorded = details.get("checksum") if isinstance(details, dict) else details
    return recorded == (hash_file(samples) if samples.is_file() else None)


def _samples_beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}_samples.jsonl")


def _part(name: str) -> str:
    """A name as part of a path in the data store."""
    folder_name = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-. ")
    if not folder_name or folder_name == "data":
        raise InputError(
            f"{argument('systems')}: {name!r} cannot be the name of a folder; use letters and"
            " digits"
        )
    return folder_name


def _record(evaluation: Evaluation, index: int, benchmark: str, model: str) -> dict[str, Any]:
    scored, result, system = evaluation.scored, evaluation.results[index], evaluation.systems[index]
    metric = scored.metric
    results = [
        {
            "evaluation_result_id": name,
            "evaluation_name": benchmark,
            "source_data": {"dataset_name": benchmark, "source_type": "other"},
            "metric_config": {
                "metric_id": re.sub(r"[^a-z0-9]+", "_", metric.label(name).lower()),
                "metric_name": metric.label(name),
                "metric_unit": "percent" if metric.unit == "%" else "points",
                "lower_is_better": metric.lower_is_better,
                "score_type": "continuous",
                "min_score": "-Infinity" if metric.bottom is None else metric.bottom,
                "max_score": "Infinity" if metric.top is None else metric.top,
                "additional_details": {"signature": f"{metric.name}|{scored.signature}"},
            },
            "score_details": {
                "score": rounded(score.value),
                "details": {"seeds": " ".join(repr(rounded(run)) for run in score.runs)},
                "uncertainty": _uncertainty(
                    score, result.whole.examples, not scored.sampling.independent
                ),
            },
        }
        for name, score in result.whole.figures.items()
        if score.value is not None
    ]
    return {
        "schema_version": SCHEMA,
        "source_metadata": {
            "source_name": "cgbench",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "cgbench", "version": __version__},
        "model_info": {
            "name": system.name,
            "id": model,
            "developer": model.split("/")[0],
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
    }


def _uncertainty(score: Score, examples: int, jackknife: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"num_samples": examples}
    if score.ci_low is not None and score.ci_high is not None:
        values["confidence_interval"] = {
            "lower": rounded(score.ci_low),
            "upper": rounded(score.ci_high),
            "confidence_level": 0.95,
            "method": "jackknife" if jackknife else "bootstrap",
        }
    return values


def _samples(
    evaluation: Evaluation, index: int, benchmark: str, model: str
) -> list[dict[str, Any]]:
    """The examples of every seed; none if the metric has no score per example, or there are no
    texts.
    """
    metric, inputs = evaluation.scored.metric, evaluation.inputs
    sources: Sequence[str] = (inputs.sources if inputs else None) or [""] * metric.n
    references: Sequence[Sequence[str]] = (inputs.references if inputs else None) or [[]] * metric.n
    names = (inputs.features.examples.names if inputs else None) or [
        str(row) for row in range(1, metric.n + 1)
    ]
    rows = []
    runs = zip(evaluation.systems[index].runs, evaluation.results[index].statistics, strict=True)
    behind = evaluation.systems[index].texts  # the outputs, if runs are external scores
    for run, (texts, statistics) in enumerate(runs, 1):
        outputs = texts if metric.of_texts else behind[(run - 1) % len(behind)] if behind else None
        for row, values in enumerate(metric.per_example(texts, statistics)):
            score = values.get("correct", values.get("score"))
            if score is None or score != score:
                continue
            rows.append(
                {
                    "schema_version": SCHEMA,
                    "model_id": model,
                    "evaluation_name": benchmark,
                    "evaluation_result_id": metric.figures[0],
                    "sample_id": names[row],
                    "sample_hash": (
                        hashlib.sha256(
                            (sources[row] + "".join(references[row])).encode()
                        ).hexdigest()
                    ),
                    "interaction_type": "single_turn",
                    "input": {"raw": sources[row], "reference": list(references[row])},
                    "output": {"raw": [] if outputs is None else [str(outputs[row])]},
                    "answer_attribution": [],
                    "evaluation": {
                        "score": rounded(float(score)),
                        "is_correct": values.get("correct") == 1,
                    },
                    "metadata": {"run": str(run)},
                }
            )
    return rows
