"""Train one model: label smoothing, warm-up, token-budget batches, Adam; stopped at any moment, it goes on to the
same bytes.

The recipe is that of Vaswani et al. (2017) as fairseq runs it. Everything a run depends on at an update (parameters,
moments, random numbers, place in the data, sums not yet logged) is in one file that appears whole or not at all, so a
run that was killed repeats from there exactly what it did before.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.files import read_json, write_atomic
from cgbench.models.batching import Rows, count_tokens, fits, make_batches
from cgbench.models.checkpoints import (
    CONFIG,
    METRICS,
    MODEL,
    CheckpointConfig,
    read_config,
    read_tensors,
    save_checkpoint,
    subset,
    write_tensors,
)
from cgbench.models.config import TrainingConfig, to_dict
from cgbench.models.loss import smoothed_cross_entropy
from cgbench.models.presets import Preset
from cgbench.models.ragged import Ragged
from cgbench.models.registry import build_model
from cgbench.models.text import Subwords, read_lines
from cgbench.progress import bar

STATE, BEST = "training_state.safetensors", "best.safetensors"


@dataclass
class Progress:
    """Where a run is: what is not in the parameters, the moments or the random number generators.

    :param update: updates done; ``epoch`` and ``batch``: the next batch to read.
    :param loss, plain, tokens: sums since the last line of the log.
    :param best: lowest validation loss so far; ``best_update``: where.
    :param log_bytes: length of the log that belongs to this state.
    """

    update: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    plain: float = 0.0
    tokens: int = 0
    best: float = math.inf
    best_update: int = 0
    log_bytes: int = 0


class Data:
    """Encoded pairs, those that are too long left out."""

    def __init__(self, files: tuple[Path, Path], subwords: Subwords, config: TrainingConfig) -> None:
        lines = [read_lines(path) for path in files]
        if len(lines[0]) != len(lines[1]):
            raise InputError(
                f"{files[0]} has {len(lines[0])} lines and {files[1]} has {len(lines[1])}: line i must translate line i"
            )
        self.source = Rows.pack(subwords.encode_source(lines[0]))
        self.target = Rows.pack(subwords.encode_target(lines[1]))
        good = fits(self.source.lengths, self.target.lengths, config.max_length)
        self.rows = np.flatnonzero(good)
        self.skipped = len(good) - len(self.rows)
        if not len(self.rows):
            raise InputError(
                f"{files[0]}: no pair to use: {len(good)} lines, all longer than training.max_length "
                f"({config.max_length} subwords)"
                if len(good)
                else f"{files[0]}: empty"
            )

    def batches(self, max_tokens: int, order: tuple[int, int] | None) -> list[np.ndarray]:
        """See :func:`cgbench.models.batching.make_batches`."""
        return make_batches(self.source.lengths, self.target.lengths, self.rows, max_tokens, order)

    def take(self, rows: np.ndarray, device: str) -> tuple[Ragged, Ragged]:
        """Return source and target of a batch."""
        return self.source.take(rows, device), self.target.take(rows, device)

    @property
    def digest(self) -> str:
        """sha256 of what there is to learn from."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            digest.update(side.ids.tobytes())
            digest.update(side.offsets.tobytes())
        return digest.hexdigest()


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
) -> None:
    """Train one model into the checkpoint folder ``out``, going on where an earlier call with the same arguments was.

    Without ``valid`` the last model is kept, whatever ``training.keep`` says. The same arguments on the same machine
    and library versions give the same bytes, however often the run is interrupted.

    :param train: source and target file, plain text; ``valid`` likewise.
    :param digests: recorded in the checkpoint: sha256 of the training files, by name.
    :param stop_after_updates: stop as if interrupted, with the state saved, when so many updates are done.
    :raises InputError: bad files, a folder that holds another run, a loss that is not finite, not enough GPU memory.
    """
    config = preset.training
    if valid is None:
        config = replace(config, keep="last")
    precision = resolve_precision(config.precision, device)
    with _reproducible(config.threads, device, seed):
        data = Data(train, subwords, config)
        held_out = Data(valid, subwords, config) if valid else None
        model = build_model(preset.model, subwords.source_size, subwords.target_size).to(device)
        checkpoint = CheckpointConfig(
            preset.model,
            config,
            subwords.source_size,
            subwords.target_size,
            subwords.digest,
            preset=preset.name,
            seed=seed,
            precision=precision,
            corpus=dict(digests or {}),
        )
        key = _key(checkpoint, data, held_out, device)
        if (out / CONFIG).is_file():
            _check_finished(out, checkpoint)
            _remove_leftovers(out)
            return
        out.mkdir(parents=True, exist_ok=True)
        run = _Run(model, data, held_out, checkpoint, key, out, device)
        run.resume()
        try:
            run.train(min(config.max_updates, stop_after_updates or config.max_updates))
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"{device}: not enough memory for training.max_tokens={config.max_tokens}; "
                f"lower it and raise training.accumulation in step ({str(error).splitlines()[0]})"
            ) from None
        if run.progress.update >= config.max_updates:
            run.finish(subwords)


class _Run:
    """One training run: the model, its optimiser, and where it is."""

    def __init__(
        self,
        model: nn.Module,
        data: Data,
        held_out: Data | None,
        checkpoint: CheckpointConfig,
        key: str,
        out: Path,
        device: str,
    ) -> None:
        self.model, self.data, self.held_out = model, data, held_out
        self.checkpoint, self.config, self.key, self.out, self.device = (
            checkpoint,
            checkpoint.training,
            key,
            out,
            device,
        )
        self.progress = Progress()
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=(self.config.adam_beta1, self.config.adam_beta2),
            weight_decay=self.config.weight_decay,
            fused=True,
        )
        # Read in one go where they are needed: asking for a number makes the host wait for a GPU.
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []

    def train(self, until: int) -> None:
        """Update until ``until`` updates are done, logging, validating and saving on the way."""
        config, progress = self.config, self.progress
        self.model.train()
        with bar(config.max_updates, f"train {self.out.name}", "update", initial=progress.update) as shown:
            started, tokens = time.monotonic(), 0
            for batches in self._updates():
                if progress.update >= until:
                    break
                tokens += self._update(batches)
                shown.update(1)
                if self._due(config.log_every):
                    loss = self._log_training()
                    speed = tokens / (time.monotonic() - started)
                    rate = learning_rate(config, progress.update)
                    shown.set_postfix_str(f"{speed:,.0f} tokens/s, loss {loss:.3f}, rate {rate:.1e}", refresh=False)
                if self.held_out and self._due(config.validate_every):
                    self._validate(self.held_out)
                if self._due(config.checkpoint_every) or progress.update == until:
                    self._save()

    def _due(self, every: int) -> bool:
        return self.progress.update % every == 0 or self.progress.update == self.config.max_updates

    def _updates(self) -> Iterator[list[np.ndarray]]:
        """Yield the batches of each update, from the current place on, epoch after epoch."""
        config, progress = self.config, self.progress
        while True:
            batches = self.data.batches(config.max_tokens, (self.checkpoint.seed, progress.epoch))
            while progress.batch < len(batches):
                group = batches[progress.batch : progress.batch + config.accumulation]
                progress.batch += len(group)
                yield group
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _update(self, batches: list[np.ndarray]) -> int:
        """Take one step of the optimiser; return the number of target tokens."""
        tokens = count_tokens(batches, self.data.target.lengths)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config, self.progress.update + 1)
        self.optimizer.zero_grad()
        for batch in batches:
            loss, plain = self._loss(self.data, batch, self.config.label_smoothing)
            (loss / tokens).backward()
            self.losses.append(torch.stack((loss.detach(), plain)))
        limit = self.config.clip_norm or math.inf
        self.norms.append(nn.utils.clip_grad_norm_(self.model.parameters(), limit))
        self.optimizer.step()
        self.progress.update += 1
        self.progress.tokens += tokens
        return tokens

    def _loss(self, data: Data, batch: np.ndarray, smoothing: float) -> tuple[Tensor, Tensor]:
        source, target = data.take(batch, self.device)
        with torch.autocast(
            torch.device(self.device).type, torch.bfloat16, enabled=self.checkpoint.precision == "bfloat16"
        ):
            logits = self.model(source, target.shifted())
        return smoothed_cross_entropy(logits, target.ids, smoothing)

    def _settle(self) -> None:
        """Add up the losses since the last call; stop at the first update whose gradient is not finite.

        Whatever is saved or logged is settled first, so that nothing of such an update is kept.
        """
        first = self.progress.update - len(self.norms) + 1
        for update, norm in enumerate(torch.stack(self.norms).tolist() if self.norms else [], first):
            if not math.isfinite(norm):
                raise InputError(
                    f"{self.out}: the gradient of update {update} is not finite; the last saved state is kept: "
                    "lower training.learning_rate, raise training.warmup_updates or set training.clip_norm"
                )
        for loss, plain in torch.stack(self.losses).tolist() if self.losses else []:
            self.progress.loss += loss
            self.progress.plain += plain
        self.norms.clear()
        self.losses.clear()

    def _log_training(self) -> float:
        """Log the means since the last line; return the loss a token."""
        self._settle()
        progress = self.progress
        loss, plain = progress.loss / progress.tokens, progress.plain / progress.tokens
        rate = learning_rate(self.config, progress.update)
        self._log(
            update=progress.update, epoch=progress.epoch, learning_rate=rate, loss=loss, perplexity=perplexity(plain)
        )
        progress.loss, progress.plain, progress.tokens = 0.0, 0.0, 0
        return loss

    def _validate(self, held_out: Data) -> None:
        self._settle()
        progress = self.progress
        loss = self._validation_loss(held_out)
        self._log(update=progress.update, valid_loss=loss, valid_perplexity=perplexity(loss))
        if loss < progress.best:
            progress.best, progress.best_update = loss, progress.update
            if self.config.keep == "best":
                write_tensors(self.out / BEST, self.model.state_dict())

    @torch.no_grad()
    def _validation_loss(self, held_out: Data) -> float:
        """Return the cross entropy a token in nats, without smoothing."""
        self.model.eval()
        batches = held_out.batches(self.config.max_tokens, None)
        plain = math.fsum(float(self._loss(held_out, batch, 0.0)[1]) for batch in batches)
        self.model.train()
        return plain / count_tokens(batches, held_out.target.lengths)

    def _log(self, **entry: float) -> None:
        line = json.dumps(entry, sort_keys=True) + "\n"
        with (self.out / METRICS).open("ab") as file:
            file.write(line.encode())
        self.progress.log_bytes += len(line)

    def _save(self) -> None:
        """Write everything that the next update depends on."""
        self._settle()
        tensors: dict[str, Tensor] = {"random": torch.get_rng_state()}
        if torch.device(self.device).type == "cuda":
            tensors["random_cuda"] = torch.cuda.get_rng_state(self.device)
        for name, tensor in self.model.state_dict().items():
            tensors[f"model.{name}"] = tensor
        for name, parameter in self.model.named_parameters():
            for key, moment in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{key}.{name}"] = moment
        text = json.dumps({"key": self.key, **asdict(self.progress)})
        write_tensors(self.out / STATE, tensors, text)

    def resume(self) -> None:
        """Go back to the last saved state, or to the beginning."""
        path = self.out / STATE
        if path.is_file():
            tensors, text = read_tensors(path)
            stored = json.loads(text or "{}")
            if stored.pop("key", None) != self.key:
                raise InputError(
                    f"{path}: belongs to a run with other settings, data or seed; remove {self.out} or name another"
                )
            self.progress = Progress(**stored)
            self.model.load_state_dict(subset("model.", tensors))
            moments = subset("optimizer.", tensors)
            for name, parameter in self.model.named_parameters():
                self.optimizer.state[parameter] = {
                    key: moments[f"{key}.{name}"].to(parameter.device) for key in ("step", "exp_avg", "exp_avg_sq")
                }
            torch.set_rng_state(tensors["random"])
            if "random_cuda" in tensors:
                torch.cuda.set_rng_state(tensors["random_cuda"], self.device)
        log = self.out / METRICS
        kept = log.read_bytes()[: self.progress.log_bytes] if log.is_file() else b""
        if len(kept) < self.progress.log_bytes:
            raise InputError(f"{log}: shorter than the saved state says; remove {self.out} and train again")
        write_atomic(log, kept)
        if not self.progress.log_bytes:
            self._log(update=0, pairs=len(self.data.rows), skipped=self.data.skipped)

    def finish(self, subwords: Subwords) -> None:
        """Turn the run into a checkpoint; ``config.json`` comes last."""
        if self.config.keep == "best":
            tensors, _ = read_tensors(self.out / BEST)
            updates = self.progress.best_update
        else:
            tensors, updates = self.model.state_dict(), self.progress.update
        save_checkpoint(self.out, replace(self.checkpoint, updates=updates), tensors, subwords)
        _remove_leftovers(self.out)


def learning_rate(config: TrainingConfig, update: int) -> float:
    """Return the rate of update 1, 2, ...: it rises linearly to the highest, then falls as ``schedule`` says."""
    warmup = max(config.warmup_updates, 1)
    if update <= warmup:
        return config.learning_rate * update / warmup
    if config.schedule == "linear":
        return config.learning_rate * (config.max_updates + 1 - update) / (config.max_updates + 1 - warmup)
    return config.learning_rate * math.sqrt(warmup / update)


def perplexity(loss: float) -> float:
    """Return exp(loss), infinite where that is too large."""
    return math.exp(loss) if loss < 700 else math.inf


def resolve_precision(precision: str, device: str) -> str:
    """Return ``float32`` or ``bfloat16``; ``auto`` takes bfloat16 where the device multiplies it in hardware."""
    if precision != "auto":
        return precision
    if torch.device(device).type == "cuda":
        native = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Matrix products of a small model take a fifth of the time where the processor has AMX.
        native = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)()
    return "bfloat16" if native else "float32"


@contextlib.contextmanager
def _reproducible(threads: int, device: str, seed: int) -> Iterator[None]:
    """Fix threads, algorithms and random numbers for a run, and give the caller's back."""
    kind = torch.device(device).type
    devices = [torch.device(device)] if kind == "cuda" else []
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device}: no CUDA device is available; use --device cpu")
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    _keep_freed_memory()
    torch.set_num_threads(threads)
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        try:
            torch.use_deterministic_algorithms(kind == "cuda", warn_only=True)
            yield
        finally:
            torch.use_deterministic_algorithms(before[1])
            torch.set_num_threads(before[0])


def _keep_freed_memory() -> None:
    """Let the C library reuse large blocks; it would map each afresh, and the kernel clear it, at every step."""
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        trim_threshold, mmap_max = -1, -4  # malloc.h: M_TRIM_THRESHOLD, M_MMAP_MAX
        libc.mallopt(mmap_max, 0)
        libc.mallopt(trim_threshold, 2**31 - 1)


def _key(checkpoint: CheckpointConfig, data: Data, held_out: Data | None, device: str) -> str:
    """What must agree between two calls for the second to go on with the first."""
    parts: list[Any] = [to_dict(checkpoint), data.digest, held_out and held_out.digest, torch.device(device).type]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _check_finished(out: Path, wanted: CheckpointConfig) -> None:
    found = read_config(out)
    if replace(found, updates=0) != wanted:
        raise InputError(f"{out}: holds a model trained with other settings, data or seed; remove it or name another")
    if not (out / MODEL).is_file() or read_json(out / CONFIG) is None:
        raise InputError(f"{out / MODEL}: no such file; remove {out} and train again")


def _remove_leftovers(out: Path) -> None:
    # Half-written files of a killed process have names of their own, and may be large.
    for path in (out / STATE, out / BEST, *out.glob(".*.tmp")):
        path.unlink(missing_ok=True)
