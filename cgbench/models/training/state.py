"""Everything that the next update of a run depends on, in one file that appears whole or not at all."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.checkpoints import read_tensors, subset, write_tensors
from cgbench.models.training.distributed import Processes

STATE = "training_state.safetensors"


@dataclass
class Progress:
    """Where a run is: what is not in the parameters, the moments or the random number generators.

    :param stage: the objective that is being minimised, from 0; ``update``: updates of it done; ``earlier``: updates of
        the stages before.
    :param epoch and batch: the next batch to read.
    :param loss, plain, count: sums since the last line of the log, and what they are divided by.
    :param best: goodness of the best validation so far; ``best_update``: where; ``stale``: validations since.
    :param log_bytes: length of the log that belongs to this state.
    """

    stage: int = 0
    update: int = 0
    earlier: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    plain: float = 0.0
    count: int = 0
    best: float = -math.inf
    best_update: int = 0
    stale: int = 0
    log_bytes: int = 0


@dataclass(frozen=True)
class State:
    """What :func:`write_state` wrote."""

    progress: Progress
    tensors: dict[str, Tensor]

    def restore(self, objective: nn.Module, optimizer: torch.optim.Optimizer, processes: Processes) -> None:
        """Bring back parameters, moments and random numbers."""
        objective.load_state_dict(subset("objective.", self.tensors))
        moments = subset("optimizer.", self.tensors)
        for name, parameter in objective.named_parameters():
            optimizer.state[parameter] = {
                key: moments[f"{key}.{name}"].to(parameter.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{key}.{name}" in moments  # a stage may not reach every parameter
            }
        torch.set_rng_state(self.tensors[f"random.{processes.rank}"])
        if f"random_cuda.{processes.rank}" in self.tensors:
            torch.cuda.set_rng_state(self.tensors[f"random_cuda.{processes.rank}"], processes.device)


def write_state(
    folder: Path,
    key: str,
    progress: Progress,
    objective: nn.Module,
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    """Write the state of a run; every process has to call this, and the first writes.

    :param key: what the run is made of, for :func:`read_state` to compare.
    """
    random = {"random": torch.get_rng_state()}
    if torch.device(processes.device).type == "cuda":
        random["random_cuda"] = torch.cuda.get_rng_state(processes.device)
    tensors = {
        f"{name}.{rank}": tensor for name in random for rank, tensor in enumerate(processes.gather(random[name]))
    }
    if not processes.first:
        return
    for name, tensor in objective.state_dict().items():
        tensors[f"objective.{name}"] = tensor
    for name, parameter in objective.named_parameters():
        for part, moment in optimizer.state[parameter].items():
            tensors[f"optimizer.{part}.{name}"] = moment
    text = json.dumps({"key": key, "processes": processes.count, **asdict(progress)})
    write_tensors(folder / STATE, tensors, text)


def read_state(folder: Path, key: str, processes: Processes) -> State | None:
    """Read the last state of the run in ``folder``, if there is one.

    :raises InputError: the file is damaged, or belongs to another run.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    tensors, text = read_tensors(path)
    stored = json.loads(text or "{}")
    if stored.pop("key", None) != key:
        raise InputError(f"{path}: belongs to a run with other settings, data or seed; remove {folder} or name another")
    if (count := stored.pop("processes")) != processes.count:
        raise InputError(
            f"{path}: belongs to a run of {count} process{'es' if count > 1 else ''}, and this is one of "
            f"{processes.count}: start as many (torchrun --nproc-per-node {count}), or remove {folder}"
        )
    return State(Progress(**stored), tensors)
