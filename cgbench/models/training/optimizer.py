"""AdamW and Adafactor of PyTorch, without its compiler.

PyTorch's optimisers import ``torch._dynamo`` on their first call, to exclude themselves from a
compilation. That takes more than a second, and nothing is compiled here. The classes below make the
same updates, by the methods without the wrappers that import the compiler.
"""

from inspect import unwrap
from typing import Any

import torch
from torch.autograd.graph import increment_version


class AdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay."""

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    _update = torch.no_grad()(unwrap(torch.optim.AdamW.step))

    def step(self, closure: Any = None) -> Any:
        """Update the parameters."""
        loss = self._update(closure)
        # The fused update does not count as a change of a parameter, and validations read copies of
        # parameters that are made again when these have changed (parts/cpu/packed.py).
        for group in self.param_groups:
            for parameter in group["params"]:
                increment_version(parameter)
        return loss


class Adafactor(torch.optim.Adafactor):
    """Adafactor (Shazeer and Stern, 2018); by default as T5 uses it, without momentum."""

    add_param_group = unwrap(torch.optim.Adafactor.add_param_group)
    zero_grad = unwrap(torch.optim.Adafactor.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adafactor.step))
