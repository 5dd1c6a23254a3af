"""Absolute positions, added to embeddings, and relative positions, added to the logits of
self-attention.

There are three relative forms (query i, key j, d = d_head):

* :class:`DistanceTable`, Huang et al. (2020), method 4, as in Dangle: q_i·a_{i-j} + k_j·a_{i-j},
  one table ``a`` for both terms, shared by the heads, distances clipped to ±(P-1). Without the
  second term it is Shaw et al. (2018), keys only.
* :class:`SegmentedDistanceTable`, the same for a source followed by target tokens (Dangle's mixed
  layers): one table per side, and one vector for each direction between them.
* :class:`SinusoidalDistance`, Dai et al. (2019, Transformer-XL): u·k_j + (q_i + v)·W r_{j-i},
  sinusoids r of the signed distance without clipping (as in Csordás et al., 2021).

All terms depend only on i-j, so they are computed once per distance and skewed into place (Huang et
al., Music Transformer, 2018), without a [length, length, d_head] tensor.
"""

import math

import torch
from torch import Tensor, nn

FIRST = 2  # fairseq's position of the first word: padding's id plus one


class RelativeLogits(nn.Module):
    """Relative positions in the unscaled logits of a layer's self-attention."""

    def logits(
        self, query: Tensor, keys: Tensor, queries: tuple[int, ...], widths: tuple[int, ...]
    ) -> Tensor:
        """Return the relative logits for queries at the last columns of each part, [rows, heads,
        queries, length].

        :param query: [rows, heads, queries, d_head]; ``keys``: [rows, heads, length, d_head].
        :param queries: number of queries in each part of the sequences; ``widths``: columns of each
            part.
        """
        raise NotImplementedError

    def last_logits(self, query: Tensor, keys: Tensor, distances: Tensor) -> Tensor:
        """As :meth:`logits`, for queries that are all at the last position, [rows, heads, queries,
        length].

        :param distances: from each key to it, i-j, [length].
        """
        raise NotImplementedError


class DistanceTable(RelativeLogits):
    """A vector for each clipped distance i-j, initialised with zeros.

    :param by_key: whether to add the keys' term; without it, the form of Shaw et al.
    """

    def __init__(self, max_relative_position: int, head_width: int, by_key: bool = True) -> None:
        super().__init__()
        self.limit = max_relative_position - 1
        self.by_key = by_key
        self.table = nn.Parameter(torch.zeros(2 * max_relative_position - 1, head_width))

    def logits(
        self, query: Tensor, keys: Tensor, queries: tuple[int, ...], widths: tuple[int, ...]
    ) -> Tensor:
        """See :class:`RelativeLogits`; one part."""
        return distance_logits(self.table, self.limit, query, keys, self.by_key)

    def last_logits(self, query: Tensor, keys: Tensor, distances: Tensor) -> Tensor:
        """See :class:`RelativeLogits`."""
        rows = self.table[distances.clamp(max=self.limit) + self.limit]
        by_query = query @ rows.T
        return by_query + (keys * rows).sum(-1).unsqueeze(-2) if self.by_key else by_query


class SegmentedDistanceTable(RelativeLogits):
    """Distances within a source and within the target tokens after it, and one vector per direction
    between the two.

    ``across`` [2, d_head]: row 0 for a source query and a target key, row 1 for the reverse. All
    are initialised with zeros.
    """

    def __init__(self, max_relative_position: int, head_width: int) -> None:
        super().__init__()
        self.limit = max_relative_position - 1
        self.source = nn.Parameter(torch.zeros(2 * max_relative_position - 1, head_width))
        self.target = nn.Parameter(torch.zeros(2 * max_relative_position - 1, head_width))
        self.across = nn.Parameter(torch.zeros(2, head_width))

    def logits(
        self, query: Tensor, keys: Tensor, queries: tuple[int, ...], widths: tuple[int, ...]
    ) -> Tensor:
        """See :class:`RelativeLogits`; two parts, source and target."""
        source_query, target_query = query.split(queries, 2)
        source_keys, target_keys = keys.split(widths, 2)
        down, up = self.across
        rows = []
        if queries[0]:
            within = distance_logits(self.source, self.limit, source_query, source_keys, True)
            beyond = (source_query @ down).unsqueeze(-1) + (target_keys @ down).unsqueeze(-2)
            rows.append(torch.cat((within, beyond), -1))
        if queries[1]:
            within = distance_logits(self.target, self.limit, target_query, target_keys, True)
            beyond = (target_query @ up).unsqueeze(-1) + (source_keys @ up).unsqueeze(-2)
            rows.append(torch.cat((beyond, within), -1))
        return torch.cat(rows, -2) if len(rows) > 1 else rows[0]


class SinusoidalDistance(RelativeLogits):
    """Transformer-XL's terms (b) to (d): u·k_j + (q_i + v)·W r_{j-i}; u and v are initialised with
    zeros.

    The sinusoids are interleaved (sine, cosine, sine, ...) and not clipped.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.content = nn.Parameter(torch.zeros(heads, 1, width // heads))
        self.position = nn.Parameter(torch.zeros(heads, 1, width // heads))
        self.project = nn.Linear(width, width, bias=False)

    def _vectors(self, distances: Tensor, like: Tensor) -> Tensor:
        """Return W r of the distances i-j [n], [heads, n, d_head]."""
        # r of j-i
        vectors = self.project(
            interleaved_sinusoids(-distances, self.width).to(self.project.weight.dtype)
        )
        return vectors.unflatten(-1, (self.heads, -1)).transpose(0, 1).to(like.dtype)

    def logits(
        self, query: Tensor, keys: Tensor, queries: tuple[int, ...], widths: tuple[int, ...]
    ) -> Tensor:
        """See :class:`RelativeLogits`; one part, with as many queries as keys."""
        length = keys.shape[2]
        vectors = self._vectors(torch.arange(1 - length, length, device=query.device), query)
        by_position = skew((query + self.position) @ vectors.flip(1).transpose(-1, -2))
        return by_position + (keys * self.content).sum(-1).unsqueeze(-2)

    def last_logits(self, query: Tensor, keys: Tensor, distances: Tensor) -> Tensor:
        """See :class:`RelativeLogits`."""
        vectors = self._vectors(distances, query)
        return (query + self.position) @ vectors.transpose(-1, -2) + (keys * self.content).sum(
            -1
        ).unsqueeze(-2)


def distance_logits(table: Tensor, limit: int, query: Tensor, keys: Tensor, by_key: bool) -> Tensor:
    """Return q_i·a_{i-j} (+ k_j·a_{i-j}) for queries at the keys' last positions, [rows, heads,
    queries, keys].

    :param table: a, [2 limit + 1, d_head]; distances are clipped to ±limit.
    """
    queries, length = query.shape[2], keys.shape[2]
    if length == 0:
        return query.new_zeros(*query.shape[:2], queries, 0)
    rows = table[
        torch.arange(1 - queries, length, device=table.device).clamp(-limit, limit) + limit
    ]
    by_query = skew(query @ rows.flip(0).T)
    return by_query + skew(keys @ rows.T).transpose(-1, -2) if by_key else by_query


def skew(x: Tensor) -> Tensor:
    """Turn [..., n, n+w-1] into [..., n, w], with row i from column n-1-i on: result[i, j] = x[i,
    j-i+n-1].
    """
    n = x.shape[-2]
    if n == 1:
        return x
    last = x.shape[-1] - 1
    flat = x.flatten(-2)[..., n - 1 : n - 1 + n * last]
    return flat.unflatten(-1, (n, last))[..., : last - n + 2]


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return position vectors [..., width] as in fairseq: sines, then cosines; the first word has
    position 2.
    """
    half = width // 2
    steps = torch.arange(half, dtype=torch.float32, device=positions.device)
    frequencies = torch.exp(steps * (-math.log(10000.0) / (half - 1)))
    angles = (positions + FIRST).unsqueeze(-1) * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def timing_sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return position vectors [..., width] as in tensor2tensor: sines, then cosines, from 0."""
    return sinusoids(positions - FIRST, width)


def interleaved_sinusoids(positions: Tensor, width: int) -> Tensor:
    """Return position vectors [..., width] as in Vaswani et al. (2017), section 3.5: sine, cosine,
    ..., from 0.
    """
    even = torch.arange(0, width, 2, dtype=torch.float32, device=positions.device)
    angles = positions.unsqueeze(-1) * torch.exp(even * (-math.log(10000.0) / width))
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
