"""The complete state of a run, in one file that is written atomically."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.errors import InputError, argument
from cgbench.files import check_shape
from cgbench.models.checkpoints import CONFIG, STATE, read_tensors, write_tensors
from cgbench.models.config.common import LENGTH
from cgbench.models.training.distributed import Processes


@dataclass
class Progress:
    """The state of a run apart from parameters, moments and random number generators.

    :param stage: the current objective, from 0; ``update``: its finished updates; ``earlier``:
        updates of the previous stages.
    :param epoch and batch: the next batch to read.
    :param norm: norm of the last update's gradient, before clipping.
    :param loss, plain, count: sums since the last log line, of the loss and of the nll loss, and
        their divisor.
    :param best: score of the best validation so far; ``best_loss``: its loss, which breaks ties;
        ``best_update``: its update; ``stale``: validations since ``best`` rose.
    :param log_bytes: length of the log at this state.
    :param reported: whether the log line, validation and checkpoint due at ``update`` are finished;
        false in the final state of a run, because a longer run may have none there.
    """

    stage: int = 0
    update: int = 0
    earlier: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    plain: float = 0.0
    count: int = 0
    norm: float = 0.0
    best: float = -math.inf
    best_loss: float = -math.inf
    best_update: int = 0
    stale: int = 0
    log_bytes: int = 0
    reported: bool = True


def restore_tensors(
    tensors: Mapping[str, Tensor],
    objective: nn.Module,
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    """Restore parameters, moments and random state from :func:`read_state`."""
    prefix = "objective."
    objective.load_state_dict(
        {
            name.removeprefix(prefix): tensor
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }
    )
    moments: defaultdict[str, dict[str, Tensor]] = defaultdict(dict)
    for tensor_name in tensors:
        if tensor_name.startswith("optimizer."):
            _, key, name = tensor_name.split(".", 2)
            moments[name][key] = tensors[tensor_name]
    for name, parameter in objective.named_parameters():  # a stage may not use every one
        optimizer.state[parameter] = {
            key: tensor.to(parameter.device) for key, tensor in moments[name].items()
        }
    torch.set_rng_state(tensors[f"random.{processes.rank}"])
    if f"random_cuda.{processes.rank}" in tensors:
        torch.cuda.set_rng_state(tensors[f"random_cuda.{processes.rank}"], processes.device)


def write_state(
    folder: Path,
    made_of: Sequence[Any],
    progress: Progress,
    objective: nn.Module,
    optimizer: torch.optim.Optimizer,
    processes: Processes,
) -> None:
    """Write the state of a run; every process must call this, and the first writes.

    :param made_of: settings, digests of the texts, device: JSON values that :func:`read_state`
        compares.
    """
    random = {"random": torch.get_rng_state()}
    if torch.device(processes.device).type == "cuda":
        random["random_cuda"] = torch.cuda.get_rng_state(processes.device)
    tensors = {
        f"{name}.{rank}": tensor
        for name in random
        for rank, tensor in enumerate(processes.all_gather(random[name]))
    }
    if not processes.is_main:
        return
    for name, tensor in objective.state_dict().items():
        tensors[f"objective.{name}"] = tensor
    for name, parameter in objective.named_parameters():
        for key, moment in optimizer.state[parameter].items():
            tensors[f"optimizer.{key}.{name}"] = moment
    text = json.dumps({"made_of": made_of, "processes": processes.world_size, **asdict(progress)})
    write_tensors(folder / STATE, tensors, text)


def read_state(
    folder: Path, made_of: Sequence[Any], processes: Processes
) -> tuple[Progress, dict[str, Tensor]]:
    """Read the state in ``folder``, of this run, or of a shorter one with the same settings; or a
    new one, empty.
    """
    path = folder / STATE
    if not path.is_file():
        return Progress(), {}
    stored, tensors = _read_stored(path)
    _check_same_run(stored.pop("made_of"), json.loads(json.dumps(made_of)), path)
    if (count := stored.pop("processes")) != processes.world_size:
        raise InputError(
            f"{path}: belongs to a run with {count} process{'es' if count > 1 else ''}, but this"
            f" one has {processes.world_size}; start the same number (torchrun --nproc-per-node"
            f" {count}), or remove {folder}"
        )
    try:
        return Progress(**stored), tensors
    except TypeError:
        raise InputError(f"{path}: not a training state; remove {folder}") from None


def check_state(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuse a state in ``folder`` that belongs to a run with other settings.

    :param settings: those that are known before the text is read, as in ``made_of``.
    """
    path = folder / STATE
    if path.is_file():
        saved = _read_stored(path)[0]["made_of"]
        current = json.loads(json.dumps({**saved[0], **settings}))
        _check_same_run(saved, [current, *saved[1:]], path)


def _read_stored(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The text and the tensors of a state."""
    try:
        tensors, text = read_tensors(path)
    except InputError as error:
        finished = (path.parent / CONFIG).is_file()
        remedy = (
            f"choose another folder with {argument('out')}"
            if finished
            else "remove it to train from scratch"
        )
        raise InputError(f"{error.message}; {remedy}") from None
    try:
        stored = json.loads(text or "{}")  # may contain -Infinity
    except (ValueError, RecursionError):
        stored = None
    check_shape(stored, _SHAPE, path, f"not a training state; remove {path.parent}")
    return stored, tensors


def _check_same_run(saved: Sequence[Any], current: Sequence[Any], path: Path) -> None:
    if saved != current and not may_become(saved, current, path):
        raise InputError(
            f"{path}: belongs to a run {run_differences(saved, current)}; remove {path.parent} or"
            " choose another"
        )


def may_become(saved: Sequence[Any], current: Sequence[Any], where: Path) -> bool:
    """Whether a saved run differs from the current one only by having fewer updates, so that it can
    be extended.

    :param saved: ``made_of`` of :func:`write_state`; trailing parts may be left out of both.
    :param where: file or folder of the run, for the message.
    :raises InputError: the current number of updates is smaller, or changes the learning rates; all
        else agrees.
    """
    there, here = _flat(saved[0]), _flat(current[0])
    old, new = there.pop(LENGTH, None), here.pop(LENGTH, None)
    if old == new or type(old) is not int or [there, *saved[1:]] != [here, *current[1:]]:
        return False
    known = f"{where}: belongs to a run with {old:,} updates, but {LENGTH} is {new:,}"
    remedy = f"train from scratch in another folder ({argument('out')})"
    if new < old:
        raise InputError(f"{known}; a run can be extended but not shortened; {remedy}")
    if here.get("training.schedule") == "linear":
        raise InputError(
            f"{known}; with training.schedule=linear every rate depends on that number, so the run"
            f" cannot be extended; {remedy}"
        )
    return True


def run_differences(saved: Sequence[Any], current: Sequence[Any]) -> str:
    """``with other settings, data or seed``, and a list of the differences.

    :param saved: ``made_of`` of :func:`write_state`: settings, digests of training and validation
        data, device; trailing parts may be left out.
    """
    there, here = _flat(saved[0]), _flat(current[0])
    changed = [
        f"{name} is {_shown(there.get(name))} there and {_shown(here.get(name))} here"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    if len(changed) == 1 and changed[0].startswith(PRECISION):
        # ``auto`` depends on the processor.
        changed[0] += f"; resume with --set {PRECISION}={there[PRECISION]}"
    for name, old, new in zip(
        ("training text", "validation text"), saved[1:3], current[1:3], strict=False
    ):
        if old != new:
            changed.append(
                f"different {name}" if old and new else f"{'a' if old else 'no'} {name} there"
            )
    if saved[3:] != current[3:]:
        changed.append(f"device is {saved[3]} there and {current[3]} here")
    further = f"; and {len(changed) - MOST} more" if len(changed) > MOST else ""
    return "with other settings, data or seed" + (
        f" ({'; '.join(changed[:MOST])}{further})" if changed else ""
    )


PRECISION = "training.precision"
MOST = 6  # maximum number of differences to list
_SHAPE = {
    "processes": int,
    "made_of": lambda value: isinstance(value, list) and bool(value) and isinstance(value[0], dict),
}


def _flat(values: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= (
            _flat(value, f"{section}{name}.")
            if isinstance(value, Mapping)
            else {f"{section}{name}": value}
        )
    return flat


def _shown(value: Any) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= 24 else f"{text[:12]}…"  # digests
