"""The compiled loops over text: bytes -> words -> ids, the rare-word filter, hashes of lines.

Everything here works on flat numpy arrays and releases the interpreter lock; nothing allocates Python objects. Each
loop has a slow, obvious twin in ``tests/unit/twins.py`` that defines what it must give.

Conventions
    text buffer    uint8 ``[n + PAD]``: whole lines, each ended by a newline, then PAD bytes that are newlines.
    words          (arena uint8, starts int64 ``[words + 1]``, slots uint64): the bytes of word ``i`` are
                   ``arena[starts[i]:starts[i + 1]]``; slots is an open-addressing table of (hash's high half, i + 1).
    ids            int32; UNKNOWN stands for a word that is not in the vocabulary.

Compiled code is cached beside this file; the first use after installation compiles for some seconds.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

PAD = 16
UNKNOWN = 0x7FFFFFFE
TAB, CARRIAGE_RETURN, NOT_UTF8 = 1, 2, 4
"""Flags that :func:`inspect` returns."""

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_CONTROLS = np.uint64(0x2121212121212121)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth, TAOCP 3, 6.4
_FOLD = np.uint64(0xD6E8FEB86659FD93)
_0, _1, _3, _32 = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@intrinsic
def load64(context: Any, array: Any, index: Any) -> Any:
    """Read the 8 bytes of a uint8 array that begin at ``index``, aligned or not, little end first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(array, types.int64), generate


@intrinsic
def trailing_zeros(context: Any, value: Any) -> Any:
    """The number of zero bits below the lowest one bit of a nonzero uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


# --- bytes ------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def inspect(buffer, size):
    """What is odd in ``buffer[:size]``: a sum of TAB, CARRIAGE_RETURN and NOT_UTF8.

    One branch-free pass that the compiler turns into vector code. A byte must be a continuation byte exactly where
    one of the three bytes before it asks for one; the other terms are the forbidden bytes and the overlong,
    surrogate and out-of-range pairs of RFC 3629, section 4.
    """
    tab = False
    carriage_return = False
    bad = False
    third = np.uint8(10)
    second = np.uint8(10)
    first = np.uint8(10)
    for i in range(min(3, size)):
        byte = buffer[i]
        bad |= _utf8_error(byte, first, second, third)
        third, second, first = second, first, byte
    for i in range(3, size):
        bad |= _utf8_error(buffer[i], buffer[i - 1], buffer[i - 2], buffer[i - 3])
    for i in range(size):
        tab |= buffer[i] == 9
        carriage_return |= buffer[i] == 13
    return TAB * int(tab) + CARRIAGE_RETURN * int(carriage_return) + NOT_UTF8 * int(bad)


@njit
def _utf8_error(byte, first, second, third):
    """Is ``byte`` wrong after the bytes first (just before it), second and third?"""
    continues = (byte & 0xC0) == 0x80
    expected = (first >= 0xC0) | (second >= 0xE0) | (third >= 0xF0)
    forbidden = (byte == 0xC0) | (byte == 0xC1) | (byte >= 0xF5)
    overlong = ((first == 0xE0) & (byte < 0xA0)) | ((first == 0xF0) & (byte < 0x90))
    beyond = ((first == 0xED) & (byte > 0x9F)) | ((first == 0xF4) & (byte > 0x8F))
    return (continues != expected) | forbidden | overlong | beyond


@njit
def _separates(byte):
    return byte == 32 or (byte >= 9 and byte <= 13)


@njit
def _word_end(buffer, i):
    """The first separator at or after ``i``."""
    while True:
        eight = load64(buffer, i)
        found = (eight - _CONTROLS) & ~eight & _HIGHS
        if found == _0:
            i += 8
            continue
        i += trailing_zeros(found) >> 3
        if _separates(buffer[i]):
            return i
        i += 1  # one of the control bytes that separate nothing


@njit
def _line_end(buffer, i):
    """The first newline at or after ``i``."""
    while True:
        eight = load64(buffer, i) ^ _NEWLINES
        found = (eight - _ONES) & ~eight & _HIGHS
        if found != _0:
            return i + (trailing_zeros(found) >> 3)
        i += 8


@njit
def _word_start(buffer, i):
    """The first byte at or after ``i`` that is a newline or no separator."""
    while buffer[i] != 10 and _separates(buffer[i]):
        i += 1
    return i


@njit
def _mix(value):
    value *= _MIX
    return value ^ (value >> _32)


@njit
def _hash_word(buffer, start, end):
    """A 64-bit hash of a word of at least one byte."""
    code = np.uint64(end - start)
    while end - start > 8:
        code = _mix(code ^ load64(buffer, start))
        start += 8
    return _mix(code ^ (load64(buffer, start) << np.uint64(64 - 8 * (end - start))))


@njit
def _fold(code, word_hash):
    """Take one more word into the hash of a line."""
    code = (code ^ word_hash) * _FOLD
    return code ^ (code >> np.uint64(29))


@njit
def _find_word(buffer, start, end, code, arena, starts, slots):
    """The id of the word ``buffer[start:end]`` with hash ``code``, or -1. Bytes are compared: no collisions."""
    mask = np.uint64(slots.size - 1)
    at = code & mask
    while True:
        slot = slots[at]
        if slot == _0:
            return np.int64(-1)
        if slot >> _32 == code >> _32:
            word = np.int64(slot & _LOW) - 1
            here, there = start, starts[word]
            if starts[word + 1] - there == end - start:
                while end - here > 8 and load64(buffer, here) == load64(arena, there):
                    here += 8
                    there += 8
                if end - here <= 8:
                    unequal = load64(buffer, here) ^ load64(arena, there)
                    if unequal << np.uint64(64 - 8 * (end - here)) == _0:
                        return word
        at = (at + _1) & mask


@njit
def _enter_word(slots, code, word):
    mask = np.uint64(slots.size - 1)
    at = code & mask
    while slots[at] != _0:
        at = (at + _1) & mask
    slots[at] = (code >> _32 << _32) | np.uint64(word + 1)


@njit(nogil=True, cache=True)
def read_words(buffer, size, keep, tokens, filled, arena, starts, counts, hashes, slots, words):
    """Count the words of whole lines and, if ``keep``, append their ids to ``tokens``, each line ended by -1.

    ``tokens`` needs room for ``size + 1`` more. Returns (filled, arena, starts, counts, hashes, slots, words): the
    vocabulary so far, its arrays replaced by larger ones where they were full; ``words`` is the number in use.
    """
    i = 0
    while i < size:
        if buffer[i] == 10:
            if keep and filled > 0 and tokens[filled - 1] >= 0:
                tokens[filled] = -1
                filled += 1
            i += 1
            continue
        if _separates(buffer[i]):
            i += 1
            continue
        end = _word_end(buffer, i)
        code = _hash_word(buffer, i, end)
        word = _find_word(buffer, i, end, code, arena, starts, slots)
        if word < 0:
            word = words
            used = starts[words]
            if words + 1 >= starts.size:
                starts = np.concatenate((starts, np.zeros(starts.size, np.int64)))
                counts = np.concatenate((counts, np.zeros(counts.size, np.int64)))
                hashes = np.concatenate((hashes, np.zeros(hashes.size, np.uint64)))
            if used + (end - i) + PAD > arena.size:
                arena = np.concatenate((arena, np.zeros(arena.size + (end - i) + PAD, np.uint8)))
            arena[used : used + (end - i)] = buffer[i:end]
            starts[words + 1] = used + (end - i)
            hashes[words] = code
            words += 1
            if 2 * words > slots.size:
                slots = np.zeros(2 * slots.size, np.uint64)
                for old in range(words):
                    _enter_word(slots, hashes[old], old)
            else:
                _enter_word(slots, code, word)
        counts[word] += 1
        if keep:
            tokens[filled] = word
            filled += 1
        i = end
    return filled, arena, starts, counts, hashes, slots, words


@njit(nogil=True, cache=True)
def order_words(arena, starts, hashes, order):
    """The words ``order`` in that order, as (arena, starts, slots)."""
    size = 0
    for old in order:
        size += starts[old + 1] - starts[old]
    new_arena = np.zeros(size + PAD, np.uint8)
    new_starts = np.zeros(order.size + 1, np.int64)
    capacity = 16
    while capacity < 2 * order.size:
        capacity *= 2
    slots = np.zeros(capacity, np.uint64)
    for new in range(order.size):
        old = order[new]
        end = new_starts[new] + starts[old + 1] - starts[old]
        new_arena[new_starts[new] : end] = arena[starts[old] : starts[old + 1]]
        new_starts[new + 1] = end
        _enter_word(slots, hashes[old], new)
    return new_arena, new_starts, slots


@njit(nogil=True, cache=True)
def find_words(buffer, bounds, arena, starts, slots):
    """The ids of the words ``buffer[bounds[i]:bounds[i + 1]]``; the buffer is followed by PAD bytes."""
    ids = np.full(bounds.size - 1, UNKNOWN, np.int32)
    for i in range(ids.size):
        if bounds[i + 1] > bounds[i]:
            code = _hash_word(buffer, bounds[i], bounds[i + 1])
            word = _find_word(buffer, bounds[i], bounds[i + 1], code, arena, starts, slots)
            if word >= 0:
                ids[i] = word
    return ids


@njit(nogil=True, cache=True)
def read_ids(buffer, size, arena, starts, slots, ids, lengths):
    """The ids of all words of whole lines, into ``ids`` (room for ``size / 2``), and the words a line."""
    i = 0
    line = 0
    filled = 0
    while i < size:
        begin = filled
        i = _word_start(buffer, i)
        while buffer[i] != 10:
            end = _word_end(buffer, i)
            word = _find_word(buffer, i, end, _hash_word(buffer, i, end), arena, starts, slots)
            ids[filled] = word if word >= 0 else UNKNOWN
            filled += 1
            i = _word_start(buffer, end)
        lengths[line] = filled - begin
        line += 1
        i += 1
    return filled


@njit(nogil=True, cache=True)
def gather_lines(buffer, line_starts, out, bounds, codes):
    """Copy the lines that begin at ``line_starts`` to ``out``, their words joined by one blank.

    ``bounds`` int64 ``[lines + 1]`` gets their limits in ``out``, ``codes`` their hashes as :func:`hash_lines` gives
    them.
    """
    filled = 0
    for line in range(line_starts.size):
        bounds[line] = filled
        code = _0
        i = _word_start(buffer, line_starts[line])
        while buffer[i] != 10:
            end = _word_end(buffer, i)
            code = _fold(code, _hash_word(buffer, i, end))
            out[filled : filled + end - i] = buffer[i:end]
            filled += end - i
            i = _word_start(buffer, end)
            if buffer[i] != 10:
                out[filled] = 32
                filled += 1
        codes[line] = code
    bounds[line_starts.size] = filled


@njit(nogil=True, cache=True)
def hash_lines(buffer, size, offsets, codes):
    """The byte offset and the hash of each line's words (0: no word), as :func:`scan_pairs` gives them."""
    i = 0
    line = 0
    while i < size:
        offsets[line] = i
        code = _0
        i = _word_start(buffer, i)
        while buffer[i] != 10:
            end = _word_end(buffer, i)
            code = _fold(code, _hash_word(buffer, i, end))
            i = _word_start(buffer, end)
        codes[line] = code
        line += 1
        i += 1
    return line


# --- scanning ---------------------------------------------------------------------------------------------------


@njit
def _filter_line(buffer, i, arena, starts, slots, usable, ids, filled):
    """Look up a line's words until one is rare (id >= ``usable`` or unknown).

    :return: (position of the newline, words read, hash of the words, rare?)
    """
    length = 0
    code = _0
    i = _word_start(buffer, i)
    while buffer[i] != 10:
        end = _word_end(buffer, i)
        word_hash = _hash_word(buffer, i, end)
        word = _find_word(buffer, i, end, word_hash, arena, starts, slots)
        if word < 0:
            word = UNKNOWN
        length += 1
        if word >= usable:
            return _line_end(buffer, end), length, code, True
        code = _fold(code, word_hash)
        if ids.size > 0:
            ids[filled + length - 1] = word
        i = end + 1 if buffer[end] == 32 else end
        if buffer[i] != 10 and _separates(buffer[i]):
            i = _word_start(buffer, i)
    return i, length, code, False


@njit(nogil=True, cache=True)
def scan_pairs(one, one_size, one_words, two, two_size, two_words, ids, lines, offsets, lengths, codes):
    """Filter the pairs of a shard: drop those with an empty side, then those with a rare word.

    :param one: a text buffer, the side that is only filtered; ``two`` the side that is covered.
    :param one_words: (arena, starts, slots, usable): ids below ``usable`` are not rare; 2^31 - 1 filters nothing.
    :param ids: int32 out, the words of side two of the pairs that are kept, one sentence after another.
    :param lines: int64 out, the line in the shard; ``offsets``, ``lengths``, ``codes`` ``[2, pairs]`` out: byte
        offset in the buffer, words and hash of the words of either side.
    :return: (pairs read, pairs kept, dropped for an empty side, dropped for a rare word)
    """
    one_arena, one_starts, one_slots, one_usable = one_words
    two_arena, two_starts, two_slots, two_usable = two_words
    nothing = ids[:0]
    i = j = 0
    pairs = kept = empty = rare = filled = 0
    while i < one_size and j < two_size:
        first, length, code, is_rare = _filter_line(one, i, one_arena, one_starts, one_slots, one_usable, nothing, 0)
        if length == 0 or is_rare:
            start = _word_start(two, j)
            if length == 0 or two[start] == 10:
                empty += 1
            else:
                rare += 1
            second = _line_end(two, start)
        else:
            offsets[0, kept], lengths[0, kept], codes[0, kept] = i, length, code
            second, length, code, is_rare = _filter_line(
                two, j, two_arena, two_starts, two_slots, two_usable, ids, filled
            )
            if length == 0:
                empty += 1
            elif is_rare:
                rare += 1
            else:
                offsets[1, kept], lengths[1, kept], codes[1, kept] = j, length, code
                lines[kept] = pairs
                filled += length
                kept += 1
        pairs += 1
        i = first + 1
        j = second + 1
    return pairs, kept, empty, rare
