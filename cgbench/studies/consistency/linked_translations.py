"""How alike a system translates what the sentences of an item share, without references.

The sentences of an item have a part in common, such as a piece in five contexts. IBM Model 1 (Brown
et al. 1993), learned from the sources and the system's own outputs, finds what became of it: the
n-grams of characters of the output that are linked to its words. The consistency of an output is
the share of the n-grams linked in the item's other outputs that it also has.

Any two outputs have some n-grams in common. The ``floor`` is the consistency of the same outputs
shuffled among the sentences, and ``rescaled`` is the score between this floor (0) and 100.

docs/lab/consistency.md compares the score with human judgements. Alignment is better with more
sentences, so scores are comparable between systems on the same items, not between sets of items.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cgbench.argument_types import as_path
from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.score.comparison.significance import SEED
from cgbench.benchmark.score.evaluation.evaluate import evaluation_of
from cgbench.benchmark.score.evaluation.example_sets import MetricContext
from cgbench.benchmark.score.evaluation.request import ScoreRequest
from cgbench.benchmark.score.evaluation.result import Evaluation
from cgbench.errors import InputError, argument
from cgbench.extensions import check_study
from cgbench.models.lexicons.linked_units import ORDERS, linked_to, linked_words, units_of
from cgbench.request import accepts, changed
from cgbench.studies.consistency.items import ItemRow, Tokens, read_items
from cgbench.studies.consistency.request import ConsistencyRequest

SHUFFLES = 5
"""Shuffles that the floor is a mean of."""
_CLOSE = 1e-9


class Consistency(Metric):
    """The mean consistency of the outputs, that of shuffled outputs (``floor``), and the first
    between the second and 100 (``rescaled``), in percent."""

    name = "consistency"
    figures = ("consistency", "floor", "rescaled")
    needs = "sources"
    unit = "%"

    def __init__(self, rows: Sequence[ItemRow], *, orders: Sequence[int] = ORDERS) -> None:
        """
        :param rows: the sentences of all items.
        :param orders: the lengths of n-grams, in characters; docs/lab/consistency.md has others.
        :raises InputError: no item has two sentences.
        """
        self.rows, self.orders = rows, tuple(orders)
        items: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            items.setdefault(row.item, []).append(index)
        self.items = [np.array(indices) for indices in items.values() if len(indices) > 1]
        if not self.items:
            raise InputError(
                f"{argument('items')}: no piece is in two sentences, which consistency needs"
            )
        self._used = np.isin(np.arange(len(rows)), np.concatenate(self.items))
        if alone := int((~self._used).sum()):
            self.notes = (f"{alone:,} sentences are the only ones of their item and are left out",)

    @property
    def n(self) -> int:
        """The number of sentences."""
        return len(self.rows)

    def context(self) -> MetricContext:
        """The item and the piece of each sentence, for bins and clusters."""
        return MetricContext(
            columns={name: [getattr(row, name) for row in self.rows] for name in ("item", "piece")}
        )

    def signature(self) -> Signature:
        """The number of items, and the units."""
        return Signature({"items": len(self.items), "characters": "+".join(map(str, self.orders))})

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(consistency, 1, floor) for each sentence; zeros for one that is alone in its item."""
        self.check_hypotheses(hypotheses)
        units = [units_of(text, self.orders) for text in hypotheses]
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
            return 100 * np.stack(
                [consistent / count, floor / count, (consistent - floor) / above], axis=1
            )

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
        return link_agreement(self._linked(units), list(map(set, units)), self.items)

    def _linked(self, units: Sequence[Sequence[str]]) -> list[set[str]]:
        """The units of each output that are linked to words of the shared part."""
        links = linked_words([Tokens.of(row.source).words for row in self.rows], units)
        return [
            linked_to(output, of_output, row.shared)
            for output, of_output, row in zip(units, links, self.rows, strict=True)
        ]


def link_agreement(
    linked: Sequence[set[str]], present: Sequence[set[str]], items: Sequence[np.ndarray]
) -> np.ndarray:
    """The share of the units linked in an item's other outputs that each output has, float64
    ``[outputs]``.

    :param linked: of each output, the units linked to the shared part; ``present``: all its units.
    :param items: the outputs of each item. An output is 0 if nothing is linked in the others.
    """
    values = np.zeros(len(present))
    for rows in items:
        together = Counter(unit for row in rows for unit in linked[row])
        for row in rows:
            linked_elsewhere = together - Counter(linked[row])
            if linked_elsewhere:
                values[row] = (
                    sum(linked_elsewhere[unit] for unit in present[row]) / linked_elsewhere.total()
                )
    return values


@accepts(ConsistencyRequest)
def consistency(request: ConsistencyRequest) -> Evaluation:
    """Score how consistently systems translate the shared parts of sentences, without references.

    Intervals and tests are those of :func:`cgbench.evaluate`, with pieces as clusters. For a folder
    of :func:`~cgbench.studies.parts.parts.parts`, the score is the residual composition error.

    :raises InputError: the items or outputs cannot be read or do not fit together.
    """
    if as_path(request.items).is_dir():
        check_study("parts", argument("items", str(request.items)))
        from cgbench.studies.parts.outputs_alone import score_outputs_alone

        return score_outputs_alone(
            request.items, request.systems, request.probe_systems, request.comparison
        )
    if request.probe_systems is not None:
        raise InputError(
            f"{argument('probe_systems')} has no effect on a table of items; leave it out"
        )
    metric = Consistency(read_items(request.items))
    comparison = changed(
        request.comparison, cluster=tuple(dict.fromkeys(("piece", *request.comparison.cluster)))
    )
    sources = [row.source for row in metric.rows]
    scored = ScoreRequest(metric, request.systems, sources=sources, comparison=comparison)
    return evaluation_of(scored, metric.context())
