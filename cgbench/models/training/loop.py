"""Train one model: label smoothing, warm-up, token-budget batches, Adam; stopped at any moment, it goes on to the
same bytes.

The recipe is that of Vaswani et al. (2017) as fairseq runs it; what is minimised is an objective
(:mod:`cgbench.models.training.objective`). Everything a run depends on at an update (parameters, moments, random
numbers, place
in the data, sums not yet logged) is in one file that appears whole or not at all, so a run that was killed repeats from
there exactly what it did before.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.models.checkpoints import (
    CONFIG,
    MODEL,
    CheckpointConfig,
    read_config,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from cgbench.models.config.common import to_dict
from cgbench.models.config.lexical import check_lexicon
from cgbench.models.config.presets import Preset
from cgbench.models.lexicons.loading import load_lexicon
from cgbench.models.registry import build_model
from cgbench.models.text.batches import count_tokens
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.data import Data
from cgbench.models.training.distributed import Processes, joined
from cgbench.models.training.interruption import held_signals
from cgbench.models.training.log import Log, check_tensorboard
from cgbench.models.training.objective import Objective, build_objectives
from cgbench.models.training.reproducible import reproducible, resolve_precision
from cgbench.models.training.schedule import learning_rate
from cgbench.models.training.state import STATE, Progress, State, read_state, write_state
from cgbench.models.training.validation import Validation, check_validation, perplexity
from cgbench.progress import bar
from cgbench.steps import hash_file

BEST, CHECKPOINTS = "best.safetensors", "checkpoints"


def train_member(
    train: tuple[Path, Path],
    valid: tuple[Path, Path] | None,
    subwords: Subwords,
    preset: Preset,
    seed: int,
    out: Path,
    device: str = "cpu",
    digests: dict[str, str] | None = None,
    stop_after_updates: int | None = None,
    *,
    max_seconds: float | None = None,
    tensorboard: bool = False,
    init: Path | None = None,
    lexicon: Path | None = None,
) -> bool:
    """Train one model into the checkpoint folder ``out``, going on where an earlier call with the same arguments was.

    Without ``valid`` the last model is kept, whatever ``training.keep`` says. The same arguments on the same machine
    and library versions give the same bytes, however often the run is interrupted. In processes that torchrun has
    started, all train the one model.

    :param train: source and target file, plain text; ``valid`` likewise.
    :param digests: recorded in the checkpoint: sha256 of the training files, by name.
    :param stop_after_updates: stop as if interrupted, with the state saved, when so many updates are done.
    :param max_seconds: likewise, after the first update that ends later than so many seconds from now.
    :param tensorboard: also write ``tensorboard/``, which is no part of the result.
    :param init: a checkpoint of the same architecture and vocabulary whose parameters to start from.
    :param lexicon: what source words stand for, where ``model.lexicon`` reads a file.
    :return: whether the run is finished.
    :raises InputError: bad files, a folder that holds another run, a loss that is not finite, not enough GPU memory.
    """
    deadline = math.inf if max_seconds is None else time.monotonic() + max_seconds
    config = preset.training
    check_validation(config)
    check_lexicon(preset.model, lexicon, init)
    if tensorboard:
        check_tensorboard()
    if valid is None:
        if config.patience:
            raise InputError(f"training.patience={config.patience}: needs validation pairs; give some, or set it to 0")
        config = replace(config, keep="last")
    start = None if init is None else _initial(init, preset, subwords)
    precision = resolve_precision(config.precision, device)
    with joined(device) as processes, reproducible(config.threads, processes.device, seed):
        model = build_model(preset.model, subwords.source_size, subwords.target_size)
        if start is None:
            load_lexicon(model, preset.model, subwords, lexicon, seed)
        else:
            model.load_state_dict(start)  # with its lexicon
        objectives = build_objectives(model, config, preset.method, subwords.target_size, precision == "bfloat16")
        if not processes.first:
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
            processes=processes.count,
            init="" if init is None else hash_file(init / MODEL),
            lexicon="" if lexicon is None else hash_file(lexicon),
            corpus=dict(digests or {}),
        )
        if (out / CONFIG).is_file():
            _check_finished(out, checkpoint)
            if processes.first:
                _remove_leftovers(out)
            return True
        out.mkdir(parents=True, exist_ok=True)
        validation = (
            Validation(config, held_out, subwords, precision == "bfloat16", processes.device) if held_out else None
        )
        key = _key(checkpoint, data, held_out, device)
        run = _Run(
            objectives,
            data,
            validation,
            subwords,
            checkpoint,
            key,
            out,
            processes,
            _Limits(stop_after_updates, deadline),
        )
        try:
            with held_signals() as run.limits.signals:
                finished = run.train(tensorboard)
                if finished and processes.first:
                    run.finish()
                processes.any(False)  # nobody leaves before the first has written everything
        except torch.OutOfMemoryError as error:
            setting = "batch_sentences" if config.batch_sentences else "max_tokens"
            raise InputError(
                f"{device}: not enough memory for training.{setting}={getattr(config, setting)}; "
                f"lower it and raise training.accumulation in step ({str(error).splitlines()[0]})"
            ) from None
        return finished


@dataclass
class _Limits:
    """What ends a call before the run is done; ``signals``: those received."""

    updates: int | None
    deadline: float
    signals: Sequence[int] = ()


class _Run:
    """One training run: the objective of its stage, its optimiser, and where it is."""

    def __init__(
        self,
        objectives: list[Objective],
        data: Data,
        validation: Validation | None,
        subwords: Subwords,
        checkpoint: CheckpointConfig,
        key: str,
        out: Path,
        processes: Processes,
        limits: _Limits,
    ) -> None:
        self.objectives = [objective.to(processes.device) for objective in objectives]
        self.model: nn.Module = objectives[0].model
        self.data, self.validation, self.subwords = data, validation, subwords
        self.checkpoint, self.config, self.key = checkpoint, checkpoint.training, key
        self.out, self.processes, self.limits = out, processes, limits
        state = read_state(out, key, processes)
        self.progress = state.progress if state else Progress()
        self._begin_stage(state)
        # Read in one go where they are needed: asking for a number makes the host wait for a GPU.
        self.pending: list[Tensor] = []
        self.batches: list[np.ndarray] = []
        self.log: Log | None = None

    def _begin_stage(self, state: State | None = None) -> None:
        self.objective = self.objectives[self.progress.stage]
        self.optimizer = build_optimizer(self.objective, self.checkpoint)
        if state:
            state.restore(self.objective, self.optimizer, self.processes)
        self.parallel = self.processes.parallel(self.objective)
        self.parallel.train()

    @property
    def updates(self) -> int:
        """Updates of all stages."""
        return self.progress.earlier + self.progress.update

    def train(self, tensorboard: bool) -> bool:
        """Update, log, validate and save until the run is done (true) or a limit is met (false)."""
        progress = self.progress
        if self.processes.first:
            self.log = Log(self.out, progress.log_bytes, self.updates, tensorboard)
        try:
            if not progress.log_bytes:
                self._write(update=0, pairs=len(self.data.rows), skipped=self.data.skipped)
            while self._train_stage():
                if progress.stage + 1 == len(self.objectives):
                    return True
                progress.stage += 1
                progress.earlier, progress.update = self.updates, 0
                progress.loss, progress.plain, progress.count = 0.0, 0.0, 0
                self._begin_stage()
            return False
        finally:
            if self.log:
                self.log.close()

    def _train_stage(self) -> bool:
        config, progress = self.config, self.progress
        started, tokens = time.monotonic(), 0
        stopped = self._enough()
        with bar(self._expected(), self._title(), "update", self.processes.first, initial=progress.update) as shown:
            while not self._stage_done():
                if stopped:
                    return False
                batches = self._next_batches()
                self._update(batches)
                tokens += count_tokens(batches, self.data.target.lengths)
                shown.update(1)
                if self._due(config.log_every):
                    loss = self._log_training()
                    speed = tokens / (time.monotonic() - started)
                    shown.set_postfix_str(f"{speed:,.0f} tokens/s, loss {loss:.3f}, rate {self._rate():.1e}", False)
                if self.validation and self.objective.epochs is None and self._due(config.validate_every):
                    self._validate(self.validation)
                stopped = self._stopped()
                if due := self._due(config.checkpoint_every):
                    self._keep_checkpoint()
                if due or stopped:
                    self._save()
        return True

    def _stage_done(self) -> bool:
        config, progress = self.config, self.progress
        if self.objective.epochs is not None:
            return progress.epoch >= self.objective.epochs
        return progress.update >= config.max_updates or bool(config.patience and progress.stale >= config.patience)

    def _due(self, every: int) -> bool:
        return self.progress.update % every == 0 or self._stage_done()

    def _enough(self) -> bool:
        return self.limits.updates is not None and self.updates >= self.limits.updates

    def _stopped(self) -> bool:
        """Whether a limit is met; all processes find the same."""
        limits = self.limits
        if self._enough():
            return True
        # Several processes ask each other, which makes them wait: not at every update.
        if self.processes.count > 1 and not self._due(self.config.log_every):
            return False
        return self.processes.any(bool(limits.signals) or time.monotonic() >= limits.deadline)

    def _title(self) -> str:
        stage = "" if self.objective.epochs is None else f", {self.checkpoint.method.name}"
        return f"train {self.out.name}{stage}"

    def _expected(self) -> int:
        """About how many updates the stage has."""
        if self.objective.epochs is None:
            return self.config.max_updates
        return (
            math.ceil(len(self.data.epoch(self.checkpoint.seed, 0)) / self.config.accumulation) * self.objective.epochs
        )

    def _next_batches(self) -> list[np.ndarray]:
        """Return the batches of the next update, and move on to the ones after."""
        progress = self.progress
        if not self.batches:
            self.batches = self.data.epoch(self.checkpoint.seed, progress.epoch)
        group = self.batches[progress.batch : progress.batch + self.config.accumulation]
        progress.batch += len(group)
        if progress.batch >= len(self.batches):
            progress.epoch, progress.batch, self.batches = progress.epoch + 1, 0, []
        return group

    def _rate(self) -> float:
        return learning_rate(self.config, self.progress.update, self.checkpoint.model.width)

    def _update(self, batches: list[np.ndarray]) -> None:
        """Take one step of the optimiser."""
        self.progress.update += 1
        self.objective.update = self.progress.update
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        rows = np.concatenate(batches)
        count = self.objective.count(self.data.target.lengths[rows])
        divisor = len(rows) if self.config.loss_mean == "sentences" else count
        self.optimizer.zero_grad()
        sums = torch.zeros(2, device=self.processes.device)
        for number, batch in enumerate(batches, 1):
            own, weight = self.processes.share(batch)
            with self.processes.apart(self.parallel, number < len(batches)):
                loss, plain = self.parallel(*self.data.take(own, self.processes.device))
                # Gradients are means over the processes, and sums are wanted.
                (loss * (weight * self.processes.count) / divisor).backward()
            sums += weight * torch.stack((loss.detach(), plain))
        parameters = [parameter for parameter in self.objective.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
        if self.config.clip_norm:
            nn.utils.clip_grads_with_norm_(parameters, self.config.clip_norm, norm)
        self.optimizer.step()
        self.progress.count += count
        self.pending.append(torch.cat((sums, norm[None])))

    def _settle(self) -> None:
        """Add up the losses since the last call; stop at the first update of which something is not finite.

        Whatever is saved or logged is settled first, so that nothing of such an update is kept.
        """
        if not self.pending:
            return
        progress = self.progress
        first = progress.update - len(self.pending) + 1
        # Processes in their order, updates in theirs: the same sums wherever a run was interrupted.
        parts = [part.tolist() for part in self.processes.gather(torch.stack(self.pending))]
        for update, rows in enumerate(zip(*parts, strict=True), first):
            for name, finite in (
                ("loss", all(math.isfinite(loss) for loss, _, _ in rows)),
                ("gradient", math.isfinite(rows[0][2])),
            ):
                if not finite:
                    raise self._not_finite(f"{name} of update {update}")
            for loss, plain, _ in rows:
                progress.loss += loss
                progress.plain += plain
        self.pending.clear()

    def _not_finite(self, what: str) -> InputError:
        return InputError(
            f"{self.out}: the {what} is not finite; the last saved state is kept: "
            "lower training.learning_rate, raise training.warmup_updates or set training.clip_norm"
        )

    def _log_training(self) -> float:
        """Log the means since the last line; return the loss."""
        self._settle()
        progress = self.progress
        loss, plain = progress.loss / progress.count, progress.plain / progress.count
        stage = {} if self.objective.epochs is None else {"stage": self.checkpoint.method.name}
        self._write(
            update=progress.update,
            epoch=progress.epoch,
            learning_rate=self._rate(),
            loss=loss,
            perplexity=perplexity(plain),
            **stage,
        )
        progress.loss, progress.plain, progress.count = 0.0, 0.0, 0
        return loss

    def _validate(self, validation: Validation) -> None:
        self._settle()
        progress = self.progress
        figures, goodness = {}, 0.0
        if self.processes.first:
            result = validation(self.model)
            figures, goodness = result.figures, result.goodness
            if not math.isfinite(figures["valid_loss"]):
                raise self._not_finite(f"validation loss after update {progress.update}")
        self._write(update=progress.update, **figures)
        goodness = self.processes.from_first(goodness)
        progress.stale += 1
        if goodness > progress.best:
            progress.best, progress.best_update, progress.stale = goodness, progress.update, 0
            if self.config.keep == "best" and self.processes.first:
                write_tensors(self.out / BEST, self.model.state_dict())

    def _write(self, **entry: Any) -> None:
        if self.log:
            self.progress.log_bytes += self.log.write(self.updates, **entry)

    def _keep_checkpoint(self) -> None:
        """Write a complete checkpoint of this update, and remove those that are too old."""
        if not self.config.keep_checkpoints or self.objective.epochs is not None or not self.processes.first:
            return
        self._settle()
        folder = self.out / CHECKPOINTS / f"update-{self.progress.update:07d}"
        self._publish(folder, self.model.state_dict(), self.progress.update)
        for old in sorted(folder.parent.glob("update-*"))[: -self.config.keep_checkpoints]:
            shutil.rmtree(old)

    def _publish(self, folder: Path, tensors: dict[str, Tensor], updates: int) -> None:
        save_checkpoint(folder, replace(self.checkpoint, updates=updates), tensors, self.subwords)

    def _save(self) -> None:
        """Write everything that the next update depends on."""
        self._settle()
        write_state(self.out, self.key, self.progress, self.objective, self.optimizer, self.processes)

    def finish(self) -> None:
        """Turn the run into a checkpoint; ``config.json`` comes last."""
        tensors, updates = self.model.state_dict(), self.progress.update
        if self.config.keep == "best":
            (tensors, _), updates = read_tensors(self.out / BEST), self.progress.best_update
        self._publish(self.out, tensors, updates)
        _remove_leftovers(self.out)


def build_optimizer(objective: Objective, checkpoint: CheckpointConfig) -> torch.optim.AdamW:
    """Return Adam for an objective; what the model names as such has no weight decay."""
    config = checkpoint.training
    without = {f"model.{name}" for name in getattr(objective.model, "undecayed_parameters", set)()}
    groups: list[dict[str, Any]] = [{"params": []}, {"params": [], "weight_decay": 0.0}]
    for name, parameter in objective.named_parameters():
        groups[name in without]["params"].append(parameter)
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _initial(init: Path, preset: Preset, subwords: Subwords) -> dict[str, Tensor]:
    """Return the parameters of a checkpoint that a model may start from.

    :raises InputError: it is no checkpoint, or one of another architecture or vocabulary.
    """
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


def _key(checkpoint: CheckpointConfig, data: Data, held_out: Data | None, device: str) -> str:
    """What must agree between two calls for the second to go on with the first."""
    kept = replace(checkpoint, processes=1)  # compared apart, to say so
    parts: list[Any] = [to_dict(kept), data.digest, held_out and held_out.digest, torch.device(device).type]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _check_finished(out: Path, wanted: CheckpointConfig) -> None:
    found = read_config(out)
    if replace(found, updates=0, processes=wanted.processes) != wanted:
        raise InputError(f"{out}: holds a model trained with other settings, data or seed; remove it or name another")
    if not (out / MODEL).is_file() or read_json(out / CONFIG) is None:
        raise InputError(f"{out / MODEL}: no such file; remove {out} and train again")


def _remove_leftovers(out: Path) -> None:
    # Half-written files of a killed process have names of their own, and may be large.
    leftovers = [*out.glob(".*.tmp"), *(out / CHECKPOINTS).glob("*/.*.tmp")]
    for path in (out / STATE, out / BEST, *leftovers):
        path.unlink(missing_ok=True)
