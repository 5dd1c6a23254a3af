"""A difficulty of every pair of a pool, from any model outside: as a figure of the candidates, and to select by.

A text beside each corpus of the pool with a number a line, such as Sentinel-src gives for a source (Proietti et al.
2025, "Estimating Machine Translation Difficulty"), or the error of a system that somebody has.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.text.columns import read_text
from cgbench.text.corpus import ParallelText
from cgbench.text.formats import CorpusSpec
from cgbench.text.streams import is_stdin, split_name

DIFFICULTY = "difficulty"


def check_difficulty(files: Sequence[Path], pools: int, select_by: str) -> None:
    """Check, before anything runs, that there is a file for each corpus of the pool, and one to select by.

    :raises InputError: there is not.
    """
    if select_by != "uncertainty" and not files:
        raise InputError(f"select_by={select_by}: needs a value for each pair; give them with {argument(DIFFICULTY)}")
    if files and len(files) != pools:
        raise InputError(
            f"{argument(DIFFICULTY)}: {len(files)} files for {pools} corpora of the pool; give one for each, in the "
            "same order"
        )
    for path in files:
        file = split_name(path)[0]
        if is_stdin(file) or not file.is_file():
            raise InputError(f"{path}: no such file")


def read_difficulty(
    files: Sequence[Path], pools: Sequence[ParallelText], specs: Sequence[CorpusSpec]
) -> tuple[np.ndarray, ...]:
    """The values of every pair, a float64 array ``[lines]`` for each corpus of the pool.

    :raises InputError: a file has more or fewer lines than its corpus, or one that is no number.
    """
    result = []
    for path, pool, spec in zip(files, pools, specs, strict=True):
        values = array("d")
        for number, line in enumerate(read_text(path, DIFFICULTY), 1):
            try:
                value = float(line)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise InputError(
                    f"{path}, row {number}: {line.strip()[:40]!r} is not a number; a value a pair is needed"
                )
            values.append(value)
        if len(values) != pool.lines:
            raise InputError(
                f"{path}: {len(values):,} values for the {pool.lines:,} pairs of {spec}; one is needed for each, in "
                "the same order"
            )
        result.append(np.frombuffer(values, np.float64))
    return tuple(result)


def of_candidates(values: Sequence[np.ndarray], pool: Sequence[int], pool_line: Sequence[int]) -> list[float]:
    """The value of each candidate, from its corpus and its line there, both from 1."""
    return [float(values[number - 1][line - 1]) for number, line in zip(pool, pool_line, strict=True)]
