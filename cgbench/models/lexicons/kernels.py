"""Compiled loops of the lexicon learners: indexing co-occurrences, and the expectations of IBM
models.

``tests/helpers/twins_lexicon.py`` has a naive version of each.
"""

# mypy: ignore-errors

import numpy as np

from cgbench.engines.compiled import kernel, part


@kernel
def number_cooccurrences(
    order,
    counts,
    sentence,
    source_starts,
    target,
    target_starts,
    target_lengths,
    words,
    offsets,
    cells,
):
    """Index the co-occurring pairs of source and target words, by source word, then by first
    co-occurrence.

    :param order: positions of the source text, sorted by word; ``counts``: of each word.
    :param sentence: the sentence of each position of the source text.
    :param words: number of target words.
    :param cells: filled as in :class:`cgbench.models.lexicons.bitext.Cooccurrences`, unless empty.
    :returns: target word [P], sentences [P], number of pairs of each source word, and ``cells``.
    """
    capacity = max(16, len(order))
    targets, sentences, last = (
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
    )
    pairs = np.zeros(len(counts), np.int64)
    latest = np.full(words, -1, np.int64)  # the latest pair of each target word
    total = position = 0
    for word in range(len(counts)):
        begin = total  # lower numbers belong to other source words
        for _ in range(counts[word]):
            here = order[position]
            position += 1
            s = sentence[here]
            length, start = target_lengths[s], target_starts[s]
            cell = offsets[s] + (here - source_starts[s]) * length
            for j in range(length):
                target_word = target[start + j]
                pair = latest[target_word]
                if pair < begin:
                    if total == capacity:
                        capacity *= 2
                        targets, sentences, last = _grown(targets), _grown(sentences), _grown(last)
                    pair = latest[target_word] = total
                    targets[pair], sentences[pair], last[pair] = target_word, 0, -1
                    total += 1
                if last[pair] != s:
                    last[pair] = s
                    sentences[pair] += 1
                if len(cells):
                    cells[cell + j] = pair
        pairs[word] = total - begin
    return targets[:total].copy(), sentences[:total].copy(), pairs, cells


@part
def _grown(array):
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def expect(
    lengths,
    aligned,
    cells,
    offsets,
    forward,
    t,
    null_t,
    priors,
    prior_starts,
    by_place,
    counts,
    null_counts,
    links,
):
    """Add the expected links of each co-occurrence to ``counts``, of the empty word to
    ``null_counts``, and of each entry of ``priors`` to ``links``, unless that is empty.

    :param lengths: source and target words of each sentence pair, int64 [S, 2].
    :param aligned: the words to align, all sentences concatenated [N].
    :param cells, offsets: see :class:`cgbench.models.lexicons.bitext.Cooccurrences`; ``forward``:
        align target words.
    :param t: probability of the aligned word of each pair, conditions the other [P]; ``null_t``:
        conditions the empty word.
    :param priors: prior probability of each link, from ``prior_starts[s]`` on: for each aligned
        word of sentence pair s (the same for all unless ``by_place``), of the empty word, then of
        the conditioning words.
    """
    shares = np.empty(int((lengths[:, 0] * lengths[:, 1]).max()))
    token = 0
    for s in range(len(lengths)):
        conditions, count, over, along = _strides(lengths[s], forward)
        for cell in range(conditions * count):
            shares[cell] = t[cells[offsets[s] + cell]]
        prior = prior_starts[s]
        for j in range(count):
            null = null_t[aligned[token]] * priors[prior]
            total = null
            for i in range(conditions):
                cell = i * over + j * along
                shares[cell] *= priors[prior + 1 + i]
                total += shares[cell]
            null_counts[aligned[token]] += null / total
            for i in range(conditions):
                shares[i * over + j * along] /= total
            if len(links):
                links[prior] += null / total
                for i in range(conditions):
                    links[prior + 1 + i] += shares[i * over + j * along]
            prior += conditions + 1 if by_place else 0
            token += 1
        for cell in range(conditions * count):
            counts[cells[offsets[s] + cell]] += shares[cell]


@kernel
def best_links(
    lengths, aligned, cells, offsets, forward, t, null_t, priors, prior_starts, by_place
):
    """Return the position of the most probable conditioning word of each aligned word, -1 for the
    empty word [N].

    Ties go to the empty word, then to the first. Arguments are those of :func:`expect`.
    """
    best = np.full(len(aligned), -1, np.int64)
    token = 0
    for s in range(len(lengths)):
        conditions, count, over, along = _strides(lengths[s], forward)
        prior = prior_starts[s]
        for j in range(count):
            highest = null_t[aligned[token]] * priors[prior]
            for i in range(conditions):
                weight = t[cells[offsets[s] + i * over + j * along]] * priors[prior + 1 + i]
                if weight > highest:
                    highest = weight
                    best[token] = i
            prior += conditions + 1 if by_place else 0
            token += 1
    return best


@part
def _strides(lengths, forward):
    """Return the numbers of conditioning and of aligned words, and the stride in cells of each."""
    source, target = lengths
    return (source, target, target, 1) if forward else (target, source, 1, target)
