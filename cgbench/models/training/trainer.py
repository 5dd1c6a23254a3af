"""Train one model as Vaswani et al. (2017) in fairseq: label smoothing, warm-up, batches by tokens,
Adam.

An interrupted run resumes and gives identical bytes; a finished one can be extended. See
:mod:`cgbench.models.training.objective` for the objectives and :mod:`cgbench.models.training.loop`
for the loop.
"""

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch

from cgbench.errors import InputError, argument, warn
from cgbench.files import read_json
from cgbench.models.checkpoints import CONFIG, MODEL, STATE, CheckpointConfig, read_config
from cgbench.models.config.architectures import build_model, check_lexicon
from cgbench.models.config.hugging_face import HuggingFaceConfig
from cgbench.models.config.presets import Preset
from cgbench.models.external.start import Start
from cgbench.models.lexicons.matrix import load_lexicon
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.distributed import init_process_group
from cgbench.models.training.interruption import held_signals
from cgbench.models.training.loop import TrainingRun, remove_leftovers
from cgbench.models.training.objective import build_objectives
from cgbench.models.training.reproducible import reproducible, resolve_precision
from cgbench.models.training.state import may_become, run_differences
from cgbench.models.training.training_data import Data
from cgbench.models.training.validation import Validation
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
    *,
    max_seconds: float | None = None,
    init: Start | None = None,
    lexicon: Path | None = None,
    title: str = "",
    keep_state: bool = True,
) -> bool:
    """Train one model into the checkpoint folder ``out``, resuming an earlier call with the same
    arguments.

    A call with a smaller ``training.max_updates``, finished or not, is extended if the schedule
    does not depend on that number; its model stays until the longer run replaces it.

    Without ``valid`` the last model is kept, whatever ``training.keep`` is. The same arguments on
    the same machine and library versions give the same bytes, however often the run is interrupted.
    Processes of torchrun train one model together.

    :param train: source and target file, plain text; also ``valid``.
    :param digests: sha256 of the training files by name, recorded in the checkpoint.
    :param max_seconds: save the state and stop after the first update that ends later.
    :param subwords: of both texts, or their folder; None if ``init`` has its own.
    :param init: an external model to start from.
    :param lexicon: lexicon file, if ``model.lexicon`` reads one.
    :param title: the model's name in the progress bar (default: the folder's name).
    :param keep_state: keep the state, about three times as large as the model, so that the run can
        be extended.
    :returns: whether the run is finished.
    :raises InputError: invalid files, a folder with another run, a loss that is not finite, not
        enough GPU memory.
    """
    deadline = math.inf if max_seconds is None else time.monotonic() + max_seconds
    preset = resolve_precision(preset if valid else preset.without_validation(), device)
    check_lexicon(preset.model, lexicon)
    config = preset.training
    in_bfloat16 = config.precision == "bfloat16"
    subwords = Subwords.load(subwords) if isinstance(subwords, Path) else subwords
    with (
        init_process_group(device) as processes,
        reproducible(config.threads, processes.device, seed),
    ):
        # The model, before the loop draws its first random number.
        model, subwords = _first_model(preset, subwords, init, lexicon, processes.device)
        # The objective and the data.
        objectives = build_objectives(
            model, config, preset.method, subwords.target_size, in_bfloat16
        )
        if not processes.is_main:
            torch.manual_seed((seed << 20) + processes.rank)  # models start equal, dropout differs
        data = Data(train, subwords, config, preset=preset)
        held_out = Data(valid, subwords, config, keep_lines=True) if valid else None
        if processes.is_main:
            _warn_of_left_out({"training": data, "validation": held_out})
        # What the checkpoint will record. Is there nothing to do?
        checkpoint = CheckpointConfig(
            preset.model,
            config,
            subwords.source_size,
            subwords.target_size,
            subwords.digest,
            preset=preset.name,
            seed=seed,
            method=preset.method,
            processes=processes.world_size,
            init=init.key if init else "",
            lexicon="" if lexicon is None else hash_file(lexicon),
            corpus=dict(digests or {}),
        )
        if (out / CONFIG).is_file() and is_finished(out, checkpoint):
            if processes.is_main:
                remove_leftovers(out, keep_state)
            return True
        # Train until finished or stopped.
        out.mkdir(parents=True, exist_ok=True)
        validation = (
            Validation(config, held_out, subwords, in_bfloat16, processes) if held_out else None
        )
        run = TrainingRun(
            objectives,
            data,
            validation,
            subwords,
            checkpoint,
            out,
            processes,
            title or out.name,
            deadline,
        )
        return _run_to_end(run, keep_state)


def _run_to_end(run: TrainingRun, keep_state: bool) -> bool:
    """Train until finished or stopped; returns whether it is finished.

    :raises InputError: not enough GPU memory.
    """
    processes, config = run.processes, run.checkpoint.training
    try:
        with held_signals() as run.signals:
            finished = run.train()
            if finished and processes.is_main:
                run.finish(keep_state)
            processes.any(False)  # wait until the first has written everything
    except torch.OutOfMemoryError as error:
        setting = "batch_sentences" if config.batch_sentences else "max_tokens"
        raise InputError(
            f"{processes.device}: not enough memory for training.{setting}="
            f"{getattr(config, setting)}; lower it and raise training.accumulation accordingly"
            f" ({str(error).splitlines()[0]})"
        ) from None
    return finished


def _first_model(
    preset: Preset,
    subwords: Subwords | None,
    init: Start | None,
    lexicon: Path | None,
    device: str,
) -> tuple[Any, Subwords]:
    """The model before training, and the subwords that it reads."""
    model: Any
    if init and init.is_whole:
        assert isinstance(preset.model, HuggingFaceConfig)
        model, text = init.open(preset.model, preset.training.max_length, device)
        return model, cast("Subwords", text)
    assert subwords is not None
    model = build_model(preset.model, subwords.source_size, subwords.target_size)
    if init:
        init.load_into(model, subwords.source_size)
    load_lexicon(model, preset.model, subwords, lexicon)
    if connect := getattr(model, "connect", None):
        connect(subwords)
    return model, subwords


def _warn_of_left_out(sets: dict[str, Data | None]) -> None:
    left_out = [
        f"{name}: {texts.left_out}" for name, texts in sets.items() if texts and texts.left_out
    ]
    if left_out:
        warn(f"left out: {'; '.join(left_out)}")


def is_finished(out: Path, checkpoint: CheckpointConfig) -> bool:
    """Whether the checkpoint in ``out`` is this one; false if it can be extended to it."""
    finished = read_config(out)
    if replace(finished, updates=0, processes=checkpoint.processes) == checkpoint:
        if not (out / MODEL).is_file() or read_json(out / CONFIG) is None:
            raise InputError(f"{out / MODEL}: no such file; remove {out} and train again")
        return True
    saved, current = (
        asdict(replace(config, updates=0, processes=1)) for config in (finished, checkpoint)
    )
    if not may_become([saved], [current], out):
        raise InputError(
            f"{out}: contains a model {run_differences([saved], [current])}; remove it or choose"
            " another folder"
        )
    if not (out / STATE).is_file():
        raise InputError(
            f"{out / STATE}: no such file; without it {finished.training.max_updates:,} updates"
            f" cannot be extended to {checkpoint.training.max_updates:,}; train from scratch in"
            f" another folder ({argument('out')})"
        )
    return False
