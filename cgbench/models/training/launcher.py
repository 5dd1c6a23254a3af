"""Train one model in several processes of this machine, by PyTorch's ``elastic_launch``, which
torchrun also uses.

The processes join as torchrun's do (:mod:`cgbench.models.training.distributed`), so the result
equals that of ``torchrun --nproc-per-node N -m cgbench train``. None of them outlives this process.
"""

import json
import logging
import os
import re
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from cgbench.engines import LostError, end_with_parent
from cgbench.errors import InputError, InputWarning
from cgbench.files import write_atomic
from cgbench.models.training.interruption import held_signals

HOST = "127.0.0.1"
PATIENCE = "600"  # seconds for the processes to save their state after a signal
DELAY = 2.0  # seconds before a failed process ends, so that one that was killed ends first


def train_together(
    function: Callable[[], Any], *, count: int, device: str, title: str, failed: Path
) -> None:
    """Call ``function`` in ``count`` processes that train one model.

    SIGINT and SIGTERM are passed on as SIGTERM, and take effect here when all processes have saved
    their state.

    :param function: picklable.
    :param device: ``cpu``, or ``cuda`` for one visible GPU per process.
    :param title: the model's name in messages.
    :param failed: the file for the traceback of an unexpected error.
    :raises InputError: a process raised it, or failed unexpectedly; then the message names the
        file.
    :raises LostError: a process was killed.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in (
        "torch.distributed.elastic",
        "torch.multiprocessing",
    ):  # they log the error in thirty lines
        logging.getLogger(name).propagate = False
        logging.getLogger(name).addHandler(logging.NullHandler())
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", PATIENCE)
    # PyTorch's warning about unused parameters is expected (docs/reference/train.md).
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

    with held_signals() as signals, tempfile.TemporaryDirectory() as logs:

        def stop(caught: int, frame: FrameType | None) -> None:
            """End the launcher, which passes SIGTERM on; a second signal does nothing."""
            if not signals:
                signals.append(caught)
                raise SignalException("", signal.SIGTERM)

        if threading.current_thread() is threading.main_thread():
            for caught in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(caught) is not signal.SIG_IGN:
                    signal.signal(caught, stop)
        config = LaunchConfig(
            1,
            1,
            count,
            run_id=title,
            rdzv_backend="c10d",
            rdzv_endpoint=f"{HOST}:0",
            local_addr=HOST,
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=logs),
            signals_to_handle="SIGUSR2",
        )
        try:
            elastic_launch(config, _run)(device, function)
        except SignalException:
            pass  # raised again on leaving held_signals
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            reports = [
                json.loads(path.read_text())["message"] for path in Path(logs).rglob("error.json")
            ]
            raise _problem(
                rank, failure, reports, f"{title}: process {rank + 1} of {count}", failed
            ) from None


def _problem(
    rank: int, failure: Any, reports: Sequence[dict[str, Any]], process: str, file: Path
) -> Exception:
    """The error to raise if a process has failed; an unexpected error's tracebacks go to ``file``.

    :param reports: the errors of all processes. Of an InputError or OSError, the others are
        consequences.
    """
    messages = [report["message"] for report in reports]
    for message in messages:
        if message.startswith("InputError: "):
            return InputError(message.removeprefix("InputError: "))
        if system := re.fullmatch(r"\w+: \[Errno (\d+)\] (.*?)(?:: '(.*)')?", message):
            return OSError(int(system[1]), *system.groups()[1:])
    if failure.exitcode < 0:
        return LostError(
            f"{process} was killed ({failure.signal_name()}), perhaps for lack of memory; run the"
            " same command again to resume"
        )
    if not messages:
        return InputError(f"{process} could not start; see its message above")
    write_atomic(file, "\n".join(report["extraInfo"]["py_callstack"] for report in reports))
    line = failure.message["message"].splitlines()[0][:200].rstrip(": ")
    return InputError(f"{process} failed ({line}); the traceback is in {file}")


def _run(device: str, function: Callable[[], Any]) -> None:
    """Run in a process: join the others, call the function, report an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to every process
    # at once: the saved state suffices, and the same command may already run again
    end_with_parent()
    warnings.simplefilter(
        "ignore", InputWarning
    )  # the command has already warned about the same files
    from torch.distributed.elastic.multiprocessing.errors import get_error_handler

    try:
        from cgbench.models.training.distributed import init_process_group

        joined = init_process_group(device)
        joined.__enter__()
        function()
        joined.__exit__(None, None, None)  # not after an error, when it might wait for the others
    except Exception as error:
        get_error_handler().record_exception(error)
        if not isinstance(error, (InputError, OSError)):
            time.sleep(DELAY)
        os._exit(1)  # other threads may wait for processes that are gone
