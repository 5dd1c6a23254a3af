"""The compiled loops over text: bytes -> words -> ids, the rare-word filter, hashes of lines.

All loops work on flat numpy arrays and release the interpreter lock; none allocates Python objects.
Each has a slow, simple twin in ``tests/helpers/twins.py`` that defines its result.

Conventions
    text buffer    uint8 ``[n + PAD]``: whole lines, each ended by a newline, then PAD newlines.
    words          (arena uint8, starts int64 ``[words + 1]``, table uint64 ``[rows, 3]``): the
                   bytes of word ``i`` are ``arena[starts[i]:starts[i + 1]]``; the table (open
                   addressing) has one row per word: (24 bits of its hash, min(its length, 255),
                   i + 1), its first 8 bytes, its next 8 bytes.
    ids            int32; UNKNOWN for a word outside the vocabulary.

The text ``to be``, an empty line, ``or to``, with ids in the order of first occurrence::

    buffer  to be//or to/
    arena   tobeor
    starts  0 2 4 6
    tokens  0 1 / 2 0 /
    counts  2 1 1

Compiled code is cached next to this file; the first use after installation compiles for a few
seconds.
"""

# mypy: ignore-errors

from typing import Any

import numpy as np

from cgbench.engines.compiled import inlined, intrinsic, ir, kernel, part, types
from cgbench.text.streams import PAD

UNKNOWN = 0x7FFFFFFE
KEEP_NONE = 0x7FFFFFFF
LINE_END = -1
"""Marks the end of a line, or of a run of words, among ids; written ``/`` in examples."""

KEPT, EMPTY, RARE = 0, 1, 2
"""States of a pair in :func:`filter_lines`."""

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_CONTROLS = np.uint64(0x2121212121212121)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth, TAOCP 3, 6.4
_FOLD = np.uint64(0xD6E8FEB86659FD93)
_0, _1, _8, _29, _32, _40 = (
    np.uint64(0),
    np.uint64(1),
    np.uint64(8),
    np.uint64(29),
    np.uint64(32),
    np.uint64(40),
)
_LOW = np.uint64(0xFFFFFFFF)
_NEWLINE, _BLANK = 10, 32
_FIRST = np.int64(0)  # a plain 0 is another type for Numba and would cause a second compilation
_FIRST_CONTROL, _LAST_CONTROL = 9, 13  # tab, newline, vertical tab, form feed, carriage return
_IN_TABLE = 16  # bytes of a word in its row of the table
_LONGEST_TOLD = 255  # maximum length in a row
_FULL_IN_FIFTHS = 4  # maximum share of used rows, in fifths
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


# --- bytes ----------------------------------------------------------------------------------------


def is_utf8(buffer, stop):
    """Whether ``buffer[:stop]`` is UTF-8."""
    head = np.full(6, _NEWLINE, np.uint8)  # as if three newlines came before
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
def _separates(byte):
    return byte == _BLANK or (byte >= _FIRST_CONTROL and byte <= _LAST_CONTROL)


@part
def _low_bytes(eight):
    """The high bit of each byte below 33 (exact up to the first of them), which may be a
    separator.
    """
    return (eight - _CONTROLS) & ~eight & _HIGHS


@part
def _word_end(buffer, i):
    while True:
        plain = trailing_zeros(_low_bytes(load64(buffer, i))) >> 3
        i += plain
        if plain < 8:
            if _separates(load8(buffer, i)):
                return i
            i += 1  # a control byte that is not a separator


@part
def _shift(eight, length):
    """The first ``length`` (0 to 8) of eight bytes, moved to the high end; zeros below."""
    half = np.uint64(4 * (8 - length))  # in two steps, because a shift by 64 is undefined
    return (eight << half) << half


@inlined
def _hash_word(buffer, i, length):
    """(64-bit hash, first 8 bytes, next 8 bytes) of ``length`` bytes."""
    head = _shift(load64(buffer, i), min(length, 8))
    tail = _shift(load64(buffer, i + 8), max(0, min(length - 8, 8)))
    code = _mix(_mix(head + np.uint64(length)) ^ tail)
    for begin in range(i + _IN_TABLE, i + length, 8):
        code = _mix(code ^ _shift(load64(buffer, begin), min(i + length - begin, 8)))
    return code, head, tail


@inlined
def _read_word(buffer, i):
    """The word that begins at ``i``: (end, its first 8 bytes, its next 8 bytes, 64-bit hash).

    Words of up to 16 bytes (nearly all) take no branch that depends on their length.
    """
    head, tail = load64(buffer, i), load64(buffer, i + 8)
    length = trailing_zeros(_low_bytes(head)) >> 3
    length += (trailing_zeros(_low_bytes(tail)) >> 3) * (length == 8)
    if not _separates(load8(buffer, i + length)):
        length = _word_end(buffer, i) - i
    code, head, tail = _hash_word(buffer, i, length)
    return i + length, head, tail, code


@part
def _line_end(buffer, i):
    while True:
        eight = load64(buffer, i) ^ _NEWLINES
        newlines = (eight - _ONES) & ~eight & _HIGHS
        if newlines != _0:
            return i + (trailing_zeros(newlines) >> 3)
        i += 8


@part
def _word_start(buffer, i):
    """The first byte at or after ``i`` that is a newline or not a separator."""
    while load8(buffer, i) != _NEWLINE and _separates(load8(buffer, i)):
        i += 1
    return i


@part
def _mix(value):
    value *= _MIX
    return value ^ (value >> _32)


@part
def _fold(code, word_hash):
    code = (code ^ word_hash) * _FOLD
    return code ^ (code >> _29)


@part
def _tag(code, length):
    """The high half of a row's first number: 24 bits of the hash and the length (255: or more)."""
    return (code >> _40 << _8) | np.uint64(min(length, _LONGEST_TOLD))


@part
def _home_row(code, table):
    """The first row to search: the hash scaled to the table, which may have any size (Lemire
    2019).
    """
    return ((code & _LOW) * np.uint64(table.shape[0])) >> _32


@part
def _next_row(at, table):
    at += _1
    return at if at < np.uint64(table.shape[0]) else _0


@part
def _find_word(buffer, start, end, head, tail, code, arena, starts, table):
    """The id of a word from :func:`_read_word`, or -1.

    Bytes are compared, so there are no collisions.
    """
    length = end - start
    tag = _tag(code, length)
    at = _home_row(code, table)
    while True:
        slot = table[at, 0]
        if slot >> _32 == tag and table[at, 1] == head and table[at, 2] == tail:
            word = np.int64(slot & _LOW) - 1
            if length <= _IN_TABLE or _same_bytes(
                buffer, start, end, arena, starts[word], starts[word + 1]
            ):
                return word
        if slot == _0:
            return np.int64(-1)
        at = _next_row(at, table)


@part
def _same_bytes(buffer, start, end, arena, there, there_end):
    while start < end and there < there_end and buffer[start] == arena[there]:
        start += 1
        there += 1
    return start == end and there == there_end


@part
def _enter_word(table, arena, start, end, word):
    """Add a word of the arena, which has PAD bytes at its end."""
    length = end - start
    code, head, tail = _hash_word(arena, start, length)
    at = _home_row(code, table)
    while table[at, 0] != _0:
        at = _next_row(at, table)
    table[at, 0] = (_tag(code, length) << _32) | np.uint64(word + 1)
    table[at, 1] = head
    table[at, 2] = tail


@kernel
def read_words(
    buffer,
    i,
    stop,
    first_kept,
    line_end,
    keep_empty,
    tokens,
    filled,
    arena,
    starts,
    counts,
    table,
    words,
):
    """Count the words of whole lines and append their ids to ``tokens``, each line ended by
    ``line_end``.

    ``tokens`` needs room for ``stop - i + 1`` more; ``words`` is the number of words in the
    vocabulary's arrays. Stops when one of these is full: enlarge it (:func:`enter_words`) and call
    again. Replacing arrays inside the loop would cost it their reference counts.

    :param first_kept: words with a lower id are counted, but not added to ``tokens``; KEEP_NONE
        adds none.
    :param keep_empty: a line without words is kept as its ``line_end``; else it is dropped.
    :returns: (byte reached, tokens filled, words)
    """
    while i < stop:
        byte = load8(buffer, i)
        if byte == _NEWLINE:
            if keep_empty or (filled > 0 and tokens[filled - 1] != line_end):
                tokens[filled] = line_end
                filled += 1
            i += 1
            continue
        if _separates(byte):
            i += 1
            continue
        end, head, tail, code = _read_word(buffer, i)
        word = _find_word(buffer, i, end, head, tail, code, arena, starts, table)
        if word < 0:
            used = starts[words]
            full = used + (end - i) + PAD > arena.size or words + 1 == starts.size
            if full or 5 * (words + 1) > _FULL_IN_FIFTHS * table.shape[0]:
                break
            word = words
            words += 1
            for k in range(end - i):
                arena[used + k] = buffer[i + k]
            starts[words] = used + (end - i)
            _enter_word(table, arena, used, starts[words], word)
        counts[word] += 1
        if word >= first_kept:
            tokens[filled] = word
            filled += 1
        i = end
    return i, filled, words


@kernel
def enter_words(table, arena, starts, words):
    """Enter the first ``words`` words into an empty table."""
    for word in range(words):
        _enter_word(table, arena, starts[word], starts[word + 1], word)


def order_words(arena, starts, order):
    """The words with ids ``order``, in that order, as (arena, starts, table)."""
    new_starts = np.zeros(order.size + 1, np.int64)
    np.cumsum(np.diff(starts)[order], out=new_starts[1:])
    new_arena = np.zeros(int(new_starts[-1]) + PAD, np.uint8)
    # Frequent words are entered first, so they are found in the first row; a small table stays in
    # the cache.
    table = np.zeros((order.size * 4 // 3 + 1, 3), np.uint64)
    copy_spans(arena, starts[order], np.diff(new_starts), new_arena)
    enter_words(table, new_arena, new_starts, order.size)
    return new_arena, new_starts, table


@kernel
def copy_spans(text, begins, sizes, out):
    """Copy spans of a text, one after another."""
    filled = 0
    for span in range(begins.size):
        for index in range(begins[span], begins[span] + sizes[span]):
            out[filled] = text[index]
            filled += 1


@kernel
def read_ids(buffer, stop, arena, starts, table, ids, lengths):
    """Write the ids of all words of whole lines to ``ids`` (room for ``stop / 2``), and the words
    per line.
    """
    i = _FIRST
    line = 0
    filled = 0
    while i < stop:
        begin = filled
        i = _word_start(buffer, i)
        while load8(buffer, i) != _NEWLINE:
            end, head, tail, code = _read_word(buffer, i)
            word = _find_word(buffer, i, end, head, tail, code, arena, starts, table)
            ids[filled] = word if word >= 0 else UNKNOWN
            filled += 1
            i = _word_start(buffer, end)
        lengths[line] = filled - begin
        line += 1
        i += 1
    return filled


@kernel
def gather_lines(buffer, line_starts, out, bounds, codes):
    """Copy the lines that begin at ``line_starts`` to ``out``, their words joined by one blank.

    ``bounds`` int64 ``[lines + 1]`` receives their limits in ``out``, ``codes`` their hashes
    (:func:`hash_lines`).
    """
    filled = 0
    for line in range(line_starts.size):
        bounds[line] = filled
        code = _0
        i = _word_start(buffer, line_starts[line])
        while load8(buffer, i) != _NEWLINE:
            end, _, _, word_hash = _read_word(buffer, i)
            code = _fold(code, word_hash)
            for k in range(end - i):
                out[filled + k] = buffer[i + k]
            filled += end - i
            i = _word_start(buffer, end)
            if load8(buffer, i) != _NEWLINE:
                out[filled] = _BLANK
                filled += 1
        codes[line] = code
    bounds[line_starts.size] = filled


@kernel
def hash_lines(buffer, stop, offsets, codes):
    """Byte offset and hash of the words (0: no word) of each line, as in :func:`filter_lines`."""
    i = _FIRST
    line = 0
    while i < stop:
        offsets[line] = i
        code = _0
        i = _word_start(buffer, i)
        while load8(buffer, i) != _NEWLINE:
            end, _, _, word_hash = _read_word(buffer, i)
            code = _fold(code, word_hash)
            i = _word_start(buffer, end)
        codes[line] = code
        line += 1
        i += 1
    return line


# --- scanning -------------------------------------------------------------------------------------


@kernel
def filter_lines(buffer, stop, arena, starts, table, usable, states, ids, offsets, lengths, codes):
    """Find the lines without a rare word on one side of a corpus; called for one side, then for the
    other.

    One side is read completely before the other, so that only one vocabulary occupies the
    processor's cache.

    :param usable: ids below it are not rare; 2^31 - 1 accepts every word.
    :param states: uint8 ``[lines]`` in and out: KEPT, EMPTY (either side has no word) or RARE. Only
        lines that are still KEPT are read.
    :param ids: int32 out, the words of the lines that stay KEPT, line by line; empty if not wanted.
    :param offsets: int64 ``[lines]`` out, byte offset in the buffer; ``lengths`` int32, words;
        ``codes`` uint64, hash of the words; the last two for the lines that stay KEPT.
    :returns: (lines read, ids filled)
    """
    i = _FIRST
    line = 0
    filled = 0
    while i < stop and line < states.size:
        # An empty line, or one that is dropped already, is only passed.
        offsets[line] = i
        i = _word_start(buffer, i)
        if load8(buffer, i) == _NEWLINE:
            states[line] = EMPTY
        elif states[line] == KEPT:
            length = 0
            code = _0
            while load8(buffer, i) != _NEWLINE:
                end, head, tail, word_hash = _read_word(buffer, i)
                word = _find_word(buffer, i, end, head, tail, word_hash, arena, starts, table)
                if word < 0:
                    word = UNKNOWN
                if word >= usable:
                    states[line] = RARE
                    break
                code = _fold(code, word_hash)
                if ids.size > 0:
                    ids[filled + length] = word
                length += 1
                i = _word_start(buffer, end)
            # All words are known: the line stays.
            if states[line] == KEPT:
                lengths[line] = length
                codes[line] = code
                filled += length
        i = _line_end(buffer, i) + 1
        line += 1
    return line, filled
