"""Distributed training of one model, one process per device, started by ``torchrun``.

The number of processes does not change an update: each process takes every n-th row of each batch,
and gradients are summed over the processes and divided by the tokens of the whole update. Processes
share the batches of a validation; only the first writes.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from cgbench.errors import InputError

TIMEOUT = timedelta(hours=12)  # the others wait while one of them validates or writes


@dataclass(frozen=True)
class Processes:
    """This process (``rank``, from 0) among ``world_size``, and its ``device``."""

    rank: int
    world_size: int
    device: str

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes and shows progress."""
        return self.rank == 0

    def shard(self, rows: np.ndarray) -> tuple[np.ndarray, int]:
        """Return this process's rows of a batch, and weight 1; if it has none, one row and weight
        0.

        Every process must take part in every pass; weight 0 removes its result.
        """
        shard = rows[self.rank :: self.world_size]
        return (shard, 1) if len(shard) else (rows[:1], 0)

    def data_parallel(self, module: nn.Module) -> Any:
        """Wrap a module so that gradients are averaged over the processes."""
        if self.world_size == 1:
            return module
        # Searching for unused parameters also keeps torch from regrouping gradients into other
        # buckets after the first update, which would change the order of summation: a resumed run
        # would end with other bytes.
        return nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)

    def no_sync(self, module: Any, later: bool) -> contextlib.AbstractContextManager[Any]:
        """A context in which, if ``later``, gradients are only summed over processes in a later
        pass.
        """
        return module.no_sync() if later and self.world_size > 1 else contextlib.nullcontext()

    def all_gather(self, tensor: Tensor) -> list[Tensor]:
        """Return the tensors of all processes, which have the same shape, by rank, on the CPU."""
        if self.world_size == 1:
            return [tensor.cpu()]
        tensor = tensor.to(self.device)
        result = [torch.empty_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(result, tensor)
        return [gathered.cpu() for gathered in result]

    def any(self, flag: bool) -> bool:
        """Whether the flag of any process is set; a synchronisation point."""
        return any(map(bool, self.all_gather(torch.tensor([int(flag)]))))

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``function`` of each item, computed in one of the processes; called by all."""
        results = [function(item) for item in items[self.rank :: self.world_size]]
        if self.world_size == 1:
            return results
        gathered: list[Any] = [None] * self.world_size
        dist.all_gather_object(gathered, results)
        return [
            gathered[index % self.world_size][index // self.world_size]
            for index in range(len(items))
        ]


@contextlib.contextmanager
def init_process_group(device: str) -> Iterator[Processes]:
    """Join torchrun's process group, found by its environment variables; without torchrun, a group
    of one.

    A group cannot be joined twice, so a caller that trains several times joins around all of them.

    :param device: ``cpu`` or ``cuda``; with several GPUs each process takes the one with its local
        rank.
    """
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size == 1:
        yield Processes(0, 1, device)
        return
    cuda = torch.device(device).type == "cuda"
    if cuda:
        local, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local >= gpus:
            raise InputError(
                f"device {device}: torchrun started more processes here than there are GPUs"
                f" ({gpus})"
            )
        device = f"cuda:{local}"
        torch.cuda.set_device(device)
    if dist.is_initialized():
        yield Processes(dist.get_rank(), world_size, device)
        return
    dist.init_process_group("nccl" if cuda else "gloo", timeout=TIMEOUT)
    try:
        yield Processes(dist.get_rank(), world_size, device)
    finally:
        dist.destroy_process_group()
