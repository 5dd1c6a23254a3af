"""How long training and translating take on this machine, before there is a model: a few updates, a few batches.

The model that is timed is not trained. What it translates would go on to the longest length that is allowed, where a
trained one ends; so the search is cut where translations of its sources usually end.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cgbench.models.checkpoints import CheckpointConfig
from cgbench.models.config.presets import Preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.lexicons.loading import load_lexicon
from cgbench.models.registry import build_model
from cgbench.models.text.batches import make_batches
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.data import Data
from cgbench.models.training.distributed import init_process_group
from cgbench.models.training.loop import Limits, Run
from cgbench.models.training.objective import build_objectives
from cgbench.models.training.reproducible import reproducible, resolve_precision

WARM = 0.5  # seconds, or one update: memory is taken, caches fill
LEAST = 2  # updates that are timed, however long they take

Clock = Callable[[], float]


@dataclass(frozen=True)
class Updates:
    """What some updates took.

    :param seconds: of an update that reads as many tokens as the mean one; ``pairs``: that it reads.
    :param first: epochs of the method's stage before.
    :param parameters: numbers of the model.
    """

    seconds: float
    pairs: float
    first: int
    parameters: int


def time_updates(
    preset: Preset, subwords: Subwords, files: tuple[Path, Path], device: str, *, seconds: float, clock: Clock
) -> Updates:
    """Train for about so many seconds, and at least :data:`LEAST` updates; nothing is kept.

    :param files: source and target of a sample of the training text.
    """
    config = preset.training
    precision = resolve_precision(config.precision, device)
    with (
        tempfile.TemporaryDirectory() as out,
        init_process_group(device) as processes,
        reproducible(config.threads, processes.device, 1),
    ):
        model = build_model(preset.model, subwords.source_size, subwords.target_size)
        load_lexicon(model, preset.model, subwords, None, 1)
        *before, objective = build_objectives(
            model, config, preset.method, subwords.target_size, precision == "bfloat16"
        )
        data = Data(files, subwords, config)
        checkpoint = CheckpointConfig(
            preset.model, config, subwords.source_size, subwords.target_size, subwords.digest, method=preset.method
        )
        run = Run([objective], data, None, subwords, checkpoint, [], Path(out), processes, Limits(None, math.inf))
        began = clock()
        while True:
            run.update_once()
            if clock() - began >= WARM:
                break
        began, updates, tokens = clock(), 0, 0
        while updates < LEAST or clock() - began < seconds:
            tokens += run.update_once()
            updates += 1
        passed = clock() - began
        batches = data.epoch(1, 0)
        mean = data.target.lengths[np.concatenate(batches)].sum() / len(batches) * config.accumulation
        return Updates(
            passed * float(mean) / tokens,
            len(np.concatenate(batches)) / len(batches) * config.accumulation,
            sum(stage.epochs or 0 for stage in before),
            sum(parameter.numel() for parameter in model.parameters()),
        )


def untrained(preset: Preset, subwords: Subwords, members: int, device: str) -> Ensemble:
    """An ensemble whose members are one model that has learned nothing."""
    model = build_model(preset.model, subwords.source_size, subwords.target_size)
    load_lexicon(model, preset.model, subwords, None, 1)
    return Ensemble((model.to(device).eval(),) * members, subwords, torch.device(device), preset.training.max_length)


def time_batches(
    work: Callable[[list[int]], object], lengths: np.ndarray, batch: int, *, seconds: float, clock: Clock
) -> float:
    """How many seconds ``work(rows)`` takes for all rows, from some batches of rows of similar length.

    :param lengths: of the rows, ``[rows]``; ``batch``: how long all rows of a batch are.
    :param seconds: after which no more is timed; one batch always is, after one that is not.
    """
    batches = make_batches(lengths, lengths, np.arange(len(lengths)), batch)
    # From the middle outwards: a few are like the mean of all.
    batches.sort(key=lambda rows: abs(float(lengths[rows].mean()) - float(lengths.mean())))
    work(batches[0].tolist())
    began, done = clock(), 0
    for rows in batches:
        work(rows.tolist())
        done += int(lengths[rows].sum())
        if clock() - began >= seconds:
            break
    return (clock() - began) * float(lengths.sum()) / done
