"""Lexicons from word alignments: IBM Model 1 and Model 2 with links near the diagonal, as fast_align learns them.

fast_align: Dyer, Chahuneau and Smith (2013). The authors of the lexicon paper describe Model 2 but ran fast_align with
``-o`` alone, which is Model 1: without ``-d`` it has no diagonal whose tension it could optimise.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cgbench.models.lexicons.bitext import Bitext, Meetings, meetings
from cgbench.models.lexicons.counting import Entries
from cgbench.settings import setting

START = 1e-9  # of every probability, as in fast_align


@dataclass(frozen=True)
class IBM1Settings:
    """Settings of Model 1: links to all words of a sentence, and to the empty word, are alike."""

    iterations: int = setting(
        5,
        "Number of iterations as fast_align counts them: all but the last update the probabilities, the last one "
        "makes the links", least=1,
    )  # fmt: skip
    links: Literal["intersect", "forward"] = setting(
        "intersect",
        "Links that make entries: those found in both directions (``intersect``), or from targets to sources "
        "(``forward``)",
    )  # fmt: skip


@dataclass(frozen=True)
class IBM2Settings(IBM1Settings):
    """Settings of Model 2: links near the diagonal are likelier (equation 11; fast_align's ``-d -o``)."""

    tension: float = setting(
        4.0, "Initial preference for links near the diagonal, optimised after every update but the first", above=0
    )
    null_probability: float = setting(0.08, "Probability of a link to the empty word", above=0, below=1)


def ibm(text: Bitext, settings: IBM1Settings) -> Entries:
    """How often words are linked (section 4.1, equation 12).

    :returns: source ids, target ids, and links in the whole text.
    """
    met = meetings(text, cells=True)
    numbers, counts = np.unique(links(text, met, settings)[0], return_counts=True)
    return met.source[numbers], met.target[numbers], counts


def links(text: Bitext, met: Meetings, settings: IBM1Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Align a text; ``met`` has its cells.

    :returns: of each link the meeting, and the places of source and target word in the text as a whole, int64 [L].
    """
    ways = (True, False) if settings.links == "intersect" else (True,)
    with ThreadPoolExecutor(2) as pool:  # the loops release the interpreter lock
        forward, *reverse = pool.map(lambda way: align(text, met, way, settings), ways)
    target = np.flatnonzero(forward >= 0)
    sentence = np.repeat(np.arange(len(text)), text.target.lengths)[target]
    source = text.source.starts[sentence] + forward[target]
    if reverse:
        agree = reverse[0][source] == target - text.target.starts[sentence]
        source, target, sentence = source[agree], target[agree], sentence[agree]
    i, j = source - text.source.starts[sentence], target - text.target.starts[sentence]
    return met.cells[met.offsets[sentence] + i * text.target.lengths[sentence] + j], source, target


def align(text: Bitext, met: Meetings, forward: bool, settings: IBM1Settings) -> np.ndarray:
    """Explain each word of one side by a word of the other, or by the empty word.

    :param forward: source words explain target words; else the other way round.
    :returns: the place of that word in its sentence, -1 for the empty word, int64 [explained words].
    """
    from cgbench.models.lexicons.kernels import best_links, expect

    made = text.target if forward else text.source
    condition = met.source if forward else met.target
    lengths = np.stack([text.source.lengths, text.target.lengths], 1)
    read = (lengths, made.ids, met.cells, met.offsets, forward)
    prior = Prior(lengths if forward else lengths[:, ::-1], settings)
    t, null_t = np.full(len(condition), START), np.full(len(made.words), START)
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
    """How probable links are before the words are known: a table over the shapes of sentence pairs.

    :param lengths: of each sentence pair the words that explain and those that are explained, int64 [S, 2].

    ``table`` has rows of probabilities: of the empty word, then of each word that explains. For Model 1 there is one
    row for each number of these; for Model 2 (``by_place``) one for each explained word of each shape. The rows of
    sentence pair s begin at ``starts[s]``. ``tension`` is Model 2's.
    """

    def __init__(self, lengths: np.ndarray, settings: IBM1Settings) -> None:
        self.by_place = isinstance(settings, IBM2Settings)
        shapes, which, counts = np.unique(
            lengths if self.by_place else np.stack([lengths[:, 0], np.ones(len(lengths), np.int64)], 1),
            axis=0,
            return_inverse=True,
            return_counts=True,
        )
        given, made = shapes.T
        sizes = (given + 1) * made
        self.starts = (np.cumsum(sizes) - sizes)[which]
        shape = np.repeat(np.arange(len(shapes)), made)  # of each row
        widths = given[shape] + 1
        self.table = np.repeat(1 / widths, widths)
        if isinstance(settings, IBM2Settings):
            self._null, self.tension = settings.null_probability, settings.tension
            self._prepare(shapes, counts, shape, widths)
            self._fill()

    @property
    def read(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """What the compiled loops read of it."""
        return self.table, self.starts, self.by_place

    def update(self, links: np.ndarray) -> None:
        """Fit the tension of Model 2 to expected links, one number a place of the table, as fast_align does."""
        measured = float(links[self._words] @ self._measured) / self._explained
        for _ in range(8):
            weights = self._weights()
            means = np.add.reduceat(weights * self._distance, self._rows) / np.add.reduceat(weights, self._rows)
            predicted = float(self._times @ means) / self._explained
            self.tension = min(max(self.tension + 20 * (measured - predicted), 0.1), 14.0)
        self._fill()

    def _prepare(self, shapes: np.ndarray, counts: np.ndarray, shape: np.ndarray, widths: np.ndarray) -> None:
        """Lay out the distances from the diagonal, in rows without the empty word.

        :param counts: of each shape; ``shape`` and ``widths``: of each row of the table.
        """
        given, made = shapes.T
        begin = np.cumsum(widths) - widths
        self._words = np.ones(len(self.table), bool)
        self._words[begin] = False
        full = given[shape] > 0
        self._widths = given[shape][full]
        self._rows = np.cumsum(self._widths) - self._widths
        i = (np.arange(len(self.table)) - np.repeat(begin, widths))[self._words] / np.repeat(self._widths, self._widths)
        j = (np.arange(len(shape)) - (np.cumsum(made) - made)[shape] + 1) / made[shape]
        self._distance = -np.abs(i - np.repeat(j[full], self._widths))
        # fast_align counts explained words from 0 where it measures links, and from 1 where it predicts them.
        self._measured = -np.abs(i - np.repeat((j - 1 / made[shape])[full], self._widths))
        self._times = counts[shape][full]
        self._explained = int((counts * made).sum())

    def _weights(self) -> np.ndarray:
        return np.exp(self.tension * self._distance)

    def _fill(self) -> None:
        weights = self._weights()
        totals = np.add.reduceat(weights, self._rows)
        self.table[:] = self._null
        self.table[self._words] = (1 - self._null) * weights / np.repeat(totals, self._widths)
