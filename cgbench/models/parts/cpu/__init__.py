"""Implementations of some operations that are faster on a CPU than torch's, with a single switch.

Each saves at least 3% of a training step or of beam search; the docstrings have the measurements.
The reference implementation is in the module of the same name one folder up; tests compare values
and gradients.
"""

import contextlib
from collections.abc import Iterator

from torch import Tensor

_off = False


def fast_form(x: Tensor) -> bool:
    """Whether to use the fast implementation for ``x``."""
    return x.device.type == "cpu" and not _off


@contextlib.contextmanager
def plain_definitions() -> Iterator[None]:
    """Use the reference implementations on every device, for comparison."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before
