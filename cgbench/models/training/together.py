"""One model trained by several processes that this one starts, as ``torchrun`` would on one machine.

They find each other as torchrun's do (:mod:`cgbench.models.training.distributed`), so the model has the bytes that
``torchrun --nproc-per-node N -m cgbench train`` gives. None of them outlives this process; what one of them fails of is
raised here, once.
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
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from cgbench.engines import LostError
from cgbench.errors import InputError, InputWarning
from cgbench.files import write_atomic
from cgbench.models.training.interruption import held_signals
from cgbench.progress import say_bars

HOST = "127.0.0.1"
GLANCE = 0.5  # seconds between two looks at whether a signal has come
SETTLE = 2.0  # seconds in which the others may say, too, why they have ended
LONGEST = 1 << 14  # characters of what one has to say: a pipe holds them with nobody reading


@dataclass
class _Rank:
    """A process: its number, and what it said at its end (kind, then what belongs to it)."""

    number: int
    process: Any
    pipe: Connection
    said: tuple[Any, ...] = ()

    def listen(self) -> None:
        """Hear what it has to say, now that it is over; one that was killed says nothing."""
        with contextlib.suppress(EOFError, OSError):
            if self.pipe.poll():
                self.said = self.pipe.recv()


def train_together(
    function: Callable[..., Any], arguments: Sequence[Any], *, count: int, device: str, title: str, failed: Path
) -> Any:
    """Call ``function(*arguments)`` in ``count`` processes that train one model; return what the first of them returns.

    SIGINT and SIGTERM are handed on as SIGTERM, and take effect here when all have saved their state and ended.

    :param function: of a module; it and ``arguments`` are picklable.
    :param device: ``cpu``, or ``cuda``: a GPU each, of those that this process sees.
    :param title: what people know the model as, for messages.
    :param failed: the file for all that was said of an error that is none of the input's.
    :raises InputError: that one of them raised; or one has failed, and the line names the file.
    :raises LostError: one was killed.
    """
    from torch.distributed import TCPStore

    # Of the system's choice, and kept open: two members that start at once cannot take the same.
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    ranks: list[_Rank] = []
    with held_signals() as signals:
        try:
            with _interrupts_blocked():
                for number in range(count):
                    ranks.append(_start(number, count, store.port, device, function, arguments))
            over = _wait(ranks, signals)
        finally:
            for rank in ranks:
                rank.process.kill()
                rank.process.join()
                rank.pipe.close()
        if over and not signals:
            raise _problem(over, count, title, failed)
    return ranks[0].said[1] if ranks[0].said else None


def _start(
    number: int, count: int, port: int, device: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> _Rank:
    # spawn: a forked child of a process with threads may hang, and CUDA cannot be forked at all
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    places = {"MASTER_ADDR": HOST, "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    places |= {"RANK": str(number), "LOCAL_RANK": str(number), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    process = context.Process(target=_run, args=(places, device, theirs, function, tuple(arguments)))
    process.start()
    theirs.close()
    return _Rank(number, process, ours)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal: those that are started within leave it to the one that starts them,
    from their first moment on."""
    resource_tracker.ensure_running()  # begins with the first process otherwise, and lets the signal in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(ranks: Sequence[_Rank], signals: Sequence[int]) -> list[_Rank]:
    """Wait until all have ended, or some have failed: these. A signal is handed on, once."""
    running: list[_Rank] = list(ranks)
    failed: list[_Rank] = []
    told, deadline = False, 0.0
    while running and not (failed and time.monotonic() > deadline):
        if signals and not told:
            for rank in running:
                rank.process.terminate()
            told = True
        wait_for([rank.process.sentinel for rank in running], GLANCE)
        for rank in [rank for rank in running if not rank.process.is_alive()]:
            running.remove(rank)
            rank.listen()
            if rank.process.exitcode:
                deadline = deadline or time.monotonic() + SETTLE
                failed.append(rank)
    return failed


def _problem(failed: Sequence[_Rank], count: int, title: str, file: Path) -> Exception:
    """What to say where some of ``count`` have failed: an error of the input's, else that one was killed, else all
    that was said, in a file; the others often fail because one has."""
    said = {rank.said[0]: rank.said[1:] for rank in reversed(failed) if rank.said}
    if "input" in said:
        return InputError(*said["input"])
    if "system" in said:
        return OSError(*said["system"])
    for rank in failed:
        if (code := rank.process.exitcode) < 0:
            return LostError(
                f"{title}: process {rank.number + 1} of {count} was killed ({signal.Signals(-code).name}), perhaps for "
                "lack of memory; give the same command again to go on"
            )
    told = sorted((rank for rank in failed if rank.said), key=lambda rank: rank.said[1])  # by when they failed
    if not told:
        return InputError(f"{title}: process {failed[0].number + 1} of {count} could not start; it has said why")
    write_atomic(file, "".join(f"process {rank.number + 1} of {count}\n{rank.said[3]}\n" for rank in told))
    return InputError(
        f"{title}: process {told[0].number + 1} of {count} failed ({told[0].said[2]}); all that it said is in {file}"
    )


def _run(
    places: dict[str, str], device: str, pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """What a process does: join the others, work, say what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ |= places
    # What PyTorch says of unused parameters is known and meant (docs/train.md).
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    warnings.simplefilter("ignore", InputWarning)  # the command has read the same files, and said so
    _end_with_parent()
    _own_lock_of_bars()
    if places["RANK"] == "0":
        say_bars()
    try:
        from cgbench.models.training.distributed import init_process_group

        joined = init_process_group(device)
        joined.__enter__()
        result = function(*arguments)
        joined.__exit__(None, None, None)  # not after an error: it might wait for the others
        said: tuple[Any, ...] = ("done", result)
    except InputError as error:
        said = ("input", error.message)
    except OSError as error:
        said = ("system", error.errno, error.strerror, error.filename)
    except Exception as error:
        when, lines = time.monotonic(), str(error).strip().splitlines() or [""]
        line = f"{type(error).__name__}: {lines[0][:200]}".rstrip(": ")
        said = ("failed", when, line, traceback.format_exc()[-LONGEST:])
    pipe.send(said)
    if said[0] != "done":
        sys.stderr.flush()
        os._exit(1)  # other threads may wait for processes that are gone


def _own_lock_of_bars() -> None:
    """Theirs is one of several processes, which share none here; a process that is killed would leave a semaphore."""
    from tqdm.auto import tqdm

    tqdm.set_lock(threading.RLock())


def _end_with_parent() -> None:
    """End when the process that started this one is killed, which could otherwise begin again beside it: at once, since
    what is saved is enough to go on."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
