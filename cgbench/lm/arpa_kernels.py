"""Compiled loops that write n-grams as text, one per line, numbers with six decimals.

``tests/helpers/twins_lm.py`` has a naive version of each.
"""

# mypy: ignore-errors

import math
from typing import Any, NamedTuple

import numpy as np

from cgbench.engines.compiled import inlined, intrinsic, ir, kernel, part, types
from cgbench.text.byte_kernels import load64

LINE = 64  # bytes for the numbers of a line, and for copies that overrun the end of a word
MILLIONTHS = 1_000_000
LEAST = -99 * MILLIONTHS  # written for the logarithm of 0

_BLOCK = 256
_PAIRS = np.array([ord(digit) for pair in range(100) for digit in f"{pair:02}"], np.uint8)
_ROOT = np.int64(0x3FE6A09E667F3BCD)  # the bits of the square root of 1/2
_LOG10_2, _LOG10_E = math.log10(2), math.log10(math.e)


@intrinsic
def store64(context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write 8 bytes into a uint8 array from ``index`` on, aligned or not, little-endian."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@part
def _logarithms(values, bits, count, logs):
    """log10 of the first ``count`` values in int64 millionths, between LEAST and 0.

    ``bits`` is ``values`` viewed as int64; both are overwritten.

    Only arithmetic without branches, so the result is fast and the same on every machine: ln x = 2
    artanh((x - 1) / (x + 1)) for x between the square roots of 1/2 and 2, to 1e-12; the exponent
    adds the decimals.
    """
    for i in range(count):
        exponent = (bits[i] - _ROOT) >> 52
        bits[i] -= exponent << 52
        s = (values[i] - 1) / (values[i] + 1)
        t = s * s
        series = 1 / 9 + t * (1 / 11 + t * (1 / 13 + t * (1 / 15 + t / 17)))
        series = 1 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * series)))
        log = exponent * _LOG10_2 + 2 * s * series * _LOG10_E
        logs[i] = max(-np.int64(0.5 - min(log, 0.0) * MILLIONTHS), LEAST)


def to_millionths(values):
    """log10 of float32 probabilities or weights, in millionths: at most 0, LEAST for 0."""
    logs = np.empty(values.size, np.int64)
    values = values.astype(np.float64)
    _to_millionths(values, values.view(np.int64), logs)
    return logs


@kernel
def _to_millionths(values, bits, logs):
    _logarithms(values, bits, values.size, logs)


@inlined
def write_figure(value, out, i):
    """Write millionths (at most 0) as a decimal number; returns the end position."""
    if value == 0:
        out[i] = 48
        return i + 1
    value = np.uint32(-value)
    units = value // np.uint32(MILLIONTHS)
    decimals = np.int64(value - units * np.uint32(MILLIONTHS))
    out[i] = 45
    i += 1
    if units >= 10:
        out[i] = 48 + units // np.uint32(10)
        units = units % np.uint32(10)
        i += 1
    out[i] = 48 + units
    out[i + 1] = 46
    for _ in range(3):
        pair = decimals // 10000
        decimals = decimals % 10000 * 100
        out[i + 2] = _PAIRS[2 * pair]
        out[i + 3] = _PAIRS[2 * pair + 1]
        i += 2
    return i + 2


class Spellings(NamedTuple):
    """The words in a layout that takes one memory access for most of them."""

    arena: np.ndarray
    """uint8, the words with a space after each."""
    rows: np.ndarray
    """uint64 ``[words, 2]``: 8 bytes from the start of the word; start << 32 | length with the
    space.
    """
    longest: int
    """Bytes of the longest word."""


def spell_words(arena, starts, longest):
    """The :class:`Spellings` of words: word i is ``arena[starts[i]:starts[i + 1]]``."""
    words = starts.size - 1
    spellings = np.zeros(int(starts[words]) + words + 8, np.uint8)
    rows = np.empty((words, 2), np.uint64)
    _spell_words(arena, starts, spellings, rows)
    return Spellings(spellings, rows, int(longest))


@kernel
def _spell_words(arena, starts, spellings, rows):
    words = starts.size - 1
    filled = 0
    for word in range(words):
        rows[word, 1] = np.uint64(filled << 32 | (starts[word + 1] - starts[word] + 1))
        for i in range(starts[word], starts[word + 1]):
            spellings[filled] = arena[i]
            filled += 1
        spellings[filled] = 32
        filled += 1
    for word in range(words):
        rows[word, 0] = load64(spellings, np.int64(rows[word, 1] >> np.uint64(32)))


@inlined
def write_word(eight, where, arena, out, i):
    """Copy a word and its space, eight bytes at a time; bytes past the end are overwritten later.

    ``eight`` and ``where`` are its row of :class:`Spellings`.
    """
    store64(out, i, eight)
    length = np.int64(where & np.uint64(0xFFFFFFFF))
    if length > 8:
        start = np.int64(where >> np.uint64(32))
        for at in range(8, length, 8):
            store64(out, i + at, load64(arena, start + at))
    return i + length


@kernel
def write_words(spellings, logs, backoffs, word, out):
    """Write lines from ``word`` on until the buffer is full; log10 in millionths, by word.

    :returns: (the next word, bytes written)
    """
    arena, rows, longest = spellings
    i = 0
    while word < logs.size and i + longest + 1 + LINE <= out.size:
        i = write_figure(logs[word], out, i)
        out[i] = 9
        i = write_word(rows[word, 0], rows[word, 1], arena, out, i + 1)
        if backoffs.size > 0:
            out[i - 1] = 9
            i = write_figure(backoffs[word], out, i) + 1
        out[i - 1] = 10
        word += 1
    return word, i


class Ngrams(NamedTuple):
    """The n-grams of one order: positions of a sorted corpus, and what is written beside each."""

    text: np.ndarray
    positions: np.ndarray
    shared: np.ndarray
    depths: np.ndarray
    """As in ``count_kernels.py``."""
    order: int
    probabilities: np.ndarray
    """float32 ``[nodes]``"""
    weights: np.ndarray
    """float32 ``[nodes]``, back-off weights; empty for the highest order."""


class Block(NamedTuple):
    """The n-grams that are written together: arrays ``[_BLOCK]``."""

    words: np.ndarray
    """int32 ``[_BLOCK, order]``"""
    word_rows: np.ndarray
    """uint64 ``[_BLOCK, order, 2]``, of :class:`Spellings`."""
    heads: np.ndarray
    """int64, as are the next three: the last position of the n-gram."""
    nodes: np.ndarray
    logs: np.ndarray
    backoffs: np.ndarray
    values: np.ndarray
    """float64"""
    bits: np.ndarray
    """``values`` viewed as int64."""

    @classmethod
    def of(cls, order: int) -> "Block":
        """Room for a block."""
        values = np.empty(_BLOCK, np.float64)
        return cls(
            np.empty((_BLOCK, order), np.int32),
            np.empty((_BLOCK, order, 2), np.uint64),
            *(np.empty(_BLOCK, np.int64) for _ in range(4)),
            values,
            values.view(np.int64),
        )


def write_ngrams(ngrams, spellings, low, high, node, out):
    """Write the lines of the n-grams from ``low`` on until the buffer is full.

    :param high: the position after the last.
    :param node: index of the first node from ``low`` on.
    :returns: (next position, its node, bytes written)
    """
    return _write_ngrams(ngrams, spellings, low, high, node, out, Block.of(ngrams.order))


@kernel
def _write_ngrams(ngrams, spellings, low, high, node, out, block):
    text, positions, shared, depths, order, probabilities, weights = ngrams
    arena, rows, longest = spellings
    words, word_rows, heads, nodes, logs, backoffs, values, bits = block
    i = 0
    backs_off = weights.size > 0
    room = order * (longest + 1) + LINE
    while low < high:
        most = min(_BLOCK, (out.size - i) // room)
        if most == 0:
            break
        count = 0
        while low < high and count < most:
            heads[count] = low
            nodes[count] = node + count
            count += shared[low] < order <= depths[low]
            low += 1
        node += count
        # Separate loops read memory, so that no branch waits for it.
        for row in range(count):
            # Unsigned: Numba skips the check for negative indices.
            position = np.uint64(positions[heads[row]])
            for back in range(np.uint64(order)):
                words[np.uint64(row), np.uint64(order - 1) - back] = text[position - back]
            words[row, 0] -= words[row, 0] == 2  # <s> before a sentence is stored as the id of </s>
            values[row] = probabilities[nodes[row]]
        for row in range(np.uint64(count)):
            for column in range(np.uint64(order)):
                word = np.uint64(words[row, column])
                word_rows[row, column, 0] = rows[word, 0]
                word_rows[row, column, 1] = rows[word, 1]
        _logarithms(values, bits, count, logs)
        if backs_off:
            for row in range(count):
                values[row] = weights[nodes[row]]
            _logarithms(values, bits, count, backoffs)
        for row in range(count):
            i = write_figure(logs[row], out, i)
            out[i] = 9
            i += 1
            for column in range(order):
                eight, where = word_rows[row, column, 0], word_rows[row, column, 1]
                i = write_word(eight, where, arena, out, i)
            if backs_off:
                out[i - 1] = 9
                i = write_figure(backoffs[row], out, i) + 1
            out[i - 1] = 10
    return low, node, i
