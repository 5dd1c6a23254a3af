"""Compiled loops that fill the hash tables of a KenLM binary file; ``kenlm_binary.py`` describes the format."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import kernel, part
from cgbench.lm.arpa_kernels import MILLIONTHS, to_millionths
from cgbench.text.word_kernels import load64

_M = np.uint64(0xC6A4A7935BD1E995)
_47 = np.uint64(47)
_LEFT, _RIGHT = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
_SIGN = np.uint32(1 << 31)
_BLOCK = 512


@part
def murmur(data, start, end):
    """MurmurHash64A (Austin Appleby, public domain) of ``data[start:end]`` with seed 0; 8 bytes must follow."""
    code = np.uint64(end - start) * _M
    while start + 8 <= end:
        part = load64(data, start) * _M
        part = (part ^ (part >> _47)) * _M
        code = (code ^ part) * _M
        start += 8
    if start < end:
        code = (code ^ (load64(data, start) & ((np.uint64(1) << np.uint64(8 * (end - start))) - np.uint64(1)))) * _M
    code = (code ^ (code >> _47)) * _M
    return code ^ (code >> _47)


@part
def _combine(code, word):
    return (code * _LEFT) ^ (np.uint64(1 + word) * _RIGHT)


@kernel
def enter_words(arena, starts, table):
    """Insert all words except the first, ``<unk>``, into a uint32 table ``[buckets, 3]``: hash (two halves), id."""
    buckets = np.uint64(table.shape[0])
    for word in range(1, starts.size - 1):
        code = murmur(arena, starts[word], starts[word + 1])
        at = np.int64(code % buckets)
        while table[at, 0] | table[at, 1] != 0:
            at = at + 1 if at + 1 < table.shape[0] else 0
        table[at, 0] = np.uint32(code & np.uint64(0xFFFFFFFF))
        table[at, 1] = np.uint32(code >> np.uint64(32))
        table[at, 2] = word


def log10_as_read(values):
    """log10 as read from an ARPA file: the float32 nearest to six decimals."""
    return (to_millionths(values) / MILLIONTHS).astype(np.float32)


@kernel
def extend_words(depths, starts, extended):
    """Mark the words in which a bigram ends."""
    for word in range(starts.size - 1):
        begin, end = starts[word], starts[word + 1]
        extended[word] = begin < end and depths[begin] > 1


def make_entries(text, places, shared, depths, low, high, order, highest, values, weights, node, keys, logs, backoffs):
    """Make the entries of the n-grams of a part, in order.

    :param highest: whether this is the highest order.
    :param keys: uint64 output; ``logs``: float32 output, sign bit set if the n-gram has no left extension;
        ``backoffs``: float32 output (empty for the highest order), -0.0 if no n-gram begins with this one.
    :returns: the number of entries.
    """
    signs = np.empty(logs.size, np.uint32)
    words = np.empty((_BLOCK, order), np.int32)
    heads, nodes = (np.empty(_BLOCK, np.int64) for _ in range(2))
    filled = _make_entries(
        text, places, shared, depths, low, high, order, highest, values, weights, node, keys, logs, backoffs,
        signs, words, heads, nodes,
    )  # fmt: skip
    logs[:filled] = log10_as_read(logs[:filled])
    bits = logs.view(np.uint32)[:filled]
    bits &= ~_SIGN
    bits |= signs[:filled]
    if not highest:
        none = backoffs[:filled] > 1
        backoffs[:filled] = log10_as_read(backoffs[:filled])
        backoffs[:filled][none] = np.float32(-0.0)
    return filled


@kernel
def _make_entries(
    text, places, shared, depths, low, high, order, highest, values, weights, node, keys, logs, backoffs,
    signs, words, heads, nodes,
):  # fmt: skip
    filled = 0
    while low < high:
        held = 0
        while low < high and held < _BLOCK:
            k = low
            low += 1
            if shared[k] < order <= depths[k]:
                heads[held], nodes[held] = k, node
                held += 1
                node += 1
        for row in range(held):
            place = np.int64(places[heads[row]])
            for back in range(order):
                words[row, back] = text[place - back]
        for row in range(held):
            key = np.uint64(words[row, 0])
            for back in range(1, order):
                word = words[row, back]
                word -= (back == order - 1) & (word == 2)  # <s> before a sentence is stored as the id of </s>
                key = _combine(key, word)
            keys[filled] = key
            logs[filled] = values[nodes[row]]
            extended = not highest and depths[heads[row]] > order
            signs[filled] = np.uint32(0) if extended else _SIGN
            if not highest:
                backoffs[filled] = weights[nodes[row]]
            filled += 1
    return filled


def insert(keys, logs, backoffs, table):
    """Insert entries in order by linear probing; the table is uint32 ``[buckets, 3 or 4]``: key, log, back-off."""
    _insert(keys, logs.view(np.uint32), backoffs.view(np.uint32), table, np.empty(_BLOCK, np.int64))


@kernel
def _insert(keys, bits, backoff_bits, table, homes):
    buckets = np.uint64(table.shape[0])
    for begin in range(0, keys.size, _BLOCK):
        size = min(_BLOCK, keys.size - begin)
        for row in range(size):
            homes[row] = np.int64(keys[begin + row] % buckets)
        for row in range(size):
            at = homes[row]
            while table[at, 0] | table[at, 1] != 0:
                at = at + 1 if at + 1 < table.shape[0] else 0
            key = keys[begin + row]
            table[at, 0] = np.uint32(key & np.uint64(0xFFFFFFFF))
            table[at, 1] = np.uint32(key >> np.uint64(32))
            table[at, 2] = bits[begin + row]
            if table.shape[1] > 3:
                table[at, 3] = backoff_bits[begin + row]
