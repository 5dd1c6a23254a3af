"""Exact match: a hypothesis is right if it equals one of its references, token by token."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.errors import InputError, argument
from cgbench.text.hypothesis_form import Reading
from cgbench.text.plain_text import words_of

END = "</s>"


class ExactMatch(Metric):
    """Exact match: the percentage of hypotheses that equal their reference.

    Words are separated by ASCII white space. An empty hypothesis counts as wrong.
    """

    name = "exact"
    figures = ("exact",)
    unit = "%"

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        *,
        lowercase: bool = False,
        preset: str | None = None,
    ) -> None:
        """
        :param references: those of each example.
        :param preset: ``lexicon``: hypotheses end at their first ``</s>`` (the scorer of Akyürek
            and Andreas 2021). ``cfq``: queries are equal if they have the same clauses, in any
            order and in any form of :mod:`cgbench.text.sparql`; the papers on CFQ count the order.
        :raises InputError: an example has no reference, or there is no such preset.
        """
        if preset not in (None, "lexicon", "cfq"):
            raise InputError(
                f"{argument('preset', preset)}: exact match has only the presets lexicon and cfq"
            )
        super().__init__(references)
        self.lowercase, self.cut_end = lowercase, preset == "lexicon"
        self.clauses = preset == "cfq"
        self.reading = Reading(
            case=not lowercase, whole=True, lowercase=True, end=END if self.cut_end else None
        )
        self.references = [
            {self._normal(reference) for reference in example} for example in references
        ]
        counts = {len(example) for example in references}
        self._references = counts.pop() if len(counts) == 1 else "var"

    def signature(self) -> Signature:
        """Number of references, case, and whether hypotheses are cut at ``</s>``."""
        case = "lc" if self.lowercase else "mixed"
        items = {
            "nrefs": self._references,
            "case": case,
            "tok": "blanks",
            "cut": "eos" if self.cut_end else None,
            "clauses": "set" if self.clauses else None,
        }
        return Signature(items, {"nrefs": "#", "case": "c"})

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(right, 1) for each example."""
        self.check_hypotheses(hypotheses)
        texts = (
            self._normal(text.partition(END)[0] if self.cut_end else text) for text in hypotheses
        )
        right = [bool(text) and text in self.references[row] for row, text in enumerate(texts)]
        return np.stack([np.array(right, np.float64), np.ones(self.n)], axis=1)

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
        """1 for a right example."""
        return {"exact": statistics[rows, 0]}

    def describe(self, sums: np.ndarray) -> str:
        """The counts."""
        return f"({sums[0]:,.0f} of {sums[1]:,.0f})"

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """``correct``: 1 or 0."""
        return [{"correct": int(right)} for right in statistics[:, 0]]

    def _normal(self, text: str) -> str:
        text = " ".join(words_of(text))
        text = text.lower() if self.lowercase else text
        if not self.clauses:
            return text
        from cgbench.text.sparql import read_query

        query = read_query(text)
        return query.in_order if query else text
