"""Start processes on this machine that train one model together, like ``torchrun``.

They join as torchrun's do (:mod:`cgbench.models.training.distributed`), so the result equals that of ``torchrun
--nproc-per-node N -m cgbench train``. None of them outlives this process. PyTorch's own launchers report the process
that ended first, often not the one that was killed, and pass Ctrl-C to all processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from cgbench.engines import LostError, end_with_parent
from cgbench.errors import InputError, InputWarning
from cgbench.files import write_atomic
from cgbench.models.training.interruption import held_signals
from cgbench.progress import say_bars

HOST = "127.0.0.1"
POLL = 0.5  # seconds between two checks for signals
SETTLE = 2.0  # seconds for the others to report their errors after the first has failed
LONGEST = 1 << 14  # characters of a report, which must fit the buffer of a pipe


def train_together(
    function: Callable[..., Any], arguments: Sequence[Any], *, count: int, device: str, title: str, failed: Path
) -> None:
    """Call ``function(*arguments)`` in ``count`` processes that train one model.

    SIGINT and SIGTERM are passed on as SIGTERM, and take effect here when all processes have saved their state.

    :param function: of a module; it and ``arguments`` are picklable.
    :param device: ``cpu``, or ``cuda`` for one visible GPU per process.
    :param title: the model's name in messages.
    :param failed: the file for the traceback of an unexpected error.
    :raises InputError: a process raised it, or failed unexpectedly; then the message names the file.
    :raises LostError: a process was killed.
    """
    from torch.distributed import TCPStore

    # The system chooses a port and keeps it open, so members that start simultaneously cannot share one.
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")  # forking a process with threads may hang
    ranks: list[Any] = []
    pipes: list[Connection] = []
    with held_signals() as signals:
        try:
            with _interrupts_blocked():
                for number in range(count):
                    ours, theirs = context.Pipe(duplex=False)
                    variables = {"MASTER_ADDR": HOST, "MASTER_PORT": str(store.port), "WORLD_SIZE": str(count)}
                    variables |= {"RANK": str(number), "LOCAL_RANK": str(number)}
                    variables["TORCHELASTIC_USE_AGENT_STORE"] = "True"
                    ranks.append(context.Process(target=_run, args=(variables, device, theirs, function, arguments)))
                    pipes.append(ours)
                    ranks[-1].start()
                    theirs.close()
            codes = _wait(ranks, signals)
            reports = {number: report for number in codes if (report := _report(pipes[number]))}
        finally:
            for process in ranks:
                process.kill()
                process.join()
        if codes and not signals:
            raise _problem(codes, reports, count, title, failed)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that never receive Ctrl-C, which goes to every process of a terminal."""
    resource_tracker.ensure_running()  # otherwise it starts with the first process and unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(ranks: Sequence[Any], signals: Sequence[int]) -> dict[int, int]:
    """Wait until all processes have ended or some have failed; return exit codes of the latter. Pass on one signal."""
    failed: dict[int, int] = {}
    running, terminated, deadline = dict(enumerate(ranks)), False, 0.0
    while running and not (failed and time.monotonic() > deadline):
        if signals and not terminated:
            for process in running.values():
                process.terminate()
            terminated = True
        wait_for([process.sentinel for process in running.values()], POLL)
        for number, process in list(running.items()):
            if process.exitcode is not None:
                del running[number]
                if process.exitcode:
                    deadline = deadline or time.monotonic() + SETTLE
                    failed[number] = process.exitcode
    return failed


def _report(pipe: Connection) -> tuple[Any, ...]:
    """The report of a process that has ended; empty if it was killed."""
    with contextlib.suppress(EOFError, OSError):
        if pipe.poll():
            return tuple(pipe.recv())
    return ()


def _problem(
    codes: dict[int, int], reports: dict[int, tuple[Any, ...]], count: int, title: str, file: Path
) -> Exception:
    """The error to raise if some of ``count`` processes have failed.

    An InputError has priority, then a killed process, because the others often fail as a consequence. Otherwise all
    tracebacks go to ``file``.
    """
    for error in (InputError, OSError):
        if found := next((report for report in reports.values() if report[0] == error.__name__), None):
            return error(*found[1:])
    for number, code in codes.items():
        if code < 0:
            return LostError(
                f"{title}: process {number + 1} of {count} was killed ({signal.Signals(-code).name}), perhaps for "
                "lack of memory; run the same command again to resume"
            )
    if not reports:
        return InputError(f"{title}: process {next(iter(codes)) + 1} of {count} could not start; see its message above")
    order = sorted(reports, key=lambda number: reports[number][1])  # by when they failed
    write_atomic(file, "".join(f"process {number + 1} of {count}\n{reports[number][3]}\n" for number in order))
    return InputError(
        f"{title}: process {order[0] + 1} of {count} failed ({reports[order[0]][2]}); the traceback is in {file}"
    )


def _run(
    variables: dict[str, str], device: str, pipe: Connection, function: Callable[..., Any], arguments: Sequence[Any]
) -> None:
    """Run in a process: join the others, call the function, report an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ |= variables
    # PyTorch's warning about unused parameters is expected (docs/reference/train.md).
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    warnings.simplefilter("ignore", InputWarning)  # the command has already warned about the same files
    end_with_parent()  # at once: the saved state suffices, and the same command may already run again
    from tqdm.auto import tqdm

    tqdm.set_lock(threading.RLock())  # tqdm's own lock leaves a semaphore behind when killed
    if variables["RANK"] == "0":
        say_bars()
    try:
        from cgbench.models.training.distributed import init_process_group

        joined = init_process_group(device)
        joined.__enter__()
        function(*arguments)
        joined.__exit__(None, None, None)  # not after an error, when it might wait for the others
        return
    except InputError as error:
        report: tuple[Any, ...] = ("InputError", error.message)
    except OSError as error:
        report = ("OSError", error.errno, error.strerror, error.filename)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        line = f"{type(error).__name__}: {lines[0][:200]}".rstrip(": ")
        report = ("failed", time.monotonic(), line, traceback.format_exc()[-LONGEST:])
    pipe.send(report)
    sys.stderr.flush()
    os._exit(1)  # other threads may wait for processes that are gone
