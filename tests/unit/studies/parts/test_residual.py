"""Residual composition error: the definitions by brute force, an example by hand, and no bias where
nothing is lost.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from cgbench.benchmark.score.comparison.comparison import Comparison
from cgbench.studies.parts.gate import Incidence, Parts, gate_of
from cgbench.studies.parts.residual import Outcomes, Residual, compare_composition


def compared(parts, systems, least, comparison):
    """The scores of each system, by name."""
    return [
        one.whole.figures for one in compare_composition(parts, systems, least, comparison).results
    ]


def drawn(seed, whole=False, rows=30, pieces=12):
    """Random parts, and what came out in a run."""
    random = np.random.default_rng(seed)
    in_rows = [
        (int(p), row)
        for row in range(rows)
        for p in random.choice(pieces, random.integers(1, 4), replace=False)
    ]
    owners = [piece for piece in range(pieces) for _ in range(random.integers(0, 6))]
    in_probes = [(piece, probe) for probe, piece in enumerate(owners)]
    parts = Parts(
        Incidence.of(in_rows),
        Incidence.of(in_probes),
        random.integers(1, 50, pieces),
        random.integers(5, 15, rows),
        random.integers(2, 14, len(owners)),
        whole,
    )
    came, plain = random.random(rows) < 0.7, random.random(len(in_rows)) < 0.8
    out = came[parts.rows.sentence] if whole else plain
    return parts, Outcomes(random.random(len(owners)) < 0.85, out)


def by_hand(parts, run, least):
    """The same by loops: weights of given rows (or pieces in them) and of held-back probes, over
    all folds.
    """
    probes = {piece: [] for piece in range(len(parts.frequency))}
    for place, piece in enumerate(parts.probes.piece.tolist()):
        probes[piece].append(place)
    rows = {row: [] for row in range(len(parts.length))}
    for piece, row in zip(parts.rows.piece.tolist(), parts.rows.sentence.tolist(), strict=True):
        rows[row].append(piece)
    folds = max(map(len, probes.values()))
    given, held = dict.fromkeys(rows, 0.0), {}
    for fold in range(folds):
        known = set()
        for piece, own in probes.items():
            out = own[fold % len(own)] if len(own) > 1 else None
            rest = [place for place in own if place != out]
            if rest and sum(run.probes[place] for place in rest) >= min(least, len(rest)):
                known.add(piece)
                if out is not None:
                    held[out] = held.get(out, 0.0) + 1 / folds
        for row, own in rows.items():
            inside = parts.probe_length.min() <= parts.length[row] <= parts.probe_length.max()
            if own and inside and all(piece in known for piece in own):
                given[row] += 1 / folds
    weight = {}
    for piece, own in probes.items():
        mass = sum(
            given[row] / (len(rows[row]) if parts.whole else 1)
            for row in rows
            if piece in rows[row]
        )
        units = sum(held.get(place, 0.0) for place in own)
        weight |= {place: held.get(place, 0.0) * mass / units for place in own if units}
    return given, weight


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_those_of_loops(seed, whole):
    parts, run = drawn(seed, whole)
    model = Residual(parts, 3)
    found = model.statistics(run)
    given, weight = by_hand(parts, run, 3)
    units = len(parts.rows.piece)
    pairs = found[:units, 3]
    expected = [given[row] for row in parts.rows.sentence.tolist()]
    if whole:
        expected = [value * rare for value, rare in zip(expected, model.rarest, strict=True)]
        assert np.bincount(parts.rows.sentence, model.rarest).tolist() == [1.0] * len(parts.length)
    np.testing.assert_allclose(pairs, expected, atol=1e-12)
    np.testing.assert_allclose(found[:units, 2], np.array(expected) * ~run.rows, atol=1e-12)
    held = found[units:, 8]
    wanted = np.array([weight.get(place, 0.0) for place in range(len(held))])
    np.testing.assert_allclose(held / held.sum(), wanted / wanted.sum(), atol=1e-12)


def predicted_by_hand(parts, run, keep=None):
    """The predicted error in percent: a general optimiser's curve at each pair's own length and
    frequency.

    :param keep: weights of the units, as many pieces in rows as there are and then those in probes.
    """
    model, (given, weight) = Residual(parts, 3), by_hand(parts, run, 3)
    places = np.arange(len(parts.probes.piece))
    held = np.array([weight.get(place, 0.0) for place in places.tolist()])
    held *= model.statistics(run)[:, 8].sum() / held.sum()
    pairs = np.array([given[row] for row in parts.rows.sentence.tolist()]) * (
        model.rarest if parts.whole else 1.0
    )
    if keep is not None:
        pairs, held = pairs * keep[: len(pairs)], held * keep[len(pairs) :]
    frequency = [parts.frequency[parts.rows.piece], parts.frequency[parts.probes.piece]]
    if parts.whole:
        for number, one in enumerate((parts.rows, parts.probes)):
            lowest = {
                row: frequency[number][one.sentence == row].min()
                for row in set(one.sentence.tolist())
            }
            frequency[number] = np.array([lowest[row] for row in one.sentence.tolist()])
    lengths = [parts.length[parts.rows.sentence], parts.probe_length[parts.probes.sentence]]
    designs = [
        np.stack([np.log(a), np.log1p(b)], axis=1) for a, b in zip(lengths, frequency, strict=True)
    ]
    designs = [design - designs[1].mean(axis=0) for design in designs]

    def errors(beta, number):
        return np.clip(-np.expm1(-np.exp(beta[0] + designs[number] @ beta[1:])), 1e-12, 1 - 1e-12)

    def loss(beta):
        p, prior = errors(beta, 1), 0.05 * ((beta[1] - parts.whole) ** 2 + beta[2] ** 2)
        return -(held * np.where(run.probes, np.log1p(-p), np.log(p))).sum() + prior

    best = minimize(loss, np.array([-2.0, 0.0, 0.0]), method="BFGS", options={"gtol": 1e-8}).x
    return 100 * (pairs * errors(best, 0)).sum() / pairs.sum()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", [7, 8])
def test_the_curve_is_that_of_maximum_likelihood(whole, seed):
    parts, run = drawn(seed, whole, rows=80, pieces=30)
    figures = Residual(parts, 3).compute(
        Residual(parts, 3).statistics(run).sum(axis=0, keepdims=True)
    )[0]
    assert figures[3] == pytest.approx(predicted_by_hand(parts, run), abs=1e-4)
    assert figures[0] == pytest.approx(figures[2] - figures[3])


@pytest.mark.parametrize("whole", [False, True])
def test_a_sample_has_nearly_the_prediction_of_a_fit_of_its_own(whole):
    parts, run = drawn(7, whole, rows=200, pieces=60)
    units = Residual(parts, 3).statistics(run)
    (before,) = Residual(parts, 3).compute(units.sum(axis=0, keepdims=True))
    moved, missed = [], []
    for piece in range(20):  # without one piece, as in the jackknife
        keep = np.concatenate([parts.rows.piece != piece, parts.probes.piece != piece])
        found = Residual(parts, 3).compute(units[keep].sum(axis=0, keepdims=True))[0, 3]
        fitted = predicted_by_hand(parts, run, keep.astype(float))
        moved.append(abs(fitted - before[3]))
        missed.append(abs(found - fitted))
    assert np.mean(missed) < 0.2 * np.mean(moved)
    assert np.mean(moved) > 0.2


def test_given_pairs_are_predicted_at_their_own_frequency():
    # Most test pairs have a rare piece that is not known; those that are given have frequent ones,
    # which seldom fail.
    random = np.random.default_rng(1)
    frequency = np.array([1] * 50 + [30] * 25 + [1000] * 25)
    probes = Incidence.of([(piece, 8 * piece + n) for piece in range(100) for n in range(8)])
    rare = random.random(800) < 0.9 * (frequency[probes.piece] == 1) + 0.02
    rows = Incidence.of(
        [(piece, row) for row, piece in enumerate(list(range(50)) * 10 + list(range(50, 100)) * 2)]
    )
    size = len(rows.piece)
    parts = Parts(rows, probes, frequency, np.full(size, 6), np.full(800, 6), True)
    (one,) = compared(
        parts, [("a", [Outcomes(~rare, random.random(size) < 0.98)])], 4, Comparison()
    )
    assert one["given"].value < 25
    assert one["predicted"].value < 6
    assert abs(one["residual"].value) < 6


def test_an_example_by_hand():
    # Piece 0 comes out in 4 of its 5 probes, piece 1 in both, piece 2 in 1 of 5; piece 3 has no
    # probe.
    right = np.array([1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0], bool)
    probes = Incidence.of([(p, n) for n, p in enumerate([0] * 5 + [1] * 2 + [2] * 5)])
    rows = Incidence.of([(0, 0), (1, 0), (0, 1), (2, 1), (1, 2), (3, 2)])  # and row 3 has no piece
    parts = Parts(
        rows, probes, np.array([9, 9, 9, 9]), np.array([4, 4, 4, 4]), np.full(12, 4), False
    )
    gate = gate_of(parts, right, 4)
    assert gate.known.tolist() == [True, True, False, False]
    assert gate.given.tolist() == [True, False, False, False]
    # Row 0 is given only where the wrong probe of piece 0 is held back: in 1 of 5 folds. There,
    # piece 0 predicts an error of 1 and piece 1 of 0; in the row, piece 1 is missing. So the error
    # is 50%, and 50% are predicted.
    out = Outcomes(right, np.array([True, True, False, True, True, True]))
    (one,) = compared(parts, [("a", [out])], 4, Comparison())
    found = {name: score.value for name, score in one.items()}
    assert found["given"] == 25.0
    assert found["error"] == pytest.approx(50.0)
    assert found["predicted"] == pytest.approx(50.0, abs=1.0)
    assert found["residual"] == pytest.approx(0.0, abs=1.0)


def simulated(seed, cost):
    """Pieces with difficulties of their own, in probes and in rows alike; ``cost``: what
    composition adds.
    """
    random = np.random.default_rng(seed)
    pieces, rows = 120, 300
    hard = np.clip(random.beta(0.6, 3, pieces), 0, 1)
    places = [
        (p, row) for row in range(rows) for p in random.choice(pieces, 2, replace=False).tolist()
    ]
    probes = [(p, 5 * p + n) for p in range(pieces) for n in range(5)]
    length = np.full(rows, 8)
    parts = Parts(
        Incidence.of(places),
        Incidence.of(probes),
        np.full(pieces, 5),
        length,
        np.full(len(probes), 8),
        False,
    )
    came = random.random(len(places)) >= hard[parts.rows.piece]
    came &= random.random(len(places)) >= cost
    return parts, Outcomes(random.random(len(probes)) >= hard[parts.probes.piece], came)


def test_nothing_is_found_where_composition_costs_nothing():
    found, naive, inside = [], [], 0
    for seed in range(30):
        parts, run = simulated(seed, 0.0)
        (one,) = compared(parts, [("a", [run])], 4, Comparison())
        score = one["residual"]
        found.append(score.value)
        inside += score.ci_low <= 0 <= score.ci_high
        gate = gate_of(parts, run.probes, 4)
        used = gate.given[parts.rows.sentence]
        naive.append(
            100 * (run.probes[gate.known[parts.probes.piece]].mean() - run.rows[used].mean())
        )
    assert abs(np.mean(found)) < 3 * np.std(found) / 30**0.5
    assert inside >= 26
    assert (
        np.mean(naive) > 5 * np.std(naive) / 30**0.5
    )  # the probes of the gate itself predict too little


def test_a_cost_is_found_and_compared():
    parts, plain = simulated(1, 0.0)
    random = np.random.default_rng(5)
    runs = [
        [
            Outcomes(plain.probes, plain.rows & (random.random(len(plain.rows)) >= cost))
            for _ in range(2)
        ]
        for cost in (0.0, 0.3)
    ]
    found = compared(parts, [("a", runs[0]), ("b", runs[1])], 4, Comparison(paired=True))
    score = found[1]["residual"]
    assert score.difference == pytest.approx(score.value - found[0]["residual"].value)
    assert 20 < score.difference < 32 and score.difference_low > 0 and score.p_holm < 0.05
    assert len(score.runs) == 2 and score.stdev is not None
    # Both know the same pieces.
    assert found[1]["given"].difference == 0 and found[1]["given"].p_holm == 1.0
    assert found[0]["residual"].difference is None
    other = compare_composition(
        parts, [("a", runs[0]), ("b", runs[1])], 4, Comparison(paired=True, baseline="b")
    )
    assert other.baseline == "b" and other.results[1].whole.figures["residual"].difference is None
    assert other.results[0].whole.figures["residual"].difference == pytest.approx(-score.difference)
    every = compared(parts, [("a", runs[0]), ("b", runs[1])], 4, Comparison(all_pairs=True))
    (pair,) = every[1]["residual"].pairs
    assert pair.against == "a" and pair.p_value == pytest.approx(score.p_value)


def test_an_interval_ends_at_100_points():
    bounds = []
    for seed in range(2, 8):
        parts, run = drawn(seed, True, rows=8, pieces=3)
        (one,) = compared(parts, [("a", [run])], 2, Comparison())
        bounds += [
            end for end in (one["residual"].ci_low, one["residual"].ci_high) if end is not None
        ]
    assert min(bounds) == -100 and max(bounds) == 100


def test_nothing_given_has_no_residual():
    parts, run = drawn(3)
    (one,) = compared(
        parts, [("a", [Outcomes(np.zeros_like(run.probes), run.rows)])], 4, Comparison()
    )
    assert one["given"].value == 0 and one["residual"].value is None


def test_probes_that_all_come_out_leave_doubt():
    parts, run = simulated(2, 0.1)
    (one,) = compared(
        parts, [("a", [Outcomes(np.ones_like(run.probes), run.rows)])], 4, Comparison()
    )
    error, predicted, residual = (one[name] for name in ("error", "predicted", "residual"))
    assert predicted.value < 0.01 and predicted.ci_high > 2
    assert residual.value == pytest.approx(error.value, abs=0.01)
    below = math.hypot(error.value - error.ci_low, predicted.ci_high - predicted.value)
    assert residual.ci_low == pytest.approx(residual.value - below)
