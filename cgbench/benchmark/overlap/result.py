"""The result of ``cgbench overlap``: each example and side, and totals; as text and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.tables import counted, render


@dataclass(frozen=True)
class SideOverlap:
    """The overlap of one side of a test text, one row per example.

    :param lengths: units (words, or ids of a tokeniser), int32 ``[examples]``.
    :param known: int32 ``[examples, orders]``, the number of known n-grams of each order.
    :param pieces: of a least cover by known n-grams; ``covered``: units within known n-grams of the highest order.
    :param longest: units of the longest known n-gram, and ``spans`` its text.
    """

    name: str
    lengths: np.ndarray
    known: np.ndarray
    pieces: np.ndarray
    covered: np.ndarray
    longest: np.ndarray
    spans: list[str]

    def ngrams(self, orders: tuple[int, ...]) -> np.ndarray:
        """The number of n-grams of each example and order, int32 ``[examples, orders]``."""
        return np.maximum(self.lengths[:, None] + 1 - np.array(orders, np.int32)[None], 0)

    @property
    def degrees(self) -> np.ndarray:
        """The compositional degree of each example against the corpus, float64; NaN if it has no words."""
        return np.where(self.lengths > 0, self.pieces / np.maximum(self.lengths, 1), np.nan)


@dataclass(frozen=True)
class Overlap:
    """The overlap of a test text with a corpus.

    :param corpus: what was read: ``files`` (each with its ``documents``, ``words``, ``bytes`` and, if lines were
        skipped, ``skipped`` and ``first``) and the totals.
    """

    sides: tuple[SideOverlap, ...]
    orders: tuple[int, ...]
    min_count: int
    unit: str
    corpus: dict[str, Any]
    settings: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The totals as JSON; the schema is in ``docs/reference/formats.md``."""
        return {
            "settings": self.settings,
            "sides": {side.name: self._side(side) for side in self.sides},
            "corpus": self.corpus,
        }

    def _side(self, side: SideOverlap) -> dict[str, Any]:
        count, units = len(side.lengths), int(side.lengths.sum())
        has_words = side.lengths > 0
        ngrams = side.ngrams(self.orders)
        return {
            "examples": count,
            self.unit: units,
            "pieces": int(side.pieces.sum()),
            "degree": float(side.degrees[has_words].mean()) if has_words.any() else None,
            "longest_mean": float(side.longest[has_words].mean()) if has_words.any() else None,
            "longest": int(side.longest.max(initial=0)),
            "whole": int(np.count_nonzero((side.longest == side.lengths) & has_words)),
            "covered": int(side.covered.sum()),
            "orders": {
                str(order): {
                    "ngrams": int(ngrams[:, at].sum()),
                    "known": int(side.known[:, at].sum()),
                    "containment": _share(side.known[:, at].sum(), ngrams[:, at].sum()),
                    "examples": int(np.count_nonzero(ngrams[:, at])),
                    "with_known": int(np.count_nonzero(side.known[:, at])),
                }
                for at, order in enumerate(self.orders)
            },
        }

    def report(self, form: str = "text") -> str:
        """Totals as ``text`` or ``json``."""
        if form not in ("text", "json"):
            raise InputError(f"{argument('form', form)}: it must be text or json")
        if form == "json":
            return json.dumps(self.as_dict(), ensure_ascii=False, indent=1)
        read = self.corpus
        words = counted(read["words"], self.unit[:-1])
        corpus_size = f"{counted(len(read['files']), 'file')}, {counted(read['documents'], 'document')}, {words}"
        if "source" in read:
            corpus_size = f"counts of {read['source']}"
        lines = [
            f"{corpus_size}; known: at least {counted(self.min_count, 'time')}",
            *([f"left out: {read['skipped']:,} lines or ends of files (--skip-bad)"] if read["skipped"] else []),
            "",
        ]
        totals = {side.name: self._side(side) for side in self.sides}
        head = ["side", "examples", self.unit, "degree", "longest, mean", "longest", "whole examples"]
        rows = [
            [
                name,
                f"{side_totals['examples']:,}",
                f"{side_totals[self.unit]:,}",
                _shown(side_totals["degree"]),
                _shown(side_totals["longest_mean"], 2),
                str(side_totals["longest"]),
                f"{side_totals['whole']:,}",
            ]
            for name, side_totals in totals.items()
        ]
        lines += [render(head, rows), ""]
        head = ["n", *(word for name in totals for word in (f"{name}: n-grams", "known", "containment", "examples"))]
        rows = [[str(order)] for order in self.orders]
        for side_totals in totals.values():
            for row, counts in zip(rows, side_totals["orders"].values(), strict=True):
                row += [f"{counts['ngrams']:,}", f"{counts['known']:,}", _shown(counts["containment"])]
                row += [f"{counts['with_known']:,}"]
        lines += [
            render(head, rows),
            "",
            "containment: known n-grams over n-grams; examples: those with a known one. Paraphrases and other "
            "spellings are not found.",
        ]
        return "\n".join(lines)

    def table(self) -> str:
        """One row per example and side, as TSV with a header."""
        head = ["example", "side", self.unit, "pieces", "degree", "longest", "longest_text", "covered"]
        head += [f"known_{order}" for order in self.orders] + [f"containment_{order}" for order in self.orders]
        rows = []
        ngrams = [side.ngrams(self.orders) for side in self.sides]
        for example in range(len(self.sides[0].lengths)):
            for side, counts in zip(self.sides, ngrams, strict=True):
                known = side.known[example].tolist()
                shares = [
                    _share(known_count, of) for known_count, of in zip(known, counts[example].tolist(), strict=True)
                ]
                row = [str(example + 1), side.name, str(side.lengths[example]), str(side.pieces[example])]
                degree = float(side.degrees[example]) if side.lengths[example] else None
                row += [_shown(degree), str(side.longest[example]), side.spans[example]]
                rows.append([*row, str(side.covered[example]), *map(str, known), *map(_shown, shares)])
        return render(head, rows, "tsv") + "\n"


def _share(known: Any, ngrams: Any) -> float | None:
    return int(known) / int(ngrams) if ngrams else None


def _shown(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"
