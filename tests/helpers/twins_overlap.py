"""The definition of overlap: every n-gram of every sentence, in a Counter."""

from collections import Counter

import twins


def count_ngrams(sentences):
    """How often each n-gram, of any length, is within sentences (lists of words)."""
    return Counter(
        tuple(words[i:j])
        for words in sentences
        for i in range(len(words))
        for j in range(i + 1, len(words) + 1)
    )


def ends_of(words, counts, min_count):
    """Of each word, the length of the longest n-gram that ends there and occurs ``min_count``
    times.
    """
    return [
        max((end - i for i in range(end) if counts[tuple(words[i:end])] >= min_count), default=0)
        for end in range(1, len(words) + 1)
    ]


def figures(words, counts, min_count, orders):
    """What ``cgbench overlap`` says of a sentence: known n-grams by order, longest, where it ends,
    pieces, covered.
    """

    def known(i, n):
        return counts[tuple(words[i : i + n])] >= min_count

    spans = [
        (n, -(i + n))
        for n in range(1, len(words) + 1)
        for i in range(len(words) - n + 1)
        if known(i, n)
    ]
    longest, end = max(spans, default=(0, 0))
    top = max(orders)
    inside = {j for i in range(len(words) - top + 1) if known(i, top) for j in range(i, i + top)}
    return {
        "known": [sum(known(i, n) for i in range(len(words) - n + 1)) for n in orders],
        "longest": longest,
        "longest_end": -end,
        "pieces": twins.least_pieces(
            words, {ngram for ngram, count in counts.items() if count >= min_count}
        ),
        "covered": len(inside),
    }
