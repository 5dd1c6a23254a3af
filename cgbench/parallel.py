"""Run independent tasks in worker processes that never outlive the command."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from cgbench.errors import InputError

GRACE = 60.0  # seconds

T = TypeVar("T")
R = TypeVar("R")


def run_tasks(function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """Call ``function(*task)`` for every task, at most ``jobs`` at once, and yield results as they come.

    With one job, or one task, everything runs in this process. The order of the results is not the order of the
    tasks: what a task makes must not depend on it. The first error stops the rest.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield function(*task)
        return
    with _worker_processes(min(jobs, len(tasks))) as pool:
        waiting = iter(tasks)
        running = {pool.submit(function, *task) for task in _take(waiting, jobs)}
        try:
            while running:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(function, *task) for task in _take(waiting, len(finished))}
                for future in finished:
                    yield future.result()
        except BaseException:
            # what the others are making is kept as partial results; nobody waits for it now
            for future in running:
                future.cancel()
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            raise


def map_in_order(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """``map(function, items)`` in ``jobs`` processes, with a bounded number of items in flight: memory stays flat."""
    waiting = iter(items)
    first = _take(waiting, 2 * jobs)
    if jobs <= 1 or len(first) <= 1:
        yield from map(function, chain(first, waiting))
        return
    with _worker_processes(jobs) as pool:
        queue = deque(pool.submit(function, item) for item in first)
        while queue:
            result = queue.popleft().result()
            queue.extend(pool.submit(function, item) for item in _take(waiting, 1))
            yield result


@contextlib.contextmanager
def _worker_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    # spawn: a forked child of a process with threads (progress bars, torch) may hang
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(count, mp_context=context, initializer=_die_with_parent) as pool:
            yield pool
    except BrokenProcessPool:
        raise InputError(
            "a worker process was killed, perhaps for lack of memory; give the same command again to go on, "
            "with --jobs 1 if it happens twice"
        ) from None


def _take(items: Iterator[T], count: int) -> list[T]:
    return list(islice(items, count))


def _die_with_parent() -> None:
    """End this worker when the command that started it ends, even by SIGKILL.

    Without this, an orphan would go on writing where the same command, given again, is writing too. It is asked first:
    what handles the signal, such as training, which saves its state, has some seconds for that.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
