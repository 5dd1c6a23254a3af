"""The training loop: update, log, validate, save, until a run is done or a limit is met.

Everything a run depends on at an update (parameters, moments, random numbers, position in the data, sums not yet
logged) is in one file that appears whole or not at all, so a run that was killed repeats from there exactly what it did
before.

The last state is that of the last update before anything is done that a longer run would not do there (a last line of
the log, a last validation, a last checkpoint). So a finished run that is made longer ends in the bytes of one that was
as long from the start, wherever the rates do not depend on its length.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError, InputWarning
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
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.data import Data
from cgbench.models.training.distributed import Processes
from cgbench.models.training.objective import Objective
from cgbench.models.training.prototypes import make_prototypes, prototypes_are_due
from cgbench.models.training.schedule import learning_rate
from cgbench.models.training.state import Progress, TrainingState, read_state, write_state
from cgbench.models.training.validation import Validation, perplexity
from cgbench.progress import bar

CHECKPOINTS = "checkpoints"


class TrainingRun:
    """One training run: the objective of its stage, its optimiser, and where it is.

    :param made_of: settings, digests of the texts, device; a saved state of another run is refused.
    :param title: the model's name in the progress bar (default: the folder's name).
    :param stop_after_updates: end this call when so many updates of all stages are done; ``deadline``: after the first
        update that ends later, by ``time.monotonic``. So does a signal in ``signals``.
    """

    def __init__(
        self,
        objectives: list[Objective],
        data: Data,
        validation: Validation | None,
        subwords: Subwords,
        checkpoint: CheckpointConfig,
        made_of: list[Any],
        out: Path,
        processes: Processes,
        title: str = "",
        stop_after_updates: int | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.objectives = [objective.to(processes.device) for objective in objectives]
        self.model: nn.Module = objectives[0].model
        self.data, self.validation, self.subwords = data, validation, subwords
        self.checkpoint, self.config, self.made_of = checkpoint, checkpoint.training, made_of
        self.out, self.processes, self.title = out, processes, title or out.name
        self.stop_after_updates, self.deadline = stop_after_updates, deadline
        self.signals: Sequence[int] = ()
        state = read_state(out, made_of, processes)
        self.progress = state.progress if state else Progress()
        self._begin_stage(state)
        # Read in one go where they are needed: asking for a number makes the host wait for a GPU.
        self.pending: list[Tensor] = []
        self.batches: list[np.ndarray] = []

    def _begin_stage(self, state: TrainingState | None = None) -> None:
        self.objective = self.objectives[self.progress.stage]
        self.optimizer = build_optimizer(self.objective, self.checkpoint)
        if state:
            state.restore(self.objective, self.optimizer, self.processes)
        self.parallel = self.processes.data_parallel(self.objective)
        self.parallel.train()

    @property
    def updates(self) -> int:
        """Updates of all stages."""
        return self.progress.earlier + self.progress.update

    def train(self) -> bool:
        """Update, log, validate and save until the run is done (true) or something ends the call (false)."""
        progress = self.progress
        if self.processes.is_main:
            self._cut_log()
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

    def _train_stage(self) -> bool:
        progress = self.progress
        stopped = self._enough()
        with bar(self._expected(), self._title(), "update", self.processes.is_main, initial=progress.update) as shown:
            self.began, self.tokens = time.monotonic(), 0
            if not progress.reported:
                self._report(shown)  # of a shorter run's last update, or of a run that was killed as it ended
            while not self._ended():
                if stopped:
                    return False
                self._begin_epoch()
                self.tokens += self._update(self._next_batches())
                shown.update(1)
                if last := self._is_last():
                    progress.reported = False
                    self._save()
                due = self._report(shown)
                stopped = self._stopped()
                if not last and (stopped or due):
                    self._save()
        return True

    def _report(self, shown: Any) -> bool:
        """Do what is due after an update: log, validate, keep a checkpoint; return whether the state is to be saved."""
        config, update, ended = self.config, self.progress.update, self._ended()
        if ended or update % config.log_every == 0:
            loss = self._log_training()
            speed = self.tokens / max(time.monotonic() - self.began, 1e-9)
            shown.set_postfix_str(f"{speed:,.0f} tokens/s, loss {loss:.3f}, rate {self._rate():.1e}", False)
        if self.validation and self._validation_due(ended):
            self._validate(self.validation)
            ended = self._ended()  # patience may be over
        due = ended or update % config.checkpoint_every == 0
        if config.keep_checkpoints and self.processes.is_main and self.objective.epochs is None:
            self._keep_checkpoint(due)
        self.progress.reported = True
        return due

    def _ended(self) -> bool:
        """Whether the stage is done."""
        config, progress = self.config, self.progress
        if self.objective.epochs is not None:
            return progress.epoch >= self.objective.epochs
        return progress.update >= config.max_updates or 0 < config.patience <= progress.stale

    def _is_last(self) -> bool:
        """Whether the update is the last of the run, after which a longer one would go on."""
        return self.objective.epochs is None and self.progress.update >= self.config.max_updates

    def _validation_due(self, ended: bool) -> bool:
        config, progress = self.config, self.progress
        if self.objective.epochs is not None:
            return False
        if not config.validate_every_epochs:
            return ended or progress.update % config.validate_every == 0
        complete = progress.batch == 0 and progress.epoch % config.validate_every_epochs == 0
        return ended or (complete and progress.epoch >= config.validate_from_epoch)

    def _enough(self) -> bool:
        return self.stop_after_updates is not None and self.updates >= self.stop_after_updates

    def _stopped(self) -> bool:
        """Whether this call ends before the run; all processes find the same."""
        if self._enough():
            return True
        over = bool(self.signals) or time.monotonic() >= self.deadline
        if self.processes.world_size == 1:
            return over
        # Several processes ask each other, which makes them wait: not at every update.
        asks = self.progress.update % self.config.log_every == 0 or self._ended()
        return asks and self.processes.any(over)

    def _title(self) -> str:
        stage = "" if self.objective.epochs is None else f", {self.checkpoint.method.name}"
        return f"train {self.title}{stage}"

    def _expected(self) -> int:
        """About how many updates the stage has."""
        if self.objective.epochs is None:
            return self.config.max_updates
        return (
            math.ceil(len(self.data.epoch(self.checkpoint.seed, 0)) / self.config.accumulation) * self.objective.epochs
        )

    def _begin_epoch(self) -> None:
        """Between two epochs, make the prototypes that the model waits for.

        Before an update and not after one: what is saved in between has none, and they are made again from there.
        """
        progress = self.progress
        if progress.batch or self.objective.epochs is not None:
            return
        if not prototypes_are_due(self.model, self.checkpoint.model, progress.epoch):
            return
        self._settle()
        device, autocast = self.processes.device, self.objective.autocast_on(self.processes.device)
        words = make_prototypes(self.model, self.data, self.subwords.source, self.checkpoint.seed, device, autocast)
        self._write(update=progress.update, prototypes=words)

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

    def _update(self, batches: list[np.ndarray]) -> int:
        """Take one step of the optimiser; return the target tokens that it reads."""
        self.progress.update += 1
        self.objective.update = self.progress.update
        rate = self._rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        rows = np.concatenate(batches)
        lengths = self.data.target.lengths[rows]
        count = self.objective.count(lengths)
        divisor = len(rows) if self.config.loss_mean == "sentences" else count
        self.optimizer.zero_grad()
        sums = torch.zeros(2, device=self.processes.device)
        for number, batch in enumerate(batches, 1):
            own, weight = self.processes.shard(batch)
            with self.processes.no_sync(self.parallel, number < len(batches)):
                loss, nll_loss = self.parallel(*self.data.take(own, self.processes.device))
                # Gradients are means over the processes, and sums are wanted.
                (loss * (weight * self.processes.world_size) / divisor).backward()
            sums += weight * torch.stack((loss.detach(), nll_loss))
        parameters = [parameter for parameter in self.objective.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
        if self.config.clip_norm:
            nn.utils.clip_grads_with_norm_(parameters, self.config.clip_norm, norm)
        self.optimizer.step()
        self.progress.count += count
        self.pending.append(torch.cat((sums, norm[None])))
        return int(lengths.sum())

    def _settle(self) -> None:
        """Add up the losses since the last call; stop at the first update of which something is not finite.

        Whatever is saved or logged is settled first, so that nothing of such an update is kept.
        """
        if not self.pending:
            return
        progress = self.progress
        first = progress.update - len(self.pending) + 1
        # Processes in their order, updates in theirs: the same sums wherever a run was interrupted.
        parts = [part.tolist() for part in self.processes.all_gather(torch.stack(self.pending))]
        for update, rows in enumerate(zip(*parts, strict=True), first):
            for name, finite in (
                ("loss", all(math.isfinite(loss) for loss, _, _ in rows)),
                ("gradient", math.isfinite(rows[0][2])),
            ):
                if not finite:
                    raise self._not_finite(f"{name} of update {update}")
            for loss, nll_loss, _ in rows:
                progress.loss += loss
                progress.plain += nll_loss
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
        loss, nll_loss = progress.loss / progress.count, progress.plain / progress.count
        stage = {} if self.objective.epochs is None else {"stage": self.checkpoint.method.name}
        self._write(
            update=progress.update,
            epoch=progress.epoch,
            learning_rate=self._rate(),
            loss=loss,
            perplexity=perplexity(nll_loss),
            **stage,
        )
        progress.loss, progress.plain, progress.count = 0.0, 0.0, 0
        return loss

    def _validate(self, validation: Validation) -> None:
        self._settle()
        progress = self.progress
        figures, goodness, loss = {}, 0.0, 0.0
        if self.processes.is_main:
            result = validation(self.model)
            figures, goodness, loss = result.figures, result.goodness, result.figures["valid_loss"]
            if not math.isfinite(loss):
                raise self._not_finite(f"validation loss after update {progress.update}")
        self._write(update=progress.update, **figures)
        goodness, loss = self.processes.broadcast(goodness), self.processes.broadcast(loss)
        # Patience goes by the metric alone: a loss may fall for ever.
        progress.stale = 0 if goodness > progress.best else progress.stale + 1
        if (goodness, -loss) > (progress.best, -progress.best_loss):
            progress.best, progress.best_loss, progress.best_update = goodness, loss, progress.update
            # The last ones are published from memory: a longer run may know of the best before them alone.
            if self.config.keep == "best" and self.processes.is_main and not self._is_last():
                write_tensors(self.out / BEST, self.model.state_dict())

    def _cut_log(self) -> None:
        """Cut off what the log has beyond the state that the run goes on from."""
        path, length = self.out / METRICS, self.progress.log_bytes
        kept = path.read_bytes()[:length] if path.is_file() else b""
        if len(kept) < length:
            raise InputError(f"{path}: shorter than the saved state says; remove {self.out} and train again")
        write_atomic(path, kept)

    def _write(self, **entry: Any) -> None:
        """Add a line to the log."""
        if self.processes.is_main:
            line = json.dumps(entry, sort_keys=True) + "\n"
            with (self.out / METRICS).open("ab") as file:
                file.write(line.encode())
            self.progress.log_bytes += len(line)

    def _keep_checkpoint(self, due: bool) -> None:
        """Write a complete checkpoint of this update, if one is due, and remove those that are too old."""
        folder = self.out / CHECKPOINTS / f"update-{self.progress.update:07d}"
        if not due:
            if folder.is_dir():
                shutil.rmtree(folder)  # the last of a shorter run
            return
        self._settle()
        self._publish(folder, self.model.state_dict(), self.progress.update)
        for old in sorted(folder.parent.glob("update-*"))[: -self.config.keep_checkpoints]:
            shutil.rmtree(old)

    def _publish(self, folder: Path, tensors: dict[str, Tensor], updates: int) -> None:
        # A model from outside has a form of its own.
        save = getattr(self.model, "save_checkpoint", save_checkpoint)
        save(folder, replace(self.checkpoint, updates=updates), tensors, self.subwords)

    def _save(self) -> None:
        """Write everything that the next update depends on."""
        self._settle()
        write_state(self.out, self.made_of, self.progress, self.objective, self.optimizer, self.processes)

    def finish(self, keep_state: bool) -> None:
        """Turn the run into a checkpoint; ``config.json`` comes last.

        :param keep_state: whether the run may be made longer some day.
        """
        if prototypes_are_due(self.model, self.checkpoint.model, sys.maxsize):
            epochs = f"model.prototype_epochs={self.checkpoint.model.prototype_epochs}"  # type: ignore[attr-defined]
            text = f"{self.out}: training ended after {self.progress.epoch} of {epochs}: the model has no prototypes"
            warnings.warn(InputWarning(text), stacklevel=2)
        tensors, updates = self.model.state_dict(), self.progress.update
        if earlier := self.config.keep == "best" and self.progress.best_update != updates:
            # A shorter run that ended here has published its best, and may have had no better one since.
            best = self.out / (BEST if (self.out / BEST).is_file() else MODEL)
            (tensors, _), updates = read_tensors(best), self.progress.best_update
        self._publish(self.out, tensors, updates)
        if earlier:
            (self.out / BEST).unlink(missing_ok=True)
        remove_leftovers(self.out, keep_state)


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


def remove_leftovers(out: Path, keep_state: bool) -> None:
    """Remove half-written files from a finished checkpoint folder, and what going on would need if nobody will."""
    # Half-written files of a killed process have names of their own, and may be large.
    leftovers = [*out.glob(".*.tmp"), *(out / CHECKPOINTS).glob("*/.*.tmp")]
    for path in leftovers if keep_state else (out / STATE, out / BEST, *leftovers):
        path.unlink(missing_ok=True)
