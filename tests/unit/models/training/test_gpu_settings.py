"""What a GPU needs, without one: the workspace of deterministic algorithms, and copies from pinned
memory.
"""

import contextlib
import os

import numpy as np
import torch

from cgbench.models.parts import ragged
from cgbench.models.training.reproducible import reproducible


def test_deterministic_algorithms_have_their_workspace(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: contextlib.nullcontext())
    for before, within in ((None, ":4096:8"), (":16:8", ":16:8")):
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "") if before is None else None
        (
            monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
            if before is None
            else monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", before)
        )
        with reproducible(torch.get_num_threads(), "cuda", 1):
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == within


def test_copies_to_a_gpu_come_from_pinned_memory(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: calls.append("pinned") or self)
    monkeypatch.setattr(
        torch.Tensor, "to", lambda self, device, **options: calls.append(options) or self
    )
    ragged.to_device(np.arange(3), "cuda")
    assert calls == ["pinned", {"non_blocking": True}]
    calls.clear()
    ragged.to_device(np.arange(3), "cpu")
    assert calls == [{}]
