"""Several processes that train one model together, each on a device of its own, started by ``torchrun``.

What an update is does not depend on their number: a process takes every n-th row of each batch, gradients are summed
over the processes and divided by the tokens of the whole update. The first process alone validates and writes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from cgbench.errors import InputError

PATIENCE = timedelta(hours=12)  # the others wait while the first validates


@dataclass(frozen=True)
class Processes:
    """This process (``rank``, from 0) among ``world_size``, and its ``device``."""

    rank: int
    world_size: int
    device: str

    @property
    def is_main(self) -> bool:
        """Whether this is the process that validates, writes and shows progress."""
        return self.rank == 0

    def shard(self, rows: np.ndarray) -> tuple[np.ndarray, int]:
        """Return this process' rows of a batch, and 1; or, where none is left for it, one row and 0.

        All processes have to take part in every pass; times 0, what one computes does not count.
        """
        shard = rows[self.rank :: self.world_size]
        return (shard, 1) if len(shard) else (rows[:1], 0)

    def data_parallel(self, module: nn.Module) -> Any:
        """Return a module whose gradients are means over the processes."""
        if self.world_size == 1:
            return module
        # Looking for unused parameters also keeps torch from cutting gradients into other buckets after the first
        # update, and with it the order of their sums: a run that goes on would end in other bytes.
        return nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)

    def no_sync(self, module: Any, wanted: bool) -> contextlib.AbstractContextManager[Any]:
        """Within, if ``wanted``, gradients stay in their process, to be summed with a later pass."""
        return module.no_sync() if wanted and self.world_size > 1 else contextlib.nullcontext()

    def all_gather(self, tensor: Tensor) -> list[Tensor]:
        """Return the tensors, of one shape, that all processes call this with, by rank, on the CPU."""
        if self.world_size == 1:
            return [tensor.cpu()]
        tensor = tensor.to(self.device)
        result = [torch.empty_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(result, tensor)
        return [part.cpu() for part in result]

    def any(self, flag: bool) -> bool:
        """Whether the flag of any process is set; all wait for each other here."""
        return flag if self.world_size == 1 else any(bool(part) for part in self.all_gather(torch.tensor([int(flag)])))

    def broadcast(self, value: float) -> float:
        """Return the first process' value."""
        return float(self.all_gather(torch.tensor([value], dtype=torch.float64))[0])


@contextlib.contextmanager
def init_process_group(device: str) -> Iterator[Processes]:
    """Join the processes that torchrun has started, as its environment variables say; else be the only one.

    Whoever trains more than once in such processes joins around all of it: they cannot join again and again.

    :param device: ``cpu`` or ``cuda``; of several GPUs each process takes the one of its number.
    :raises InputError: there are fewer GPUs than processes.
    """
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size == 1:
        yield Processes(0, 1, device)
        return
    cuda = torch.device(device).type == "cuda"
    if cuda:
        local, there = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local >= there:
            raise InputError(f"device {device}: torchrun started more processes here than there are GPUs ({there})")
        device = f"cuda:{local}"
        torch.cuda.set_device(device)
    if dist.is_initialized():
        yield Processes(dist.get_rank(), world_size, device)
        return
    dist.init_process_group("nccl" if cuda else "gloo", timeout=PATIENCE)
    try:
        yield Processes(dist.get_rank(), world_size, device)
    finally:
        dist.destroy_process_group()
