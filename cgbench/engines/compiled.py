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
from pickle import UnpicklingError
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import caching, event

from cgbench.progress import bar, lines_every

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit  # Numba's own types leave options out

KERNELS: list[Any] = []
"""Every kernel of the modules that are loaded."""


class _CachedCode(caching.IndexDataCacheFile):
    """Numba's cached code of a function, of which any that cannot be read (a class of it is gone) is compiled anew."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except _UNREADABLE:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except _UNREADABLE as error:
            raise OSError(f"{name}: cannot be read") from error  # which is a miss


_UNREADABLE = (AttributeError, ImportError, EOFError, ValueError, TypeError, KeyError, IndexError, UnpicklingError)


def kernel(function: F) -> F:
    """A loop that Python calls: it holds no interpreter lock, and its code is kept for the next command."""
    return _kernel(function)


def sums_kernel(function: F) -> F:
    """A kernel of sums of products: each product and the sum that takes it may be one instruction, rounded once."""
    return _kernel(function, error_model="numpy", fastmath={"contract"})


def _kernel(function: F, **options: Any) -> F:
    compiled = _compile(nogil=True, cache=True, no_cfunc_wrapper=True, **options)(function)
    if cached := getattr(getattr(compiled, "_cache", None), "_cache_file", None):
        cached.__class__ = _CachedCode
    KERNELS.append(compiled)
    return cast(F, compiled)


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
