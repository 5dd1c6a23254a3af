"""How the package's loops are compiled: when they are first called, each once after installation, in few seconds.

Numba compiles a function for the types it is called with and, for kernels, keeps the code beside the source file (or
in the user's cache, where that cannot be written). What costs time there is the number of functions and the library
code that they take along, so kernels get their arrays from the caller: one ``np.empty``, or one slice that is assigned
to, can cost as much as a whole loop.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core import event

from cgbench.progress import bar, lines_every

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit  # Numba's own types leave options out

KERNELS: list[Any] = []
"""Every kernel of the modules that are loaded."""


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
