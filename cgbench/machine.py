"""This machine: its name, its cores and threads, its free memory, and a check that a stage fits
into it beforehand.
"""

import contextlib
import os
import platform
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cgbench.errors import InputError

SETTING = "CGBENCH_MEMORY"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_GROUP = Path("/sys/fs/cgroup")

REMOTE = "CGBENCH_REMOTE_TASK"
"""Environment variable of a process that runs a task for a command on another machine."""


def runs_remotely() -> bool:
    """Whether this process works for a command on another machine, which holds the locks and has
    the terminal.
    """
    return bool(os.environ.get(REMOTE))


def end_second_script() -> None:
    """End a worker process that runs its script again because the script has no guard, ``if
    __name__ == "__main__"``; the first process raises the error.
    """
    from multiprocessing import current_process

    if getattr(current_process(), "_inheriting", False):
        raise SystemExit(1)


def host() -> str:
    """The name of this machine, or of the simulated machine."""
    return os.environ.get(REMOTE) or os.uname().nodename


def usable_cores() -> int:
    """The number of cores that this process may use; all cores if the system does not tell
    (macOS).
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def in_threads(
    work: Callable[[Any], Any], items: Iterable[Any], jobs: int, waiting: int
) -> Iterator[Any]:
    """The results of ``work`` for each item, in order; at most ``waiting`` results are held."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as threads:
        running: deque[Any] = deque()
        for item in items:
            running.append(threads.submit(work, item))
            if len(running) > waiting:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


def size_of(name: str, example: object) -> int | None:
    """The environment variable ``name`` in bytes: a number, optionally followed by K, M, G or T;
    None if unset.

    :raises InputError: it is not such a number, or is 0.
    """
    text = os.environ.get(name)
    if not text:
        return None
    digits, unit = (text[:-1], text[-1].upper()) if text[-1].isalpha() else (text, "")
    if (
        unit not in _UNITS
        or not digits.isascii()
        or not digits.isdigit()
        or len(digits) > 15
        or not int(digits)
    ):
        raise InputError(f"{name}={text[:40]}: a number above 0 is needed, such as {example} or 2G")
    return int(digits) * _UNITS[unit]


def free_memory() -> int | None:
    """Bytes available to this process, from CGBENCH_MEMORY or the system; None if unknown.

    On Linux: memory available without swapping, within the limits of the control group and of the
    process.
    """
    if (setting := size_of(SETTING, "8G")) is not None:
        return setting
    limits = []
    try:
        rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(int(rows["MemAvailable"].split()[0]) << 10)
    except (OSError, LookupError, ValueError):
        return None
    with contextlib.suppress(OSError, ValueError):
        most, used = (
            (_GROUP / f"memory.{name}").read_text().strip() for name in ("max", "current")
        )
        rows_of_group = [line.split() for line in (_GROUP / "memory.stat").read_text().splitlines()]
        files = sum(
            int(amount)
            for name, amount in rows_of_group
            if name in ("inactive_file", "active_file")
        )  # reclaimable
        if most != "max":
            limits.append(max(0, int(most) - int(used) + files))
    with contextlib.suppress(OSError, ValueError, ImportError):
        import resource

        if (most_here := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
            used_here = (
                int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            )
            limits.append(max(0, most_here - used_here))
    return min(limits)


def check_memory(stage: object, needed: float, remedy: str) -> None:
    """Check that about ``needed`` bytes are free.

    :param stage: beginning of the message; ``remedy``: how to need less.
    :raises InputError: less is free.
    """
    if (free := free_memory()) is not None and needed > free:
        raise InputError(
            f"{stage} needs about {needed / 1e9:,.1f} GB of memory but {free / 1e9:,.1f} GB are"
            f" free; {remedy}, or set {SETTING} (such as 32G) if it will fit"
        )


def description() -> str:
    """Processor, cores, memory and Python, for the record of a measurement."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().split("\n"):
            if line.startswith("model name"):
                processor = line.split(": ")[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = platform.python_version()
    return f"{processor}, {usable_cores()} cores, {memory:.0f} GiB, Python {python}"
