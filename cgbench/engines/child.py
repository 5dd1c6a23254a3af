"""Isolate a library that a damaged file can crash: run it in a child process with a memory limit.

A crash of the child becomes an :class:`InputError`. The child imports a function and calls it once; the result handles
requests, with JSON in, JSON and bytes out. Nothing is pickled. The child ends with its parent.
"""

import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from cgbench.errors import InputError

Answer = Callable[[Any], tuple[Any, Any]]
"""Handles a request: returns a JSON value, and bytes."""

_SIZES = struct.Struct("<QQ")


class Child:
    """A child process that handles requests.

    :param handler: ``module:function``, which returns an :data:`Answer`.
    :param memory: maximum bytes for handling requests, on systems that can limit it (Linux).
    """

    def __init__(self, handler: str, memory: int | None = None) -> None:
        serve = f"from cgbench.engines.child import serve; serve({handler!r}, {memory!r})"
        code = f"import sys; sys.path[:] = {sys.path!r}; {serve}"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        self._lock = threading.Lock()
        weakref.finalize(self, _end, self._process)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(self, question: Any, died: str, *, seconds: float | None = None, most: int = 1 << 40) -> tuple[Any, bytes]:
        """Send a request; return the answer and its bytes.

        :param died: the error message if the process ends, takes longer than ``seconds``, or returns more than ``most``
            bytes.
        :raises InputError: the handler raised it, or the process ended.
        """
        with self._lock:
            assert self._process.stdin and self._process.stdout
            try:
                data = json.dumps(question).encode()
                self._process.stdin.write(len(data).to_bytes(8, "little") + data)
                self._process.stdin.flush()
                if seconds is not None and not select.select([self._process.stdout], [], [], seconds)[0]:
                    raise EOFError
                sizes = _SIZES.unpack(self._read(_SIZES.size))
                if sum(sizes) > most:
                    raise EOFError
                answer, attached = json.loads(self._read(sizes[0])), self._read(sizes[1])
            except (OSError, EOFError, ValueError):
                self._process.kill()
                self._process.wait()  # otherwise `alive` stays true for a moment
                raise InputError(died) from None
        if "error" in answer:
            raise InputError(answer["error"])
        return answer["answer"], attached

    def _read(self, count: int) -> bytes:
        assert self._process.stdout
        data = self._process.stdout.read(count)
        if len(data) < count:
            raise EOFError
        return data


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # unsent data
            pipe.close()  # type: ignore[union-attr]


def serve(handler: str, memory: int | None) -> None:
    """Handle requests from standard input until it closes. The child process runs this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep a library's prints out of the answers
    module, _, name = handler.partition(":")
    answer: Answer = getattr(import_module(module), name)()
    if memory is not None:
        _limit(memory)
    while length := sys.stdin.buffer.read(8):
        question = json.loads(sys.stdin.buffer.read(int.from_bytes(length, "little")))
        reply, data = None, b""
        try:
            result, data = answer(question)
            reply = json.dumps({"answer": result}).encode()
        except InputError as error:
            reply = json.dumps({"error": error.message}).encode()
        out.write(_SIZES.pack(len(reply), len(data)))
        out.write(reply)
        out.write(data)
        out.flush()


def _limit(memory: int) -> None:
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory,) * 2)
    except (ImportError, OSError, ValueError):
        return
