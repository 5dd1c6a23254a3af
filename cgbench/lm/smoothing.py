"""Interpolated modified Kneser-Ney smoothing, order by order, as in KenLM's lmplz.

Chen and Goodman (1998), section 3; Heafield, Pouzyrevsky, Clark and Koehn (2013), sections 3.1 to
3.4. The adjusted count of an n-gram is the number of different words on its left; for the highest
order and for n-grams that begin with ``<s>`` it is the plain count. Each order has three discounts,
for adjusted counts of 1, 2, and 3 or more, computed from the numbers of n-grams with counts of 1 to
4. The discounted mass goes to the shorter context, and finally to the uniform distribution over the
vocabulary, which includes ``<unk>`` but not ``<s>``.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise, repeat, starmap
from typing import Any

import numpy as np

from cgbench.lm.counts import Corpus, SortedPositions, split_range
from cgbench.progress import bar
from cgbench.text.word_counts import cut_words

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts if the counts of an order give none, as in lmplz --discount_fallback."""

_PART = 1 << 19


@dataclass(frozen=True)
class Stretch:
    """A range of sorted positions that splits no n-gram of two or more words, after ``before[n]``
    nodes of n words.
    """

    low: int
    high: int
    before: tuple[int, ...]


@dataclass(frozen=True)
class OrderCounts:
    """The counts and discounts of an order.

    ``nodes``: n-grams; ``tally``: those with adjusted counts of 1, 2, 3 and 4; ``discounts``: for
    counts of 1, 2, and 3 or more; ``problem``: why the fallback discounts are used, or "".
    """

    nodes: int
    tally: tuple[int, ...]
    discounts: tuple[float, float, float]
    problem: str


@dataclass(frozen=True)
class Estimates:
    """An order's probabilities and back-off weights (None for the highest order), float32
    ``[nodes]``.
    """

    order: int
    probabilities: np.ndarray
    weights: np.ndarray | None


def discounts_of(tally: Sequence[int]) -> tuple[tuple[float, float, float] | None, str]:
    """Discounts for adjusted counts of 1, 2, and 3 or more: Chen and Goodman (1998), equation 26.

    :param tally: numbers of n-grams with adjusted counts of 1, 2, 3 and 4.
    :returns: the discounts and "", or None and the problem.
    """
    for count in (1, 2, 3):
        if not tally[count - 1]:
            return None, f"no n-gram with an adjusted count of {count}"
    y = tally[0] / (tally[0] + 2 * tally[1])
    discounts = tuple(
        count - (count + 1) * y * tally[count] / tally[count - 1] for count in (1, 2, 3)
    )
    for count, discount in enumerate(discounts, 1):
        if not 0 <= discount <= count:
            return None, f"the discount for an adjusted count of {count} would be {discount:.4f}"
    return (discounts[0], discounts[1], discounts[2]), ""


def begin_of(order: int) -> Callable[[Stretch], int]:
    """A function that returns the index of a stretch's first node of an order."""
    return lambda stretch: stretch.before[order]


class Smoothing:
    """Estimates a model from the sorted positions of a corpus."""

    def __init__(self, corpus: Corpus, sorting: SortedPositions, jobs: int) -> None:
        from cgbench.lm import smoothing_kernels as kernels

        self.corpus, self.sorting, self.jobs = corpus, sorting, jobs
        self.highest = sorting.order
        self.word_counts = np.zeros(corpus.words, np.int64)
        kernels.count_words(sorting.shared, sorting.starts, self.highest, self.word_counts)
        self.stretches, counts = self._tally()
        self.orders = []
        for nodes, *tally in counts:
            discounts, problem = discounts_of(tally)
            self.orders.append(OrderCounts(nodes, tuple(tally), discounts or FALLBACK, problem))

    def estimate(self) -> Iterator[Estimates]:
        """Yield the estimates of order 1, 2, and so on; two orders are in memory at a time."""
        from cgbench.lm import smoothing_kernels as kernels

        probabilities = self._words()
        cells = np.empty((len(self.corpus.text) if self.highest > 1 else 0, 2), np.float32)
        counts = cells.view(np.uint32)
        with (
            ThreadPoolExecutor(self.jobs) as pool,
            bar(self.highest, "estimate", "order") as progress,
        ):
            for order in range(1, self.highest):
                # The counts of the n-grams that continue each context.
                slices = starmap(slice, split_range(len(counts), self.jobs))
                list(pool.map(counts.__setitem__, slices, repeat(0)))
                self._each(pool, kernels.enter_counts, order + 1, self.highest, counts)
                # What the discounts take from each context is its back-off weight.
                discounts = np.array([0, *self.orders[order].discounts])
                weights = np.empty(self.orders[order - 1].nodes, np.float32)
                self._each(
                    pool,
                    kernels.weigh_contexts,
                    order,
                    discounts,
                    cells,
                    counts,
                    weights,
                    begin_of(order),
                    stretches=self._word_stretches() if order == 1 else None,
                )
                yield Estimates(order, probabilities, weights)
                del weights
                # The probabilities of the next order, interpolated with this one.
                longer = np.empty(self.orders[order].nodes, np.float32)
                self._each(
                    pool,
                    kernels.interpolate,
                    order + 1,
                    cells,
                    probabilities,
                    begin_of(order),
                    longer,
                    begin_of(order + 1),
                )
                probabilities = longer
                del longer
                progress.update()
            del cells, counts
            yield Estimates(self.highest, probabilities, None)
            progress.update()

    def of_words(self, estimates: Estimates) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and weights of all words by id, float32 ``[words]``, from the estimates of
        order 1.

        In these estimates the row of ``</s>`` has its own probability but the weight of ``<s>``.
        ``<s>`` gets probability 1.
        """
        from cgbench.lm.count_kernels import BEGIN, END, UNKNOWN

        present = np.diff(self.sorting.starts) > 0
        probabilities = np.zeros(self.corpus.words, np.float32)
        probabilities[UNKNOWN] = self.unknown()
        probabilities[present] = estimates.probabilities
        probabilities[BEGIN] = 1
        weights = np.ones(self.corpus.words, np.float32)
        if estimates.weights is not None:
            weights[present] = estimates.weights
            weights[BEGIN], weights[END] = weights[END], 1
        return probabilities, weights

    def _each(
        self,
        pool: ThreadPoolExecutor,
        kernel: Callable[..., None],
        *arguments: Any,
        stretches: Sequence[Stretch] | None = None,
    ) -> None:
        """Run a kernel over all stretches; arguments that are functions are called with the
        stretch.
        """
        sorting = self.sorting

        def work(stretch: Stretch) -> None:
            values = (value(stretch) if callable(value) else value for value in arguments)
            kernel(
                sorting.positions,
                sorting.shared,
                sorting.depths,
                stretch.low,
                stretch.high,
                *values,
            )

        list(pool.map(work, self.stretches if stretches is None else stretches))

    def _tally(self) -> tuple[list[Stretch], list[list[int]]]:
        """Cut the positions into stretches; count the nodes and the tally of each order."""
        from cgbench.lm import smoothing_kernels as kernels

        shared, depths = self.sorting.shared, self.sorting.depths
        cuts = [0]
        while cuts[-1] < len(shared):
            cuts.append(kernels.next_cut(shared, min(cuts[-1] + _PART, len(shared))))
        counts = np.zeros((len(cuts) - 1, self.highest + 1, 5), np.int64)

        def tally(index: int) -> None:
            low, high = cuts[index], cuts[index + 1]
            counts[index, 1, 0] = np.count_nonzero(shared[low:high] == 0)
            for order in range(2, self.highest + 1):
                kernels.tally_order(
                    shared, depths, low, high, order, self.highest, counts[index, order]
                )

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(tally, range(len(cuts) - 1)))
        before = np.cumsum(counts[:, :, 0], axis=0) - counts[:, :, 0]
        stretches = [
            Stretch(low, high, tuple(row))
            for (low, high), row in zip(pairwise(cuts), before.tolist(), strict=True)
        ]
        totals = counts.sum(axis=0)
        words = int(totals[1, 0])
        totals[1] = [
            words,
            *(np.count_nonzero(self.word_counts == count) for count in (1, 2, 3, 4)),
        ]
        return stretches, totals[1:].tolist()

    def _word_stretches(self) -> list[Stretch]:
        """Parts cut where the last word changes."""
        starts = self.sorting.starts
        present = np.concatenate([[0], np.cumsum(np.diff(starts) > 0)])
        cuts = cut_words(starts, _PART)
        return [
            Stretch(int(starts[low]), int(starts[high]), (0, int(present[low])))
            for low, high in pairwise(cuts)
        ]

    def unknown(self) -> float:
        """The probability of an unseen word, ``<unk>``."""
        counts = self.word_counts
        discounts = self.orders[0].discounts
        lost = sum(discounts[count - 1] * np.count_nonzero(counts == count) for count in (1, 2))
        lost += discounts[2] * np.count_nonzero(counts > 2)
        return float(lost / counts.sum()) / (self.corpus.words - 1)

    def _words(self) -> np.ndarray:
        counts = self.word_counts[np.diff(self.sorting.starts) > 0]
        discounts = np.array([0, *self.orders[0].discounts])[np.minimum(counts, 3)]
        return ((counts - discounts) / counts.sum() + self.unknown()).astype(np.float32)
