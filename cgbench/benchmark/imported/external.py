"""Scores from a program of the user's own: one process, JSON lines in and out, every answer kept.

The program reads on standard input a line an example, ``{"id": 0, "source": ..., "hypothesis": ..., "reference": ...,
"references": [...]}`` (what was not given is left out), and writes a line an answer, ``{"id": 0, "score": 0.8}``, in
any order; it ends when its input has ended and all is answered. It runs in an environment of its own: COMET's pins are
not ours.

An answer is kept by the SHA-256 of model, revision, source, hypothesis and references in a file that only grows, so
that what was scored once is not scored again, whoever stopped the program. Equal examples are asked about once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import queue
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from cgbench.benchmark.metrics.cter_lexicon import data_folder
from cgbench.benchmark.metrics.features import release_files
from cgbench.benchmark.metrics.import_scores import Kind, score_columns
from cgbench.benchmark.metrics.inputs import read_references, read_systems
from cgbench.benchmark.metrics.result import Evaluation
from cgbench.benchmark.metrics.score_files import ScoreColumn
from cgbench.errors import InputError, argument, printable
from cgbench.text.inputs import AnyPath, Texts, as_column

QUOTED = 200  # characters of what a program said
PATIENCE = 5.0  # seconds for a program to end that has closed its output
LONGEST = 1 << 20  # bytes of a line of its answers
_ENDED = object()


@dataclass(frozen=True)
class Scorer:
    """A program that scores: its ``command``, and the model and revision that its scores are known by.

    ``timeout``: so many seconds without an answer, and it is ended.
    """

    command: tuple[str, ...]
    model: str
    revision: str
    timeout: float = 600.0

    @property
    def shown(self) -> str:
        """The command as a message names it."""
        text = shlex.join(self.command)
        return printable(text if len(text) <= QUOTED else text[:QUOTED] + " ...")

    def key(self, example: Mapping[str, Any]) -> str:
        """What the score of an example is kept by."""
        parts = [self.model, self.revision, *(example.get(name) for name in ("source", "hypothesis", "references"))]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def command_of(given: str) -> tuple[str, ...]:
    """A command as words; no shell reads it.

    :raises InputError: it is empty, or a quote is open.
    """
    try:
        words = tuple(shlex.split(given))
    except ValueError as error:
        raise InputError(f"{argument('scorer', given)}: {error}") from None
    if not words:
        raise InputError(f"{argument('scorer')} is empty; the command of a program is needed")
    return words


class Kept:
    """The scores of one model and revision, in a file that only grows: ``{"key": ..., "score": ...}`` a line."""

    def __init__(self, folder: Path, scorer: Scorer) -> None:
        """:raises InputError: the folder cannot be made."""
        name = hashlib.sha256(json.dumps([scorer.model, scorer.revision]).encode()).hexdigest()[:24]
        self.path = folder / f"{name}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{argument('cache', folder)}: {error.strerror}") from None
        self.scores: dict[str, float] = {}
        self._open: BinaryIO | None = None
        self._cut = False
        for line in self._lines():
            self._cut = not line.endswith(b"\n")
            try:
                row = json.loads(line)
                score = float(row["score"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # the end of a line that a crash has cut
            if math.isfinite(score) and isinstance(row["key"], str):
                self.scores[row["key"]] = score

    def _lines(self) -> Iterator[bytes]:
        if self.path.is_file():
            with self.path.open("rb") as file:
                yield from file

    def add(self, key: str, score: float) -> None:
        """Keep a score: it is in the file when this returns."""
        self.scores[key] = score
        if self._open is None:
            self._open = self.path.open("ab")
            if self._cut:
                self._open.write(b"\n")
        self._open.write(json.dumps({"key": key, "score": score}).encode() + b"\n")
        self._open.flush()

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None


def score_systems(
    scorer: Scorer,
    systems: Mapping[str, Any],
    references: Any = None,
    *,
    sources: Texts | None = None,
    release: AnyPath | None = None,
    cache: AnyPath | None = None,
    kind: Kind | None = None,
    **options: Any,
) -> Evaluation:
    """Score hypotheses with a program, and all that :func:`~cgbench.benchmark.metrics.import_scores.import_scores`
    does.

    :param systems: hypotheses, ``references`` and ``sources`` as :func:`cgbench.evaluate` takes them; the program gets
        what of them is given.
    :param cache: the folder that keeps scores; by default ``scores`` in the data folder.
    :param kind: the name of the metric, the scale, which end is better.
    :raises InputError: texts do not belong together, or as :func:`score_examples` does.
    """
    files = {} if release is None else release_files(Path(release))
    references = references or files.get("reference")
    source = sources if sources is not None else files.get("source")
    examples, names = read_references(references) if references else ([], [])
    column = None if source is None else as_column(source, "sources", "source")
    first = next(iter(systems.values()))
    n = len(examples) or (len(column) if column else len(as_column(first[0], "hypotheses", "hypothesis", "prediction")))
    if column is not None and len(column) != n:
        raise InputError(f"{column.name} has {len(column):,} lines and {names[0]} has {n:,}: check where they part")
    said = read_systems(systems, n, names[0] if names else column.name if column else "the first file")
    rows = []
    for system in said:
        for run in system.runs:
            for place, hypothesis in enumerate(run):
                row: dict[str, Any] = {"hypothesis": hypothesis}
                row |= {"references": examples[place]} if examples else {}
                rows.append(row | ({"source": column.values[place]} if column else {}))
    scores = iter(score_examples(scorer, rows, data_folder() / "scores" if cache is None else Path(cache)))
    columns = {
        system.name: [
            ScoreColumn(
                f"{system.name}, run {number}" if len(system.runs) > 1 else system.name,
                [repr(score) for score in islice(scores, n)],
            )
            for number in range(1, len(system.runs) + 1)
        ]
        for system in said
    }
    origin = (("model", _item(scorer.model)), ("rev", _item(scorer.revision)))
    return score_columns(
        columns, replace(kind or Kind(), origin=origin), hypotheses=systems, references=references, sources=column,
        release=release, **options,
    )  # fmt: skip


def _item(text: str) -> str:
    """A text as an item of a signature, whose parts are set apart by other characters."""
    return printable(text).replace("|", "/").replace(":", "-")


def score_examples(scorer: Scorer, examples: Sequence[Mapping[str, Any]], folder: Path) -> list[float]:
    """The score of each example, from what is kept in ``folder`` or from the program; NaN where it says so.

    :param examples: ``hypothesis``, and what there is of ``source`` and ``references``.
    :raises InputError: the program cannot be run, dies, says nothing for too long, or answers something else; what it
        has answered until then is kept.
    """
    kept = Kept(folder, scorer)
    keys = [scorer.key(example) for example in examples]
    wanted: dict[str, int] = {}
    for number, key in enumerate(keys):
        if key not in kept.scores:
            wanted.setdefault(key, number)
    undefined: set[str] = set()
    if wanted:
        asked = list(wanted)
        requests = [{"id": place, **_request(examples[wanted[key]])} for place, key in enumerate(asked)]
        try:
            for place, score in _ask(scorer, requests):
                if math.isfinite(score):
                    kept.add(asked[place], score)
                else:
                    undefined.add(asked[place])
        finally:
            kept.close()
    return [math.nan if key in undefined else kept.scores[key] for key in keys]


def _request(example: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: example[name] for name in ("source", "hypothesis") if name in example}
    if references := example.get("references"):
        row |= {"reference": references[0], "references": list(references)}
    return row


def _ask(scorer: Scorer, requests: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, float]]:
    """The answers of the program as they come: the id and the score of each request, each once."""
    try:
        process = subprocess.Popen(
            scorer.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{scorer.shown} cannot be run: {error.strerror}") from None
    assert process.stdin
    assert process.stdout
    assert process.stderr
    said: deque[bytes] = deque(maxlen=20)
    lines: queue.Queue[Any] = queue.Queue(maxsize=1000)
    gone = threading.Event()
    threads = [
        threading.Thread(target=_write, args=(process.stdin, requests), daemon=True),
        threading.Thread(target=_read, args=(process.stdout, lines, gone), daemon=True),
        threading.Thread(target=_listen, args=(process.stderr, said), daemon=True),
    ]
    for thread in threads:
        thread.start()
    answered: dict[int, float] = {}
    try:
        number = 0
        while True:
            try:
                line = lines.get(timeout=scorer.timeout)
            except queue.Empty:
                raise InputError(
                    f"{scorer.shown}: no answer for {scorer.timeout:g} seconds, so it was ended; "
                    f"{_progress(answered, requests)}; {argument('timeout')} waits longer"
                ) from None
            if line is _ENDED:
                break
            number += 1
            if not line.strip():
                continue
            place, score = _answer(scorer, number, line, len(requests))
            if place in answered:
                if answered[place] == score or (math.isnan(answered[place]) and math.isnan(score)):
                    continue
                raise InputError(
                    f"{scorer.shown}: line {number} of its answers gives id {place} another score ({score:g}) than "
                    f"before ({answered[place]:g})"
                )
            answered[place] = score
            yield place, score
            if len(answered) == len(requests):
                _status(process, PATIENCE)  # it may have something to tidy up
                return
        status = _status(process, PATIENCE)
        threads[2].join(PATIENCE)
        last = next((text for text in reversed([_text(one) for one in said]) if text), "")
        raise InputError(
            f"{scorer.shown} ended with {_named(status)} after {len(answered):,} of {len(requests):,} answers"
            + (f" ({last})" if last else "")
            + f"; {_progress(answered, requests)}"
        )
    finally:
        gone.set()
        _end(process)


def _progress(answered: Mapping[int, float], requests: Sequence[Any]) -> str:
    if not answered:
        return "nothing was answered"
    return f"{len(answered):,} of {len(requests):,} answers are kept, and the same command goes on from there"


def _named(status: int | None) -> str:
    if status is None:
        return "its output, and did not end"
    return f"signal {-status}" if status < 0 else f"status {status}"


def _text(line: bytes) -> str:
    return printable(line.decode("utf-8", "replace").strip()[:QUOTED])


def _answer(scorer: Scorer, number: int, line: bytes, count: int) -> tuple[int, float]:
    """The id and the score of a line of answers.

    :raises InputError: it is something else.
    """
    shown = _text(line)
    try:
        row = json.loads(line)
        place, score = row["id"], row["score"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{scorer.shown}: line {number} of its answers is no {{'id': ..., 'score': ...}}: {shown!r}; what is no "
            "score belongs on standard error"
        ) from None
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < count:
        raise InputError(f"{scorer.shown}: line {number} of its answers has an id that was not asked about: {shown!r}")
    if score is None:
        return place, math.nan
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise InputError(f"{scorer.shown}: line {number} of its answers has a score that is no number: {shown!r}")
    return place, float(score)


def _write(file: BinaryIO, requests: Sequence[Mapping[str, Any]]) -> None:
    try:
        with file:
            for row in requests:
                file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    except OSError:
        pass  # it reads no further: what it answers tells how far it came


def _read(file: BinaryIO, lines: queue.Queue[Any], gone: threading.Event) -> None:
    try:
        while (line := file.readline(LONGEST)) and _put(lines, line, gone):
            pass
    except (OSError, ValueError):
        pass
    _put(lines, _ENDED, gone)


def _put(lines: queue.Queue[Any], line: Any, gone: threading.Event) -> bool:
    """Hand a line on; false where nobody waits for it any longer."""
    while not gone.is_set():
        try:
            lines.put(line, timeout=0.5)
        except queue.Full:
            continue
        return True
    return False


def _listen(file: BinaryIO, said: deque[bytes]) -> None:
    try:
        while line := file.readline(LONGEST):
            said.append(line)
    except (OSError, ValueError):
        pass


def _status(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
