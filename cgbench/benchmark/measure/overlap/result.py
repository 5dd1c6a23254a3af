"""The result of ``cgbench overlap``: each example and side, and totals; as text and JSON."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import counted
from cgbench.tables import render


@dataclass(frozen=True)
class SideOverlap:
    """The overlap of one side of a test text, one row per example.

    :param lengths: in words, int32 ``[examples]``.
    :param known: int32 ``[examples, orders]``, the number of known n-grams of each order.
    :param pieces: of a least cover by known n-grams; ``covered``: words within known n-grams of the
        highest order.
    :param longest: words of the longest known n-gram, and ``spans`` its text.
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
        """The compositional degree of each example against the corpus, float64; NaN if it has no
        words.
        """
        return np.where(self.lengths > 0, self.pieces / np.maximum(self.lengths, 1), np.nan)


@dataclass(frozen=True)
class Overlap:
    """The overlap of a test text with a corpus.

    :param corpus: what was read: ``files`` (each with its ``documents``, ``words``, ``bytes``) and
        the totals.
    """

    sides: tuple[SideOverlap, ...]
    orders: tuple[int, ...]
    min_count: int
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
        has_words = side.lengths > 0
        ngrams = side.ngrams(self.orders)
        return {
            "examples": len(side.lengths),
            "words": int(side.lengths.sum()),
            "pieces": int(side.pieces.sum()),
            "degree": float(side.degrees[has_words].mean()) if has_words.any() else None,
            "longest_mean": float(side.longest[has_words].mean()) if has_words.any() else None,
            "longest": int(side.longest.max(initial=0)),
            "whole": int(np.count_nonzero((side.longest == side.lengths) & has_words)),
            "covered": int(side.covered.sum()),
            "orders": {
                str(order): {
                    "ngrams": int(counts.sum()),
                    "known": int(known.sum()),
                    "containment": _share(known.sum(), counts.sum()),
                    "examples": int(np.count_nonzero(counts)),
                    "with_known": int(np.count_nonzero(known)),
                }
                for order, counts, known in zip(self.orders, ngrams.T, side.known.T, strict=True)
            },
        }

    def report(self, form: str = "text") -> str:
        """Totals as ``text`` or ``json``."""
        if form not in ("text", "json"):
            raise InputError(f"{argument('form', form)}: it must be text or json")
        if form == "json":
            return json.dumps(self.as_dict(), ensure_ascii=False, indent=1)
        # What was read
        read, totals = self.corpus, {side.name: self._side(side) for side in self.sides}
        words = counted(read["words"], "word")
        corpus_size = (
            f"{counted(len(read['files']), 'file')}, {counted(read['documents'], 'document')},"
            f" {words}"
        )
        lines = [f"{corpus_size}; known: at least {counted(self.min_count, 'time')}"]
        # A row per side
        names = ("examples", "words", "degree", "longest_mean", "longest", "whole")
        head = ["side", "examples", "words", "degree", "longest, mean", "longest", "whole examples"]
        rows = [
            [side, *(_shown(total[name], 2 if name == "longest_mean" else 4) for name in names)]
            for side, total in totals.items()
        ]
        lines += ["", render(head, rows), ""]
        # A row per order
        columns = ("ngrams", "known", "containment", "with_known")
        head = [
            "n",
            *(
                word
                for side in totals
                for word in (f"{side}: n-grams", "known", "containment", "examples")
            ),
        ]
        rows = [
            [
                str(order),
                *(
                    _shown(total["orders"][str(order)][name])
                    for total in totals.values()
                    for name in columns
                ),
            ]
            for order in self.orders
        ]
        note = "containment: known n-grams over n-grams; examples: those with a known one. "
        return "\n".join(
            [
                *lines,
                render(head, rows),
                "",
                note + "Paraphrases and other spellings are not found.",
            ]
        )

    def table(self) -> str:
        """One row per example and side, as TSV with a header."""
        head = [
            "example",
            "side",
            "words",
            "pieces",
            "degree",
            "longest",
            "longest_text",
            "covered",
        ]
        head += [f"known_{order}" for order in self.orders]
        head += [f"containment_{order}" for order in self.orders]
        rows = []
        ngrams = [side.ngrams(self.orders) for side in self.sides]
        for example in range(len(self.sides[0].lengths)):
            for side, counts in zip(self.sides, ngrams, strict=True):
                known = side.known[example].tolist()
                shares = map(_share, known, counts[example].tolist())
                degree = float(side.degrees[example]) if side.lengths[example] else None
                row = [
                    str(example + 1),
                    side.name,
                    str(side.lengths[example]),
                    str(side.pieces[example]),
                    _shown(degree),
                    str(side.longest[example]),
                    side.spans[example],
                    str(side.covered[example]),
                ]
                rows.append([*row, *map(str, known), *map(_shown, shares)])
        return render(head, rows, "tsv") + "\n"


def _share(known: Any, ngrams: Any) -> float | None:
    return int(known) / int(ngrams) if ngrams else None


def _shown(value: float | None, digits: int = 4) -> str:
    """A count with thousands separators, another number with ``digits`` decimals; empty for
    None.
    """
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
