"""The compiled loops over words: text -> words -> ids, the rare-word filter, hashes of lines.

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

import numpy as np

from cgbench.engines.compiled import inlined, kernel, part
from cgbench.text.byte_kernels import (
    BLANK,
    FIRST,
    LOW_HALF,
    NEWLINE,
    U0,
    U1,
    U8,
    U32,
    U40,
    end_of_line,
    end_of_word,
    fold,
    load8,
    load64,
    low_bytes,
    mix,
    separates,
    shift,
    start_of_word,
    trailing_zeros,
)
from cgbench.text.streams import PAD

UNKNOWN = 0x7FFFFFFE
KEEP_NONE = 0x7FFFFFFF
LINE_END = -1
"""Marks the end of a line, or of a run of words, among ids; written ``/`` in examples."""

KEPT, EMPTY, RARE = 0, 1, 2
"""States of a pair in :func:`filter_lines`."""

_IN_TABLE = 16  # bytes of a word in its row of the table
_LONGEST_TOLD = 255  # maximum length in a row
_FULL_IN_FIFTHS = 4  # maximum share of used rows, in fifths


@inlined
def _hash_word(buffer, i, length):
    """(64-bit hash, first 8 bytes, next 8 bytes) of ``length`` bytes."""
    head = shift(load64(buffer, i), min(length, 8))
    tail = shift(load64(buffer, i + 8), max(0, min(length - 8, 8)))
    code = mix(mix(head + np.uint64(length)) ^ tail)
    for begin in range(i + _IN_TABLE, i + length, 8):
        code = mix(code ^ shift(load64(buffer, begin), min(i + length - begin, 8)))
    return code, head, tail


@inlined
def _read_word(buffer, i):
    """The word that begins at ``i``: (end, its first 8 bytes, its next 8 bytes, 64-bit hash).

    Words of up to 16 bytes (nearly all) take no branch that depends on their length.
    """
    head, tail = load64(buffer, i), load64(buffer, i + 8)
    length = trailing_zeros(low_bytes(head)) >> 3
    length += (trailing_zeros(low_bytes(tail)) >> 3) * (length == 8)
    if not separates(load8(buffer, i + length)):
        length = end_of_word(buffer, i) - i
    code, head, tail = _hash_word(buffer, i, length)
    return i + length, head, tail, code


@part
def _tag(code, length):
    """The high half of a row's first number: 24 bits of the hash and the length (255: or more)."""
    return (code >> U40 << U8) | np.uint64(min(length, _LONGEST_TOLD))


@part
def _home_row(code, table):
    """The first row to search: the hash scaled to the table, which may have any size (Lemire
    2019).
    """
    return ((code & LOW_HALF) * np.uint64(table.shape[0])) >> U32


@part
def _next_row(at, table):
    at += U1
    return at if at < np.uint64(table.shape[0]) else U0


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
        if slot >> U32 == tag and table[at, 1] == head and table[at, 2] == tail:
            word = np.int64(slot & LOW_HALF) - 1
            if length <= _IN_TABLE or _same_bytes(
                buffer, start, end, arena, starts[word], starts[word + 1]
            ):
                return word
        if slot == U0:
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
    while table[at, 0] != U0:
        at = _next_row(at, table)
    table[at, 0] = (_tag(code, length) << U32) | np.uint64(word + 1)
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
        if byte == NEWLINE:
            if keep_empty or (filled > 0 and tokens[filled - 1] != line_end):
                tokens[filled] = line_end
                filled += 1
            i += 1
            continue
        if separates(byte):
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
    i = FIRST
    line = 0
    filled = 0
    while i < stop:
        begin = filled
        i = start_of_word(buffer, i)
        while load8(buffer, i) != NEWLINE:
            end, head, tail, code = _read_word(buffer, i)
            word = _find_word(buffer, i, end, head, tail, code, arena, starts, table)
            ids[filled] = word if word >= 0 else UNKNOWN
            filled += 1
            i = start_of_word(buffer, end)
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
        code = U0
        i = start_of_word(buffer, line_starts[line])
        while load8(buffer, i) != NEWLINE:
            end, _, _, word_hash = _read_word(buffer, i)
            code = fold(code, word_hash)
            for k in range(end - i):
                out[filled + k] = buffer[i + k]
            filled += end - i
            i = start_of_word(buffer, end)
            if load8(buffer, i) != NEWLINE:
                out[filled] = BLANK
                filled += 1
        codes[line] = code
    bounds[line_starts.size] = filled


@kernel
def hash_lines(buffer, stop, offsets, codes):
    """Byte offset and hash of the words (0: no word) of each line, as in :func:`filter_lines`."""
    i = FIRST
    line = 0
    while i < stop:
        offsets[line] = i
        code = U0
        i = start_of_word(buffer, i)
        while load8(buffer, i) != NEWLINE:
            end, _, _, word_hash = _read_word(buffer, i)
            code = fold(code, word_hash)
            i = start_of_word(buffer, end)
        codes[line] = code
        line += 1
        i += 1
    return line


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
    i = FIRST
    line = 0
    filled = 0
    while i < stop and line < states.size:
        # An empty line, or one that is dropped already, is only passed.
        offsets[line] = i
        i = start_of_word(buffer, i)
        if load8(buffer, i) == NEWLINE:
            states[line] = EMPTY
        elif states[line] == KEPT:
            length = 0
            code = U0
            while load8(buffer, i) != NEWLINE:
                end, head, tail, word_hash = _read_word(buffer, i)
                word = _find_word(buffer, i, end, head, tail, word_hash, arena, starts, table)
                if word < 0:
                    word = UNKNOWN
                if word >= usable:
                    states[line] = RARE
                    break
                code = fold(code, word_hash)
                if ids.size > 0:
                    ids[filled + length] = word
                length += 1
                i = start_of_word(buffer, end)
            # All words are known: the line stays.
            if states[line] == KEPT:
                lengths[line] = length
                codes[line] = code
                filled += length
        i = end_of_line(buffer, i) + 1
        line += 1
    return line, filled
