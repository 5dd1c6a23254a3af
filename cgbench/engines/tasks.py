"""The interface of engines, and the resources of a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cgbench.errors import InputError, printable
from cgbench.records import Record

FAILED = "failed-task.log"  # in the output folder: the traceback of the last failed task

T = TypeVar("T")
R = TypeVar("R")


class Needs(Record):
    """The resources of one task."""

    cores: int = 1
    gpus: int = 0


ONE_CORE = Needs()


class LostError(InputError):
    """A process that a task had started was killed. The task itself may be retried."""


class Engine(ABC):
    """Runs tasks in parallel. A task is a function of a module and its arguments, both picklable.

    The output of a task must depend neither on the order of the tasks nor on the machine, and must
    be written to a temporary file and renamed: a task may run twice. So neither the engine nor the
    number of machines changes a result.
    """

    #: Whether all tasks run on this machine, so that threads could replace them.
    here = True

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()  # finished tasks per machine

    @property
    @abstractmethod
    def jobs(self) -> int:
        """Maximum number of parallel tasks of one core."""

    @abstractmethod
    def at_once(self, needs: Needs, tasks: int) -> int:
        """How many of ``tasks`` tasks with these needs run in parallel; at least one."""

    @abstractmethod
    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        needs: Needs = ONE_CORE,
    ) -> Iterator[Any]:
        """Call ``function(*task)`` for every task and yield the results as they finish, in any
        order.

        The first exception in a task stops the others and is raised.

        :raises InputError: a worker was lost repeatedly, or no machine has the resources of a task.
        """

    @abstractmethod
    def map(
        self, function: Callable[[T], R], items: Iterable[T], needs: Needs = ONE_CORE
    ) -> Iterator[R]:
        """``map(function, items)``, in order, with a bounded number of items in flight, which
        bounds memory.
        """

    @abstractmethod
    def check_fits(self, needs: Needs) -> None:
        """Check that a task with these needs can run.

        :raises InputError: no machine has the resources.
        """

    def share(self, folder: Path) -> None:  # noqa: B027
        """Check that every machine sees ``folder``, where tasks write their results.

        :raises InputError: a machine does not; the message names it.
        """

    def sees(self, paths: Sequence[Path]) -> bool:
        """Whether every machine sees the same version of these files."""
        return True

    def close(self) -> None:  # noqa: B027
        """Release the engine's resources."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def saying_where(engine: Engine, step: str, say: Callable[[str], None]) -> Iterator[None]:
    """Report how many tasks of a step each machine ran, if other machines took part."""
    before = engine.ran.copy()
    yield
    if (new := engine.ran - before) and not engine.here:
        say(
            f"{step}: ran on"
            f" {', '.join(f'{printable(name)} ({count:,})' for name, count in sorted(new.items()))}"
        )
