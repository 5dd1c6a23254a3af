"""How alike a system translates what the sentences of an item share, without references.

The sentences of an item have a part in common, such as a piece in five contexts. Two methods find what became of it:

``align``: IBM Model 1 (Brown et al. 1993) is learned from the sources and the system's own outputs. What became of the
shared part are the units of the output (words, or n-grams of characters) that are linked to its words. The consistency
of an output is the share of the units linked in the item's other outputs that it also has.

``ngrams``: the consensus of an item are the n-grams of more than half of its outputs. The consistency of an output is
the share of the consensus that it has.

docs/lab/consistency.md compares both with human judgements. Alignment is better with more sentences, so scores are
comparable between systems on the same items, not between sets of items. A system that always says the same is also
consistent: consistency complements a score of adequacy and does not replace it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cgbench.benchmark.consistency.items import Row, Tokens
from cgbench.benchmark.metrics.metric import Metric, Signature
from cgbench.errors import InputError, argument
from cgbench.text.plain_text import words_of
from cgbench.text.profile import profile

Method = Literal["align", "ngrams"]
Unit = Literal["words", "characters"]
ORDERS = {"words": (1,), "characters": (4,), "unspaced": (1, 2), "ngrams": (2,)}
"""Default lengths of units: words, and characters in scripts with and without blanks; docs/lab/consistency.md."""


class Consistency(Metric):
    """The mean consistency of the outputs, in percent."""

    name = "consistency"
    figures = ("consistency",)
    needs = "sources"
    unit = "%"

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        method: Method = "align",
        of: Unit = "characters",
        orders: Sequence[int] = (),
    ) -> None:
        """
        :param rows: the sentences of all items.
        :param of: what units are made of.
        :param orders: the lengths of units, in words or characters (default: :data:`ORDERS`).
        :raises InputError: no item has two sentences.
        """
        self.rows, self.method, self.of = rows, method, of
        self.orders = tuple(orders) or ORDERS["ngrams" if method == "ngrams" and of == "characters" else of]
        self._by_script = method == "align" and of == "characters" and not orders
        items: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            items.setdefault(row.item, []).append(place)
        self.items = [np.array(places) for places in items.values() if len(places) > 1]
        if not self.items:
            raise InputError(f"{argument('items')}: each piece is in one sentence only; consistency needs at least two")
        self._used = np.isin(np.arange(len(rows)), np.concatenate(self.items))
        self.columns: Mapping[str, Sequence[str]] = {
            name: [getattr(row, name) for row in rows] for name in ("item", "piece", "change", "context")
        }
        if alone := int((~self._used).sum()):
            self.notes = (f"{alone:,} sentences are the only ones of their item and are left out",)
        self._sources = [Tokens.of(row.source) for row in rows]
        self._shared = [tokens.within(row.shared) for tokens, row in zip(self._sources, rows, strict=True)]

    @property
    def n(self) -> int:
        """The number of sentences."""
        return len(self.rows)

    def signature(self) -> Signature:
        """The method and its units."""
        orders = "+".join(map(str, self.orders))
        return Signature({"items": len(self.items), "method": self.method, "units": self.of, "n": orders})

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The statistics of all runs, with the same units."""
        if self._by_script and profile(text for run in runs for text in run).script:
            self.orders = ORDERS["unspaced"]
        return super().all_statistics(runs)

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(consistency, 1) for each sentence; zeros for one that is alone in its item."""
        self.check_hypotheses(hypotheses)
        units = [self._units(text) for text in hypotheses]
        if self.method == "ngrams":
            values = consensus(list(map(set, units)), self.items)
        else:
            values = agreement(self._linked(units), list(map(set, units)), self.items)
        return np.stack([values * self._used, self._used.astype(np.float64)], axis=1)

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The sentences of items with several."""
        return rows[self._used[rows]]

    def per_example(self, hypotheses: Sequence[str], statistics: np.ndarray) -> list[dict[str, Any]]:
        """The item, its piece and change, the consistency (empty if alone), and the units linked to the shared part."""
        units = [self._units(text) for text in hypotheses]
        linked = self._linked(units) if self.method == "align" else [set[str]() for _ in units]
        became = [" ".join(unit for unit in all_ if unit in one) for all_, one in zip(units, linked, strict=True)]
        return [
            {
                "item": row.item,
                "piece": row.piece,
                "change": row.change,
                "consistency": f"{value:.4f}" if used else "",
                "became": text,
            }
            for row, (value, used), text in zip(self.rows, statistics.tolist(), became, strict=True)
        ]

    def _units(self, text: str) -> list[str]:
        words = Tokens.of(text).words if self.of == "words" else "".join(words_of(text)).lower()
        joint = "_" if self.of == "words" else ""
        found = [joint.join(words[at : at + n]) for n in self.orders for at in range(len(words) + 1 - n)]
        return found or [joint.join(words)] * bool(words)  # a text that is shorter than every unit is one

    def _linked(self, units: Sequence[Sequence[str]]) -> list[set[str]]:
        """The units of each output that are linked to words of the shared part."""
        from cgbench.models.lexicons.alignment import IBM1Settings, align
        from cgbench.models.lexicons.bitext import Bitext, find_cooccurrences

        if not any(units):
            return [set() for _ in units]
        pairs = zip(self._sources, units, strict=True)
        text = Bitext.read((" ".join(source.words), " ".join(found)) for source, found in pairs)
        places = align(text, find_cooccurrences(text, cells=True), True, IBM1Settings())
        starts = text.target.starts.tolist()
        spans = zip(starts, units, self._shared, strict=True)
        links = [(places[start : start + len(found)].tolist(), found, own) for start, found, own in spans]
        return [{unit for unit, at in zip(found, of, strict=True) if at in own} for of, found, own in links]


def agreement(linked: Sequence[set[str]], present: Sequence[set[str]], items: Sequence[np.ndarray]) -> np.ndarray:
    """The share of the units linked in an item's other outputs that each output has, float64 ``[outputs]``.

    :param linked: of each output, the units linked to the shared part; ``present``: all its units.
    :param items: the outputs of each item. An output is 0 if nothing is linked in the others.
    """
    values = np.zeros(len(present))
    for rows in items:
        together = Counter(unit for row in rows for unit in linked[row])
        for row in rows:
            others = together - Counter(linked[row])
            total = sum(others.values())
            values[row] = sum(others[unit] for unit in others if unit in present[row]) / total if total else 0.0
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
