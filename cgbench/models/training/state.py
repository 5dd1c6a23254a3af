"""Everything that the next update of a run depends on, in one file that appears whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.errors import InputError, argument
from cgbench.files import check_shape
from cgbench.models.checkpoints import CONFIG, STATE, read_tensors, subset, write_tensors
from cgbench.models.config.common import LENGTH
from cgbench.models.training.distributed import Processes


@dataclass
class Progress:
    """Where a run is: what is not in the parameters, the moments or the random number generators.

    :param stage: the objective that is being minimised, from 0; ``update``: updates of it done; ``earlier``: updates of
        the stages before.
    :param epoch and batch: the next batch to read.
    :param loss, plain, count: sums since the last line of the log, of the loss and of the nll loss, and what they are
        divided by.
    :param best: goodness of the best validation so far; ``best_loss``: its loss, by which one that is as good is
        better; ``best_update``: where; ``stale``: validations since ``best`` rose.
    :param log_bytes: length of the log that belongs to this state.
    :param reported: whether the log, the validation and the checkpoint that are due at ``update`` have been seen to;
        not in the last state of a run, since a longer one may have none there.
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
    best_loss: float = -math.inf
    best_update: int = 0
    stale: int = 0
    log_bytes: int = 0
    reported: bool = True


@dataclass(frozen=True)
class TrainingState:
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
    made_of: Sequence[Any],
    progress: Progress,
    objective: nn.Module,
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    """Write the state of a run; every process has to call this, and the first writes.

    :param made_of: settings, digests of the texts, device: JSON values, for :func:`read_state` to compare.
    """
    random = {"random": torch.get_rng_state()}
    if torch.device(processes.device).type == "cuda":
        random["random_cuda"] = torch.cuda.get_rng_state(processes.device)
    tensors = {
        f"{name}.{rank}": tensor for name in random for rank, tensor in enumerate(processes.all_gather(random[name]))
    }
    if not processes.is_main:
        return
    for name, tensor in objective.state_dict().items():
        tensors[f"objective.{name}"] = tensor
    for name, parameter in objective.named_parameters():
        for part, moment in optimizer.state[parameter].items():
            tensors[f"optimizer.{part}.{name}"] = moment
    text = json.dumps({"made_of": made_of, "processes": processes.world_size, **asdict(progress)})
    write_tensors(folder / STATE, tensors, text)


def read_state(folder: Path, made_of: Sequence[Any], processes: Processes) -> TrainingState | None:
    """Read the last state of the run in ``folder``, if there is one: of this run, or of one that is this but shorter.

    :raises InputError: the file is damaged, or belongs to another run.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        tensors, text = read_tensors(path)
    except InputError as error:
        again = (
            f"name another folder with {argument('out')}"
            if (folder / CONFIG).is_file()
            else "remove it, and training begins again"
        )
        raise InputError(f"{error.message}; {again}") from None
    try:
        stored = json.loads(text or "{}")  # with the -Infinity of what is not known yet
    except (ValueError, RecursionError):
        stored = None
    check_shape(stored, _SHAPE, path, f"no state of training; remove {folder}")
    theirs, ours = stored.pop("made_of"), json.loads(json.dumps(made_of))
    if theirs != ours and not may_become(theirs, ours, path):
        raise InputError(f"{path}: belongs to a run {differences(theirs, ours)}; remove {folder} or name another")
    if (count := stored.pop("processes")) != processes.world_size:
        raise InputError(
            f"{path}: belongs to a run of {count} process{'es' if count > 1 else ''}, and this is one of "
            f"{processes.world_size}: start as many (torchrun --nproc-per-node {count}), or remove {folder}"
        )
    try:
        return TrainingState(Progress(**stored), tensors)
    except TypeError:
        raise InputError(f"{path}: no state of training; remove {folder}") from None


def may_become(theirs: Sequence[Any], ours: Sequence[Any], where: Path) -> bool:
    """Whether a run differs from ours in nothing but that it has fewer updates; then ours may go on from it.

    :param theirs: what it was made of, as :func:`write_state` has it; trailing parts may be left out of both.
    :param where: what holds it, for the message.
    :raises InputError: that is all they differ in, and yet ours may not: it would be shorter, or have had other rates.
    """
    there, here = _flat(theirs[0]), _flat(ours[0])
    old, new = there.pop(LENGTH, None), here.pop(LENGTH, None)
    if old == new or type(old) is not int or [there, *theirs[1:]] != [here, *ours[1:]]:
        return False
    known = f"{where}: belongs to a run of {old:,} updates, and {LENGTH} is {new:,} here"
    other = f"train from the start into another folder ({argument('out')})"
    if new < old:
        raise InputError(f"{known}: a run can be made longer, not shorter; {other}")
    if here.get("training.schedule") == "linear":
        raise InputError(
            f"{known}: with training.schedule=linear every rate depends on that number, so that going on would give "
            f"another model than {new:,} updates from the start; {other}"
        )
    return True


def differences(theirs: Sequence[Any], ours: Sequence[Any]) -> str:
    """``with other settings, data or seed``, and which: the values there and here.

    :param theirs: what a run was made of, as :func:`write_state` has it: settings, then digests of the training and of
        the validation text, and the device; trailing parts may be left out.
    """
    there, here = _flat(theirs[0]), _flat(ours[0])
    found = [
        f"{name} is {_shown(there.get(name))} there and {_shown(here.get(name))} here"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    for name, old, new in zip(("training text", "validation text"), theirs[1:3], ours[1:3], strict=False):
        if old != new:
            found.append(f"another {name}" if old and new else f"{'a' if old else 'no'} {name} there")
    if theirs[3:] != ours[3:]:
        found.append(f"device is {theirs[3]} there and {ours[3]} here")
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    return "with other settings, data or seed" + (f" ({'; '.join(found[:MOST])}{more})" if found else "")


MOST = 6  # differences that are named
_SHAPE = {
    "processes": int,
    "made_of": lambda made: isinstance(made, list) and bool(made) and isinstance(made[0], dict),
}


def _flat(values: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{section}{name}.") if isinstance(value, Mapping) else {f"{section}{name}": value}
    return flat


def _shown(value: Any) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= 24 else f"{text[:12]}…"  # digests
