"""How far members of different tokenisers disagree: measures of texts, not of tokens.

Distributions over tokens can be compared where tokens are the same. Of any members these can be had:

``text_log_prob``
    mean over members of log P_m(y) / C, nats a character; C is the characters of the hypothesis and one for its end.
``text_log_prob_variance``
    the variance of that over members.
``text_chrf_disagreement``
    1 - the mean chrF (0 to 1, both directions) between the translations that two members make themselves.

They are not the measures of the same kind over tokens, and have names of their own.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cgbench.engines import Engine, Needs
from cgbench.errors import require
from cgbench.files import write_atomic
from cgbench.models.external.token_space import SHARD, Measurement, open_member, part_of, part_path
from cgbench.progress import bar


def measure_in_text_space(work: Measurement, out: Path, engine: Engine) -> None:
    """Write ``out/part-*.jsonl``: a line a sentence with ``hypothesis`` and the measures; go on with what is there."""
    require("sacrebleu", "scores")
    shards, members = range(-(-len(work.lines) // SHARD)), range(len(work.members))
    every = [(member, shard) for member in members for shard in shards]
    out.mkdir(parents=True, exist_ok=True)
    try:
        # The first member's translations come first: all members score them.
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
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        write_atomic(part_path(out, shard), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def chrf_disagreement(translations: Sequence[Sequence[str]]) -> list[float]:
    """1 - mean chrF of each sentence's translations over all ordered pairs of members; two empty ones agree."""
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


def _translate(work: Measurement, member: int, shard: int, out: Path) -> None:
    found = open_member(work.members[member], work.device).translate(work.lines, **work.search)
    write_atomic(_path(out, "translate", member, shard), json.dumps([best.text for best, *_ in found]))


def _score(work: Measurement, member: int, shard: int, out: Path) -> None:
    """Log-probability a character of every hypothesis under one member, by its own tokens."""
    import torch

    opened = open_member(work.members[member], work.device)
    hypotheses = _read(out, "translate", 0, shard) if work.hypotheses is None else work.hypotheses
    targets = opened.encode_targets(hypotheses)
    head = opened.head().to("cpu")
    states = opened.states(work.lines, targets).split([len(target) for target in targets])
    values = []
    for text, target, part in zip(hypotheses, targets, states, strict=True):
        log_p = torch.log_softmax(head.logits(part), 1)[torch.arange(len(target)), torch.from_numpy(target).long()]
        values.append(float(log_p.double().sum()) / (len(text) + 1))
    write_atomic(_path(out, "score", member, shard), json.dumps(values))
