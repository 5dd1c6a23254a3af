"""Compiled loops that find the pieces of a test set in sentences.

Pieces are a phrase list in the table of ``known_ngrams/trie_table.py``; ``numbers`` int32 has the piece that ends at
each node (-1: none), ``longer`` uint8 whether a longer one goes through it. A node is a word, or ``words`` + a slot.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.benchmark.known_ngrams.trie_table import entry_of, find_entry
from cgbench.engines.compiled import kernel


@kernel
def number_pieces(ids, bounds, words, slots, numbers, longer):
    """Note the nodes of pieces, ``ids[bounds[i]:bounds[i + 1]]`` each, which are in ``slots``."""
    for piece in range(bounds.size - 1):
        node = np.int64(ids[bounds[piece]])
        for i in range(bounds[piece] + 1, bounds[piece + 1]):
            longer[node] = 1
            node = words + find_entry(entry_of(node, np.int64(ids[i])), slots)
        numbers[node] = piece


@kernel
def find_pieces(ids, lengths, words, slots, numbers, longer, last, counts, lines, pieces, starts):
    """Write line, piece and first word (an index of ``ids``) of every occurrence, as far as there is room.

    :param ids: int32, the words of all sentences; ``lengths`` int32, words per sentence.
    :param last: int64 ``[pieces]``, -1; ``counts`` int64 ``[pieces]`` out, the lines with each piece.
    :returns: the number of occurrences
    """
    found = 0
    position = 0
    for line in range(lengths.size):
        end = position + lengths[line]
        for i in range(position, end):
            node = np.int64(ids[i])
            if node >= words:
                continue
            j = i
            while True:
                piece = numbers[node]
                if piece >= 0:
                    counts[piece] += last[piece] != line
                    last[piece] = line
                    if found < lines.size:
                        lines[found] = line
                        pieces[found] = piece
                        starts[found] = i
                    found += 1
                j += 1
                if longer[node] == 0 or j == end:
                    break
                slot = find_entry(entry_of(node, np.int64(ids[j])), slots)
                if slot < 0:
                    break
                node = words + slot
        position = end
    return found
