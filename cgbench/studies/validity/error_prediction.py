"""Which measure of the candidates predicts the errors of a system?

A measure orders the candidates from easy to hard. At coverage c a system answers the share c that
looks easiest, and its risk is the mean loss there. From the curve of risk over coverage follow, as
in lm-polygraph's ``ue_metrics``:

- AURC, the area under the curve: the mean risk over all coverages (Geifman and El-Yaniv 2017);
- PRR, the prediction-rejection ratio: (random - AURC) / (random - oracle), 1 for the order of the
  losses themselves, 0 for a random one (Malinin et al. 2017);
- ROC-AUC: the probability that a wrong example is ranked harder than a right one.

Examples with equal values count as in random order. The area is then a sum over groups of equal
values: with ``k`` examples of loss ``s`` before a group of ``c`` examples of mean loss ``m``, the
risks within it add up to ``c m + (s - k m) (H(k + c) - H(k))``, where H are harmonic numbers. It is
exact for resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.correlations import Interval, correlations, numeric, with_interval
from cgbench.benchmark.candidates.strata import OWN_SCORE
from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.significance import bootstrap_counts, holm
from cgbench.benchmark.score.comparison.variance import covariance_of_samples
from cgbench.benchmark.score.comparison.variance_components import Contrasts
from cgbench.errors import InputError, argument
from cgbench.numbers_as_text import fixed, p_text
from cgbench.tables import render

EASIER = ("source_rarest", "target_rarest", "log_prob", "reference_log_prob", OWN_SCORE)
"""Measures whose high values mean easy; those of all others mean hard."""
TWICE = "token_"
"""Part of the names of measures that have another name as well: ``token_pe_tu`` is ``pe_stu``."""
ENSEMBLE, OUTSIDE = "the ensemble", "outside systems"
COVERAGES = 20
LOSS = "loss"
FIGURES = ("prr", "auc", "aurc")


@dataclass(frozen=True)
class MeasureScore:
    """How a measure orders the losses of a system. ``intervals`` by name of the score, 95%;
    ``given_length``: Spearman with the loss, among sentences of a length; ``difference``: the PRR
    minus that of the measure that selects, with a paired test, Holm's correction over the measures;
    ``risks``: at coverage 1/20, 2/20, ..., 1."""

    measure: str
    prr: float
    auc: float
    aurc: float
    intervals: dict[str, Interval]
    given_length: float | None
    given_length_interval: Interval
    difference: float | None
    difference_interval: Interval
    p_holm: float | None
    risks: tuple[float, ...]


@dataclass(frozen=True)
class SystemMeasures:
    """The measures for a system, or for the mean of several (``runs``: seeds or systems), the best
    first.
    """

    system: str
    runs: int
    loss: float
    selects: str
    measures: tuple[MeasureScore, ...]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows."""
        head = [
            "measure",
            "PRR",
            "ROC-AUC",
            "AURC",
            "rho given length",
            f"PRR minus {self.selects}",
            "p (Holm)",
        ]
        rows = [
            [
                row.measure,
                with_interval(row.prr, row.intervals["prr"]),
                with_interval(row.auc, row.intervals["auc"]),
                fixed(row.aurc, 3),
                with_interval(row.given_length, row.given_length_interval),
                (
                    ""
                    if row.difference is None
                    else with_interval(row.difference, row.difference_interval)
                ),
                p_text(row.p_holm),
            ]
            for row in self.measures
        ]
        return head, rows

    def report(self) -> str:
        """As a table."""
        runs = f" ({self.runs})" if self.runs > 1 else ""
        title = f"measures and the errors of {self.system}{runs}, mean loss {self.loss:.3f}"
        return f"{title}\n{render(*self.table())}"


class Ordering:
    """The groups of equal values of a measure, from easy to hard."""

    def __init__(self, values: np.ndarray) -> None:
        self.order = np.argsort(values, kind="stable")
        self.starts = np.flatnonzero(np.r_[True, np.diff(values[self.order]) != 0])

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """The sums of ``[..., n]`` by group."""
        return np.asarray(np.add.reduceat(weights[..., self.order], self.starts, axis=-1))

    def area(self, counts: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """AURC of samples, from counts of examples ``[samples, groups]`` and sums of losses, by
        group.
        """
        upto, before = counts.cumsum(-1), losses.cumsum(-1) - losses
        start = upto - counts
        harmonic = np.r_[0.0, np.cumsum(1 / np.arange(1, upto.max() + 1))]
        mean = losses / np.maximum(counts, 1)
        within = harmonic[upto.astype(np.int64)] - harmonic[start.astype(np.int64)]
        return np.asarray((losses + (before - start * mean) * within).sum(-1) / upto[..., -1])

    def risks(self, loss: np.ndarray) -> np.ndarray:
        """The risk at coverage 1/20, 2/20, ..., 1."""
        counts = np.diff(np.r_[self.starts, len(loss)])
        mean = np.repeat(self.sums(loss) / counts, counts)
        at = np.ceil(np.arange(1, COVERAGES + 1) / COVERAGES * len(loss)).astype(np.int64)
        return np.asarray(mean.cumsum()[at - 1] / at)


def figures_of(
    ordering: Ordering, oracle: Ordering, counts: np.ndarray, loss: np.ndarray
) -> np.ndarray:
    """PRR, ROC-AUC and AURC of samples, ``[samples, 3]``; NaN where all losses are equal.

    :param counts: of each example in each sample, float64 ``[samples, n]``; ``loss`` ``[n]``: wrong
        is a loss above 0 if losses are 0 and 1, else above their median.
    """
    wrong = counts * (loss > (0 if np.isin(loss, (0, 1)).all() else np.median(loss)))
    totals, bad = ordering.sums(counts), ordering.sums(wrong)
    area = ordering.area(totals, ordering.sums(counts * loss))
    best = oracle.area(oracle.sums(counts), oracle.sums(counts * loss))
    chance, good = (counts * loss).sum(-1) / counts.sum(-1), totals - bad
    with np.errstate(divide="ignore", invalid="ignore"):
        prr = (chance - area) / (chance - best)
        pairs = (bad * (good.cumsum(-1) - good / 2)).sum(-1)
        auc = pairs / (bad.sum(-1) * good.sum(-1))
    return np.stack([prr, auc, area], axis=-1)


def losses_of(metric: Metric, runs: Sequence[Sequence[str]]) -> np.ndarray:
    """The loss of each example, ``[runs, n]``: 1 less its score, or its error rate (TER), as
    fractions.
    """
    scores = np.stack(list(map(metric.example_scores, runs, metric.all_statistics(runs)))) / 100
    return scores if metric.lower_is_better else 1 - scores


def measure_errors(
    columns: Mapping[str, Sequence[Any]],
    losses: Mapping[str, np.ndarray],
    selects: str,
    outside: Sequence[str],
    *,
    samples: int,
    seed: int,
    clusters: np.ndarray | None = None,
) -> list[SystemMeasures]:
    """How well each measure orders the losses of each system, and the mean over the systems
    ``outside``.

    :param columns: of the candidates; measures with missing or with only equal values are left out.
    :param losses: by system, ``[runs, n]``.
    :param selects: the measure that selects; the others are compared with it.
    :param clusters: candidates to resample as one, numbered from 0.
    :raises InputError: all losses of a run are equal.
    """
    for system, of_runs in losses.items():
        if (np.ptp(of_runs, axis=1) == 0).any():
            raise InputError(
                f"{system}: all candidates have the same score, so there are no errors to predict;"
                f" choose another {argument('metric')}, or leave the system out"
            )
    # The measures, turned so that high means hard, and the order of candidates by each.
    usable = {}
    for name, values in numeric(columns).items():
        array = np.asarray(values, np.float64)
        if TWICE not in name and not np.isnan(array).any() and array.min() < array.max():
            usable[name] = -array if name in EASIER else array
    orderings = {name: Ordering(numbers) for name, numbers in usable.items()}
    runs = np.concatenate(list(losses.values()))
    oracles = [Ordering(loss) for loss in runs]
    units = runs.shape[1] if clusters is None else int(clusters.max()) + 1

    def figures(counts: np.ndarray) -> np.ndarray:
        """``[measures, samples, runs, 3]``."""
        pairs = list(zip(oracles, runs, strict=True))
        every = [
            [figures_of(ordering, oracle, counts, loss) for oracle, loss in pairs]
            for ordering in orderings.values()
        ]
        return np.array(every).swapaxes(1, 2)

    # The scores of all measures on the candidates, and on samples of them.
    observed = figures(np.ones((1, runs.shape[1])))[:, 0]
    drawn = np.concatenate(
        [
            figures(group if clusters is None else group[:, clusters])
            for block in bootstrap_counts(units, samples, seed)
            for group in np.array_split(block, max(1, len(block) // 64))
        ],
        axis=1,
    )
    owner = np.repeat(np.arange(len(losses)), [len(of_runs) for of_runs in losses.values()])
    rows = {name: np.flatnonzero(owner == index) for index, name in enumerate(losses)}
    groups = {name: [*runs_of_system[:, None]] for name, runs_of_system in rows.items()}
    if len(outside) > 1:
        groups[OUTSIDE] = [rows[name] for name in outside]
    # By system, and for the mean of the outside systems.
    result = []
    for system, run_groups in groups.items():
        loss = np.mean([runs[group].mean(axis=0) for group in run_groups], axis=0)
        of_system, of_system_drawn = (
            np.stack([values[..., group, :].mean(axis=-2) for group in run_groups], axis=-2)
            for values in (observed, drawn)
        )
        names = [
            name for name in orderings if (system, name) != (ENSEMBLE, OWN_SCORE)
        ]  # which is its own error
        at = [list(orderings).index(name) for name in names]
        chosen = {name: orderings[name] for name in names}
        scores = _scores(
            chosen, of_system[at], of_system_drawn[at], units, selects, {**usable, LOSS: loss}
        )
        result.append(
            SystemMeasures(system, len(run_groups), float(loss.mean()), selects, tuple(scores))
        )
    return result


def _scores(
    orderings: Mapping[str, Ordering],
    observed: np.ndarray,
    drawn: np.ndarray,
    units: int,
    selects: str,
    columns: Mapping[str, Any],
) -> list[MeasureScore]:
    """:param observed: ``[measures, runs, 3]``; ``drawn``: ``[measures, samples, runs, 3]``;
    ``columns``: the measures, high for hard, and the loss."""
    covariance, runs, names = (
        covariance_of_samples(list(drawn), units),
        observed.shape[1],
        list(orderings),
    )
    contrasts = Contrasts(list(observed), covariance, shared_seeds=True)
    alternatives = [at for at, name in enumerate(names) if name != selects and selects in names]
    tests = {at: contrasts.of(at, names.index(selects)) for at in alternatives}
    adjusted = holm(
        [float(tests[at].p_value()[0]) if at in tests else None for at in range(len(names))]
    )
    spearman = {
        pair.second if pair.first == LOSS else pair.first: pair
        for pair in correlations(columns, LOSS)
        if LOSS in (pair.first, pair.second)
    }
    scores = []
    for at, (name, p_holm) in enumerate(zip(names, adjusted, strict=True)):
        rows = slice(at * runs, (at + 1) * runs)
        intervals: dict[str, Interval] = {}
        for index, figure in enumerate(
            FIGURES
        ):  # in percent, from the best: the interval ends there
            estimate = covariance.of_runs(index, rows).select(lambda block: 1e4 * block)
            ends = score_interval(
                estimate, 100 * (1 - observed[at, :, index]), None if figure == "prr" else 100.0
            )
            intervals[figure] = ends and (1 - ends[1] / 100, 1 - ends[0] / 100)
        prr, auc, aurc = (float(mean) for mean in observed[at].mean(axis=0))
        low, high = (
            (float(end[0]) for end in tests[at].interval()) if at in tests else (np.nan, np.nan)
        )
        scores.append(
            MeasureScore(
                measure=name,
                prr=prr,
                auc=auc,
                aurc=aurc,
                intervals=intervals,
                given_length=spearman[name].given_length,
                given_length_interval=spearman[name].given_length_interval,
                difference=float(tests[at].value[0]) if at in tests else None,
                difference_interval=None if np.isnan(low) else (low, high),
                p_holm=p_holm,
                risks=tuple(orderings[name].risks(columns[LOSS]).tolist()),
            )
        )
    return sorted(scores, key=lambda score: -score.prr)
