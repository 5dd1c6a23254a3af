"""Measure how far members with different tokenisers disagree, over texts instead of tokens.

Token distributions are comparable only if the members share a vocabulary. These measures work for any members:

``text_log_prob``
    mean over members of log P_m(y) / C, nats per character; C: characters of the hypothesis, plus one for its end.
``text_log_prob_variance``
    variance of the same over members.
``text_chrf_disagreement``
    1 - the mean chrF (0 to 1, both directions) between the members' own translations.

They differ from the measures over tokens and have other names.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.engines import Engine, Needs
from cgbench.errors import require
from cgbench.files import write_atomic
from cgbench.models.external.token_space import SHARD, Measurement, open_member, part_of, part_path, write_columns
from cgbench.progress import bar


def measure_in_text_space(work: Measurement, out: Path, engine: Engine) -> None:
    """Write ``out/part-*.jsonl``, one line per sentence with ``hypothesis`` and the measures; resumes."""
    require("sacrebleu", "scores")
    shards, members = range(-(-len(work.lines) // SHARD)), range(len(work.members))
    every = [(member, shard) for member in members for shard in shards]
    out.mkdir(parents=True, exist_ok=True)
    try:
        # All members score the first member's translations, so translation comes first.
        for name, task in (("translate", _translate), ("score", _score)):
            waiting = [(member, shard) for member, shard in every if not _path(out, name, member, shard).is_file()]
            with bar(len(every), name, "part", initial=len(every) - len(waiting)) as shown:
                tasks = [(part_of(work, shard), member, shard, out) for member, shard in waiting]
                for _ in engine.run(task, tasks, Needs(gpus=float(work.device == "cuda"))):
                    shown.update(1)
    finally:
        open_member.cache_clear()
    for shard in shards:
        own = [_read(out, "translate", member, shard) for member in members]
        hypotheses = own[0] if work.hypotheses is None else part_of(work, shard).hypotheses
        scores = np.array([_read(out, "score", member, shard) for member in members])
        columns = {
            "hypothesis": hypotheses,
            "text_log_prob": scores.mean(0).tolist(),
            "text_log_prob_variance": scores.var(0).tolist(),
            "text_chrf_disagreement": chrf_disagreement(own),
        }
        write_columns(part_path(out, shard), columns)


def chrf_disagreement(translations: Sequence[Sequence[str]]) -> list[float]:
    """1 - the mean chrF of each sentence's translations over ordered pairs of members; two empty ones agree."""
    metric = require("sacrebleu.metrics", "scores").CHRF()

    def agreement(one: str, other: str) -> float:
        return 1.0 if one == other else metric.sentence_score(one, [other]).score / 100

    pairs = list(itertools.permutations(range(len(translations)), 2))
    return [
        1 - sum(agreement(found[one], found[other]) for one, other in pairs) / len(pairs) if pairs else 0.0
        for found in zip(*translations, strict=True)
    ]


def _path(out: Path, name: str, member: int, shard: int) -> Path:
    return out / f"{name}-{member}-{shard:05d}.json"


def _read(out: Path, name: str, member: int, shard: int) -> list:
    return list(json.loads(_path(out, name, member, shard).read_text(encoding="utf-8")))


def _open(work: Measurement, member: int, shard: int, out: Path) -> Any:
    """An open member; a server keeps its answers beside the results."""
    opened = open_member(work.members[member], work.device)
    return opened.at(_path(out, "answers", member, shard).with_suffix(".jsonl")) if hasattr(opened, "at") else opened


def _translate(work: Measurement, member: int, shard: int, out: Path) -> None:
    found = _open(work, member, shard, out).translate(work.lines, **work.search)
    write_atomic(_path(out, "translate", member, shard), json.dumps([best.text for best, *_ in found]))


def _score(work: Measurement, member: int, shard: int, out: Path) -> None:
    """Write the log-probability per character of every hypothesis under one member."""
    import torch

    opened = _open(work, member, shard, out)
    hypotheses = _read(out, "translate", 0, shard) if work.hypotheses is None else work.hypotheses
    if hasattr(opened, "log_probs"):  # a server has no states
        sums = opened.log_probs(work.lines, hypotheses)
        values = [value / (len(text) + 1) for text, value in zip(hypotheses, sums, strict=True)]
        write_atomic(_path(out, "score", member, shard), json.dumps(values))
        return
    targets = opened.encode_targets(hypotheses)
    head = opened.head().to("cpu")
    states = opened.states(work.lines, targets).split([len(target) for target in targets])
    values = []
    for text, target, part in zip(hypotheses, targets, states, strict=True):
        log_p = torch.log_softmax(head.logits(part), 1)[torch.arange(len(target)), torch.from_numpy(target).long()]
        values.append(float(log_p.double().sum()) / (len(text) + 1))
    write_atomic(_path(out, "score", member, shard), json.dumps(values))
