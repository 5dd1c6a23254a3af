"""Isolate a library that a damaged file can crash: run it in a child process with a memory limit.

A crash of the child becomes an :class:`InputError`. The child imports a function and calls it once;
the result handles requests, with JSON in, JSON and bytes out. Nothing is pickled. The child ends
with its parent.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from cgbench.errors import InputError

Answer = Callable[[Any], tuple[Any, Any]]
"""Handles a request: returns a JSON value, and bytes."""


class Child:
    """A child process that handles requests.

    :param handler: ``module:function``, which returns an :data:`Answer`.
    :param memory: maximum bytes for handling requests, on systems that can limit it (Linux).
    """

    def __init__(self, handler: str, memory: int | None = None) -> None:
        self._connection, connection = multiprocessing.Pipe()
        serve = (
            f"from cgbench.engines.child import serve; serve({handler!r}, {memory!r},"
            f" {connection.fileno()})"
        )
        code = f"import sys; sys.path[:] = {sys.path!r}; {serve}"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            pass_fds=[connection.fileno()],
        )
        connection.close()
        self._lock = threading.Lock()
        weakref.finalize(self, _end, self._process, self._connection)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(
        self, question: Any, died: str, *, seconds: float | None = None, most: int = 1 << 40
    ) -> tuple[Any, bytes]:
        """Send a request; return the answer and its bytes.

        :param died: the error message if the process ends, takes longer than ``seconds``, or
            returns more than ``most`` bytes.
        :raises InputError: the handler raised it, or the process ended.
        """
        with self._lock:
            try:
                self._connection.send_bytes(json.dumps(question).encode())
                if seconds is not None and not self._connection.poll(seconds):
                    raise EOFError
                reply = self._connection.recv_bytes(most)
                answer, attached = json.loads(reply), self._connection.recv_bytes(most - len(reply))
            except (OSError, EOFError, ValueError):
                self._process.kill()
                self._process.wait()  # otherwise `alive` stays true for a moment
                raise InputError(died) from None
        if "error" in answer:
            raise InputError(answer["error"])
        return answer["answer"], attached


def _end(process: subprocess.Popen, connection: Connection) -> None:
    process.kill()
    process.wait()
    connection.close()


def serve(handler: str, memory: int | None, descriptor: int) -> None:
    """Handle requests from a connection until it closes. The child process runs this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = handler.partition(":")
    answer: Answer = getattr(import_module(module), name)()
    if memory is not None:
        _limit(memory)
    connection = Connection(descriptor)
    while True:
        try:
            question = json.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            result, data = answer(question)
            reply = {"answer": result}
        except InputError as error:
            reply, data = {"error": error.message}, b""
        connection.send_bytes(json.dumps(reply).encode())
        connection.send_bytes(data)


def _limit(memory: int) -> None:
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory,) * 2)
    except (ImportError, OSError, ValueError):
        return
