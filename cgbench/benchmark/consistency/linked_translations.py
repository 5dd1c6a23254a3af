"""How alike a system translates what the sentences of an item share, without references.

The sentences of an item have a part in common, such as a piece in five contexts. Two methods find what became of it:

``align``: IBM Model 1 (Brown et al. 1993) is learned from the sources and the system's own outputs. What became of the
shared part are the n-grams of characters of the output that are linked to its words. The consistency of an output is
the share of the n-grams linked in the item's other outputs that it also has.

``ngrams``: the consensus of an item are the n-grams of at least two fifths of its outputs. The consistency of an output
is the share of the consensus that it has.

Any two outputs have some n-grams in common. The ``floor`` is the consistency of the same outputs shuffled among the
sentences, and ``rescaled`` is the score between this floor (0) and 100.

docs/lab/consistency.md compares both methods with human judgements. Alignment is better with more sentences, so scores
are comparable between systems on the same items, not between sets of items. A system that always says the same is also
consistent: its floor is 100 and its rescaled score is undefined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from cgbench.benchmark.comparison.significance import SEED
from cgbench.benchmark.consistency.items import ItemRow, Tokens, read_items
from cgbench.benchmark.consistency.request import ConsistencyRequest
from cgbench.benchmark.metrics.metric import Metric, Signature
from cgbench.benchmark.score.evaluate import evaluation_of
from cgbench.benchmark.score.example_sets import MetricContext
from cgbench.benchmark.score.request import ScoreRequest
from cgbench.benchmark.score.result import Evaluation
from cgbench.errors import InputError, argument
from cgbench.requests import accepts, changed
from cgbench.text.plain_text import words_of

ORDERS = {"align": (1, 2), "ngrams": (2,)}
"""Lengths of n-grams; docs/lab/consistency.md has others."""
SHUFFLES = 5
"""Shuffles that the floor is a mean of."""
_CLOSE = 1e-9


class Consistency(Metric):
    """The mean consistency of the outputs, that of shuffled outputs (``floor``), and the first between the second and
    100 (``rescaled``), in percent."""

    name = "consistency"
    figures = ("consistency", "floor", "rescaled")
    needs = "sources"
    unit = "%"

    def __init__(
        self, rows: Sequence[ItemRow], *, method: Literal["align", "ngrams"] = "align", orders: Sequence[int] = ()
    ) -> None:
        """
        :param rows: the sentences of all items.
        :param orders: the lengths of n-grams, in characters (default: :data:`ORDERS`).
        :raises InputError: no item has two sentences.
        """
        self.rows, self.method = rows, method
        self.orders = tuple(orders) or ORDERS[method]
        items: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            items.setdefault(row.item, []).append(index)
        self.items = [np.array(indices) for indices in items.values() if len(indices) > 1]
        if not self.items:
            raise InputError(f"{argument('items')}: no piece is in two sentences, which consistency needs")
        self._used = np.isin(np.arange(len(rows)), np.concatenate(self.items))
        if alone := int((~self._used).sum()):
            self.notes = (f"{alone:,} sentences are the only ones of their item and are left out",)

    @property
    def n(self) -> int:
        """The number of sentences."""
        return len(self.rows)

    def context(self) -> MetricContext:
        """The item and the piece of each sentence, for bins and clusters."""
        return MetricContext(columns={name: [getattr(row, name) for row in self.rows] for name in ("item", "piece")})

    def signature(self) -> Signature:
        """The method and its units."""
        orders = "+".join(map(str, self.orders))
        return Signature({"items": len(self.items), "method": self.method, "characters": orders})

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(consistency, 1, floor) for each sentence; zeros for one that is alone in its item."""
        self.check_hypotheses(hypotheses)
        units = [self._units(text) for text in hypotheses]
        rows, order = np.flatnonzero(self._used), np.arange(self.n)
        draw, floor = np.random.default_rng(SEED), np.zeros(self.n)
        for _ in range(SHUFFLES):
            order[rows] = draw.permutation(rows)
            floor += self._agreement([units[row] for row in order]) / SHUFFLES
        return np.stack([self._agreement(units), self._used.astype(np.float64), floor], axis=1)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The three scores; ``rescaled`` is NaN where the floor is 100."""
        consistent, count, floor = sums.T
        above = np.where(count - floor > _CLOSE * count, count - floor, np.nan)
        with np.errstate(invalid="ignore"):
            return 100 * np.stack([consistent / count, floor / count, (consistent - floor) / above], axis=1)

    def limits(self, figure: str) -> tuple[float | None, float | None]:
        """Outputs may agree less than shuffled ones, so ``rescaled`` has no lowest value."""
        return 100.0, None if figure == "rescaled" else 0.0

    def label(self, figure: str) -> str:
        """The name of the score."""
        return figure

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The sentences of items with several."""
        return rows[self._used[rows]]

    def _agreement(self, units: Sequence[Sequence[str]]) -> np.ndarray:
        """The consistency of each output, of its ``units``; 0 for one that is alone in its item."""
        present = list(map(set, units))
        if self.method == "ngrams":
            return consensus(present, self.items)
        return link_agreement(self._linked(units), present, self.items)

    def _units(self, text: str) -> list[str]:
        """The n-grams of characters of a text, without blanks; all of it if it is shorter."""
        text = "".join(words_of(text)).lower()
        return [text[at : at + n] for n in self.orders for at in range(len(text) + 1 - n)] or [text] * bool(text)

    def _linked(self, units: Sequence[Sequence[str]]) -> list[set[str]]:
        """The units of each output that are linked to words of the shared part."""
        from cgbench.models.lexicons.alignment import IBM1Settings, align
        from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences

        if not any(units):
            return [set() for _ in units]
        sources = [" ".join(Tokens.of(row.source).words) for row in self.rows]
        text = Bitext.read(zip(sources, map(" ".join, units), strict=True))
        links = align(text, find_cooccurrences(text, cells=True), True, IBM1Settings())
        links_of_texts = np.split(links, text.target.starts[1:])
        return [
            {unit for unit, link in zip(output, text_links, strict=True) if link in row.shared}
            for output, text_links, row in zip(units, links_of_texts, self.rows, strict=True)
        ]


def link_agreement(linked: Sequence[set[str]], present: Sequence[set[str]], items: Sequence[np.ndarray]) -> np.ndarray:
    """The share of the units linked in an item's other outputs that each output has, float64 ``[outputs]``.

    :param linked: of each output, the units linked to the shared part; ``present``: all its units.
    :param items: the outputs of each item. An output is 0 if nothing is linked in the others.
    """
    values = np.zeros(len(present))
    for rows in items:
        together = Counter(unit for row in rows for unit in linked[row])
        for row in rows:
            linked_elsewhere = together - Counter(linked[row])
            total = sum(linked_elsewhere.values())
            values[row] = (
                sum(linked_elsewhere[unit] for unit in linked_elsewhere if unit in present[row]) / total
                if total
                else 0.0
            )
    return values


def consensus(present: Sequence[set[str]], items: Sequence[np.ndarray]) -> np.ndarray:
    """The share of the n-grams of two fifths of an item's outputs that each output has, float64 ``[outputs]``."""
    values = np.zeros(len(present))
    for rows in items:
        counts = Counter(unit for row in rows for unit in present[row])
        agreed = {unit for unit, count in counts.items() if 5 * count >= 2 * len(rows)}
        for row in rows:
            values[row] = len(agreed & present[row]) / len(agreed) if agreed else 0.0
    return values


@accepts(ConsistencyRequest)
def consistency(request: ConsistencyRequest) -> Evaluation:
    """Score how consistently systems translate the shared parts of sentences, without references.

    Intervals and tests are those of :func:`cgbench.evaluate`, with pieces as clusters.

    :raises InputError: the items or outputs cannot be read or do not fit together.
    """
    metric = Consistency(read_items(request.items), method=request.method)
    comparison = changed(request.comparison, cluster=tuple(dict.fromkeys(("piece", *request.comparison.cluster))))
    sources = [row.source for row in metric.rows]
    scored = ScoreRequest(metric, request.systems, sources=sources, comparison=comparison)
    return evaluation_of(scored, metric.context())
