"""The nearest source of a corpus: TF-IDF over words finds candidates, the edit distance over words
decides.

The weight of a word is its count times ``ln((1 + sources) / (1 + sources with the word)) + 1``, and
sources are compared by the cosine, as in scikit-learn's ``TfidfVectorizer``. Repeated sources count
once. The 20 most similar sources, and all that are as similar as the last of these, are ordered by
edit distance. The similarity of the nearest one is the fuzzy match of translation memories: 1 -
edit distance / words of the longer source (Koehn and Senellart 2010, "Convergence of Translation
Memory and Statistical Machine Translation").
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cgbench.progress import bar
from cgbench.text.plain_text import words_of

BEST = 20  # candidates whose edit distance is computed
PRODUCT = 1 << 24  # largest number of cells in a block of the sparse product, about 200 MB
TIE = 1e-9  # cosines that differ less are as good as equal


class Neighbour(NamedTuple):
    """The nearest source of a sentence: its row in the corpus, from 0, and its similarity, from 0
    to 1; -1 and 0 if no source contains a word of the sentence."""

    row: int
    similarity: float


class NearestSources:
    """An exact index of the sources of a corpus."""

    def __init__(self, sources: Iterable[str]) -> None:
        from scipy.sparse import csr_matrix

        # The distinct sources, as word ids.
        self.words: dict[str, int] = {}
        first_rows: dict[tuple[int, ...], int] = {}
        for row, source in enumerate(sources):
            if words := words_of(source):
                first_rows.setdefault(
                    tuple(self.words.setdefault(word, len(self.words)) for word in words), row
                )
        self.texts, self.rows = list(first_rows), list(first_rows.values())
        ids = array("i")
        for text in self.texts:
            ids.extend(text)
        # Their weights, with rows of length 1; transposed, a row has the sources with a word.
        bounds = np.cumsum([0, *map(len, self.texts)])
        shape = (len(self.texts), len(self.words))
        weights = csr_matrix((np.ones(len(ids)), np.array(ids, np.int32), bounds), shape)
        weights.sum_duplicates()
        sources_of_word = np.bincount(weights.indices, minlength=shape[1])
        self.idf = np.log((1 + shape[0]) / (1 + sources_of_word)) + 1
        weights.data *= self.idf[weights.indices]
        lengths = np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1)).ravel())
        weights.data /= np.repeat(lengths, np.diff(weights.indptr))
        self.postings = weights.T.tocsr()

    def nearest(self, lines: Sequence[str]) -> list[Neighbour]:
        """The nearest source of each line."""
        distinct = list(dict.fromkeys(lines))
        neighbours = {}
        with bar(len(distinct), "nearest sources", "sentence") as progress:
            for line, candidates in zip(distinct, self._candidates(distinct), strict=True):
                neighbours[line] = self._closest(words_of(line), candidates)
                progress.update(1)
        return [neighbours[line] for line in lines]

    def _candidates(self, lines: Sequence[str]) -> Iterator[list[int]]:
        """The sources with the highest cosines with each line, best first; of equal ones the
        first.
        """
        from scipy.sparse import csr_matrix

        size = max(1, PRODUCT // max(1, len(self.texts)))
        for begin in range(0, len(lines), size):
            ids = [
                [self.words[word] for word in words_of(line) if word in self.words]
                for line in lines[begin : begin + size]
            ]
            flat = np.array([word for of_line in ids for word in of_line], np.int32)
            bounds = np.cumsum([0, *map(len, ids)])
            queries = csr_matrix((self.idf[flat], flat, bounds), (len(ids), len(self.words)))
            queries.sum_duplicates()
            # The length of a query does not change the order.
            product = queries @ self.postings
            for first, last in zip(product.indptr[:-1], product.indptr[1:], strict=True):
                indices, cosines = product.indices[first:last], product.data[first:last]
                if len(cosines) > BEST:
                    is_near = cosines > np.partition(cosines, -BEST)[-BEST] - TIE
                    indices, cosines = indices[is_near], cosines[is_near]
                yield indices[np.lexsort((indices, -(cosines / TIE).round()))].tolist()

    def _closest(self, words: Sequence[str], candidates: Sequence[int]) -> Neighbour:
        """The candidate with the smallest edit distance, the first of several."""
        if not candidates:
            return Neighbour(-1, 0.0)
        ids = [self.words.get(word, -1) for word in words]
        distances = edit_distances(ids, [self.texts[index] for index in candidates])
        best = min(range(len(candidates)), key=distances.__getitem__)
        source = candidates[best]
        return Neighbour(
            self.rows[source], 1 - distances[best] / max(len(ids), len(self.texts[source]))
        )


def edit_distances(sentence: Sequence[int], texts: Iterable[Sequence[int]]) -> list[int]:
    """The Levenshtein distance of a sentence to each text, in words.

    Bit-parallel, one bit per word of the sentence (Hyyrö 2003, "A bit-vector algorithm for
    computing Levenshtein and Damerau edit distances", figure 8): a column of the table is two
    integers, where it rises and where it falls.
    """
    if not sentence:
        return list(map(len, texts))
    places: dict[int, int] = {}
    for position, word in enumerate(sentence):
        places[word] = places.get(word, 0) | 1 << position
    ones, last = (1 << len(sentence)) - 1, 1 << len(sentence) >> 1
    distances = []
    for text in texts:
        rises, falls, distance = ones, 0, len(sentence)
        for word in text:
            equal = places.get(word, 0) | falls
            diagonal = ((rises + (equal & rises)) ^ rises) | equal
            right_falls, right_rises = rises & diagonal, falls | ~(rises | diagonal)
            distance += bool(right_rises & last) - bool(right_falls & last)
            right_rises = right_rises << 1 | 1
            falls = right_rises & diagonal & ones
            rises = (right_falls << 1 | ~(right_rises | diagonal)) & ones
        distances.append(distance)
    return distances
