"""``cgbench score agreement``: metrics beside people, with intervals and tests.

Intervals resample items. A test between two metrics exchanges their scores of whole items at random
(paired randomisation); Holm's correction is over all pairs of metrics within a measure. What people
reach among themselves, each rater against the mean of the others, is the ceiling; random scores are
the floor.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from cgbench.benchmark.score.comparison.significance import holm
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import fixed, p_text
from cgbench.request import accepts
from cgbench.studies.agreement.judged_outputs import JudgedOutputs, read_judged_outputs
from cgbench.studies.agreement.measures import MEASURES, Measure
from cgbench.studies.agreement.raters import krippendorff_alpha, raters_and_others
from cgbench.studies.agreement.request import AgreementRequest
from cgbench.tables import Note, OutputTable, as_text

PEOPLE, RANDOM = "a person", "random scores"
RANDOM_METRICS = 20
ALPHA_SAMPLES = 200
PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class AgreementRow:
    """The agreement with people by one measure, with its 95% interval.

    ``scorer``: a metric, :data:`PEOPLE` or :data:`RANDOM`. ``difference`` from the best metric,
    with its ``p_value`` and that after Holm's correction; None for the best one, people and random
    scores.
    """

    measure: str
    scorer: str
    value: float
    low: float
    high: float
    difference: float | None = None
    p_value: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class MetricPair:
    """Two metrics by one measure: the difference, its p-value, and that after Holm's correction."""

    measure: str
    first: str
    second: str
    difference: float
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class Agreement:
    """The result: ``rows`` by measure, all ``pairs`` of metrics, and ``alpha`` of the raters with
    its interval, None for a single rater.
    """

    systems: int
    items: int
    judgements: int
    raters: int
    rows: tuple[AgreementRow, ...]
    pairs: tuple[MetricPair, ...]
    alpha: tuple[float, float, float] | None

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        values = asdict(self)
        values["alpha"] = self.alpha and dict(
            zip(("value", "low", "high"), self.alpha, strict=True)
        )
        return values

    def blocks(self) -> list[OutputTable | Note]:
        """The tables and notes of all text forms."""
        blocks: list[OutputTable | Note] = [Note(self._data())]
        for measure in MEASURES:
            rows = [row for row in self.rows if row.measure == measure.name]
            head = [measure.name, "agreement", "95% interval", "from the best", "p", "p (Holm)"]
            lines = [
                [
                    row.scorer,
                    fixed(row.value, 3),
                    f"{fixed(row.low, 3)} to {fixed(row.high, 3)}",
                    fixed(row.difference, 3, "+"),
                    p_text(row.p_value),
                    p_text(row.p_holm),
                ]
                for row in rows
            ]
            blocks.append(OutputTable(head, lines, title=measure.meaning))
            if self.systems <= measure.few_systems:
                blocks.append(
                    Note(
                        f"with {self.systems} systems, intervals of {measure.name} are wider than"
                        " 95% intervals have to be"
                    )
                )
        return blocks

    def report(self, form: str = "text") -> str:
        """The result as ``text``, ``markdown``, ``latex`` or ``html``."""
        return as_text(self.blocks(), form)

    def __repr__(self) -> str:
        return self.report()

    def _data(self) -> str:
        lines = [
            f"{self.judgements:,} judgements of {self.systems} systems on {self.items:,} examples"
        ]
        if self.alpha is not None:
            value, low, high = (fixed(end, 3) for end in self.alpha)
            lines.append(
                f"{self.raters} raters agree with Krippendorff's alpha {value} [{low}, {high}]"
            )
        return "\n".join(lines)


@accepts(AgreementRequest)
def agreement(request: AgreementRequest) -> Agreement:
    """Measure how well metrics agree with people, and people with each other.

    :raises InputError: judgements and scores are not of the same outputs, or there are too few.
    """
    outputs = read_judged_outputs(request.human, request.scores or {}, request.lower_is_better)
    if not outputs.metrics and len(outputs.raters) < 2:
        raise InputError(
            f"{argument('human')} has one rater; give {argument('scores')}, or judgements of"
            " several raters"
        )
    rows: list[AgreementRow] = []
    pairs: list[MetricPair] = []
    for measure in MEASURES:
        compared = MeasuredMetrics(measure, outputs, request.samples, request.seed)
        rows += compared.rows()
        pairs += compared.pairs()
    judged = ~np.isnan(outputs.ratings)
    several = len(outputs.raters) > 1
    return Agreement(
        systems=len(outputs.systems),
        items=len(outputs.items),
        judgements=int(judged.sum()),
        raters=len(outputs.raters),
        rows=tuple(rows),
        pairs=tuple(pairs),
        alpha=_alpha(outputs, request.seed) if several else None,
    )


class MeasuredMetrics:
    """All metrics by one measure."""

    def __init__(self, measure: Measure, outputs: JudgedOutputs, samples: int, seed: int) -> None:
        self.measure, self.outputs = measure, outputs
        self.human = outputs.human
        draw = np.random.default_rng([seed, MEASURES.index(measure)])
        items = len(outputs.items)
        # How often each item is in a resample, and which items two metrics exchange.
        self.resamples = draw.multinomial(items, np.full(items, 1 / items), samples)
        self.exchanges = draw.random((samples, items)) < 0.5
        self.random = draw.normal(size=(RANDOM_METRICS, *self.human.shape))
        scores = outputs.metrics
        if measure.scales:
            scores = {name: self._standardised(of) for name, of in scores.items()}
        self.sums = {name: measure.sums(self.human, of) for name, of in scores.items()}
        self.values = {name: measure.value(self.human, of) for name, of in outputs.metrics.items()}

    def _standardised(self, scores: np.ndarray) -> np.ndarray:
        """Scores of judged outputs with mean 0 and variance 1, so that metrics can be exchanged."""
        judged = scores[~np.isnan(self.human)]
        return (scores - judged.mean()) / (judged.std() or 1.0)

    def rows(self) -> list[AgreementRow]:
        """People, the metrics from the best down, and random scores."""
        rows = []
        if people := list(raters_and_others(self.outputs.ratings)):
            rows.append(self._row(PEOPLE, people))
        names = sorted(self.values, key=lambda name: -self.values[name])
        tests = {frozenset((pair.first, pair.second)): pair for pair in self.pairs()}
        for name in names:
            low, high = self.interval([self.sums[name]])
            row = AgreementRow(self.measure.name, name, self.values[name], low, high)
            if pair := tests.get(frozenset((name, names[0]))):
                row = replace(
                    row,
                    difference=self.values[name] - self.values[names[0]],
                    p_value=pair.p_value,
                    p_holm=pair.p_holm,
                )
            rows.append(row)
        return [*rows, self._row(RANDOM, [(self.human, scores) for scores in self.random])]

    def pairs(self) -> list[MetricPair]:
        """All pairs of metrics."""
        names = list(combinations(self.values, 2))
        p_values = [self._p_value(first, second) for first, second in names]
        adjusted = holm(p_values)
        return [
            MetricPair(
                self.measure.name,
                first,
                second,
                self.values[first] - self.values[second],
                p_value,
                1.0 if p_holm is None else p_holm,
            )
            for (first, second), p_value, p_holm in zip(names, p_values, adjusted, strict=True)
        ]

    def _row(self, scorer: str, scored: Sequence[tuple[np.ndarray, np.ndarray]]) -> AgreementRow:
        """The mean of several scorers, such as raters, each with its own judgements to agree
        with.
        """
        values = [self.measure.value(human, scores) for human, scores in scored]
        sums = [self.measure.sums(human, scores) for human, scores in scored]
        return AgreementRow(
            self.measure.name, scorer, float(np.nanmean(values)), *self.interval(sums)
        )

    def interval(self, sums: Sequence[np.ndarray]) -> tuple[float, float]:
        """The 95% interval of the mean of one or more scorers over resamples of items."""
        samples = [self.measure.compute(self.resamples @ of_scorer) for of_scorer in sums]
        low, high = np.nanpercentile(np.nanmean(samples, axis=0), PERCENTILES)
        return float(low), float(high)

    def _p_value(self, first: str, second: str) -> float:
        """The two-sided p-value of the difference, by exchanging the metrics item by item."""
        both = self.sums[first], self.sums[second]
        observed = np.subtract(*(self.measure.compute(sums.sum(axis=0)) for sums in both))
        total = both[0].sum(axis=0) + both[1].sum(axis=0)
        mixed = self.exchanges @ both[0] + ~self.exchanges @ both[1]
        null = self.measure.compute(mixed) - self.measure.compute(total - mixed)
        extreme = np.abs(null) >= abs(observed) - 1e-12
        return float((1 + extreme.sum()) / (1 + len(null)))


def _alpha(outputs: JudgedOutputs, seed: int) -> tuple[float, float, float]:
    """Krippendorff's alpha with its 95% interval over resamples of items."""
    draw = np.random.default_rng(seed)
    items = len(outputs.items)
    samples = [
        krippendorff_alpha(outputs.ratings[:, :, draw.integers(0, items, items)])
        for _ in range(ALPHA_SAMPLES)
    ]
    low, high = np.nanpercentile(samples, PERCENTILES)
    return krippendorff_alpha(outputs.ratings), float(low), float(high)
