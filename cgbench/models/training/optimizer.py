"""AdamW and Adafactor of PyTorch, without its compiler.

PyTorch's optimisers import ``torch._dynamo`` on their first call, to exclude themselves from a
compilation. That takes more than a second, and nothing is compiled here. The classes below make the
same updates, by the methods without the wrappers that import the compiler.
"""

from inspect import unwrap

import torch


class AdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay."""

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class Adafactor(torch.optim.Adafactor):
    """Adafactor (Shazeer and Stern, 2018); by default as T5 uses it, without momentum."""

    add_param_group = unwrap(torch.optim.Adafactor.add_param_group)
    zero_grad = unwrap(torch.optim.Adafactor.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.Adafactor.step))
