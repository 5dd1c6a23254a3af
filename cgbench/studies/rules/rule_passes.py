"""The share of examples whose rules all pass, and the share of rules, by type and by name.

The "hypotheses" of a run are the results of its rules, one mark per rule of an example: ``1``
passed, ``0`` not, ``?`` no verdict. Intervals, tests, bins and seeds work as for other metrics.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.studies.rules.rule import Rule, passed, prepared

EXAMPLES, RULES = "examples", "rules"
FEWEST = 5
"""The fewest examples with a rule of a name that gets a score of its own."""


class RulePasses(Metric):
    """The percentage of examples whose rules all pass (main score), and of rules, weighted, also by
    type and name.

    Zouhar et al. 2026 (arXiv 2609.04173) score so. An empty output passes no rule.
    """

    name = "rules"
    unit = "%"
    of_texts = False

    def __init__(
        self,
        rules: Sequence[Sequence[Rule]],
        digest: str,
        missing: np.ndarray,
        notes: Sequence[str] = (),
        *,
        by_kind: bool = False,
    ) -> None:
        """
        :param rules: of each example, at least one.
        :param digest: of the file of rules, for the signature.
        :param missing: bool ``[n]``: examples without a result in some run, which are left out of
            all.
        :param by_kind: the scores are the shares of rules of each type, and of each name that
            several examples have.
        """
        self.rules, self.digest, self.notes = rules, digest, tuple(notes)
        flat = [rule for of_example in rules for rule in of_example]
        self._example = np.repeat(np.arange(len(rules)), list(map(len, rules)))  # of each rule
        self._weights = np.array([rule.weight for rule in flat])
        self._counted = ~missing
        groups = {RULES: np.ones(len(flat), bool)}
        if by_kind:
            types, names = (
                Counter(rule.type for rule in flat),
                Counter(rule.name for rule in flat if rule.name),
            )
            groups = {kind: np.array([rule.type == kind for rule in flat]) for kind in types}
            for name, count in names.items():
                if count >= FEWEST:
                    groups[f"{name} (name)" if name in types else name] = np.array(
                        [rule.name == name for rule in flat]
                    )
        self._groups = list(groups.values())
        self.counts = {kind: int(np.count_nonzero(mask)) for kind, mask in groups.items()}
        # Scores by kind are tests of one question, as bins are.
        self.one_family = by_kind
        self.by_kind, self.figures = by_kind, tuple(groups) if by_kind else (EXAMPLES, RULES)

    def label(self, figure: str) -> str:
        """``examples that pass``, ``rules that pass``; of a kind, its name."""
        return figure if self.by_kind else f"{figure} that pass"

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.rules)

    def signature(self) -> Signature:
        """The file, the number of rules, and the number of examples left out."""
        dropped = int(np.count_nonzero(~self._counted))
        return Signature(
            {
                "file": self.digest[:8],
                "n": len(self._weights),
                "dropped": str(dropped) if dropped else None,
            }
        )

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """(all rules passed, 1, weight passed, weight) of each example; by kind, the last two for
        each kind.
        """
        self.check_hypotheses(hypotheses)
        passed = (np.frombuffer("".join(hypotheses).encode("ascii"), np.uint8) == ord("1")).astype(
            np.float64
        )
        columns = (
            []
            if self.by_kind
            else [np.bincount(self._example, 1 - passed, self.n) == 0, np.ones(self.n)]
        )
        for group in self._groups:
            weights = self._weights * group
            columns += [
                np.bincount(self._example, values, self.n) for values in (weights * passed, weights)
            ]
        return np.stack(columns, axis=1).astype(np.float64)

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The rows with results in all runs."""
        return rows[self._counted[rows]]

    def outcomes(self, statistics: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """1 for an example whose rules all pass."""
        return None if self.by_kind else {EXAMPLES: statistics[self.counted(rows), 0]}

    def describe(self, sums: np.ndarray) -> str:
        """The counts."""
        return f"({sums[0]:,.0f} of {sums[1]:,.0f} examples)"

    def per_example(
        self, hypotheses: Sequence[str], statistics: np.ndarray
    ) -> list[dict[str, Any]]:
        """``correct`` (1 or 0), and the rules that ``failed``."""
        return [
            {
                "correct": int(right),
                "failed": "; ".join(
                    rule.label for rule, mark in zip(rules, marks, strict=True) if mark != "1"
                ),
            }
            for right, rules, marks in zip(statistics[:, 0], self.rules, hypotheses, strict=True)
        ]

    def reason(self, index: int, text: str) -> str:
        """The rules that an output fails, with the text that should not be there; not those of a
        judge.
        """
        reasons = []
        for rule, mark in zip(self.rules[index], passed(self.rules[index], text), strict=True):
            if mark == "0":
                output = prepared(text)
                matches = dict.fromkeys(output[begin:end] for begin, end in rule.spans(text))
                reasons.append(
                    rule.label + (f" (has {', '.join(map(repr, matches))})" if matches else "")
                )
        return "; ".join(reasons)
