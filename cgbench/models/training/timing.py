"""Time a training run before it starts, for estimates."""

from __future__ import annotations

import contextlib
import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgbench.models.config.methods import BowConfig, MethodConfig
from cgbench.models.config.presets import Preset
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.trainer import train_model

SOON = 3.0  # seconds: a first update that takes less is timed with more updates
LONG_ENOUGH, MOST = 1.0, 1280  # seconds to time, and the maximum number of updates for them
# A peak reached at once would end some runs with a gradient that is not finite.
STILL = {"learning_rate": 1e-6, "schedule": "constant", "warmup_updates": 0, "patience": 0}


def time_updates(
    files: tuple[Path, Path], subwords: Subwords, preset: Preset, folder: Path, device: str, **inputs: Any
) -> tuple[float, float]:
    """Seconds to start a run of ``preset`` on ``files``, and seconds per update, by a few updates without validation.

    :param folder: an empty folder; ``folder/"2"`` is a model after two updates.
    :param inputs: further arguments of :func:`~cgbench.models.training.trainer.train_model`.
    """
    if isinstance(preset.method, BowConfig):
        preset = replace(preset, method=MethodConfig())  # its first stage is one more training run

    def spent(updates: int) -> float:
        """The seconds of a run with this number of updates."""
        short = preset.replace(
            {f"training.{name}": value for name, value in (STILL | {"max_updates": updates}).items()}
        )
        began = time.monotonic()
        with contextlib.redirect_stderr(io.StringIO()):  # hides its progress bars
            train_model(files, None, subwords, short, 1, folder / str(updates), device, keep_state=False, **inputs)
        return time.monotonic() - began

    spent(1)  # warm up: allocate memory, compile loops
    one = spent(2)
    more = 20 if one < SOON else 2
    while (seconds := spent(2 + more) - one) < LONG_ENOUGH and more < MOST:
        more *= 4
    update = max(1e-5, seconds / more)
    return max(0.0, one - 2 * update), update
