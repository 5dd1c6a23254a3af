"""Where models run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cgbench.errors import InputError, argument, require

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> str:
    """``cpu`` or ``cuda``; ``auto`` takes a GPU where there is one.

    :raises InputError: a GPU is asked for and there is none.
    """
    if name == "cpu":
        return name
    found = require("torch", "models").cuda.is_available()
    if name == "cuda" and not found:
        raise InputError(f"{argument('device', name)}: PyTorch sees no GPU here; use {argument('device', 'cpu')}")
    return "cuda" if found else "cpu"


@contextlib.contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """One thread on a CPU: how sums are split among threads decides their last bits."""
    import torch

    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
