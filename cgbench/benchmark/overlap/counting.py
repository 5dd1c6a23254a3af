"""A corpus read through the n-grams of a test text: each shard is a step, so that a stopped run goes on.

What a shard gives is the longest matches of each state that it reached (``automaton.py``), and what was read; the
matches of all shards are merged to those of the corpus, in any order to the same bytes. Which documents hold the
longest spans can be asked for when these are known, so the corpus is read again for it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.overlap.automaton import Automaton, read_array
from cgbench.benchmark.overlap.units import Reading, Subwords, Words, load_units
from cgbench.engines import Engine, Local
from cgbench.errors import InputError
from cgbench.files import read_json, write_json
from cgbench.progress import bar, working
from cgbench.shapes import check_shape
from cgbench.steps import Step, Workspace, hash_value
from cgbench.text.shards import Faults, Shard, hash_shard, read_shard

SMALL = 8 << 20
"""Bytes of a corpus that is read before a worker process has started."""
COUNTS = {"documents": int, "words": int, "bytes": int, "held": int, "faults": int, "first": str}
"""What is said of a shard: documents (lines, rows), words, bytes of text, words that the test text has, too."""


@dataclass(frozen=True)
class Task:
    """What a shard is read for. ``spans`` is the folder of the spans that are looked for, and ``most`` how many
    documents of each; None: for matches."""

    root: Path
    test: Path
    shard: Shard
    reading: Reading
    spans: Path | None = None
    most: int = 0


def test_step(reading: Reading, sides: list[list[str]]) -> Step:
    """The step that makes the automaton of a test text, ``sides`` its texts."""
    lines = hashlib.sha256("\n".join("\n".join(["", *side]) for side in sides).encode()).hexdigest()
    revision = 2 if reading.tokenizer else 1  # 2: lines are neither cut nor filled up
    return Step("test", {"units": reading.units}, {"text": lines}, revision)


def read_corpus(
    workspace: Workspace, test: Path, shards: list[Shard], reading: Reading, engine: Engine
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The matches of a corpus, int32 ``[states, reading.most]``, and what was read of each shard.

    :param test: the folder of the automaton.
    :raises InputError: a shard cannot be read (the file and where).
    """
    automaton = Automaton.load(test)
    matches = automaton.no_matches(reading.most)
    counts: list[dict[str, Any]] = [{} for _ in shards]
    tasks = [(number, Task(workspace.root, test, shard, reading)) for number, shard in enumerate(shards)]
    for number, folder in _run(engine, _count, tasks, shards, "read"):
        _merge(matches, folder)
        counts[number] = read_counts(folder)
    return matches, counts


def find_documents(
    workspace: Workspace,
    test: Path,
    shards: list[Shard],
    reading: Reading,
    engine: Engine,
    spans: np.ndarray,
    most: int,
) -> dict[int, list[tuple[int, int]]]:
    """Of each state that a span ends in, the first ``most`` documents that hold it: shard, document in it, from 0.

    :param spans: int32 ``[states]``, words of the span, 0 for none.
    """

    def write(folder: Path) -> None:
        np.save(folder / "spans.npy", spans)

    inputs = {"spans": hashlib.sha256(spans.tobytes()).hexdigest()}
    folder = workspace.run(Step("spans", {}, inputs), write)
    tasks = [(number, Task(workspace.root, test, shard, reading, folder, most)) for number, shard in enumerate(shards)]
    found: dict[int, list[tuple[int, int]]] = {}
    done = sorted(_run(engine, _find, tasks, shards, "find documents"))
    for number, result in done:
        rows = read_array(result / "documents.npy")
        if rows.dtype != np.int64 or rows.ndim != 2:
            raise InputError(f"{result}: not what was written; remove it")
        for state, document in rows.tolist():
            places = found.setdefault(state, [])
            if len(places) < most:
                places.append((number, document))
    return found


def _run(engine: Engine, function: Any, tasks: list[Any], shards: list[Shard], what: str) -> Any:
    sizes = [(one.end if one.end is not None else one.path.stat().st_size) - one.begin for one in shards]
    if sum(sizes) < SMALL:
        engine = Local(1)
    with bar(sum(sizes), what, "B") as progress:
        for number, folder in engine.run(function, tasks):
            yield number, folder
            progress.update(sizes[number])


def _count(number: int, task: Task) -> tuple[int, Path]:
    """The folder with the matches of a shard, made unless it is there."""
    step = _step(task, "corpus", {"most": task.reading.most}, {})

    def make(folder: Path) -> None:
        with working(f"read {task.shard.path.name}"):
            count(folder)

    def count(folder: Path) -> None:
        automaton, units = _open(task.test, task.reading)
        matches = automaton.no_matches(task.reading.most)
        faults = Faults(task.reading.skip_bad)
        documents = words = size = held = 0
        for block in read_shard(task.shard, faults, task.reading.change, lower=task.reading.lower):
            ids, lengths = units.read(block)
            held += automaton.read(ids, lengths, matches)
            documents += len(lengths)
            words += len(ids)
            size += block.size
        states = np.flatnonzero(matches[:, 0])
        np.save(folder / "states.npy", states)
        np.save(folder / "matches.npy", matches[states])
        said = {"documents": documents, "words": words, "bytes": size, "held": held}
        write_json(folder / "counts.json", said | {"faults": faults.count, "first": faults.first})

    return number, Workspace(task.root).run(step, make)


def _find(number: int, task: Task) -> tuple[int, Path]:
    """The folder with the documents of a shard that hold spans."""
    assert task.spans is not None
    step = _step(task, "documents", {"documents": task.most}, {"spans": task.spans.name})

    def make(folder: Path) -> None:
        assert task.spans is not None
        automaton, units = _open(task.test, task.reading)
        spans = read_array(task.spans / "spans.npy")
        marks = automaton.marks(spans)
        documents = np.zeros((len(automaton), task.most), np.int64)
        filled = np.zeros(len(automaton), np.int32)
        begin = 0
        faults = Faults(task.reading.skip_bad)
        for block in read_shard(task.shard, faults, task.reading.change, lower=task.reading.lower):
            ids, lengths = units.read(block)
            automaton.find(ids, lengths, begin, spans, marks, documents, filled)
            begin += len(lengths)
        states = np.repeat(np.arange(len(automaton)), filled)
        places = documents[np.arange(task.most) < filled[:, None]]
        np.save(folder / "documents.npy", np.stack([states, places], 1).astype(np.int64))

    return number, Workspace(task.root).run(step, make)


def _step(task: Task, name: str, config: dict[str, Any], inputs: dict[str, str]) -> Step:
    """The step of a shard: by name it is that of the place in the file, by key that of the bytes there."""
    shard, reading = task.shard, task.reading
    place = hash_value([str(shard.path.absolute()), shard.column, shard.begin])[:12]
    config = config | {"kind": shard.kind, "packed": shard.path.suffix if shard.end is None else ""}
    config |= {"column": shard.column, "units": reading.units, "skip_bad": reading.skip_bad}
    # A byte order mark is one at the begin of a file alone.
    config |= {"first": not shard.begin}
    text = hash_shard(shard, hashlib.sha256())
    return Step(f"{name}-{place}", config, inputs | {"text": text, "test": task.test.name})


@lru_cache(maxsize=1)
def _open(test: Path, reading: Reading) -> tuple[Automaton, Words | Subwords]:
    """What all shards are read with, once a process."""
    units = load_units(test, reading.tokenizer)
    automaton = Automaton.load(test)
    automaton.check_words(len(units), test)
    return automaton, units


def _merge(matches: np.ndarray, folder: Path) -> None:
    from cgbench.benchmark.overlap.automaton_kernels import merge_matches

    states, more = read_array(folder / "states.npy"), read_array(folder / "matches.npy")
    good = states.dtype == np.int64 and more.dtype == np.int32 and states.ndim == 1 and more.ndim == 2
    if not good or len(more) != len(states) or (states < 0).any() or (states >= len(matches)).any():
        raise InputError(f"{folder}: not what was written; remove it, and give the same command again")
    merge_matches(matches, states, more)


def read_counts(folder: Path) -> dict[str, Any]:
    """What was read of a shard (:data:`COUNTS`)."""
    found: dict[str, Any] = read_json(folder / "counts.json")
    check_shape(found, COUNTS, folder / "counts.json", "remove the folder, and give the same command again")
    return found
