"""The worked examples of the compiled loops over known n-grams are what the loops make of them."""

import numpy as np
from numba import njit

from cgbench.benchmark.measure.known_ngrams import cover_kernels, trie_kernels, trie_table
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.known_ngrams.trie_arrays import Tallies
from cgbench.text.word_kernels import LINE_END

WORDS = "abcdex"
LINES = ["a b c d e", "a b c d e", "a b x"]


@njit
def find(node, word, slots):
    """The slot of an n-gram: Python calls no part of a kernel."""
    return trie_table.find_entry(trie_table.entry_of(node, word), slots)


def shown(ids):
    """Ids as the examples write them."""
    return " ".join("/" if i == LINE_END else str(i) for i in ids)


def learn_example():
    """What the example is made of: (text, weights, ends, starts, groups, nodes)."""
    tokens = np.array(
        [i for line in LINES for i in [*map(WORDS.index, line.split()), LINE_END]], np.int32
    )
    runs = trie_kernels.collapse(tokens, np.array([0, 1, 2, 3, 4, -1]), False)  # x occurs once
    starts = np.zeros(6, np.int64)
    trie_kernels.count_places(runs.text, starts)
    np.cumsum(starts, out=starts)
    groups = np.empty((2, int(starts[-1])), np.int32)
    trie_kernels.sort_first(runs.text, starts.copy(), groups[0])
    before = groups[0].copy()
    nodes, stack = np.empty((20, 4), np.int32), np.empty((20, 5), np.int64)
    word, _, filled = trie_kernels.grow_trie(
        runs, groups, starts, 0, 5, 2, nodes, 0, stack, 0, Tallies.of(5)
    )
    assert word == 5
    return *runs, starts, before, nodes[:filled]


def test_the_example_of_learning():
    text, weights, ends, starts, groups, nodes = learn_example()
    names = []
    for parent, word, begin, length in nodes.tolist():
        name = f"{-1 - parent if parent < 0 else names[parent]}-{word}"
        names.append(name + (f"-({shown(text[begin : begin + length])})" if length else ""))
    parts = [f"{word}: {shown(groups[starts[word] : starts[word + 1]])}" for word in range(4)]
    for row in (
        f"text     {shown(text)}",
        f"weights  {shown(weights)}",
        f"ends     {shown(ends)}",
        f"groups   {', '.join(parts)}",
        f"nodes    {', '.join(names)}",
    ):
        assert f"    {row}\n" in trie_kernels.__doc__


def test_the_example_of_covering():
    ngrams = KnownNgrams.learn(LINES, min_count=2)
    assert [ngrams.words.word(i) for i in range(5)] == list("abcde")
    sentence = "a b c x b c d e a"
    ids = ngrams.words.ids(sentence.split())
    pieces, begins = ngrams.count_pieces(ids, np.array([len(ids)], np.int32))
    for row in (
        f"sentence  {sentence}",
        f"ids       {' '.join(str(i) if i < 5 else '?' for i in ids)}",
        f"begins    {shown(begins)}",
        f"pieces    {pieces[0]}",
    ):
        assert f"    {row}\n" in cover_kernels.__doc__


def test_the_example_of_the_table():
    words, slots = 3, np.zeros(16, np.uint64)
    nodes = np.array([[-1, 1, 0, 0], [0, 2, 0, 0]], np.int32)
    trie_kernels.build_trie(nodes, np.zeros(0, np.int32), words, slots)
    first = find(0, 1, slots)
    second = find(words + first, 2, slots)
    for row in (
        f"entry of (node 0, word 1)      0 << 32 | 2 << 1     in slot {first}",
        f"node of the n-gram 0 1         {words} + {first} = {words + first}",
        (
            f"entry of (node {words + first}, word 2)      {words + first} << 32 | 3 << 1     in"
            f" slot {second}"
        ),
        f"node of the n-gram 0 1 2       {words} + {second} = {words + second}",
    ):
        assert f"    {row}\n" in trie_table.__doc__, row
