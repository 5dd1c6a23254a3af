"""The sums of uncertainty measures over the vocabulary, in one pass over logits in the processor's
cache.

:class:`~cgbench.models.uncertainty.RunningMeasures` reads tables of tokens x vocabulary two dozen
times, so it mostly waits for memory. Here all members' logits of one token are read twice.
Exponentials and logarithms are short polynomials that the compiler vectorises (Cephes' ``expf`` and
``logf``, S. Moshier: relative error at most 2e-7). Sums are in :data:`TILE` float32 lanes, each
over a small part of the vocabulary, and in float64 over the lanes.
"""

import math
from typing import Any

import numpy as np

from cgbench.engines.compiled import inlined, intrinsic, ir, sums_kernel, types

TILE = 512
LANES = 8  # rows of the scratch table of kernels
MEASURED = (
    *("expected_entropy", "entropy_of_expected", "rmi", "ep_entropy_of_expected", "ep_rmi"),
    *("token_du", "token_pe_tu", "token_ep_tu"),
)
"""The rows that :func:`measure_tokens` writes."""

_f = np.float32
_i = np.int32


def _bits_as(source: Any, result: Any, to: Any) -> Any:
    """A function that reinterprets 32 bits as another type."""

    def cast(context: Any, argument: Any) -> Any:
        return result(source), lambda context, builder, signature, arguments: builder.bitcast(
            arguments[0], to
        )

    return intrinsic(cast)


_as_float = _bits_as(types.int32, types.float32, ir.FloatType())
_as_bits = _bits_as(types.float32, types.int32, ir.IntType(32))


@inlined
def exponential(x: Any) -> Any:
    """exp(x) in float32 for x up to slightly above 0; 0 below -87, near the subnormal numbers; NaN
    for NaN.
    """
    y = _f(-87) if x < _f(-87) else x
    # x = k log 2 + r. Numba shifts in 64 bits; truncating each result to 32 makes the compiler use
    # 32.
    k = _i(y * _f(1.44269504) - _f(0.5))
    r = (y - _f(k) * _f(0.693359375)) - _f(k) * _f(-2.12194440e-4)
    p = _f(1.9875691500e-4)
    p = p * r + _f(1.3981999507e-3)
    p = p * r + _f(8.3334519073e-3)
    p = p * r + _f(4.1665795894e-2)
    p = p * r + _f(1.6666665459e-1)
    p = p * r + _f(5.0000001201e-1)
    p = p * (r * r) + r + _f(1)
    p = _as_float(_i(_as_bits(p) + _i(k << _i(23))))
    return _f(0) if x < _f(-87) else p


@inlined
def logarithm(x: Any) -> Any:
    """log(x) in float32 for finite x; 0 and subnormal numbers count as the smallest normal
    number.
    """
    y = x if x > _f(1.1754944e-38) else _f(1.1754944e-38)
    # x = 2^k (1 + m), 1 + m between the square roots of 1/2 and 2.
    k = _i(_i(_as_bits(y) - _i(0x3F3504F3)) >> _i(23))
    m = _as_float(_i(_as_bits(y) - _i(k << _i(23)))) - _f(1)
    z = m * m
    p = _f(7.0376836292e-2)
    p = p * m + _f(-1.1514610310e-1)
    p = p * m + _f(1.1676998740e-1)
    p = p * m + _f(-1.2420140846e-1)
    p = p * m + _f(1.4249322787e-1)
    p = p * m + _f(-1.6668057665e-1)
    p = p * m + _f(2.0000714765e-1)
    p = p * m + _f(-2.4999993993e-1)
    p = p * m + _f(3.3333331174e-1)
    return m + ((m * z) * p + _f(k) * _f(-2.12194440e-4) - _f(0.5) * z) + _f(k) * _f(0.693359375)


@sums_kernel
def measure_tokens(
    logits: Any,
    tokens: Any,
    begins: Any,
    prefix: Any,
    lanes: Any,
    members: Any,
    chosen: Any,
    result: Any,
) -> None:
    """Measure tokens of hypotheses with the formulas of :mod:`cgbench.models.uncertainty`.

    If a logit is infinite or NaN, so is at least one result of its token.

    :param logits: float32 ``[M, at least T, V]``; ``tokens``: int64 ``[T]``; ``begins``: bool
        ``[T]``, true for the first token of a hypothesis.
    :param prefix: float64 ``[M]``: the members' log-probabilities of the prefix before the first
        token; updated to include the last token.
    :param lanes: float32 ``[LANES, TILE]`` scratch; ``members``: float32 ``[2, M]`` scratch.
    :param chosen: float64 ``[M, T]`` output, token log-probabilities; ``result``: float64
        ``[len(MEASURED), T]``.
    """
    count, _, width = logits.shape
    first = lanes[0]
    for t in range(len(tokens)):
        if begins[t]:
            for m in range(count):
                prefix[m] = 0.0
        # Each member's largest logit, logarithm of the sum of exponentials, and log-probability of
        # the token.
        for m in range(count):
            row = logits[m, t]
            for j in range(TILE):
                first[j] = row[0]
            for at in range(0, width, TILE):
                block = row[at : at + TILE]
                for j in range(len(block)):
                    first[j] = block[j] if block[j] > first[j] else first[j]
            top = first[0]
            for j in range(TILE):
                top = first[j] if first[j] > top else top
                first[j] = _f(0)
            for at in range(0, width, TILE):
                block = row[at : at + TILE]
                for j in range(len(block)):
                    first[j] += exponential(block[j] - top)
            total = 0.0
            for j in range(TILE):
                total += first[j]
            log_total = top + math.log(total)
            members[0, m] = _f(log_total)
            chosen[m, t] = row[tokens[t]] - log_total
        # The members' weights by their prefixes, and the measures of the token alone.
        best = prefix[0]
        for m in range(count):
            best = max(best, prefix[m])
        total = 0.0
        for m in range(count):
            total += math.exp(prefix[m] - best)
        du = pe = ep = 0.0
        for m in range(count):
            weight = math.exp(prefix[m] - best) / total
            members[1, m] = _f(weight)
            prefix[m] += chosen[m, t]
            du -= chosen[m, t]
            pe += math.exp(chosen[m, t])
            ep += weight * math.exp(chosen[m, t])
        # The measures of the whole distribution.
        _sum_over_vocabulary(logits, t, members, lanes)
        for n in range(5):
            total = 0.0
            for j in range(TILE):
                total += lanes[n, j]
            result[n, t] = total
        result[0, t] = result[0, t] / count
        result[5, t] = du / count
        result[6, t] = -math.log(pe / count)
        result[7, t] = -math.log(ep)


@inlined
def _sum_over_vocabulary(logits: Any, t: Any, members: Any, lanes: Any) -> None:
    """Fill the first five rows of ``lanes``; their sums are the first five of :data:`MEASURED` at
    token ``t``, the first one multiplied by the number of members."""
    count, _, width = logits.shape
    weight_each = _f(1.0 / count)
    entropy, of_mean, rmi, of_product, ep_rmi, mean, mean_log, product = (
        lanes[0],
        lanes[1],
        lanes[2],
        lanes[3],
        lanes[4],
        lanes[5],
        lanes[6],
        lanes[7],
    )
    for j in range(TILE):
        entropy[j] = of_mean[j] = rmi[j] = of_product[j] = ep_rmi[j] = _f(0)
    for at in range(0, width, TILE):
        wide = min(TILE, width - at)
        for j in range(wide):
            mean[j] = mean_log[j] = product[j] = _f(0)
        for m in range(count):
            block = logits[m, t, at : at + wide]
            log_total, weight = members[0, m], members[1, m]
            for j in range(wide):
                log_p = block[j] - log_total
                p = exponential(log_p)
                entropy[j] -= p * log_p
                mean[j] += p
                mean_log[j] += log_p
                product[j] += weight * p
        for j in range(wide):
            q, r, log_mean = mean[j] * weight_each, product[j], mean_log[j] * weight_each
            log_q, log_r = logarithm(q), logarithm(r)
            of_mean[j] -= q * log_q
            rmi[j] += q * (log_q - log_mean)
            of_product[j] -= r * log_r
            ep_rmi[j] += r * (log_r - log_mean)
