"""The compiled loops over bytes: UTF-8, where words and lines begin and end, and mixing of hashes.

Buffers end with PAD newlines (:mod:`cgbench.text.word_kernels`), so eight bytes can be read at once
wherever a word begins.
"""

# mypy: ignore-errors

from typing import Any

import numpy as np

from cgbench.engines.compiled import intrinsic, ir, kernel, part, types

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_CONTROLS = np.uint64(0x2121212121212121)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth, TAOCP 3, 6.4
FOLD = np.uint64(0xD6E8FEB86659FD93)
U0, U1, U8 = np.uint64(0), np.uint64(1), np.uint64(8)
U29, U32, U40 = np.uint64(29), np.uint64(32), np.uint64(40)
LOW_HALF = np.uint64(0xFFFFFFFF)
NEWLINE, BLANK = 10, 32
FIRST = np.int64(0)  # a plain 0 is another type for Numba and would cause a second compilation
_FIRST_CONTROL, _LAST_CONTROL = 9, 13  # tab, newline, vertical tab, form feed, carriage return
# Bytes as uint8, so that the comparisons below stay 8 bits wide.
_80, _8F, _90, _9F, _A0 = (
    np.uint8(0x80),
    np.uint8(0x8F),
    np.uint8(0x90),
    np.uint8(0x9F),
    np.uint8(0xA0),
)
_C0, _C1, _E0, _ED, _F0 = (
    np.uint8(0xC0),
    np.uint8(0xC1),
    np.uint8(0xE0),
    np.uint8(0xED),
    np.uint8(0xF0),
)
_F4, _F5 = np.uint8(0xF4), np.uint8(0xF5)


@intrinsic
def load64(context: Any, array: Any, index: Any) -> Any:
    """Read 8 bytes of a uint8 array at ``index``, aligned or not, as little-endian."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(array, types.int64), generate


@intrinsic
def load8(context: Any, array: Any, index: Any) -> Any:
    """Byte ``index`` of a uint8 array, without the test for a negative index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]]))

    return types.uint8(array, types.int64), generate


@intrinsic
def trailing_zeros(context: Any, value: Any) -> Any:
    """The number of zero bits below the lowest one bit of a uint64; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def is_utf8(buffer, stop):
    """Whether ``buffer[:stop]`` is UTF-8."""
    head = np.full(6, NEWLINE, np.uint8)  # as if three newlines came before
    head[3 : 3 + min(3, stop)] = buffer[: min(3, stop)]
    return not (_is_bad(head, head.size) or _is_bad(buffer, stop))


@kernel
def _is_bad(text, stop):
    """Whether ``text[3:stop]`` is not UTF-8.

    One branch-free pass that the compiler can vectorise. A byte must be a continuation byte exactly
    if one of the three bytes before it requires one; the other terms are the forbidden bytes and
    the overlong, surrogate and out-of-range pairs of RFC 3629, section 4.
    """
    bad = False
    for i in range(3, stop):
        bad |= _utf8_error(
            load8(text, i), load8(text, i - 1), load8(text, i - 2), load8(text, i - 3)
        )
    return bad


@part
def _utf8_error(byte, first, second, third):
    """Whether ``byte`` is invalid after the bytes first (just before it), second and third."""
    continues = (byte & _C0) == _80
    expected = (first >= _C0) | (second >= _E0) | (third >= _F0)
    forbidden = (byte == _C0) | (byte == _C1) | (byte >= _F5)
    overlong = ((first == _E0) & (byte < _A0)) | ((first == _F0) & (byte < _90))
    beyond = ((first == _ED) & (byte > _9F)) | ((first == _F4) & (byte > _8F))
    return (continues != expected) | forbidden | overlong | beyond


@part
def separates(byte):
    """Whether a byte separates words: a blank, or white space of ASCII."""
    return byte == BLANK or (byte >= _FIRST_CONTROL and byte <= _LAST_CONTROL)


@part
def low_bytes(eight):
    """The high bit of each byte below 33 (exact up to the first of them), which may be a
    separator.
    """
    return (eight - _CONTROLS) & ~eight & _HIGHS


@part
def end_of_word(buffer, i):
    """The first separator at or after ``i``."""
    while True:
        plain = trailing_zeros(low_bytes(load64(buffer, i))) >> 3
        i += plain
        if plain < 8:
            if separates(load8(buffer, i)):
                return i
            i += 1  # a control byte that is not a separator


@part
def shift(eight, length):
    """The first ``length`` (0 to 8) of eight bytes, moved to the high end; zeros below."""
    half = np.uint64(4 * (8 - length))  # in two steps, because a shift by 64 is undefined
    return (eight << half) << half


@part
def end_of_line(buffer, i):
    """The first newline at or after ``i``."""
    while True:
        eight = load64(buffer, i) ^ _NEWLINES
        newlines = (eight - _ONES) & ~eight & _HIGHS
        if newlines != U0:
            return i + (trailing_zeros(newlines) >> 3)
        i += 8


@part
def start_of_word(buffer, i):
    """The first byte at or after ``i`` that is a newline or not a separator."""
    while load8(buffer, i) != NEWLINE and separates(load8(buffer, i)):
        i += 1
    return i


@part
def mix(value):
    """A 64-bit number with its bits mixed, for a hash."""
    value *= MIX
    return value ^ (value >> U32)


@part
def fold(code, word_hash):
    """The hash of some words and one more."""
    code = (code ^ word_hash) * FOLD
    return code ^ (code >> U29)
