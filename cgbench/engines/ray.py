"""Run tasks on a Ray cluster whose machines share one folder.

Ray schedules tasks by their resources, and repeats a task if its worker or machine was lost. An
exception in a task is raised here, once. This module is imported only if Ray is used.
"""

import contextlib
import functools
import hashlib
import logging
import os
import secrets
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from cgbench import __version__
from cgbench.engines.tasks import FAILED, ONE_CORE, Engine, LostError, Needs
from cgbench.errors import InputError, InputWarning, printable, require
from cgbench.files import write_atomic
from cgbench.machine import REMOTE, host

RETRIES = 5  # if the worker of a task was lost
CONNECT_TIMEOUT = 10.0  # seconds
TOKEN = ".seen-by-all"  # in the shared folder while the engine is open
SAMPLE = 1 << 16  # bytes
QUEUED_PER_TASK = 2  # submitted tasks per running one, so that no worker waits for the driver

T = TypeVar("T")
R = TypeVar("R")


class Ray(Engine):
    """A Ray cluster.

    :param address: as for ``ray.init``: ``auto`` for the cluster of this machine, ``HOST:PORT``, or
        ``ray://HOST:PORT``; None starts a cluster on this machine that ends with the command.
    :param jobs: parallel tasks over all machines (default: as many as fit).
    :param gpu_share: parallel tasks per GPU, if each needs one.
    :raises InputError: Ray is not installed, or no cluster answers.
    """

    here = False

    def __init__(
        self, address: str | None = None, jobs: int | None = None, gpu_share: int = 1
    ) -> None:
        require("ray", "ray")
        super().__init__()
        self._address, self._limit, self._share = address, jobs, gpu_share
        self._folder: Path | None = None
        self._token = secrets.token_hex(8)

    @functools.cached_property
    def _ray(self) -> Any:
        import ray

        address = self._address
        options: dict[str, Any] = {"address": address}
        if not address:  # start one, even if one runs here or RAY_ADDRESS is set
            options = {"address": "local", "num_cpus": self._limit, "include_dashboard": False}
        if address and address != "auto":
            _check_answers(address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    configure_logging=True,
                    **options,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = address or "this machine"
            raise InputError(
                f"no Ray cluster answers at {where} ({_first_line(error)}); start one with: ray"
                " start --head"
            ) from None
        _keep_off_stdout()
        return ray

    @property
    def jobs(self) -> int:
        """Parallel tasks of one core: as configured, else the cores of the cluster."""
        return self._limit or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def at_once(self, needs: Needs, tasks: int) -> int:
        """See :meth:`Engine.at_once`."""
        fit = max(1, self.jobs // needs.cores)
        if needs.gpus:
            gpus = self._ray.cluster_resources().get("GPU", 0)
            fit = min(self._limit or fit, max(1, int(gpus / self._gpus_of(needs))))
        return min(fit, max(1, tasks))

    def check_fits(self, needs: Needs) -> None:
        """See :meth:`Engine.check_fits`; otherwise a task that fits no machine would wait for
        ever.
        """
        gpus = self._gpus_of(needs)
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        resources = {"CPU": needs.cores, "GPU": gpus}
        if not any(
            all(machine.get(name, 0) >= amount for name, amount in resources.items())
            for machine in machines
        ):
            text = ", ".join(f"{amount:g} {name}" for name, amount in resources.items() if amount)
            raise InputError(
                f"no machine of the Ray cluster has the resources of a task ({text}); add a"
                " larger one"
            )

    def share(self, folder: Path) -> None:
        """Check that every machine sees ``folder``; each task checks again, for machines that join
        later.
        """
        folder = folder.resolve()
        if self._folder is not None and self._folder != folder:
            (self._folder / TOKEN).unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / TOKEN, self._token)
        self._folder = folder
        for problem in self._everywhere(_check_machine, folder, self._token, __version__):
            if problem:
                raise InputError(problem)

    def sees(self, paths: Sequence[Path]) -> bool:
        """See :meth:`Engine.sees`."""
        names = [str(path.resolve()) for path in paths]
        here = _fingerprints(names)
        return all(there == here for there in self._everywhere(_fingerprints, names))

    def _everywhere(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Call a function on each machine and yield the results; skip machines that have just
        left.
        """
        from ray.exceptions import RayError, RayTaskError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        call = self._ray.remote(function)
        nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
        answers = [
            call.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
                num_cpus=0,
                max_retries=RETRIES,
            ).remote(*arguments)
            for node in nodes
        ]
        for answer in answers:
            try:
                result = self._ray.get(answer)
            except RayTaskError as error:
                raise _task_error(error) from None
            except RayError:
                continue
            yield result

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        needs: Needs = ONE_CORE,
    ) -> Iterator[Any]:
        """See :meth:`Engine.run`."""
        yield from self._results(function, iter(tasks), needs, in_order=False)

    def map(
        self, function: Callable[[T], R], items: Iterable[T], needs: Needs = ONE_CORE
    ) -> Iterator[R]:
        """See :meth:`Engine.map`."""
        waiting = iter(items)
        first = list(islice(waiting, 2))
        if len(first) <= 1:
            yield from map(function, first)
        else:
            tasks = ((item,) for item in chain(first, waiting))
            yield from self._results(function, tasks, needs, in_order=True)

    def close(self) -> None:
        """Leave the cluster; stop it if this command started it."""
        if self._folder is not None:
            (self._folder / TOKEN).unlink(missing_ok=True)
        if "_ray" in self.__dict__:
            self._ray.shutdown()

    def _results(
        self,
        function: Callable[..., Any],
        waiting: Iterator[tuple[Any, ...]],
        needs: Needs,
        in_order: bool,
    ) -> Iterator[Any]:
        """The results of tasks, in their order or as they finish."""
        self.check_fits(needs)
        call = self._ray.remote(_call).options(
            num_cpus=needs.cores,
            num_gpus=self._gpus_of(needs),  # several GPUs are always on one machine
            max_retries=RETRIES,
            retry_exceptions=[LostError],
        )

        def submit(count: int) -> list[Any]:
            tasks = islice(waiting, count)
            return [
                call.remote(function, task, self._folder, self._token, __version__)
                for task in tasks
            ]

        # As many tasks as fit are under way; a finished one is replaced.
        running = submit(self._window(needs))
        try:
            while running:
                done, running = (
                    (running[:1], running[1:])
                    if in_order
                    else self._ray.wait(running, num_returns=1)
                )
                result = self._get(done[0])
                running += submit(1)
                yield result
        except BaseException:
            for answer in running:
                with contextlib.suppress(Exception):
                    self._ray.cancel(answer, force=False)
            raise

    def _gpus_of(self, needs: Needs) -> float:
        return needs.gpus / self._share if needs.gpus == 1 else needs.gpus

    def _window(self, needs: Needs) -> int:
        if self._limit:
            return max(1, self._limit // needs.cores)
        return QUEUED_PER_TASK * max(1, self.jobs // needs.cores)

    def _get(self, answer: Any) -> Any:
        """The result of a task; raises its exception, or an InputError if it was lost."""
        from ray.exceptions import RayError, RayTaskError

        try:
            machine, result = self._ray.get(answer)
            self.ran[machine] += 1
            return result
        except RayTaskError as error:
            raise _task_error(error, self._folder) from None
        except RayError as error:
            node = self._ray._private.worker._global_node
            logs = node.get_logs_dir_path() if node is not None else "/tmp/ray/session_latest/logs"
            raise InputError(
                f"a task was lost {RETRIES + 1} times on the Ray cluster ({_first_line(error)});"
                f" the workers' logs are in {logs}; run the same command again to resume"
            ) from None


def _keep_off_stdout() -> None:
    """Print Ray's messages about lost machines as one line on standard error; Ray prints a page to
    standard output.
    """
    from ray._private import worker  # there is no public interface

    def say(data: dict[str, Any], ignore_prefix: bool) -> None:
        for text in data["lines"]:
            first = str(text).strip().splitlines()[0] if str(text).strip() else ""
            print(printable(f"ray: {first.partition('. ')[0]}"), file=sys.stderr, flush=True)

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = say


def _check_answers(address: str) -> None:
    """Check that something listens there: Ray itself would wait for two minutes, then end the
    process.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Ray cluster answers at {address} ({error}); start one with: ray start --head"
        ) from None


def _task_error(error: Any, folder: Path | None = None) -> Exception:
    """The exception of a task; an InputError if the machine could not load the task or the
    exception is unexpected.

    The traceback of an unexpected exception goes to a file in ``folder``."""
    from ray.exceptions import RayError

    if isinstance(error.cause, RayError):
        return InputError(
            f"a machine of the Ray cluster cannot run cgbench ({_first_line(error.cause)}); install"
            " the same version with the same extras on all machines"
        )
    cause = error.cause if isinstance(error.cause, Exception) else error
    if folder is None or isinstance(cause, InputError | OSError):
        return cause
    write_atomic(folder / FAILED, f"{error}\n")
    return InputError(
        f"a task failed on the machine {getattr(error, 'ip', 'unknown')} ({type(cause).__name__}: "
        f"{_first_line(cause)}); the traceback is in {folder / FAILED}"
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _call(
    function: Callable[..., Any],
    task: tuple[Any, ...],
    folder: Path | None,
    token: str,
    version: str,
) -> tuple[str, Any]:
    """Run a task on a worker after checking the folder; returns the machine's name and the
    result.
    """
    os.environ[REMOTE] = socket.gethostname()
    if folder is not None and (problem := _check_machine(folder, token, version)):
        raise InputError(problem)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", InputWarning
        )  # the command has already warned about the same files
        return host(), function(*task)


def _fingerprints(names: Sequence[str]) -> list[Any]:
    """Size, and a digest of the beginning and end of each file: tells files apart without reading
    them whole.
    """
    fingerprints: list[Any] = []
    for name in names:
        try:
            with Path(name).open("rb") as file:
                length = file.seek(0, os.SEEK_END)
                file.seek(max(0, length - SAMPLE))
                end = file.read(SAMPLE)
                file.seek(0)
                fingerprints.append((length, hashlib.sha256(file.read(SAMPLE) + end).hexdigest()))
        except OSError:
            fingerprints.append(None)
    return fingerprints


def _check_machine(folder: Path, token: str, version: str) -> str:
    """Check that this machine sees the folder and has the same version of cgbench; returns the
    error, or ''.
    """
    host = socket.gethostname()
    if version != __version__:
        return (
            f"the machine {host} has cgbench {__version__}, this one {version}; install the same on"
            " both"
        )
    try:
        text = (folder / TOKEN).read_text(encoding="utf-8")
    except OSError:
        text = ""
    if text != token:
        return (
            f"{folder}: the machine {host} does not see this folder; write to a folder that all"
            " machines share"
        )
    try:
        (folder / f"{TOKEN}.{host}").touch()
        (folder / f"{TOKEN}.{host}").unlink()
    except FileNotFoundError:
        pass  # another task on this machine removed it
    except OSError as error:
        return f"{folder}: the machine {host} cannot write there ({error.strerror})"
    return ""
