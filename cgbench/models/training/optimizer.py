"""AdamW of PyTorch, without its compiler.

PyTorch's optimisers import ``torch._dynamo`` on their first call, to exclude themselves from a
compilation. That takes more than a second, and nothing is compiled here.
"""

from inspect import unwrap

import torch


class AdamW(torch.optim.AdamW):
    """The same updates, from the methods without the wrappers that import the compiler."""

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))
