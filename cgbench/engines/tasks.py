"""What runs side by side, and what each of it needs: the interface of every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError, printable

FAILED = "failed-task.log"  # in the folder of the results: what the last task said that failed

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Needs:
    """What one task needs of the machine that it runs on.

    :param cores: that it keeps busy.
    :param memory: bytes at its peak; None if it is little.
    :param gpus: 0, 1 or more, or the fraction of one that it shares with others.
    """

    cores: int = 1
    memory: int | None = None
    gpus: float = 0.0


ONE_CORE = Needs()


class LostError(InputError):
    """A process that a task had started was killed. The task itself is well, and may run again."""


class Engine(ABC):
    """Where tasks run side by side. A task is a function of a module and what it is called with, both picklable.

    What a task makes must depend neither on the order of the tasks nor on where it runs, and must be written beside
    and renamed: a task may run twice. So the engine, and the number of machines, change no byte of a result.
    """

    name = ""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()  # machines, and how many tasks each has done

    @property
    def here(self) -> bool:
        """Whether tasks run on this machine alone, where threads may do as well."""
        return True

    @property
    @abstractmethod
    def jobs(self) -> int:
        """How many tasks of one core run at once."""

    @abstractmethod
    def at_once(self, needs: Needs, tasks: int) -> int:
        """How many of ``tasks`` tasks that need so much run at once; at least one."""

    @abstractmethod
    def run(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], needs: Needs = ONE_CORE
    ) -> Iterator[Any]:
        """Call ``function(*task)`` for every task and yield the results as they come, in no order.

        The first error of a task stops the rest, and is raised.

        :raises InputError: a worker was lost, again and again; no machine has what a task needs.
        """

    @abstractmethod
    def map(self, function: Callable[[T], R], items: Iterable[T], needs: Needs = ONE_CORE) -> Iterator[R]:
        """``map(function, items)``, in order, with a bounded number of items in flight: memory stays flat.

        :raises InputError: as for :meth:`run`.
        """

    @abstractmethod
    def check_fits(self, needs: Needs) -> None:
        """Check that a task that needs so much can run at all.

        :raises InputError: there is no machine that has it.
        """

    def share(self, folder: Path) -> None:  # noqa: B027
        """Check that every machine sees ``folder``, where the results of tasks go.

        :raises InputError: one does not; it is named.
        """

    def sees(self, paths: Sequence[Path]) -> bool:
        """Whether every machine has these files, as they are here."""
        return True

    def close(self) -> None:  # noqa: B027
        """Let go of what the engine holds."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def saying_where(engine: Engine, step: str, say: Callable[[str], None]) -> Iterator[None]:
    """Say of a step whose tasks ran on other machines how many each of them has done."""
    before = engine.ran.copy()
    yield
    new = engine.ran - before
    if new and not engine.here:
        say(f"{step}: ran on {', '.join(f'{printable(name)} ({count:,})' for name, count in sorted(new.items()))}")
