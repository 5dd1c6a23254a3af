"""The scores of systems on benchmarks: from results of ``cgbench score``, Every Eval Ever, and published tables."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from cgbench.benchmark.metrics.intervals import student_quantile
from cgbench.benchmark.metrics.published import all_published
from cgbench.errors import InputError
from cgbench.files import read_json

WHOLE = {"exact match": 1, "BLEU cg-test": 1, "CTER instance": -1}
"""Published metrics of whole benchmarks: 1 if higher is better. Others are of parts, in-domain, or medians."""
AVERAGES = ("CFQ MCD mean",)
"""Averages of other benchmarks in the table."""
_SIZE = re.compile(r"\[(\d+(?:\.\d+)?)M\]")


@dataclass(frozen=True)
class Scores:
    """Systems on one benchmark; higher is better. ``errors``: standard errors over seeds (and examples, for results of
    ``cgbench score``), NaN where unknown."""

    name: str
    systems: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray

    def of(self, systems: Sequence[str]) -> Scores:
        """Some of the systems, in this order."""
        rows = [self.systems.index(one) for one in systems]
        return Scores(self.name, tuple(systems), self.values[rows], self.errors[rows])


def _scores(name: str, found: Mapping[str, tuple[float, float]]) -> Scores:
    """From values and standard errors by system."""
    values, errors = np.array(list(found.values())).reshape(-1, 2).T
    return Scores(name, tuple(found), values, errors)


@cache
def identities() -> dict[tuple[str, str], str]:
    """``published/systems.tsv``: the system of a paper's name for it; empty for a row that repeats another system."""
    text = (files("cgbench.benchmark") / "published" / "systems.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["paper"], row["name"]): row["system"] for row in rows}


def published_benchmarks() -> list[Scores]:
    """The benchmarks of the published scores. A name is one system within a paper, and across papers only by
    :func:`identities`; errors are those of seeds."""
    found: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for row in all_published():
        paper = row.source.split()[0]
        system = identities().get((paper, row.system), f"{row.system} ({paper})")
        if row.metric in WHOLE and row.benchmark not in AVERAGES and system:
            error = float(row.spread) / math.sqrt(int(row.runs)) if row.spread and row.runs else math.nan
            scores = found.setdefault((row.benchmark, row.metric), {})
            scores.setdefault(system, (WHOLE[row.metric] * float(row.value), error))
    return [_scores(_label(*key, found), scores) for key, scores in found.items()]


def _label(benchmark: str, metric: str, keys: Mapping[tuple[str, str], object]) -> str:
    return f"{benchmark} ({metric})" if [one for one, _ in keys].count(benchmark) > 1 else benchmark


def sizes_of(systems: Iterable[str]) -> dict[str, float]:
    """Millions of parameters by system, where the name states them: ``[35M]``."""
    return {one: float(size[1]) for one in systems if (size := _SIZE.search(one))}


def read_results(words: Sequence[str]) -> list[Scores]:
    """One benchmark per file of ``cgbench score``, and those of folders of Every Eval Ever.

    :raises InputError: a file has another form, or a system has two scores on a benchmark.
    """
    found: list[Scores] = []
    for word in words:
        name, sign, rest = word.partition("=")
        path, label = (Path(rest), name) if sign and not Path(word).exists() else (Path(word), Path(word).stem)
        rows = _records(path) if path.is_dir() else ((label, *row) for row in _rows(path))
        by: dict[str, dict[str, tuple[float, float]]] = {}
        for benchmark, system, value, error in rows:
            if system in by.setdefault(benchmark, {}):
                raise InputError(f"{path}: {system} has two scores on {benchmark}; give one metric and one record")
            by[benchmark][system] = value, error
        if not by:
            raise InputError(f"{path}: no scores; give a result of cgbench score, or a folder of Every Eval Ever")
        found += [_scores(benchmark, scores) for benchmark, scores in by.items()]
    names = [one.name for one in found]
    if twice := next((one for one in names if names.count(one) > 1), None):
        raise InputError(f"{twice}: two benchmarks have this name; rename one (NAME=FILE)")
    return found


def _rows(path: Path) -> Iterator[tuple[str, float, float]]:
    """System, score and standard error of a result of ``cgbench score --format json``."""
    read = read_json(path)
    for row in read if isinstance(read, list) else [read]:
        try:
            low, high, stdev = (
                math.nan if row.get(end) is None else float(row[end]) for end in ("ci_low", "ci_high", "stdev")
            )
            value = -float(row["value"]) if row["lower_is_better"] else float(row["value"])
            yield str(row["system"]), value, _error(low, high, stdev, int(row["runs"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f"{path}: not a result of cgbench score --format json") from None


def _error(low: float, high: float, stdev: float, runs: int) -> float:
    """The standard error of a score from its 95 % interval, whose part of the seeds has Student's t for few runs."""
    seeds = 0.0 if runs < 2 or math.isnan(stdev) else stdev**2 / runs
    wide = student_quantile(runs - 1) ** 2 * seeds if seeds else 0.0
    return math.sqrt(seeds + max(0.0, ((high - low) / 2) ** 2 - wide) / student_quantile(math.inf) ** 2)


def _records(folder: Path) -> Iterator[tuple[str, str, float, float]]:
    """Benchmark, system, score and standard error of records of Every Eval Ever."""
    found = []
    for path in sorted(folder.rglob("*.json")):
        record = read_json(path)
        try:
            for result in record["evaluation_results"]:
                config, score = result["metric_config"], result["score_details"]
                seeds = [float(one) for one in str((score.get("details") or {}).get("seeds", "")).split()]
                interval = (score.get("uncertainty") or {}).get("confidence_interval") or {}
                low, high = (float(interval.get(end, math.nan)) for end in ("lower", "upper"))
                error = _error(low, high, float(np.std(seeds, ddof=1)) if len(seeds) > 1 else math.nan, len(seeds))
                value = -float(score["score"]) if config["lower_is_better"] else float(score["score"])
                key = str(result["evaluation_name"]), str(config.get("metric_id", ""))
                found.append((key, str(record["model_info"]["name"]), value, error))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f"{path}: not a record of Every Eval Ever") from None
    keys = dict.fromkeys(key for key, *_ in found)
    return ((_label(*key, keys), system, value, error) for key, system, value, error in found)
