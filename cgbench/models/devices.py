"""Devices and threads of models."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cgbench.errors import InputError, argument, require

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> str:
    """Return ``cpu`` or ``cuda``; ``auto`` uses a GPU if there is one."""
    if name == "cpu":
        return name
    has_gpu = require("torch", "models").cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise InputError(
            f"{argument('device', name)}: PyTorch finds no GPU; use {argument('device', 'cpu')}"
        )
    return "cuda" if has_gpu else "cpu"


def batch_tokens_on(device: torch.device) -> int:
    """The default number of tokens per batch in search and scoring."""
    return 1024 if device.type == "cpu" else 16384


def batches_at_a_time(device: torch.device) -> int:
    """How many batches a command searches at a time: on a CPU, one per thread of torch."""
    import torch

    return torch.get_num_threads() if device.type == "cpu" else 1


@contextlib.contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Use one thread on a CPU, because splitting sums among threads changes their rounding."""
    import torch

    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
