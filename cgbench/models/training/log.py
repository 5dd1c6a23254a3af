"""The log of a run: ``metrics.jsonl``, whose bytes depend on the run alone, and TensorBoard's files where wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, require
from cgbench.files import write_atomic
from cgbench.models.checkpoints import METRICS

TENSORBOARD = "tensorboard"


class Log:
    """Lines of figures at updates.

    :param folder: of the run.
    :param length: bytes of the log that belong to the state that the run goes on from; the rest is cut off.
    :param update: updates done by then.
    :param tensorboard: whether to write what TensorBoard reads, too, into ``tensorboard/``.
    :raises InputError: the log is shorter than that, or TensorBoard is not installed.
    """

    def __init__(self, folder: Path, length: int, update: int, tensorboard: bool = False) -> None:
        self.path = folder / METRICS
        kept = self.path.read_bytes()[:length] if self.path.is_file() else b""
        if len(kept) < length:
            raise InputError(f"{self.path}: shorter than the saved state says; remove {folder} and train again")
        write_atomic(self.path, kept)
        self._writer: Any = None
        if tensorboard:
            check_tensorboard()
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(folder / TENSORBOARD), purge_step=update + 1)

    def write(self, step: int, **entry: Any) -> int:
        """Add a line; return its length in bytes.

        :param step: updates of all stages, for TensorBoard.
        """
        line = json.dumps(entry, sort_keys=True) + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode())
        if self._writer is not None:
            prefix = f"{entry['stage']}/" if "stage" in entry else ""
            for name, value in entry.items():
                if name not in ("update", "stage"):
                    self._writer.add_scalar(prefix + name, value, step)
        return len(line)

    def close(self) -> None:
        """Finish TensorBoard's files."""
        if self._writer is not None:
            self._writer.close()


def check_tensorboard() -> None:
    """Check that TensorBoard is installed.

    :raises InputError: it is not.
    """
    require("tensorboard", "tensorboard")
