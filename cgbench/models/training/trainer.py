"""Train one model: label smoothing, warm-up, token-budget batches, Adam; stopped at any moment, it goes on to the
same bytes; finished, it can be made longer.

The recipe is that of Vaswani et al. (2017) as fairseq runs it; what is minimised is an objective
(:mod:`cgbench.models.training.objective`), and how, the loop's business (:mod:`cgbench.models.training.loop`).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from cgbench.errors import InputError, argument
from cgbench.files import read_json
from cgbench.models.checkpoints import CONFIG, MODEL, STATE, CheckpointConfig, plain_config, read_config, read_tensors
from cgbench.models.config.common import to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.outside import HuggingFaceConfig
from cgbench.models.config.presets import Preset
from cgbench.models.external.start import Start
from cgbench.models.lexicons.matrix import load_lexicon
from cgbench.models.registry import build_model
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.data import Data
from cgbench.models.training.distributed import init_process_group
from cgbench.models.training.interruption import held_signals
from cgbench.models.training.loop import TrainingRun, remove_leftovers
from cgbench.models.training.objective import build_objectives
from cgbench.models.training.reproducible import reproducible, resolve_precision
from cgbench.models.training.state import differences, may_become
from cgbench.models.training.validation import Validation, check_validation
from cgbench.steps import hash_file


def train_model(
    train: tuple[Path, Path],
    valid: tuple[Path, Path] | None,
    subwords: Subwords | Path | None,
    preset: Preset,
    seed: int,
    out: Path,
    device: str = "cpu",
    digests: dict[str, str] | None = None,
    stop_after_updates: int | None = None,
    *,
    max_seconds: float | None = None,
    init: Path | Start | None = None,
    lexicon: Path | None = None,
    title: str = "",
    keep_state: bool = True,
) -> bool:
    """Train one model into the checkpoint folder ``out``, going on where an earlier call with the same arguments was.

    An earlier call whose ``training.max_updates`` was smaller, and that finished or not, is gone on with, too, where
    the schedule does not depend on that number; its model stays until the longer run's replaces it.

    Without ``valid`` the last model is kept, whatever ``training.keep`` says. The same arguments on the same machine
    and library versions give the same bytes, however often the run is interrupted. In processes that torchrun has
    started, all train the one model.

    :param train: source and target file, plain text; ``valid`` likewise.
    :param digests: recorded in the checkpoint: sha256 of the training files, by name.
    :param stop_after_updates: stop as if interrupted, with the state saved, when so many updates are done.
    :param max_seconds: likewise, after the first update that ends later than so many seconds from now.
    :param subwords: of both texts, or their folder; None where ``init`` has its own.
    :param init: a checkpoint of the same architecture and vocabulary whose parameters to start from, or a whole model
        from outside.
    :param lexicon: what source words stand for, where ``model.lexicon`` reads a file.
    :param title: what people know the model as, for the progress bar (default: the folder's name).
    :param keep_state: whether the finished run may be made longer some day: its state, about three times as large as
        the model, stays in the folder.
    :returns: whether the run is finished.
    :raises InputError: bad files, a folder that holds another run, a loss that is not finite, not enough GPU memory.
    """
    deadline = math.inf if max_seconds is None else time.monotonic() + max_seconds
    config = preset.training
    subwords = Subwords.load(subwords) if isinstance(subwords, Path) else subwords
    if valid is not None:
        check_validation(config)
    outside = init if isinstance(init, Start) else None
    init = None if isinstance(init, Start) else init
    check_lexicon(preset.model, lexicon, init)
    if valid is None:
        if config.patience:
            raise InputError(f"training.patience={config.patience}: needs validation pairs; give some, or set it to 0")
        config = replace(config, keep="last")
    start = None if init is None or subwords is None else _initial(init, preset, subwords)
    precision = resolve_precision(config.precision, device)
    with init_process_group(device) as processes, reproducible(config.threads, processes.device, seed):
        model: Any
        if outside and outside.whole:
            # Before the loop draws its first random number.
            assert isinstance(preset.model, HuggingFaceConfig)
            model, text = outside.open(preset.model, config.max_length, processes.device)
            subwords = cast("Subwords", text)
        else:
            assert subwords is not None
            model = build_model(preset.model, subwords.source_size, subwords.target_size)
            if outside:
                outside.load_into(model, subwords.source_size)
            elif start is None:
                load_lexicon(model, preset.model, subwords, lexicon, seed)
            else:
                model.load_state_dict(start)  # with its lexicon
        objectives = build_objectives(model, config, preset.method, subwords.target_size, precision == "bfloat16")
        if not processes.is_main:
            torch.manual_seed((seed << 20) + processes.rank)  # models start equal, dropout differs
        data = Data(train, subwords, config)
        held_out = Data(valid, subwords, config, keep_lines=True) if valid else None
        checkpoint = CheckpointConfig(
            preset.model,
            config,
            subwords.source_size,
            subwords.target_size,
            subwords.digest,
            preset=preset.name,
            seed=seed,
            method=preset.method,
            precision=precision,
            processes=processes.world_size,
            init=outside.key if outside else "" if init is None else hash_file(init / MODEL),
            lexicon="" if lexicon is None else hash_file(lexicon),
            corpus=dict(digests or {}),
        )
        if (out / CONFIG).is_file() and is_finished(out, checkpoint):
            if processes.is_main:
                remove_leftovers(out, keep_state)
            return True
        out.mkdir(parents=True, exist_ok=True)
        validation = (
            Validation(config, held_out, subwords, precision == "bfloat16", processes.device) if held_out else None
        )
        made_of = _made_of(checkpoint, data, held_out, device)
        run = TrainingRun(
            objectives,
            data,
            validation,
            subwords,
            checkpoint,
            made_of,
            out,
            processes,
            title,
            stop_after_updates,
            deadline,
        )
        try:
            with held_signals() as run.signals:
                finished = run.train()
                if finished and processes.is_main:
                    run.finish(keep_state)
                processes.any(False)  # nobody leaves before the first has written everything
        except torch.OutOfMemoryError as error:
            setting = "batch_sentences" if config.batch_sentences else "max_tokens"
            raise InputError(
                f"{device}: not enough memory for training.{setting}={getattr(config, setting)}; "
                f"lower it and raise training.accumulation in step ({str(error).splitlines()[0]})"
            ) from None
        return finished


def _initial(init: Path, preset: Preset, subwords: Subwords) -> dict[str, Tensor]:
    """Return the parameters of a checkpoint that a model may start from."""
    found = read_config(init)
    # How much is dropped is no part of what a model computes once it is trained.
    free = {"dropout", "attention_dropout", "activation_dropout", "feature_dropout"}
    theirs, ours = to_dict(found.model), to_dict(preset.model)
    for name in [name for name in ours if name not in free]:
        if theirs.get(name) != ours[name]:
            raise InputError(
                f"{init}: a checkpoint of another architecture: model.{name} is {theirs.get(name, 'not there')}, "
                f"and here {ours[name]}"
            )
    if found.subwords != subwords.digest:
        raise InputError(f"{init}: a checkpoint of another vocabulary; train with its subwords")
    tensors, _ = read_tensors(init / MODEL)
    return tensors


def _made_of(checkpoint: CheckpointConfig, data: Data, held_out: Data | None, device: str) -> list[Any]:
    """What must agree between two calls for the second to go on with the first: settings, the text's digests, device.

    The number of processes must, too, and is compared apart, to say so.
    """
    return [
        plain_config(replace(checkpoint, processes=1)),
        data.digest,
        held_out and held_out.digest,
        torch.device(device).type,
    ]


def is_finished(out: Path, wanted: CheckpointConfig) -> bool:
    """Whether the checkpoint in ``out`` is the one that is wanted; false where it is one of fewer updates.

    :raises InputError: it is another, or of fewer updates and cannot be gone on with.
    """
    found = read_config(out)
    if replace(found, updates=0, processes=wanted.processes) == wanted:
        if not (out / MODEL).is_file() or read_json(out / CONFIG) is None:
            raise InputError(f"{out / MODEL}: no such file; remove {out} and train again")
        return True
    theirs, ours = (plain_config(replace(config, updates=0, processes=1)) for config in (found, wanted))
    if not may_become([theirs], [ours], out):
        raise InputError(f"{out}: holds a model {differences([theirs], [ours])}; remove it or name another")
    if not (out / STATE).is_file():
        raise InputError(
            f"{out / STATE}: no such file, and going on from {found.training.max_updates:,} updates to "
            f"{wanted.training.max_updates:,} needs it; train from the start into another folder ({argument('out')})"
        )
    return False
