"""Lexicons from word alignments: IBM Model 1, and Model 2 with a preference for the diagonal, as in
fast_align.

fast_align: Dyer, Chahuneau and Smith (2013). The authors of the lexicon paper describe Model 2 but
ran fast_align with only ``-o``, which is Model 1: without ``-d`` there is no diagonal whose tension
it could optimise.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cgbench.models.lexicons.bitext import Bitext, Cooccurrences, find_cooccurrences
from cgbench.models.lexicons.counting import Entries
from cgbench.settings import option

START = 1e-9  # initial probability, as in fast_align


@dataclass(frozen=True)
class IBM1Settings:
    """Settings of Model 1: links to all words of a sentence, and to the empty word, are equally
    likely.
    """

    iterations: int = option(
        5,
        "Number of iterations as fast_align counts them: all but the last update the probabilities,"
        " the last one makes the links",
        least=1,
    )
    links: Literal["intersect", "forward"] = option(
        "intersect",
        "Links that make entries: those found in both directions (``intersect``), or from targets"
        " to sources (``forward``)",
    )


@dataclass(frozen=True)
class IBM2Settings(IBM1Settings):
    """Settings of Model 2: links near the diagonal are likelier (equation 11; fast_align's ``-d
    -o``).
    """

    tension: float = option(
        4.0,
        "Initial preference for links near the diagonal, optimised after every update but the"
        " first",
        above=0,
    )
    null_probability: float = option(
        0.08, "Probability of a link to the empty word", above=0, below=1
    )


def ibm(text: Bitext, settings: IBM1Settings) -> Entries:
    """Count how often words are linked (section 4.1, equation 12).

    :returns: source ids, target ids, and numbers of links.
    """
    met = find_cooccurrences(text, cells=True)
    numbers, counts = np.unique(links(text, met, settings)[0], return_counts=True)
    return met.source[numbers], met.target[numbers], counts


def links(
    text: Bitext, met: Cooccurrences, settings: IBM1Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Align a text; ``met`` has its cells.

    :returns: of each link the co-occurrence, and the positions of source and target word in the
        text, int64 [L].
    """
    ways = (True, False) if settings.links == "intersect" else (True,)
    with ThreadPoolExecutor(2) as pool:  # the kernels release the interpreter lock
        forward, *reverse = pool.map(lambda way: align(text, met, way, settings), ways)
    target = np.flatnonzero(forward >= 0)
    sentence = np.repeat(np.arange(len(text)), text.target.lengths)[target]
    source = text.source.starts[sentence] + forward[target]
    if reverse:
        agree = reverse[0][source] == target - text.target.starts[sentence]
        source, target, sentence = source[agree], target[agree], sentence[agree]
    i, j = source - text.source.starts[sentence], target - text.target.starts[sentence]
    return met.cells[met.offsets[sentence] + i * text.target.lengths[sentence] + j], source, target


def align(text: Bitext, met: Cooccurrences, forward: bool, settings: IBM1Settings) -> np.ndarray:
    """Align each word of one side with a word of the other, or with the empty word.

    :param forward: align target words with source words; else the reverse.
    :returns: the position of that word in its sentence, -1 for the empty word, int64 [aligned
        words].
    """
    from cgbench.models.lexicons.kernels import best_links, expect

    aligned = text.target if forward else text.source
    condition = met.source if forward else met.target
    lengths = np.stack([text.source.lengths, text.target.lengths], 1)
    read = (lengths, aligned.ids, met.cells, met.offsets, forward)
    prior = Prior(lengths if forward else lengths[:, ::-1], settings)
    t, null_t = np.full(len(condition), START), np.full(len(aligned.words), START)
    for iteration in range(settings.iterations - 1):
        counts, null_counts = np.zeros_like(t), np.zeros_like(null_t)
        by_place = np.zeros(len(prior.table) if prior.by_place else 0)
        expect(*read, t, null_t, *prior.read, counts, null_counts, by_place)
        t = counts / np.bincount(condition, counts)[condition]
        null_t = null_counts / null_counts.sum()
        if iteration and prior.by_place:
            prior.update(by_place)
    return best_links(*read, t, null_t, *prior.read)


class Prior:
    """Prior probabilities of links, as a table by the lengths of a sentence pair.

    :param lengths: of each sentence pair, numbers of conditioning and of aligned words, int64 [S,
        2].

    A row of ``table`` has the probabilities of the empty word and of each conditioning word. Model
    1 has one row per number of these; Model 2 (``by_place``) one per aligned word of each pair of
    lengths. The rows of sentence pair s begin at ``starts[s]``. ``tension`` is Model 2's.
    """

    def __init__(self, lengths: np.ndarray, settings: IBM1Settings) -> None:
        self.by_place = isinstance(settings, IBM2Settings)
        shapes, which, counts = np.unique(
            (
                lengths
                if self.by_place
                else np.stack([lengths[:, 0], np.ones(len(lengths), np.int64)], 1)
            ),
            axis=0,
            return_inverse=True,
            return_counts=True,
        )
        conditions, aligned = shapes.T
        sizes = (conditions + 1) * aligned
        self.starts = (np.cumsum(sizes) - sizes)[which]
        shape = np.repeat(np.arange(len(shapes)), aligned)  # of each row
        widths = conditions[shape] + 1
        self.table = np.repeat(1 / widths, widths)
        if isinstance(settings, IBM2Settings):
            self._null, self.tension = settings.null_probability, settings.tension
            self._prepare(shapes, counts, shape, widths)
            self._fill()

    @property
    def read(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """The arguments of the kernels."""
        return self.table, self.starts, self.by_place

    def update(self, links: np.ndarray) -> None:
        """Fit the tension of Model 2 to expected links, one number per entry of the table, as in
        fast_align.
        """
        measured = float(links[self._words] @ self._measured) / self._aligned
        for _ in range(8):
            weights = self._weights()
            means = np.add.reduceat(weights * self._distance, self._rows) / np.add.reduceat(
                weights, self._rows
            )
            predicted = float(self._times @ means) / self._aligned
            self.tension = min(max(self.tension + 20 * (measured - predicted), 0.1), 14.0)
        self._fill()

    def _prepare(
        self, shapes: np.ndarray, counts: np.ndarray, shape: np.ndarray, widths: np.ndarray
    ) -> None:
        """Compute the distances from the diagonal, in rows without the empty word.

        :param counts: of each shape; ``shape`` and ``widths``: of each row of the table.
        """
        conditions, aligned = shapes.T
        begin = np.cumsum(widths) - widths
        self._words = np.ones(len(self.table), bool)
        self._words[begin] = False
        full = conditions[shape] > 0
        self._widths = conditions[shape][full]
        self._rows = np.cumsum(self._widths) - self._widths
        i = (np.arange(len(self.table)) - np.repeat(begin, widths))[self._words] / np.repeat(
            self._widths, self._widths
        )
        j = (np.arange(len(shape)) - (np.cumsum(aligned) - aligned)[shape] + 1) / aligned[shape]
        self._distance = -np.abs(i - np.repeat(j[full], self._widths))
        # fast_align counts aligned words from 0 when it measures links, but from 1 when it predicts
        # them.
        self._measured = -np.abs(i - np.repeat((j - 1 / aligned[shape])[full], self._widths))
        self._times = counts[shape][full]
        self._aligned = int((counts * aligned).sum())

    def _weights(self) -> np.ndarray:
        return np.exp(self.tension * self._distance)

    def _fill(self) -> None:
        weights = self._weights()
        totals = np.add.reduceat(weights, self._rows)
        self.table[:] = self._null
        self.table[self._words] = (1 - self._null) * weights / np.repeat(totals, self._widths)
