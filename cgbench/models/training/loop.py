"""The training loop: update, log, validate and save until the run is finished or a limit is
reached.

One atomically written file holds the complete state at an update: parameters, moments, random
state, position in the data, and sums not yet logged. So an interrupted run continues exactly as an
uninterrupted one.

The final state is saved before the final log line, validation and checkpoint, which a longer run
would not have there. So a finished run can be extended, with the same result as a run of that
length from scratch, unless the learning rates depend on the length.
"""

import json
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError, warn
from cgbench.files import write_atomic
from cgbench.models.checkpoints import (
    BEST,
    METRICS,
    MODEL,
    STATE,
    CheckpointConfig,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from cgbench.models.config.common import TrainingConfig
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.distributed import Processes
from cgbench.models.training.objective import Objective
from cgbench.models.training.optimizer import Adafactor, AdamW
from cgbench.models.training.prototypes import make_prototypes, prototypes_are_due
from cgbench.models.training.state import read_state, restore_tensors, write_state
from cgbench.models.training.training_data import Data
from cgbench.models.training.validation import Validation, perplexity
from cgbench.progress import bar

CHECKPOINTS = "checkpoints"
STAIR = 0.96  # factor of TensorFlow's exponential decay in stairs, as Li et al. (2019) set it


@dataclass(eq=False)
class TrainingRun:
    """One training run: the objective of its stage, its optimiser, and its progress.

    :param title: the model's name in the progress bar.
    :param deadline: stop after the first update that ends later, by ``time.monotonic``. A signal in
        ``signals`` also stops it.
    """

    objectives: list[Objective]
    data: Data
    validation: Validation | None
    subwords: Subwords
    checkpoint: CheckpointConfig
    out: Path
    processes: Processes
    title: str
    deadline: float
    signals: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.config = self.checkpoint.training
        self.model: nn.Module = self.objectives[0].model.to(self.processes.device)
        # What must agree for a call to resume another; the number of processes is compared with its
        # own message.
        valid_digest = self.validation and self.validation.data.digest
        settings, device = (
            asdict(replace(self.checkpoint, processes=1)),
            torch.device(self.processes.device).type,
        )
        self.made_of = [settings, self.data.digest, valid_digest, device]
        self.progress, tensors = read_state(self.out, self.made_of, self.processes)
        self._begin_stage(tensors)
        # Read together when needed, because reading a number makes the host wait for the GPU.
        self.pending: list[Tensor] = []
        self.batches: list[np.ndarray] = []

    def _begin_stage(self, tensors: Mapping[str, Tensor] | None = None) -> None:
        self.objective = self.objectives[self.progress.stage].to(self.processes.device)
        self.optimizer = build_optimizer(self.objective, self.checkpoint)
        if tensors:
            restore_tensors(tensors, self.objective, self.optimizer, self.processes)
        self.parallel = self.processes.data_parallel(self.objective)
        self.parallel.train()

    def train(self) -> bool:
        """Update, log, validate and save; returns whether the run is finished, or was stopped
        before.
        """
        progress = self.progress
        if self.processes.is_main:
            self._cut_log()
        if not progress.log_bytes:
            sets = {"": self.data, "validation_": self.validation and self.validation.data}
            counts = {
                f"{prefix}{name}": count
                for prefix, texts in sets.items()
                if texts
                for name, count in (("pairs", len(texts.rows)), ("skipped", texts.skipped))
            }
            self._write(update=0, **counts)
        while self._train_stage():
            if progress.stage + 1 == len(self.objectives):
                return True
            progress.stage += 1
            progress.earlier, progress.update = progress.earlier + progress.update, 0
            progress.loss, progress.plain, progress.count = 0.0, 0.0, 0
            self._begin_stage()
        return False

    def _train_stage(self) -> bool:
        progress = self.progress
        stopped = False
        total, title = self.config.max_updates, f"train {self.title}"
        if self.objective.epochs is not None:
            batches = len(self.data.epoch(self.checkpoint.seed, 0))
            total = math.ceil(batches / self.config.accumulation) * self.objective.epochs
            title += f", {self.checkpoint.method.name}"
        with bar(
            total, title, "update", self.processes.is_main, initial=progress.update
        ) as progress_bar:
            self.began, self.tokens = time.monotonic(), 0  # since the last report
            if not progress.reported:
                # Pending from a shorter run's last update, or a run that was killed at its end.
                self._report(progress_bar)
            while not self._ended():
                if stopped:
                    return False
                self._begin_epoch()
                self.tokens += self._update(self._next_batches())
                progress_bar.update(1)
                if last := self._is_last():
                    progress.reported = False
                    self._save()
                due = self._report(progress_bar)
                stopped = self._stopped()
                if not last and (stopped or due):
                    self._save()
        return not stopped or self.progress.stage + 1 == len(self.objectives)

    def _report(self, progress_bar: Any) -> bool:
        """Log, validate and keep a checkpoint if due after an update; return whether to save the
        state.
        """
        config, update, ended = self.config, self.progress.update, self._ended()
        if ended or update % config.log_every == 0:
            loss = self._log_training()
            # The log has no times: equal runs write equal files.
            speed = self.tokens / max(time.monotonic() - self.began, 1e-9)
            self.tokens = 0
            progress_bar.set_postfix_str(
                f"loss {loss:.3f}, {speed:,.0f} tokens/s, rate {self._rate():.1e}", False
            )
        if self.validation and self._validation_due(ended):
            self._validate(self.validation)
            ended = self._ended()  # patience may be exhausted
        due = ended or update % config.checkpoint_every == 0
        if config.keep_checkpoints and self.processes.is_main and self.objective.epochs is None:
            self._keep_checkpoint(due)
        self.progress.reported = True
        if not self.tokens:
            self.began = time.monotonic()
        return due

    def _ended(self) -> bool:
        config, progress = self.config, self.progress
        if self.objective.epochs is not None:
            return progress.epoch >= self.objective.epochs
        return progress.update >= config.max_updates or 0 < config.patience <= progress.stale

    def _is_last(self) -> bool:
        """Whether this is the last update of the run, at which a longer run would continue."""
        return self.objective.epochs is None and self.progress.update >= self.config.max_updates

    def _validation_due(self, ended: bool) -> bool:
        config, progress = self.config, self.progress
        if self.objective.epochs is not None:
            return False
        if not config.validate_every_epochs:
            return ended or (
                config.validate_every > 0 and progress.update % config.validate_every == 0
            )
        complete = progress.batch == 0 and progress.epoch % config.validate_every_epochs == 0
        return ended or (complete and progress.epoch >= config.validate_from_epoch)

    def _stopped(self) -> bool:
        """Whether to stop this call before the run is finished; the same in all processes."""
        over = bool(self.signals) or time.monotonic() >= self.deadline
        if self.processes.world_size == 1:
            return over
        # Processes synchronise for this, so not at every update.
        asks = self.progress.update % self.config.log_every == 0 or self._ended()
        return asks and self.processes.any(over)

    def _begin_epoch(self) -> None:
        """Compute the model's prototypes if they are due between two epochs.

        This happens before an update, not after one: a state saved in between has none, and they
        are computed again.
        """
        progress = self.progress
        if progress.batch or self.objective.epochs is not None:
            return
        if not prototypes_are_due(self.model, self.checkpoint.model, progress.epoch):
            return
        self._settle()
        device, autocast = self.processes.device, self.objective.autocast(self.processes.device)
        words = make_prototypes(
            self.model, self.data, self.subwords.source, self.checkpoint.seed, device, autocast
        )
        self._write(update=progress.update, prototypes=words)

    def _next_batches(self) -> list[np.ndarray]:
        """Return the batches of the next update, and advance."""
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

    def _update(self, batches: list[np.ndarray]) -> int:
        """Take one step of the optimiser; return its number of target tokens."""
        self.progress.update += 1
        self.objective.update = self.progress.update
        rate = self._rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["rate"]
        rows = np.concatenate(batches)
        lengths = self.data.target.lengths[rows]
        count = self.objective.count(lengths)
        divisor = len(rows) if self.config.loss_mean == "sentences" else count
        self.optimizer.zero_grad()
        sums = torch.zeros(2, device=self.processes.device)
        for index, batch in enumerate(batches, 1):
            shard, weight = self.processes.shard(batch)
            with self.processes.no_sync(self.parallel, index < len(batches)):
                loss, nll_loss = self.parallel(*self.data.take(shard, self.processes.device))
                # Gradients are averaged over the processes, but must be summed.
                (loss * (weight * self.processes.world_size) / divisor).backward()
            sums += weight * torch.stack((loss.detach(), nll_loss))
        parameters = [
            parameter for parameter in self.objective.parameters() if parameter.grad is not None
        ]
        norm = nn.utils.get_total_norm(
            [parameter.grad for parameter in parameters if parameter.grad is not None]
        )
        if self.config.clip_norm:
            nn.utils.clip_grads_with_norm_(parameters, self.config.clip_norm, norm)
        self.optimizer.step()
        self.progress.count += count
        self.pending.append(torch.cat((sums, norm[None])))
        if self.processes.world_size == 1 and self.processes.device == "cpu":
            self._settle()  # waits for nothing here, so a bad loss stops the run at once
        return int(lengths.sum())

    def _settle(self) -> None:
        """Add up the losses since the last call; stop at the first update with a non-finite loss or
        gradient.

        Called before anything is saved or logged, so that nothing of such an update is kept.
        """
        if not self.pending:
            return
        progress = self.progress
        first = progress.update - len(self.pending) + 1
        # In the order of updates, then processes, so that an interruption does not change the sums.
        by_process = [
            sums.tolist() for sums in self.processes.all_gather(torch.stack(self.pending))
        ]
        for update, rows in enumerate(zip(*by_process, strict=True), first):
            for name, finite in (
                ("loss", all(math.isfinite(loss) for loss, _, _ in rows)),
                ("gradient", math.isfinite(rows[0][2])),
            ):
                if not finite:
                    raise self._not_finite(f"{name} of update {update}")
            for loss, nll_loss, _ in rows:
                progress.loss += loss
                progress.plain += nll_loss
            progress.norm = rows[0][2]
        self.pending.clear()

    def _not_finite(self, quantity: str) -> InputError:
        return InputError(
            f"{self.out}: the {quantity} is not finite; the last saved state is kept; lower"
            " training.learning_rate, raise training.warmup_updates or set training.clip_norm"
        )

    def _log_training(self) -> float:
        """Log the means since the last line; return the loss."""
        self._settle()
        progress = self.progress
        loss, nll_loss = progress.loss / progress.count, progress.plain / progress.count
        stage = {} if self.objective.epochs is None else {"stage": self.checkpoint.method.name}
        self._write(
            update=progress.update,
            epoch=progress.epoch,
            learning_rate=self._rate(),
            loss=loss,
            perplexity=perplexity(nll_loss),
            gradient_norm=progress.norm,
            **stage,
        )
        progress.loss, progress.plain, progress.count = 0.0, 0.0, 0
        return loss

    def _validate(self, validation: Validation) -> None:
        self._settle()
        progress = self.progress
        metrics, score = validation(self.model)
        loss = metrics["valid_loss"]
        if not math.isfinite(loss):
            raise self._not_finite(f"validation loss after update {progress.update}")
        self._write(update=progress.update, **metrics)
        # Patience ignores the loss, which may fall for ever.
        progress.stale = 0 if score > progress.best else progress.stale + 1
        if (score, -loss) > (progress.best, -progress.best_loss):
            progress.best, progress.best_loss, progress.best_update = score, loss, progress.update
            # The last update is published from memory, so that a longer run still finds the best
            # one before it.
            if self.config.keep == "best" and self.processes.is_main and not self._is_last():
                write_tensors(self.out / BEST, self.model.state_dict())

    def _cut_log(self) -> None:
        path, length = self.out / METRICS, self.progress.log_bytes
        log = path.read_bytes()[:length] if path.is_file() else b""
        if len(log) < length:
            raise InputError(
                f"{path}: shorter than recorded in the saved state; remove {self.out} and train"
                " again"
            )
        write_atomic(path, log)

    def _write(self, **entry: Any) -> None:
        if self.processes.is_main:
            line = json.dumps(entry, sort_keys=True) + "\n"
            with (self.out / METRICS).open("ab") as file:
                file.write(line.encode())
            self.progress.log_bytes += len(line)

    def _keep_checkpoint(self, due: bool) -> None:
        """Write a complete checkpoint of this update if due, and remove the oldest."""
        folder = self.out / CHECKPOINTS / f"update-{self.progress.update:07d}"
        if not due:
            if folder.is_dir():
                shutil.rmtree(folder)  # the final one of a shorter run
            return
        self._settle()
        self._publish(folder, self.model.state_dict(), self.progress.update)
        for old in sorted(folder.parent.glob("update-*"))[: -self.config.keep_checkpoints]:
            shutil.rmtree(old)

    def _publish(self, folder: Path, tensors: dict[str, Tensor], updates: int) -> None:
        # External models have their own format.
        save = getattr(self.model, "save_checkpoint", save_checkpoint)
        save(folder, replace(self.checkpoint, updates=updates), tensors, self.subwords)

    def _save(self) -> None:
        self._settle()
        write_state(
            self.out, self.made_of, self.progress, self.objective, self.optimizer, self.processes
        )

    def finish(self, keep_state: bool) -> None:
        """Write the final checkpoint; ``config.json`` comes last.

        :param keep_state: keep the state, so that the run can be extended.
        """
        if prototypes_are_due(self.model, self.checkpoint.model, sys.maxsize):
            epochs = f"model.prototype_epochs={self.checkpoint.model.prototype_epochs}"  # type: ignore[attr-defined]
            warn(
                f"{self.out}: training ended after {self.progress.epoch} of {epochs}: the model has"
                " no prototypes"
            )
        tensors, updates = self.model.state_dict(), self.progress.update
        if earlier := self.config.keep == "best" and self.progress.best_update != updates:
            # If there was no better update since a shorter run ended, its published model is the
            # best.
            best = self.out / (BEST if (self.out / BEST).is_file() else MODEL)
            (tensors, _), updates = read_tensors(best), self.progress.best_update
        self._publish(self.out, tensors, updates)
        if earlier:
            (self.out / BEST).unlink(missing_ok=True)
        remove_leftovers(self.out, keep_state)


def learning_rate(config: TrainingConfig, update: int, width: int) -> float:
    """Return the rate of update 1, 2, ...: a linear warm-up, then ``schedule``.

    :param width: of the model, for the schedule of Vaswani et al. (2017), section 5.3 (``noam``).
    """
    warmup = max(config.warmup_updates, 1)
    if config.schedule == "noam":
        return config.learning_rate / math.sqrt(width) * min(update**-0.5, update * warmup**-1.5)
    if config.schedule == "stairs":
        return config.learning_rate * STAIR ** ((update - 1) // config.stair_updates)
    if update <= warmup:
        return config.learning_rate * update / warmup
    if config.schedule == "linear":
        return (
            config.learning_rate
            * (config.max_updates + 1 - update)
            / (config.max_updates + 1 - warmup)
        )
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * math.sqrt(warmup / update)


def build_optimizer(objective: Objective, checkpoint: CheckpointConfig) -> AdamW | Adafactor:
    """Return the optimiser of an objective, without weight decay for the model's
    ``undecayed_parameters``, and with a learning rate for its ``pretrained_parameters``.
    """
    config, model = checkpoint.training, objective.model
    without = {f"model.{name}" for name in getattr(model, "undecayed_parameters", set)()}
    pretrained: set[str] = set()
    if config.pretrained_learning_rate:
        names: set[str] = getattr(model, "pretrained_parameters", set)()
        pretrained.update(f"model.{name}" for name in names)
    # "rate": what the learning rate of the schedule is multiplied by.
    slower = config.pretrained_learning_rate / config.learning_rate
    groups: list[dict[str, Any]] = [
        {"params": [], "rate": rate, **decay}
        for rate in (1.0, slower)
        for decay in ({}, {"weight_decay": 0.0})
    ]
    for name, parameter in objective.named_parameters():
        group = 2 * (name in pretrained) + (name in without)
        groups[group]["params"].append(parameter)
    groups = [group for group in groups if group["params"]]
    if config.optimizer == "adafactor":
        # As for T5: at least 1e-30 for squared gradients (PyTorch squares its number), and 1e-3 for
        # the size of a parameter.
        return Adafactor(groups, eps=(1e-15, 1e-3), weight_decay=config.weight_decay)
    return AdamW(
        groups,
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def remove_leftovers(out: Path, keep_state: bool) -> None:
    """Remove incomplete files from a finished checkpoint folder, and the state unless
    ``keep_state``.
    """
    # Incomplete files of a killed process have unique names and may be large.
    leftovers = [*out.glob(".*.tmp"), *(out / CHECKPOINTS).glob("*/.*.tmp")]
    for path in leftovers if keep_state else (out / STATE, out / BEST, *leftovers):
        path.unlink(missing_ok=True)
