"""How the package's loops are compiled: when they are first called, each once after installation, in few seconds.

Numba compiles a function for the types it is called with and, for kernels, keeps the code beside the source file (or
in the user's cache, where that cannot be written). What costs time there is the number of functions and the library
code that they take along, so kernels get their arrays from the caller: one ``np.empty``, or one slice that is assigned
to, can cost as much as a whole loop. Where a command says what it will need (:func:`expect`), a second process
compiles from the other end of the list at the same time; the two meet in the cache.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core import event, sigutils

from cgbench.machine import usable_cores
from cgbench.progress import bar, lines_every

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit  # Numba's own types leave options out

KERNELS: list[Any] = []
"""Every kernel of the modules that are loaded."""


SIGNATURES: dict[str, str] = {}
"""What kernels are called with, by ``module.function``, for those that can be compiled before they are called."""

_expected: list[str] = []


def kernel(function: F) -> F:
    """A loop that Python calls: it holds no interpreter lock, and its code is kept for the next command."""
    compiled: F = _compile(nogil=True, cache=True, no_cfunc_wrapper=True)(function)
    KERNELS.append(compiled)
    return compiled


def sums_kernel(function: F) -> F:
    """A kernel of sums of products: each product and the sum that takes it may be one instruction, rounded once."""
    compiled: F = _compile(nogil=True, cache=True, no_cfunc_wrapper=True, error_model="numpy", fastmath={"contract"})(
        function
    )
    KERNELS.append(compiled)
    return compiled


def kernel_of(signature: str) -> Callable[[F], F]:
    """A kernel that :func:`expect` may name.

    :param signature: its arguments in Numba's notation, ``(i4[::1], i8)``: those that it is really called with.
    """

    def decorate(function: F) -> F:
        SIGNATURES[f"{function.__module__}.{function.__name__}"] = signature
        return kernel(function)

    return decorate


def expect(*names: str) -> None:
    """Say which kernels a command will need, the last and longest first: the first kernel that has to be compiled
    starts a process that compiles these, if there is a core for it.

    For commands alone: a new process runs the main module of the program again.
    """
    _expected[:] = names


def _start_ahead() -> None:
    if _expected and usable_cores() > 1:
        # A daemon ends with the command; what is in the cache by then stays there.
        context = multiprocessing.get_context("spawn")
        context.Process(target=compile_ahead, args=(tuple(_expected),), daemon=True).start()
    _expected.clear()


def compile_ahead(names: tuple[str, ...]) -> None:
    """Compile kernels, or find them in the cache."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is asked to stop, and ends this
    with contextlib.suppress(Exception):  # what fails here fails in the command, too, which says so
        for name in names:
            module, _, function = name.rpartition(".")
            loop: Any = getattr(importlib.import_module(module), function)
            types, _ = sigutils.normalize_signature(SIGNATURES[name])
            loop.compile(types)  # the types, as a call gives them: kept code is looked up by what is given here


def part(function: F) -> F:
    """What kernels call, and Python never does: it gets no wrapper for Python, nor a file of its own."""
    compiled: F = _compile(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def inlined(function: F) -> F:
    """A part that is copied to where it is called before anything is inferred: longer to compile, and faster than
    one that LLVM copies, which has to take its tuples apart."""
    compiled: F = _compile(inline="always")(function)
    return compiled


class Notice(event.Listener):
    """Says on standard error, in one line, that loops are compiled, and on a terminal which one.

    Numba speaks of a compilation only where there is no kept code; one of a part is inside that of its kernel.
    """

    def __init__(self) -> None:
        self.depth = self.loops = 0
        self.shown: Any = None

    def on_start(self, event: Any) -> None:
        """A loop, or a part of one, begins to be compiled."""
        self.depth += 1
        if self.depth > 1 or multiprocessing.parent_process() is not None:
            return
        _start_ahead()
        if not lines_every():
            return
        self.loops += 1
        if self.loops == 1:
            print("compiling loops for this processor: some seconds, once after installation", file=sys.stderr)
        self.shown = bar(None, f"compile loop {self.loops} ({_name(event)})", "loop", leave=False)

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self.depth -= 1
        if not self.depth and self.shown is not None:
            self.shown.close()
            self.shown = None


def _name(event: Any) -> str:
    return str(event.data["dispatcher"].py_func.__name__).strip("_").replace("_", " ")


event.register("numba:compile", Notice())
