"""The compiled loops of the lexicon learners: numbering the words that meet, and expectations of IBM models.

They work on flat numpy arrays. Slow, obvious twins in ``tests/helpers/twins_lexicon.py`` define what they must give.
Compiled code is cached beside this file; the first use after installation compiles for some seconds.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from cgbench.engines.compiled import kernel, part


@kernel
def number_meetings(
    order, counts, sentence, source_starts, target, target_starts, target_lengths, words, offsets, cells
):
    """Number the pairs of a source and a target word that meet, by source word, then by first meeting.

    :param order: places of the source text, sorted by word; ``counts``: how many of each word.
    :param sentence: the sentence of each place of the source text.
    :param words: number of target words.
    :param cells: filled as :class:`cgbench.models.lexicons.bitext.Meetings` says, unless it is empty.
    :returns: target word [P], sentences [P], meetings of each source word, and ``cells``.
    """
    capacity = max(16, len(order))
    found, sentences, last = np.empty(capacity, np.int32), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    meetings = np.zeros(len(counts), np.int64)
    number_of = np.full(words, -1, np.int64)  # the latest meeting of each target word
    total = place = 0
    for word in range(len(counts)):
        begin = total  # a lower number is that of another source word
        for _ in range(counts[word]):
            here = order[place]
            place += 1
            s = sentence[here]
            length, start = target_lengths[s], target_starts[s]
            cell = offsets[s] + (here - source_starts[s]) * length
            for j in range(length):
                other = target[start + j]
                number = number_of[other]
                if number < begin:
                    if total == capacity:
                        capacity *= 2
                        found, sentences, last = _grown(found), _grown(sentences), _grown(last)
                    number = number_of[other] = total
                    found[number], sentences[number], last[number] = other, 0, -1
                    total += 1
                if last[number] != s:
                    last[number] = s
                    sentences[number] += 1
                if len(cells):
                    cells[cell + j] = number
        meetings[word] = total - begin
    return found[:total].copy(), sentences[:total].copy(), meetings, cells


@part
def _grown(array):
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def expect(
    lengths, made, cells, offsets, forward, t, null_t, priors, prior_starts, by_place, counts, null_counts, links
):
    """Add the expected number of links of each meeting to ``counts``, of the empty word to ``null_counts``, and of each
    place of ``priors`` to ``links``, unless that is empty.

    :param lengths: words of the two sides of each sentence pair, int64 [S, 2]: of the source, of the target.
    :param made: the words that are explained, all sentences one after another [N].
    :param cells, offsets: as in :class:`cgbench.models.lexicons.bitext.Meetings`; ``forward``: source words explain.
    :param t: probability of the made word of each meeting, given the other [P]; ``null_t``: given the empty word.
    :param priors: probability of each link before the words are known; from ``prior_starts[s]`` on, for each made word
        of sentence pair s (for all alike unless ``by_place``), that of the empty word, then those of the given words.
    """
    shares = np.empty(int((lengths[:, 0] * lengths[:, 1]).max()))
    token = 0
    for s in range(len(lengths)):
        given, size, over, along = _strides(lengths[s], forward)
        for cell in range(given * size):
            shares[cell] = t[cells[offsets[s] + cell]]
        prior = prior_starts[s]
        for j in range(size):
            null = null_t[made[token]] * priors[prior]
            total = null
            for i in range(given):
                cell = i * over + j * along
                shares[cell] *= priors[prior + 1 + i]
                total += shares[cell]
            null_counts[made[token]] += null / total
            for i in range(given):
                shares[i * over + j * along] /= total
            if len(links):
                links[prior] += null / total
                for i in range(given):
                    links[prior + 1 + i] += shares[i * over + j * along]
            prior += given + 1 if by_place else 0
            token += 1
        for cell in range(given * size):
            counts[cells[offsets[s] + cell]] += shares[cell]


@kernel
def best_links(lengths, made, cells, offsets, forward, t, null_t, priors, prior_starts, by_place):
    """Return the place of the most probable given word of each made word, -1 for the empty word, int64 [N].

    Ties go to the empty word, then to the first. Arguments are those of :func:`expect`.
    """
    best = np.full(len(made), -1, np.int64)
    token = 0
    for s in range(len(lengths)):
        given, size, over, along = _strides(lengths[s], forward)
        prior = prior_starts[s]
        for j in range(size):
            highest = null_t[made[token]] * priors[prior]
            for i in range(given):
                weight = t[cells[offsets[s] + i * over + j * along]] * priors[prior + 1 + i]
                if weight > highest:
                    highest = weight
                    best[token] = i
            prior += given + 1 if by_place else 0
            token += 1
    return best


@part
def _strides(lengths, forward):
    """Return the number of given and of made words, and the cells from one to the next of each."""
    source, target = lengths
    return (source, target, target, 1) if forward else (target, source, 1, target)
