"""Measure an ensemble with one member in memory at a time; interrupted runs resume.

For each block of sentences:

1. the first member translates, unless hypotheses are given;
2. one member after another is loaded and writes its states;
3. all last layers run on a few hundred tokens at a time
   (:func:`~cgbench.models.teacher_forcing.measure_members`).

Memory is that of one member, or of the last layers and half a gigabyte of logits (on a GPU: four
tables of tokens x vocabulary). Neither memory nor disk use grows with the text; the disk holds the
states of one block.

Every file is written atomically and depends only on its sentences and the members. So neither an
interruption nor the number of workers changes the output.
"""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.engines import Engine, Needs
from cgbench.files import write_atomic, write_json_lines
from cgbench.models.external.opening import Planned
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.progress import bar

if TYPE_CHECKING:
    from cgbench.models.external.member import Member

SHARD = 500  # sentences per file; batches do not cross files
BLOCK = 20  # files per block; each member is loaded once per block
TOKENS = 512  # maximum rows of a table of tokens x vocabulary
_NUMBERS = 1 << 27  # maximum numbers in such a table: 512 x 256,000, half a gigabyte
_SCRATCH = "states"


@dataclass(frozen=True)
class Measurement:
    """Texts to measure, and the ensemble.

    :param members: the first translates if there are no ``hypotheses``.
    :param references: reference translations, measured with the prefix ``reference_``.
    """

    members: tuple[Planned, ...]
    lines: Sequence[str]
    hypotheses: Sequence[str] | None = None
    references: Sequence[str] | None = None
    device: str = "cpu"
    search: SearchSettings = DEFAULT_SEARCH


def shard_path(folder: Path, shard: int) -> Path:
    """The file of a shard, counted from 0."""
    return folder / f"part-{shard:05d}.jsonl"


def read_shards(folder: Path) -> list[dict[str, Any]]:
    """The rows of all shards, in their order."""
    paths = sorted(folder.glob("part-*.jsonl"))
    return [
        json.loads(line)
        for path in paths
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]
    ]


def measure_in_token_space(work: Measurement, out: Path, engine: Engine) -> None:
    """Write ``out/part-*.jsonl``, one line per sentence with ``hypothesis`` and all sequence
    measures; resumes.
    """
    shards = range(-(-len(work.lines) // SHARD))
    waiting = [shard for shard in shards if not shard_path(out, shard).is_file()]
    scratch = out / _SCRATCH
    try:
        for first in range(0, len(waiting), BLOCK):
            block = waiting[first : first + BLOCK]
            scratch.mkdir(parents=True, exist_ok=True)
            if work.hypotheses is None:
                _run("translations", _translate, work, block, range(1), scratch, engine)
            _run("members", _write_states, work, block, range(len(work.members)), scratch, engine)
            open_member.cache_clear()  # free memory for the last layers
            _run("measures", _write_measures, work, block, range(1), out, engine)
            _heads.cache_clear()
            shutil.rmtree(scratch)
    finally:
        open_member.cache_clear()
        _heads.cache_clear()
    shutil.rmtree(scratch, ignore_errors=True)


def _run(
    title: str,
    task: Callable[..., int],
    work: Measurement,
    block: Sequence[int],
    members: range,
    folder: Path,
    engine: Engine,
) -> None:
    """Run a task for every member and shard of a block, ordered by member so that a worker loads
    few members.
    """
    member_shards = [(member, shard) for member in members for shard in block]
    tasks = [
        (_of_shard(work, shard), member, shard, folder)
        for member, shard in member_shards
        if not _path(task, folder, member, shard).is_file()
    ]
    total = sum(len(_of_shard(work, shard).lines) for _, shard in member_shards)
    finished = total - sum(len(batch.lines) for batch, *_ in tasks)
    with bar(total, title, "sentence", initial=finished) as progress:
        for done in engine.run(task, tasks, Needs(gpus=int(work.device == "cuda"))):
            progress.update(done)


def _path(task: Callable[..., int], folder: Path, member: int, shard: int) -> Path:
    if task is _translate:
        return folder / f"translations-{shard:05d}.json"
    return (
        folder / f"member-{member}-{shard:05d}.safetensors"
        if task is _write_states
        else shard_path(folder, shard)
    )


def _of_shard(work: Measurement, shard: int) -> Measurement:
    rows = slice(shard * SHARD, (shard + 1) * SHARD)
    hypotheses = None if work.hypotheses is None else work.hypotheses[rows]
    references = None if work.references is None else work.references[rows]
    return replace(work, lines=work.lines[rows], hypotheses=hypotheses, references=references)


def _translate(work: Measurement, member: int, shard: int, scratch: Path) -> int:
    translations = open_member(work.members[member], work.device).translate(work.lines, work.search)
    rows = [{"text": best.text, "tokens": best.tokens.tolist()} for best, *_ in translations]
    write_atomic(_path(_translate, scratch, member, shard), json.dumps(rows, ensure_ascii=False))
    return len(work.lines)


def _write_states(work: Measurement, member: int, shard: int, scratch: Path) -> int:
    """Write the states of one member at every target token, and its last layer if not written
    yet.
    """
    from cgbench.models.checkpoints import write_tensors

    opened = open_member(work.members[member], work.device)
    if not (head := _head_path(scratch, member)).is_file():
        opened.head().to("cpu").save(head)
    tensors, tokens = {}, {}
    for name, (_, targets) in _targets(work, shard, scratch, opened).items():
        tensors[name] = opened.states(work.lines, targets)
        tokens[name] = [target.tolist() for target in targets]
    # Every member encodes texts with its own tokeniser; `_check_tokens` checks that the tokens
    # agree.
    write_tensors(_path(_write_states, scratch, member, shard), tensors, json.dumps(tokens))
    return len(work.lines)


def _targets(
    work: Measurement, shard: int, scratch: Path, member: Member
) -> dict[str, tuple[Sequence[str], list[np.ndarray]]]:
    """The texts to measure and their ids, by the prefix of their measures' names."""
    if work.hypotheses is None:
        rows = json.loads(_path(_translate, scratch, 0, shard).read_text(encoding="utf-8"))
        texts: Sequence[str] = [row["text"] for row in rows]
        targets = {"": (texts, [np.array(row["tokens"], np.int64) for row in rows])}
    else:
        targets = {"": (work.hypotheses, member.encode_targets(work.hypotheses))}
    if work.references is not None:
        targets["reference_"] = (work.references, member.encode_targets(work.references))
    return targets


def _write_measures(work: Measurement, member: int, shard: int, out: Path) -> int:
    from cgbench.models.checkpoints import read_tensors

    scratch = out / _SCRATCH
    members = range(len(work.members))
    heads = _heads(tuple(_head_path(scratch, index) for index in members), work.device)
    files = [read_tensors(_path(_write_states, scratch, index, shard)) for index in members]
    tokens = [json.loads(text or "") for _, text in files]
    columns: dict[str, list[Any]] = {}
    if work.hypotheses is None:
        rows = json.loads(_path(_translate, scratch, 0, shard).read_text(encoding="utf-8"))
        columns["hypothesis"] = [row["text"] for row in rows]
    else:
        columns["hypothesis"] = list(work.hypotheses)
    for name in tokens[0]:
        _check_tokens(work, [tables[name] for tables in tokens], shard)
        states = [tensors[name] for tensors, _ in files]
        measures = measure_states(
            heads, states, [np.array(ids, np.int64) for ids in tokens[0][name]], work.device
        )
        columns |= {f"{name}{measure}": values.tolist() for measure, values in measures.items()}
    rows = (
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    )
    write_json_lines(shard_path(out, shard), rows)
    return len(work.lines)


def _check_tokens(work: Measurement, tokens: Sequence[Any], shard: int) -> None:
    from cgbench.errors import InputError

    for member_number, member_tokens in enumerate(tokens):
        for row, (expected, ids) in enumerate(
            zip(tokens[0], member_tokens, strict=True), shard * SHARD + 1
        ):
            if expected != ids:
                raise InputError(
                    f"{work.members[member_number].address.text}: splits the translation of line"
                    f" {row} into other tokens than {work.members[0].address.text}: they share a"
                    " vocabulary but not the tokeniser"
                )


def measure_states(
    heads: Sequence[Any], states: Sequence[Any], targets: Sequence[np.ndarray], device: str = "cpu"
) -> dict[str, np.ndarray]:
    """All sequence measures of some targets, from the members' states.

    :param heads: the members' last layers (:class:`.member.Head`), on ``device``; ``states``: of
        each ``[T, width]``.
    :returns: name -> float64 ``[N]``.
    """
    import torch

    from cgbench.models.devices import one_thread
    from cgbench.models.teacher_forcing import Logits, measure_members

    def logits_of(head: Any, states: Any) -> Logits:
        return lambda tokens, out: head.logits(states[tokens].to(device), out)

    vocabulary_size = len(heads[0].weight)
    ids = torch.from_numpy(np.concatenate([*targets, np.zeros(0, np.int64)]).astype(np.int64)).to(
        device
    )
    members = list(map(logits_of, heads, states))
    at_once = max(1, min(TOKENS, _NUMBERS // vocabulary_size))
    with torch.inference_mode(), one_thread(torch.device(device)):
        return measure_members(
            members, ids, [len(target) for target in targets], vocabulary_size, at_once
        )


def _head_path(scratch: Path, member: int) -> Path:
    return scratch / f"head-{member}.safetensors"


@functools.lru_cache(maxsize=1)
def open_member(member: Planned, device: str) -> Member:
    """The only member that a worker holds in memory."""
    return member.open(device)


@functools.lru_cache(maxsize=1)
def _heads(paths: tuple[Path, ...], device: str) -> list[Any]:
    """The last layers of all members; a worker reads them once per block."""
    from cgbench.models.external.member import Head

    return [Head.load(path).to(device) for path in paths]
