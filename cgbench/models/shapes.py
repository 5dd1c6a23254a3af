"""Build a model without storage: the shapes of its tensors, and no numbers."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

RANDOM = (torch.Tensor.normal_, torch.Tensor.uniform_)


class _Uninitialised(TorchFunctionMode):
    """Leaves out the initial numbers of tensors, which change no shape. For tensors without
    storage, PyTorch would import its compiler to do nothing, which takes more than a second.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in RANDOM or getattr(function, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


@contextlib.contextmanager
def shapes_only() -> Iterator[None]:
    """Tensors made inside have no storage; the caller's random state stays as it is."""
    with torch.device("meta"), _Uninitialised():
        yield
