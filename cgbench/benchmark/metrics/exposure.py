"""What a model may have seen of a test set: exposure of its pairs to a corpus, and scores with and without it.

A pair is a new combination of known pieces: each piece of its cover by the training text ends where the next word would
make an n-gram that is not known from training. The shortest such n-gram is the *new combination* of that place. If a
larger corpus has it, a model that was pre-trained on this corpus has seen it ("combination leakage", arXiv 2604.27340).
The exposure of a pair is the share of its new combinations that the corpus has.

Pairs that are exposed differ from others, above all in length. So their score is compared with that of other pairs,
weighted to the same distribution of lengths (post-stratification, Holt and Smith 1979). Whatever else differs between
exposed pairs and others of the same length is part of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.benchmark.metrics.comparison import CALIBRATED, Comparison, Score, SystemScores, compare
from cgbench.benchmark.metrics.metric import Metric
from cgbench.benchmark.metrics.systems import System
from cgbench.benchmark.overlap.automaton import Automaton
from cgbench.benchmark.overlap.saved import KnownOfTest, begins_of
from cgbench.benchmark.overlap.sources import InfiniGram, ends_from
from cgbench.benchmark.overlap.units import UnitRules, Words, units_of
from cgbench.errors import argument
from cgbench.requests import changed
from cgbench.tables import fixed, p_text, render
from cgbench.text.normalisation import Normalisation
from cgbench.text.plain_text import words_of

INDEX = "infini-gram:"
FEWEST, MOST_STRATA = 5, 20
"""Minimum number of exposed and of other pairs in a stratum of lengths, and maximum number of strata."""


def ends_in_corpus(given: Any, lines: Sequence[str]) -> np.ndarray:
    """The length of the longest n-gram that ends at each word of lines and occurs in a corpus, int32 ``[words]``.

    :param given: a folder of ``cgbench overlap --out``, ``infini-gram:INDEX[@URL]``, or an object with ``count``.
    :raises InputError: it is something else, or has counts of another text.
    """
    if hasattr(given, "count") and not isinstance(given, str):
        return ends_from(given, [words_of(line) for line in lines], 1)
    if str(given).startswith(INDEX):
        source = InfiniGram.named(str(given).removeprefix(INDEX))
        return ends_from(source, [words_of(line) for line in lines], 1)
    return KnownOfTest.load(Path(given)).ends(lines, 1)[2]


def new_combinations(lines: Sequence[str], train: Sequence[str], min_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the new combinations of lines are: bool ``[words of all lines]``, whether one ends at a word; and its
    length, int32 ``[words]``.

    :param min_count: the smallest count in ``train`` of a known n-gram.
    """
    units, ids, lengths = units_of(list(lines), UnitRules(Normalisation(), None, "text", False, max(3, min_count)))
    automaton = Automaton.build(ids, lengths, len(units))
    matches = automaton.no_matches(max(3, min_count))
    assert isinstance(units, Words)
    automaton.read(*units.read_lines(train), matches)
    ends = automaton.ends(ids, lengths, automaton.known(matches, min_count))[0]
    begins, starts = np.zeros(len(ids), bool), np.cumsum(lengths) - lengths
    for start, places in zip(starts.tolist(), begins_of(lengths, ends), strict=True):
        begins[[start + place for place in places[1:]]] = True  # a sentence joins nothing at its start
    return begins, ends + 1


def exposure_of(lines: Sequence[str], given: Any, train: Sequence[str] | None, min_count: int) -> np.ndarray:
    """The share of new combinations that a corpus has, float64 ``[lines]``; NaN for lines without new combinations.

    :param train: None: the share of words in the longest span that the corpus has, instead.
    """
    found, sizes = ends_in_corpus(given, lines), np.array([len(words_of(line)) for line in lines])
    row = np.repeat(np.arange(len(lines)), sizes)
    if train is None:
        longest = np.zeros(len(lines))
        np.maximum.at(longest, row, found)
        return np.where(sizes > 0, longest / np.maximum(sizes, 1), np.nan)
    new, needed = new_combinations(lines, train, min_count)
    total = np.bincount(row[new], minlength=len(lines))
    seen = np.bincount(row[new & (found >= needed)], minlength=len(lines))
    return np.where(total > 0, seen / np.maximum(total, 1), np.nan)


def strata_of(lengths: np.ndarray, exposed: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """A stratum of similar length for each of ``rows``, int64 ``[n]`` (-1: not in ``rows``); None if there are fewer
    than :data:`FEWEST` exposed or other rows."""
    if min(int(exposed[rows].sum()), int((~exposed[rows]).sum())) < FEWEST:
        return None
    labels, number, held = np.full(len(lengths), -1, np.int64), 0, np.zeros(0, np.int64)
    least = len(rows) / MOST_STRATA
    for length in np.unique(lengths[rows]):
        held = np.concatenate([held, rows[lengths[rows] == length]])
        labels[held] = number
        both = int(exposed[held].sum()), int((~exposed[held]).sum())
        if min(both) >= FEWEST and len(held) >= least:
            number, held = number + 1, held[:0]
    labels[held] = max(number - 1, 0)  # the longest, if too few, belong to the stratum before
    return labels


class Matched(Metric):
    """Scores of exposed pairs, of the other pairs matched on length, and of the test set without exposure; or the
    difference of the first two.

    The sums of a resample are kept by stratum, so its weights are those of its own lengths.
    """

    figures: tuple[str, ...] = ("exposed", "matched", "without")

    def __init__(
        self, metric: Metric, results: Sequence[SystemScores], exposed: np.ndarray, strata: np.ndarray, *,
        difference: bool = False,
    ) -> None:  # fmt: skip
        self.metric, self.results, self.exposed, self.strata = metric, results, exposed, strata
        self.name, self.clusters, self.lower_is_better = metric.name, metric.clusters, metric.lower_is_better
        self.bottom, self.top = (None, None) if difference else (metric.bottom, metric.top)
        if difference:
            self.figures = ("difference",)

    @property
    def n(self) -> int:
        """The number of examples."""
        return self.metric.n

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """The rows in a stratum."""
        return rows[self.strata[rows] >= 0]

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The statistics of the metric, in the columns of the row's stratum, after a count."""
        return self._wide(self.metric.statistics(hypotheses))

    def all_statistics(self, runs: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The same, from the statistics of the results."""
        return [self._wide(run) for result in self.results for run in result.statistics]

    def _wide(self, statistics: np.ndarray) -> np.ndarray:
        rows, size = np.flatnonzero(self.strata >= 0), statistics.shape[1] + 1
        wide = np.zeros((len(statistics), 2, int(self.strata.max()) + 1, size))
        wide[rows, self.exposed[rows].astype(int), self.strata[rows], 0] = 1
        wide[rows, self.exposed[rows].astype(int), self.strata[rows], 1:] = statistics[rows]
        self._shape = wide.shape[1:]
        return wide.reshape(len(statistics), -1)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The scores from sums by stratum; strata without exposed or without other pairs do not count."""
        both = sums.reshape(-1, *self._shape)
        others, exposed = both[:, 0], both[:, 1]
        usable = (others[..., 0] > 0) & (exposed[..., 0] > 0)
        weights = np.where(usable, exposed[..., 0] / np.where(usable, others[..., 0], 1), 0)[..., None]
        parts = (exposed * usable[..., None], others * weights, others * (1 + weights))
        scores = [self.metric.compute(part.sum(axis=1)[:, 1:])[:, 0] for part in parts]
        return np.stack([scores[0] - scores[1]] if self.figures == ("difference",) else scores, axis=1)


@dataclass(frozen=True)
class ExposureComparison:
    """Scores of systems on exposed pairs and on others of their lengths, by system and name.

    ``sizes``: exposed pairs, others, and pairs without new combinations; ``lengths``: mean length of exposed pairs, of
    the others as weighted, and of the others.
    """

    scores: dict[str, dict[str, Score]]
    sizes: tuple[int, int, int]
    lengths: tuple[float, float, float]
    least: float

    def as_dict(self, system: str) -> dict[str, Any]:
        """The values of a system, as JSON."""
        names = ("value", "stdev", "ci_low", "ci_high", "difference", "p_value", "p_holm")
        scores = {name: {key: getattr(one, key) for key in names} for name, one in self.scores[system].items()}
        return scores | {"pairs": list(self.sizes), "mean_lengths": list(self.lengths), "exposed_from": self.least}

    def table(self, form: str, width: int) -> str:
        """The scores as a table, and how the pairs were matched."""
        head = ["system", "exposed", "others, matched", "difference", "95 %", "without exposure", "95 %", "p (Holm)"]
        rows = []
        for system, one in self.scores.items():
            spans = [
                "" if own.ci_low is None else f"{fixed(own.ci_low, width, sign)} to {fixed(own.ci_high, width, sign)}"
                for own, sign in ((one["difference"], "+"), (one["without"], ""))
            ]
            cells = [fixed(one[name].value, width) for name in ("exposed", "matched")]
            cells += [
                fixed(one["difference"].value, width, "+"),
                spans[0],
                fixed(one["without"].value, width),
                spans[1],
            ]
            rows.append([system, *cells, p_text(one["difference"].p_holm)])
        exposed, others, none = self.sizes
        more = f"; {none:,} have no new combination" if none else ""
        ours, matched, raw = (f"{length:.1f}" for length in self.lengths)
        line = (
            f"exposed: {exposed:,} pairs with at least {self.least:g} of their new combinations in the corpus; others: "
            f"{others:,}{more}; mean length {ours}, matched {matched}, others {raw}; p: of the difference, against the "
            "baseline"
        )
        return f"{render(head, rows, form)}\n\n{line}"


def compare_exposure(
    metric: Metric, systems: Sequence[System], results: Sequence[SystemScores], comparison: Comparison,
    values: np.ndarray, lengths: np.ndarray, least: float,
) -> ExposureComparison | str:  # fmt: skip
    """Compare exposed pairs with others of the same length; a warning where that is impossible.

    :param values: the exposure of each pair, NaN: none; ``least``: from which value a pair is exposed.
    """
    if type(metric).collect is not Metric.collect:
        return f"{metric.name} groups its examples: exposed pairs are not matched on length"
    exposed, rows = values >= least, metric.counted(np.flatnonzero(~np.isnan(values)))
    strata = strata_of(lengths, exposed, rows)
    if strata is None:
        return (
            f"{argument('exposed', least)}: {int(exposed[rows].sum()):,} of {len(rows):,} pairs are exposed; a "
            f"comparison matched on length needs at least {FEWEST} exposed and {FEWEST} other pairs"
        )
    test = CALIBRATED if comparison.paired else None
    wanted = changed(comparison, paired=test, confidence=True)
    scores: dict[str, dict[str, Score]] = {system.name: {} for system in systems}
    for difference in (False, True):
        own = Matched(metric, results, exposed, strata, difference=difference)
        for result in compare(own, systems, wanted):
            scores[result.system] |= result.whole.figures
    ours, theirs = rows[exposed[rows]], rows[~exposed[rows]]
    shares = np.bincount(strata[ours]) / np.bincount(strata[theirs], minlength=int(strata.max()) + 1)
    matched = float(np.average(lengths[theirs], weights=shares[strata[theirs]]))
    means = float(lengths[ours].mean()), matched, float(lengths[theirs].mean())
    sizes = len(ours), len(theirs), int(np.isnan(values).sum())
    return ExposureComparison(scores, sizes, means, least)
