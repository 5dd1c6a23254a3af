"""Is it the composition? The error of a system on test pairs whose parts it knows, beyond what its
parts explain.

The **residual composition error** is the error on given pairs (:mod:`.gate`) minus the error that
probes predict: the share of pieces that are missing (pieces that are words), or of wrong outputs
(whole sentences).
docs/explanation/is-it-the-composition.md has the reasons for the three corrections:

- Each probe in turn is held back: the others decide whether the piece is known, the one held back
  predicts.
- The held-back probes of a piece weigh as much as its given pairs (Peters 1941; Belson 1956).
- The predicted error of a probe or a pair with ``l`` words, whose piece occurs ``f`` times in
  training (whole sentences: its rarest piece), is ``1 - exp(-exp(a + b log(l) + c log(1 + f)))``,
  fitted to the held-back probes by maximum likelihood. A weak prior, worth a tenth of a probe,
  draws c to 0, and b to 0 for pieces and to 1 for whole sentences (where it says that words fail
  independently).

Where there is a control set, :class:`BeyondControl` compares the residuals of both.

The variance is that of :mod:`variance`, by piece and by sentence; in its samples the curve is
fitted by one Newton step from the fit to all probes. ``lab/parts_residual.py`` simulates bias and
coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric, Signature
from cgbench.benchmark.score.comparison.comparison import Comparison, compare_statistics
from cgbench.benchmark.score.comparison.design import Clusters, Sampling
from cgbench.benchmark.score.comparison.intervals import score_interval
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.comparison.results import SystemScores
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.variance import ExampleCovariance
from cgbench.studies.parts.gate import Parts, gate_of, given_rows, known_pieces
from cgbench.studies.parts.own_translations import Outcomes

FIGURES = ("residual", "given", "error", "predicted")
_STEPS, _CLOSE = 40, 1e-9
_RANGE = -12.0, 3.0  # of the logarithm of the hazard
_PENALTY = np.diag([1e-6, 0.1, 0.1])  # of a, b, c: a tenth of a probe
_UPPER = np.triu_indices(3)
LEAST_VISIBLE = 0.05  # of the missing pieces; with fewer, a residual is noise


def compare_composition(
    parts: Parts,
    systems: Sequence[tuple[str, Sequence[Outcomes]]],
    least: int,
    comparison: Comparison,
    control: tuple[Parts, Sequence[Sequence[Outcomes]]] | None = None,
) -> ScoredSystems:
    """:data:`FIGURES` of every system in percent, with intervals and tests; or those of
    :class:`BeyondControl`.

    Tests compare systems with the baseline, or all pairs, if ``comparison`` asks for tests; by
    Student's t of variance components (:mod:`.variance_components`) with Holm's correction.

    :param systems: the names of the systems, and what came out in each of their runs.
    :param control: the same probes with the rows of the control set, and what came out, by system
        and run.
    """
    model: Residual | BeyondControl
    residual = model = Residual(parts, least)
    if control is None:
        statistics = {
            name: np.stack(list(map(residual.statistics, runs))) for name, runs in systems
        }
    else:
        model = beyond = BeyondControl(residual, Residual(control[0], least))
        statistics = {
            name: np.stack(list(map(beyond.statistics, runs, others)))
            for (name, runs), others in zip(systems, control[1], strict=True)
        }
    comparison = replace(comparison, paired=CALIBRATED if comparison.paired else None)
    sampling = Sampling(model.clusters)
    (subset_scores,) = compare_statistics(
        model, sampling, statistics, comparison, interval=model.interval
    )
    results = (
        SystemScores(name, len(runs), replace(subset, examples=len(parts.length)), (), runs)
        for (name, runs), subset in zip(statistics.items(), subset_scores, strict=True)
    )
    first = systems[0][0] if comparison.paired and not comparison.all_pairs else None
    return ScoredSystems(
        metric=model,
        results=tuple(results),
        signature=model.signature(),
        baseline=comparison.baseline or first,
        test=comparison.test,
        by=None,
        more=({},) * len(systems),
        sampling=sampling,
    )


class _Column:
    """The columns of the statistics of a unit."""

    GIVEN, ROWS = 0, 1
    """Given rows, and rows."""
    MISSING, PAIRS, PREDICTED = 2, 3, 4
    """The missing, all and predicted weight of given pairs."""
    SLOPE = slice(5, 8)
    """The slope of that prediction."""
    HELD = 8
    """The weight of held-back probes."""
    GRADIENT, CURVATURE = slice(9, 12), slice(12, 18)
    """Of their likelihood, with the prior shared out by weight: the upper triangle of a matrix."""
    CHANCE = 18
    """The weight of given pairs that comes out by chance."""
    COUNT = 19


class _Weights(NamedTuple):
    """In which share of the ``folds`` a test row is ``given`` ``[rows]``, a piece in a given row is
    ``missing`` ``[places in rows]``, and a probe of a known piece is ``held`` back ``[places in
    probes]``.
    """

    given: np.ndarray
    missing: np.ndarray
    held: np.ndarray
    folds: int


class Residual(Metric):
    """:data:`FIGURES` as a metric of units: a unit is a piece in a test row or in a probe.

    Its statistics are the columns of :class:`_Column`. If a share c of the weight comes out by
    chance, the same share of missing pieces comes out as well, so errors are divided by 1 - c.
    """

    name, figures, lower_is_better = "composition", FIGURES, True

    def __init__(self, parts: Parts, least: int) -> None:
        self.parts, self.least = parts, least
        rows, probes = parts.rows, parts.probes
        order = np.lexsort((rows.piece, parts.frequency[rows.piece], rows.sentence))
        first = np.ones(len(order), bool)
        first[1:] = np.diff(rows.sentence[order]) != 0
        self.rarest = np.zeros(len(order), bool)  # one unit per test row stands for it
        self.rarest[order[first]] = True
        self._covered = self.rarest.sum() / max(
            len(parts.length), 1
        )  # rows without pieces are not given
        labels = np.concatenate([rows.piece, probes.piece])
        sentences = np.concatenate([rows.sentence, len(parts.length) + probes.sentence])
        self.clusters = Clusters(("piece", "sentence"), (labels, sentences))
        lengths = [parts.length[rows.sentence], parts.probe_length[probes.sentence]]
        frequencies = [parts.frequency[rows.piece], parts.frequency[probes.piece]]
        if parts.whole:  # a sentence is as frequent as its rarest piece
            for side, incidence in enumerate((rows, probes)):
                lowest = np.full(int(incidence.sentence.max(initial=-1)) + 1, np.inf)
                np.minimum.at(lowest, incidence.sentence, frequencies[side])
                frequencies[side] = lowest[incidence.sentence]
        measured = [
            np.stack(
                [np.ones(len(length)), np.log(np.maximum(length, 1)), np.log1p(frequency)], axis=1
            )
            for length, frequency in zip(lengths, frequencies, strict=True)
        ]
        centre = measured[1].mean(axis=0) * (0, 1, 1) if len(measured[1]) else np.zeros(3)
        self._of_rows, self._of_probes = (design - centre for design in measured)  # [units, 3] each
        self._prior = np.array([0.0, 1.0 if parts.whole else 0.0, 0.0])

    @property
    def n(self) -> int:
        """The number of units."""
        return len(self.parts.rows.piece) + len(self.parts.probes.piece)

    def signature(self) -> Signature:
        """The probes in which a piece must come out, all probes, and the clusters."""
        probes, clusters = len(self.parts.probe_length), self.clusters.signature()
        return Signature({"known": self.least, "probes": probes, "clusters": clusters})

    def statistics(self, run: Outcomes) -> np.ndarray:  # type: ignore[override]
        """The statistics of all units of a run."""
        parts = self.parts
        rows = parts.rows
        # The weights of given pairs, of their missing pieces and of held-back probes.
        weights = self._weights(run)
        weight = weights.given[rows.sentence]
        per_row = self.rarest if parts.whole else np.ones(len(weight))
        pairs, missing = weight * per_row, weights.missing * per_row
        held = self._like_given(weights.held, weight, weights.folds)
        # The predicted errors: the curve that fits the held-back probes.
        wrong = held * ~run.probes
        fit = self._fit(held, wrong)
        gradient, curvature = self._likelihood(fit, held, wrong)
        if held.any():
            gradient -= np.outer(held / held.sum(), _PENALTY @ (fit - self._prior))
            curvature += np.multiply.outer(held / held.sum(), _PENALTY)
        predicted, slope = _curve(self._of_rows @ fit)
        # A line per unit: pieces in test rows, then pieces in probes.
        statistics = np.zeros((self.n, _Column.COUNT))
        in_rows, in_probes = np.split(statistics, [len(rows.piece)])
        given = gate_of(parts, run.probes, self.least).given
        in_rows[:, _Column.GIVEN] = given[rows.sentence] * self.rarest
        in_rows[:, _Column.ROWS] = self.rarest
        in_rows[:, _Column.MISSING] = missing
        in_rows[:, _Column.PAIRS] = pairs
        in_rows[:, _Column.PREDICTED] = pairs * predicted
        in_rows[:, _Column.SLOPE] = (pairs * slope)[:, None] * self._of_rows
        if run.chance is not None:
            in_rows[:, _Column.CHANCE] = pairs * run.chance
        in_probes[:, _Column.HELD] = held
        in_probes[:, _Column.GRADIENT] = gradient
        in_probes[:, _Column.CURVATURE] = curvature[:, _UPPER[0], _UPPER[1]]
        return statistics

    def _weights(self, run: Outcomes) -> _Weights:
        """Each probe of a piece is held back in turn: in which share of these folds a pair is
        given, lacks a piece, or a probe tests a known piece.
        """
        parts, rows, probes, counts = (
            self.parts,
            self.parts.rows,
            self.parts.probes,
            self.parts.counts,
        )
        right = run.probes.astype(np.float64)
        total = np.bincount(probes.piece, run.probes, len(counts))
        starts = np.searchsorted(probes.piece, np.arange(len(counts)))
        fold_of_probe = np.arange(len(probes.piece)) - starts[probes.piece]
        has_others = counts[probes.piece] > 1
        folds = max(int(counts.max(initial=0)), 1)
        given_weight, held_weight = np.zeros(len(parts.length)), np.zeros(len(probes.piece))
        missing_weight = np.zeros(len(rows.piece))
        for fold in range(folds):
            is_out = fold_of_probe == fold % np.maximum(counts, 1)[probes.piece]
            out = is_out & has_others
            passed, came_out = (
                total - np.bincount(probes.piece[out], right[out], len(counts)),
                run.rows,
            )
            if run.folds is not None:
                passed, came_out = run.folds.passed[fold], run.folds.rows[fold]
            known = known_pieces(passed, counts - (counts > 1), self.least)
            given = given_rows(parts, known)
            given_weight += given / folds
            missing_weight += (given[rows.sentence] & ~came_out) / folds
            held_weight += (out & known[probes.piece]) / folds
        return _Weights(given_weight, missing_weight, held_weight, folds)

    def _like_given(self, held: np.ndarray, weight: np.ndarray, folds: int) -> np.ndarray:
        """The weights of held-back probes, so that those of a piece weigh as much as its given
        pairs (direct standardisation), and all of them as much as there are.

        :param weight: of given pairs, for each piece in a row.
        """
        rows, probes, counts = self.parts.rows, self.parts.probes, self.parts.counts
        if self.parts.whole:  # a sentence counts once, whatever its number of pieces
            weight = weight / np.bincount(rows.sentence)[rows.sentence]
        given_of_piece = np.bincount(rows.piece, weight, len(counts))
        held_of_piece = np.bincount(probes.piece, held, len(counts))
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(held_of_piece > 0, given_of_piece / held_of_piece, 0.0)
        held = held * ratio[probes.piece]
        # As many probes as there are, so that the prior keeps its weight.
        if not held.sum():
            return held * 0.0
        return held * (np.count_nonzero(held) / folds / held.sum())

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """:data:`FIGURES` in percent, ``[m, 4]``; NaN if no pair is given or no known piece has a
        second probe.
        """
        fitted = sums[:, _Column.HELD] > 1e-9
        pairs = np.where(sums[:, _Column.PAIRS] > 1e-9, sums[:, _Column.PAIRS], np.nan)
        # A Newton step from the fit to all probes.
        curvature = np.repeat(np.eye(3)[None], len(sums), axis=0)
        terms = sums[fitted, _Column.CURVATURE]
        for term, (row, column) in zip(terms.T, zip(*_UPPER, strict=True), strict=True):
            curvature[fitted, row, column] = curvature[fitted, column, row] = term
        step = np.linalg.solve(curvature, sums[:, _Column.GRADIENT, None])[:, :, 0]
        predicted = sums[:, _Column.PREDICTED] + (sums[:, _Column.SLOPE] * step).sum(axis=1)
        # Errors that chance does not hide.
        visible = 1 - sums[:, _Column.CHANCE] / pairs
        pairs = pairs * np.where(visible > LEAST_VISIBLE, visible, np.nan)
        expected = 100 * np.clip(predicted / pairs, 0.0, 1.0)
        expected = np.where(fitted, expected, np.nan)
        error = 100 * np.minimum(sums[:, _Column.MISSING] / pairs, 1.0)
        given = 100 * self._covered * sums[:, _Column.GIVEN] / sums[:, _Column.ROWS]
        return np.stack([error - expected, given, error, expected], axis=1)

    def label(self, figure: str) -> str:
        """The name of the score."""
        return figure

    def interval(
        self, figure: int, covariance: Callable[[int], ExampleCovariance], values: np.ndarray
    ) -> tuple[float, float] | None:
        """The 95% interval of a figure.

        If all held-back probes come out right, or all wrong, the prediction seems certain. Then
        each piece counts as one draw, and the interval of the residual is made of those of error
        and prediction (Zou and Donner 2008).
        """
        certain = float(covariance(3).trace()) < 1e-6
        if figure == 3 and certain:
            return score_interval(covariance(3).select(np.zeros_like), np.round(values[:, 3]))
        if figure:
            return score_interval(covariance(figure), values[:, figure])
        interval = score_interval(covariance(0), values[:, 0], None, None)
        if certain:
            error, predicted = (
                self.interval(error_figure, covariance, values) for error_figure in (2, 3)
            )
            assert error is not None and predicted is not None
            residual, _, mean, expected = values.mean(axis=0).tolist()
            below = math.hypot(mean - error[0], predicted[1] - expected)
            interval = (
                residual - below,
                residual + math.hypot(error[1] - mean, expected - predicted[0]),
            )
        return interval and (max(interval[0], -100.0), min(interval[1], 100.0))

    def _fit(self, count: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """The coefficients ``[3]`` for the weights of held-back probes and of the wrong ones, by
        Fisher scoring.
        """
        error_rate = np.clip(wrong.sum() / max(count.sum(), 1e-9), 1e-6, 1 - 1e-6)
        coefficients = np.array([np.log(-np.log1p(-error_rate)), 0.0, 0.0])
        for _ in range(_STEPS):
            gradient, curvature = (
                term.sum(axis=0) for term in self._likelihood(coefficients, count, wrong)
            )
            step = np.linalg.solve(
                curvature + _PENALTY, gradient - _PENALTY @ (coefficients - self._prior)
            )
            coefficients = coefficients + step / max(np.abs(step).max(), 1.0)
            coefficients[0] = np.clip(coefficients[0], *_RANGE)
            if np.abs(step).max() < _CLOSE:
                break
        return coefficients

    def _likelihood(
        self, fit: np.ndarray, count: np.ndarray, wrong: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The gradient ``[n, 3]`` and expected curvature ``[n, 3, 3]`` of the log-likelihood of
        each probe.
        """
        p, slope = _curve(self._of_probes @ fit)
        per = slope / (p * (1 - p))
        gradient = (per * (wrong - count * p))[:, None] * self._of_probes
        return gradient, np.einsum(
            "n,ni,nj->nij", per * slope * count, self._of_probes, self._of_probes
        )


class BeyondControl(Metric):
    """The residual of the test set minus that of its control set, and the latter, by the same
    probes.

    What makes every new sentence harder than the probes, such as probes from the training text, is
    in both. A unit is a piece in a test row, in a control row or in a probe.
    """

    name, figures, lower_is_better = "composition", ("beyond_control", "control_residual"), True

    def __init__(self, test: Residual, control: Residual) -> None:
        self.models = test, control
        sizes = [len(model.parts.rows.piece) for model in self.models]
        probes = sum(sizes) + np.arange(test.n - sizes[0])
        self._units = [np.r_[0 : sizes[0], probes], np.r_[sizes[0] : sum(sizes), probes]]
        labels = np.zeros((2, sum(sizes) + len(probes)), np.int64)
        for model_number, model in enumerate(self.models):
            labels[:, self._units[model_number]] = model.clusters.labels
        # The sentences of the control set are others than those of the test set; the probes are the
        # same.
        labels[1, sum(sizes) :] += labels[1].max(initial=0) + 1
        labels[1, sizes[0] : sum(sizes)] += labels[1].max(initial=0) + 1
        self.clusters = Clusters(("piece", "sentence"), tuple(labels))

    @property
    def n(self) -> int:
        """The number of units."""
        return len(self.clusters.labels[0])

    def signature(self) -> Signature:
        """That of the residual of the test set."""
        return self.models[0].signature()

    def statistics(self, run: Outcomes, control: Outcomes) -> np.ndarray:  # type: ignore[override]
        """The statistics of all units of a run: those of the test set, then those of the control
        set.
        """
        of_sets = [
            model.statistics(outcomes)
            for model, outcomes in zip(self.models, (run, control), strict=True)
        ]
        width = of_sets[0].shape[1]
        statistics = np.zeros((self.n, 2 * width))
        for model_number, values in enumerate(of_sets):
            statistics[
                self._units[model_number], model_number * width : (model_number + 1) * width
            ] = values
        return statistics

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """Both figures in points, ``[m, 2]``; NaN where a residual is."""
        halves = np.split(sums, 2, axis=1)
        test, control = (
            model.compute(half)[:, 0] for model, half in zip(self.models, halves, strict=True)
        )
        return np.stack([test - control, control], axis=1)

    def interval(
        self, figure: int, covariance: Callable[[int], ExampleCovariance], values: np.ndarray
    ) -> tuple[float, float] | None:
        """The 95% interval of a figure."""
        return score_interval(covariance(figure), values[:, figure], None, None)


def _curve(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability of an error, and its slope."""
    hazard = np.exp(np.clip(eta, *_RANGE))
    p = np.clip(-np.expm1(-hazard), 1e-9, 1 - 1e-9)
    return p, hazard * (1 - p)
