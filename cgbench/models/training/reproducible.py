"""Reproducible runs: fix threads, algorithms, random numbers and precision."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

import torch

from cgbench.errors import InputError, argument
from cgbench.models.config.presets import Preset
from cgbench.models.parts.cpu.packed import is_amd


@contextlib.contextmanager
def reproducible(threads: int, device: str, seed: int) -> Iterator[None]:
    """Fix threads, algorithms and random numbers for a run, then restore the caller's."""
    cuda = torch.device(device).type == "cuda"
    devices = [torch.device(device)] if cuda else []
    if cuda and not torch.cuda.is_available():
        raise InputError(
            f"device {device}: no CUDA device is available; use {argument('device', 'cpu')}"
        )
    if cuda:
        os.environ.setdefault(
            "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
        )  # deterministic algorithms need it
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    _keep_freed_memory()
    torch.set_num_threads(threads)
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        try:
            # Unlike use_deterministic_algorithms, this does not import torch's compiler (a second).
            torch.set_deterministic_debug_mode("warn" if cuda else "default")
            yield
        finally:
            torch.set_deterministic_debug_mode(before[1])
            torch.set_num_threads(before[0])


def resolve_precision(preset: Preset, device: str) -> Preset:
    """Replace ``training.precision=auto`` by ``bfloat16`` if ``device`` multiplies it in hardware,
    else ``float32``.

    Called once, where a run is planned: later machines may resolve ``auto`` differently.
    """
    if preset.training.precision != "auto":
        return preset
    return preset.replace(
        {"training.precision": "bfloat16" if _multiplies_bfloat16(device) else "float32"}
    )


def _multiplies_bfloat16(device: str) -> bool:
    if torch.device(device).type == "cuda":
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    # Matrix products take a fifth of the time with AMX, and a third with AMD's AVX512-BF16. Intel's
    # takes longer than float32 (docs/lab/performance.md).
    feature = "_is_avx512_bf16_supported" if is_amd() else "_is_amx_tile_supported"
    return bool(getattr(torch.cpu, feature, lambda: False)())


def _keep_freed_memory() -> None:
    """Let the C library reuse large blocks instead of mapping and clearing new ones at every
    step.
    """
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        trim_threshold, mmap_max = -1, -4  # malloc.h: M_TRIM_THRESHOLD, M_MMAP_MAX
        libc.mallopt(mmap_max, 0)
        libc.mallopt(trim_threshold, 2**31 - 1)
