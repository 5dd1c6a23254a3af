"""Run tasks in worker processes on this machine; they never outlive the command."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice, starmap
from multiprocessing.connection import wait as wait_for
from typing import Any, TypeVar

from cgbench.engines.tasks import ONE_CORE, Engine, Needs
from cgbench.errors import InputError, InputWarning, argument
from cgbench.machine import end_second_script, usable_cores
from cgbench.request import check

GRACE = 60.0  # seconds
VISIBLE = "CUDA_VISIBLE_DEVICES"

T = TypeVar("T")
R = TypeVar("R")


class Local(Engine):
    """The cores and GPUs of this machine.

    With one job, or one task, everything runs in this process.

    :param jobs: parallel worker processes (default: one per core).
    :param gpu_share: parallel tasks per GPU, if each needs at most one. One small member does not
        fill a GPU.
    """

    def __init__(self, jobs: int | None = None, gpu_share: int = 1) -> None:
        super().__init__()
        check(int, 1, jobs=jobs, gpu_share=gpu_share)
        self._jobs, self._share = jobs, gpu_share

    @property
    def jobs(self) -> int:
        """Maximum number of parallel worker processes."""
        return self._jobs or usable_cores()

    def at_once(self, needs: Needs, tasks: int) -> int:
        """See :meth:`Engine.at_once`."""
        return max(1, len(self._slots(needs, tasks)))

    def check_fits(self, needs: Needs) -> None:
        """See :meth:`Engine.check_fits`."""
        self._slots(needs, 1)

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        needs: Needs = ONE_CORE,
    ) -> Iterator[Any]:
        """See :meth:`Engine.run`."""
        slots = self._slots(needs, len(tasks))
        yield from _results(slots, function, tasks, len(slots), in_order=False)

    def map(
        self, function: Callable[[T], R], items: Iterable[T], needs: Needs = ONE_CORE
    ) -> Iterator[R]:
        """See :meth:`Engine.map`."""
        waiting = iter(items)
        first = list(islice(waiting, 2 * self.jobs))
        tasks = ((item,) for item in chain(first, waiting))
        yield from _results(
            self._slots(needs, len(first)), function, tasks, len(first), in_order=True
        )

    def _slots(self, needs: Needs, tasks: int) -> list[str]:
        """``CUDA_VISIBLE_DEVICES`` of each worker; empty: as in this process."""
        if needs.gpus == 0:
            return [""] * min(max(1, self.jobs // needs.cores), tasks)
        devices, count = visible_gpus(), needs.gpus
        groups = [
            ",".join(devices[start : start + count])
            for start in range(0, len(devices) - count + 1, count)
        ]
        if count == 1:
            groups *= self._share
        elif not groups:
            raise InputError(
                f"a task needs {count} GPUs and there are {len(devices)}; use fewer per member"
            )
        return groups[: min(len(groups), tasks, self._jobs or len(groups))]


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, named as in ``CUDA_VISIBLE_DEVICES``."""
    if (visible := os.environ.get(VISIBLE)) is not None:
        return [device for device in visible.split(",") if device.strip() not in ("", "-1")]
    import torch

    return [str(index) for index in range(torch.cuda.device_count())]


def _results(
    slots: Sequence[str],
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    at_once: int,
    in_order: bool,
) -> Iterator[Any]:
    """The results of tasks, in their order or as they finish; with several slots, from a worker
    process in each.
    """
    if len(slots) <= 1:
        yield from starmap(function, tasks)
        return
    end_second_script()
    with _worker_processes(slots) as pool:
        waiting = iter(tasks)
        running = [pool.submit(function, *task) for task in islice(waiting, at_once)]
        try:
            while running:
                finished = (
                    running[:1] if in_order else [*wait(running, return_when=FIRST_COMPLETED).done]
                )
                results = [future.result() for future in finished]
                running = [future for future in running if future not in finished]
                running += [pool.submit(function, *task) for task in islice(waiting, len(finished))]
                yield from results
        except BaseException:
            # the other workers save partial results; do not wait for them
            for future in running:
                future.cancel()
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            raise


@contextlib.contextmanager
def _worker_processes(slots: Sequence[str]) -> Iterator[ProcessPoolExecutor]:
    # spawn: forking a process with threads (progress bars, torch) may hang
    context = multiprocessing.get_context("spawn")
    free = context.SimpleQueue()
    for slot in slots:
        free.put(slot)
    processes: Mapping[int, Any] = {}
    try:
        with ProcessPoolExecutor(
            len(slots), mp_context=context, initializer=_start_worker, initargs=(free,)
        ) as pool:
            processes = pool._processes
            yield pool
    except BrokenProcessPool:
        if any((process.exitcode or 0) > 0 for process in processes.values()):
            raise InputError(
                "worker processes import the script and stopped there: move the line that starts"
                " them, and all work, below the line if __name__ == '__main__':"
            ) from None
        raise InputError(
            "a worker process was killed, perhaps for lack of memory; run it again to resume, with"
            f" {argument('jobs', 1)} if it happens twice"
        ) from None
    finally:
        free.close()


def _start_worker(slots: Any) -> None:
    if slot := slots.get():
        os.environ[VISIBLE] = slot  # before CUDA is initialised
    warnings.simplefilter(
        "ignore", InputWarning
    )  # the command has already warned about the same files
    end_with_parent(GRACE)


def end_with_parent(grace: float = 0.0) -> None:
    """End this worker when its parent ends, even by SIGKILL.

    Otherwise an orphan would keep writing to files that a second run of the command also writes.

    :param grace: seconds between SIGTERM, on which training saves its state, and the exit.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        if grace:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(grace)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
