"""Cross-attention where each target token attends to the source as it was encoded for the token's own interval.

Beyond the paper (R-Dangle's ``keep_history``): the decoder runs once over a target, as an ordinary one. With an
interval of 1 every token has keys of its own, and to project them would cost more than all the rest of the decoder. So
the projections are moved to the other side of the products: the query of a head is taken to the width of the
encodings, q·(W s) = (q W)·s, and values, if these are encoded anew, too, are projected after their mean. A bias of keys
adds the same to all logits of a query and falls out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from cgbench.models.architectures.prefixes import Prefixes
from cgbench.models.parts.attention import CrossAttention, softmax
from cgbench.models.parts.dropout import dropout
from cgbench.models.parts.heads import split_heads
from cgbench.models.parts.precision import attention_autocast, attention_operand
from cgbench.models.parts.ragged import grid_index


class History:
    """The encodings of all prefixes, beside the target tokens of their intervals.

    :param states: the source encoded for each prefix, [tokens of ``prefixes.encodings``, width].
    """

    def __init__(self, states: Tensor, prefixes: Prefixes) -> None:
        states = attention_operand(states)
        self.target = prefixes.target
        # A first interval that is shorter than the others is filled up in front.
        self.interval = int((prefixes.end - prefixes.newest).max())
        self.lead = self.interval - int(prefixes.end[prefixes.newest == 0].max()) if prefixes.newest.any() else 0
        counts = np.bincount(prefixes.sequence)
        firsts = np.cumsum(counts) - counts
        self.banks: list[Tensor] = []
        self.masks: list[Tensor | None] = []
        for bucket in self.target.buckets:
            number = np.arange(counts[bucket.rows].max())
            # Where a sentence has fewer intervals no token looks.
            chosen = firsts[bucket.rows, None] + np.where(number < counts[bucket.rows, None], number, 0)
            lengths = prefixes.encodings.lengths[chosen.ravel()]
            index, real = grid_index(prefixes.encodings.starts[chosen.ravel()], lengths[:, None])
            bank = states.index_select(0, self.target._tensor(index.ravel()))
            self.banks.append(bank.view(*chosen.shape, index.shape[1], -1))
            self.masks.append(self.target.mask(real[:: len(number)]))

    def attend(self, cross: CrossAttention, x: Tensor, values: Sequence[Tensor] | None) -> Tensor:
        """Apply cross-attention to the target tokens ``x`` [N, width].

        :param values: a grid [R, source length, width] for each bucket of the target; those of the encodings if None.
        """
        to_keys, to_values = cross.project_memory.weight.unflatten(0, (2, cross.heads, -1))  # [heads, d_head, width]
        bias = None if cross.project_memory.bias is None else cross.project_memory.bias[len(to_values.flatten(0, 1)) :]
        query = cross.project_query(x).unflatten(-1, (cross.heads, -1)).transpose(0, 1)
        scale, p = query.shape[-1] ** -0.5, cross.dropout if cross.training else 0.0
        grids = []
        with attention_autocast(x):
            query = (query.to(to_keys.dtype) @ to_keys).transpose(0, 1)  # [N, heads, width]
            for number, (grid, bank) in enumerate(zip(self.target.to_grids(query), self.banks, strict=True)):
                rows, columns, heads, _ = grid.shape
                logits = self._by_interval(grid, bank) @ bank.flatten(0, 1).transpose(1, 2)
                logits = self._by_token(logits, rows, columns, heads).transpose(1, 2)
                weights = dropout(softmax(logits, self.masks[number], scale), p)  # [R, heads, columns, source length]
                if values is not None:
                    (value,) = split_heads(values[number], heads, 1)
                    mixed = (weights @ value).transpose(1, 2)
                else:
                    weights = weights.transpose(1, 2)
                    mixed = self._by_interval(weights, bank) @ bank.flatten(0, 1)
                    mixed = self._by_token(mixed, rows, columns, heads)
                    mixed = (mixed.transpose(1, 2) @ to_values.transpose(1, 2)).transpose(1, 2)
                    if bias is not None:
                        mixed = mixed + weights.sum(-1, keepdim=True) * bias.view(heads, -1)
                grids.append(mixed.flatten(2))
        return cross.project_out(self.target.from_grids(grids))

    def _by_interval(self, x: Tensor, bank: Tensor) -> Tensor:
        """Turn [R, columns, heads, C] into [R x intervals, tokens of an interval x heads, C]."""
        short = bank.shape[1] * self.interval - self.lead - x.shape[1]
        x = F.pad(x, (0, 0, 0, 0, self.lead, short))
        return x.reshape(-1, self.interval * x.shape[2], x.shape[3])

    def _by_token(self, x: Tensor, rows: int, columns: int, heads: int) -> Tensor:
        """Undo :meth:`_by_interval`."""
        return x.view(rows, -1, heads, x.shape[-1])[:, self.lead : self.lead + columns]
