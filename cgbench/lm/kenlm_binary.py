"""Write a language model as a KenLM binary file of type "probing", which loads instantly by memory mapping.

The format follows KenLM's sources (lm/binary_format.cc, lm/vocab.cc, lm/vocab.hh, lm/search_hashed.hh, lm/blank.hh,
lm/read_arpa.cc, util/probing_hash_table.hh, util/murmur_hash.cc). Numbers are little-endian; float is IEEE single
precision; V is the vocabulary size with ``<unk>``, ``<s>`` and ``</s>``; ids are in the order of the ARPA unigrams.

=============== ==============================================================================================
part            content
=============== ==============================================================================================
magic           56 bytes: "mmap lm http://kheafield.com/code format version 5\\n", zeros
sanity          float 0, 1, -0.5; uint32 1, 2^32 - 1, 0; uint64 1
fixed           uint8 order, 3 zeros; float 1.5 (buckets per entry); uint32 0 (probing); uint8 1 (words follow),
                3 zeros; uint32 0 (version of the search)
counts          uint64 per order: n-grams
words           uint32 0 (version), uint32 V; a hash table of V entries: uint64 hash of the bytes (MurmurHash64A,
                seed 0), uint32 id; without ``<unk>``
unigrams        V + 1 times float log10 probability, float log10 back-off; the last row is not used
middle orders   one hash table per order: uint64 key, float log10 probability, float log10 back-off
highest order   a hash table: uint64 key, float log10 probability
strings         the words by id, each ended by a zero byte
=============== ==============================================================================================

A hash table for n entries has max(n + 1, floor(1.5 n)) buckets, the product in single precision. An entry goes into the
first free bucket from (key mod buckets) on; empty buckets have key 0. The key of an n-gram starts with the id of its
last word and adds the words before it, one by one: key <- key * 8978948897894561157 xor
(1 + id) * 17894857484156487943, modulo 2^64.

Two flags save the reader look-ups. The sign bit of a probability means that no n-gram has one more word on its left
(unigrams: it is cleared or left as it is). A back-off of -0.0 means that no n-gram begins with this one.

Entries are inserted in the order of the ARPA file. So the bytes equal those of KenLM's ``build_binary F.arpa F.binary``
on the ARPA file of the same corpus (tested on small ones).
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cgbench.files import atomic_path
from cgbench.lm.arpa import map_ordered, ngram_counts, write_all
from cgbench.lm.smoothing import Estimates, Smoothing, Stretch

MAGIC = b"mmap lm http://kheafield.com/code format version 5\n"
ORDERS = range(2, 7)
"""The orders that the kenlm package reads by default."""


def write_binary(model: Smoothing, out: Path) -> None:
    """Estimate a model of one of the :data:`ORDERS` and write it to ``out`` atomically."""
    counts = ngram_counts(model)
    with atomic_path(out) as temporary, temporary.open("wb", buffering=0) as file:
        write_all(file, np.frombuffer(_header(counts), np.uint8))
        _write_vocabulary(model, file)
        with ThreadPoolExecutor(model.jobs) as pool:
            for estimates in model.estimate():
                if estimates.order == 1:
                    _write_unigrams(model, estimates, file)
                else:
                    _write_table(model, estimates, counts[estimates.order - 1], file, pool)
        corpus = model.corpus
        ends = np.cumsum(np.diff(corpus.starts))
        write_all(file, np.insert(corpus.arena[: ends[-1]], ends, 0))


def buckets(entries: int, multiplier: float = 1.5) -> int:
    """Number of buckets of a hash table."""
    return max(entries + 1, int(np.float32(multiplier) * np.float32(entries)))


def _header(counts: list[int]) -> bytes:
    sanity = struct.pack("<3f3IQ", 0, 1, -0.5, 1, 2**32 - 1, 0, 1)
    fixed = struct.pack("<B3xfIB3xI", len(counts), 1.5, 0, 1, 0)
    header = MAGIC.ljust(56, b"\0") + sanity + fixed + struct.pack(f"<{len(counts)}Q", *counts)
    return header.ljust(-(-len(header) // 8) * 8, b"\0")


def _write_vocabulary(model: Smoothing, file: BinaryIO) -> None:
    from cgbench.lm import kenlm_kernels

    corpus = model.corpus
    table = np.zeros((buckets(corpus.words), 3), np.uint32)
    kenlm_kernels.enter_words(corpus.arena, corpus.starts, table)
    write_all(file, np.array([0, corpus.words], np.uint32).view(np.uint8))
    write_all(file, table.reshape(-1).view(np.uint8))


def _write_unigrams(model: Smoothing, estimates: Estimates, file: BinaryIO) -> None:
    from cgbench.lm import count_kernels, kenlm_kernels

    places = model.sorted
    probabilities, weights = model.of_words(estimates)
    rows = np.zeros((model.corpus.words + 1, 2), np.float32)
    rows[:-1, 0] = kenlm_kernels.log10_as_read(probabilities)
    extended = np.zeros(model.corpus.words, np.bool_)
    kenlm_kernels.extend_words(places.depths, places.starts, extended)
    extended[count_kernels.BEGIN] = True  # its probability is written as 0, not -0
    rows[:-1, 0] = np.where(extended, np.abs(rows[:-1, 0]), rows[:-1, 0])
    rows[:-1, 1] = np.where(weights > 1, np.float32(-0.0), kenlm_kernels.log10_as_read(weights))
    write_all(file, rows.reshape(-1).view(np.uint8))


def _write_table(
    model: Smoothing, estimates: Estimates, entries: int, file: BinaryIO, pool: ThreadPoolExecutor
) -> None:
    from cgbench.lm import kenlm_kernels

    places, order = model.sorted, estimates.order
    highest = estimates.weights is None
    weights = np.empty(0, np.float32) if estimates.weights is None else estimates.weights

    def make(part: Stretch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        most = part.high - part.low
        keys, logs = np.empty(most, np.uint64), np.empty(most, np.float32)
        backoffs = np.empty(0 if highest else most, np.float32)
        filled = kenlm_kernels.make_entries(
            model.corpus.text, places.places, places.shared, places.depths, part.low, part.high, order,
            highest, estimates.probabilities, weights, part.before[order], keys, logs, backoffs,
        )  # fmt: skip
        return keys[:filled], logs[:filled], backoffs[:filled]

    table = np.zeros((buckets(entries), 3 if highest else 4), np.uint32)
    for part_entries in map_ordered(pool, make, model.parts, model.jobs + 2):
        kenlm_kernels.insert(*part_entries, table)
    write_all(file, table.reshape(-1).view(np.uint8))
