"""What search does with tables of hypotheses x vocabulary."""

from collections.abc import Iterable
from itertools import chain

import torch
from torch import Tensor

from cgbench.models.parts.cpu import fast_form


def mean_softmax(logits: Iterable[Tensor], members: int) -> Tensor:
    """Return the mean of the members' probabilities, float32 [rows, vocabulary].

    :param logits: of each of the ``members``, [rows, vocabulary].
    """
    tables = iter(logits)
    first = next(tables)
    if fast_form(first):
        from cgbench.models.parts.cpu import vocabulary as fast

        return fast.mean_softmax(chain([first], tables), members)
    total = torch.softmax(first, 1, dtype=torch.float32)
    for table in tables:
        total.add_(torch.softmax(table, 1, dtype=torch.float32))
    return total.div_(members)


def largest(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest values of each row of ``x`` [rows, columns] in falling order, and their
    columns, [rows, count].
    """
    if fast_form(x):
        from cgbench.models.parts.cpu import vocabulary as fast

        return fast.largest(x, count)
    return x.topk(count, dim=1)
