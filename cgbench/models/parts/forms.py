"""Which form of an operation runs: its plain definition, or one that is faster on a kind of device. Chosen here alone.

A definition in ordinary PyTorch says what an operation is, and runs wherever nothing faster was measured. Forms for a
CPU are in :mod:`cgbench.models.parts.cpu`; tests hold both to the same values and gradients.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_plain_everywhere = False


def faster(**forms: Callable[P, T]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a plain definition, whose first argument is a tensor, with the forms that are faster than it.

    :param forms: by the type of the device that the tensor is on (``cpu``, ``cuda``), with the definition's arguments.
    """

    def decorate(plain: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(plain)
        def operation(*args: P.args, **kwargs: P.kwargs) -> T:
            first: Any = args[0]
            form = plain if _plain_everywhere else forms.get(first.device.type, plain)
            return form(*args, **kwargs)

        return operation

    return decorate


@contextlib.contextmanager
def plain_definitions() -> Iterator[None]:
    """Within, plain definitions run on every device: to compare with, or for what is not written by hand, such as
    second derivatives."""
    global _plain_everywhere
    before, _plain_everywhere = _plain_everywhere, True
    try:
        yield
    finally:
        _plain_everywhere = before
