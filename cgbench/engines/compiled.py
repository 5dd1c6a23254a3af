"""Compile the package's loops with Numba, on the first call after installation.

Numba compiles a function for its argument types and caches the code of kernels next to the source
file (or in the user's cache, if the source folder is read-only). Compilation time grows with the
number of functions and the library code they use. So callers allocate the arrays of kernels:
compiling one ``np.empty``, or one slice assignment, can take as long as a whole loop.
"""

import multiprocessing
import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, TypeVar

from cgbench.errors import require
from cgbench.progress import bar, lines_every

require("numba", "build")  # names what to install, where Python would only name llvmlite
from llvmlite import ir  # noqa: E402
from numba import njit, types  # noqa: E402
from numba.core import caching, event  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

__all__ = ["inlined", "intrinsic", "ir", "kernel", "part", "sums_in_lanes", "sums_kernel", "types"]

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit  # Numba's own types leave options out

KERNELS: list[Any] = []
"""Every kernel of the imported modules."""


class _CachedCode(caching.IndexDataCacheFile):
    """Numba's cached code of a function; unreadable code (for example, of a removed class) is
    compiled again.
    """

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except _UNREADABLE:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except _UNREADABLE as error:
            raise OSError(f"{name}: cannot be read") from error  # a cache miss


_UNREADABLE = (
    AttributeError,
    ImportError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    UnpicklingError,
)


def kernel(function: F, **options: Any) -> F:
    """Compile a loop that Python calls, without the interpreter lock; its code is cached."""
    compiled = _compile(nogil=True, cache=True, no_cfunc_wrapper=True, **options)(function)
    if cached := getattr(getattr(compiled, "_cache", None), "_cache_file", None):
        cached.__class__ = _CachedCode
    KERNELS.append(compiled)
    return compiled


def sums_kernel(function: F) -> F:
    """Compile a kernel that may fuse a multiplication and an addition into one instruction, rounded
    once.
    """
    return kernel(function, error_model="numpy", fastmath={"contract"})


def sums_in_lanes(function: F) -> F:
    """Compile a kernel whose sums may be in any order, so that they use all lanes.

    An innermost loop that adds up must write nothing: LLVM decides by the addresses of arrays
    whether a loop that also writes uses lanes, so the same numbers would have other sums.
    """
    return kernel(function, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


def part(function: F) -> F:
    """Compile a function that only kernels call: no Python wrapper, no cache file."""
    return _compile(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def inlined(function: F) -> F:
    """Compile a function that Numba inlines before type inference.

    This takes longer to compile, and runs faster than inlining by LLVM, which has to unpack tuples.
    """
    return _compile(inline="always")(function)


class Notice(event.Listener):
    """Report compilation on standard error: one line, and on a terminal the current loop.

    Numba sends these events only if no code is cached; the events of a part are nested in those of
    its kernel.
    """

    def __init__(self) -> None:
        self.depth = self.loops = 0
        self.shown: Any = None

    def on_start(self, event: Any) -> None:
        """Show that compilation of a loop, or of a part of one, starts."""
        self.depth += 1
        if self.depth > 1 or multiprocessing.parent_process() is not None or not lines_every():
            return
        self.loops += 1
        if self.loops == 1:
            print(
                "compiling loops for this processor: takes some seconds, once after installation",
                file=sys.stderr,
            )
        self.shown = bar(None, f"compile loop {self.loops} ({_name(event)})", "loop", leave=False)

    def on_end(self, event: Any) -> None:
        """Close the progress bar."""
        self.depth -= 1
        if not self.depth and self.shown is not None:
            self.shown.close()
            self.shown = None


def _name(event: Any) -> str:
    return str(event.data["dispatcher"].py_func.__name__).strip("_").replace("_", " ")


event.register("numba:compile", Notice())
