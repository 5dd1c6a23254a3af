"""The compiled hash table that stores the trie of known n-grams.

A node is an int: a word's id for the n-gram of that one word, otherwise ``words`` + the number of
the slot that holds its entry. An entry is ``parent node << 32 | (word + 1) << 1 | flag``; 0 is an
empty slot. Slots come in buckets of 8, a cache line each, so that one read per token answers
whether the piece can be extended.

With three words (0, 1, 2) and 16 slots, the n-grams ``0 1`` and ``0 1 2``::

    entry of (node 0, word 1)      0 << 32 | 2 << 1     in slot 0
    node of the n-gram 0 1         3 + 0 = 3
    entry of (node 3, word 2)      3 << 32 | 3 << 1     in slot 8
    node of the n-gram 0 1 2       3 + 8 = 11
"""

# mypy: ignore-errors

from typing import Any

import numpy as np

from cgbench.engines.compiled import intrinsic, ir, part, types
from cgbench.text.byte_kernels import MIX, U0, U1, U29, U32, trailing_zeros

BUCKET = 8
"""Slots compared at once; the size of a table is a multiple."""


@part
def entry_of(node, word):
    """The entry of the n-gram that extends ``node`` by ``word``, with its flag not set."""
    return (np.uint64(node) << U32) | (np.uint64(word + 1) << U1)


@intrinsic
def match_bucket(context: Any, slots: Any, first: Any, entry: Any) -> Any:
    """A bit for each of the 8 slots from ``first`` on that holds ``entry``, ignoring flags; one
    vector comparison.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(ir.IntType(64), BUCKET)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        row = builder.load(pointer, align=8)
        vector = builder.insert_element(
            ir.Constant(eight, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0)
        )
        all_lanes = ir.Constant(ir.VectorType(ir.IntType(32), BUCKET), [0] * BUCKET)
        copies = builder.shuffle_vector(vector, ir.Constant(eight, ir.Undefined), all_lanes)
        unequal = builder.xor(row, copies)
        equal = builder.icmp_unsigned("<", unequal, ir.Constant(eight, [2] * BUCKET))
        bits = builder.bitcast(equal, ir.IntType(BUCKET))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(slots, types.int64, types.uint64), generate


@part
def home_slot(entry, slot_count):
    """The first slot of an entry's bucket: a hash scaled to the number of buckets (Lemire 2019)."""
    entry >>= U1  # the flag is not part of the key
    code = (entry ^ (entry >> U29)) * MIX
    return np.int64(((code >> U32) * np.uint64(slot_count // BUCKET)) >> U32) * BUCKET


@part
def find_entry(entry, slots):
    """The slot of ``entry``, or -1."""
    first = home_slot(entry, slots.size)
    while True:
        match = match_bucket(slots, first, entry)
        if match != U0:
            return first + trailing_zeros(match)
        if slots[first + BUCKET - 1] == U0:  # buckets fill from their first slot
            return np.int64(-1)
        first += BUCKET
        if first == slots.size:
            first = 0


@part
def enter(entry, slots):
    """Insert a new entry into the table; returns its slot."""
    slot = home_slot(entry, slots.size)
    while slots[slot] != U0:
        slot += 1
        if slot == slots.size:
            slot = 0
    slots[slot] = entry
    return slot
