"""The measures against the published formulas' worked example, against each other, and their
identities.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from twins_uncertainty import by_definition, sequence_measures

from cgbench.errors import InputError
from cgbench.models.config.measures import (
    DISAGREEMENT,
    DISTRIBUTION,
    SEQUENCE_MEASURES,
    TOKEN_MEASURES,
)
from cgbench.models.uncertainty import RunningMeasures, token_measures

# Three members, two steps, four tokens; the hypothesis is (1, 3). Worked through by hand from the
# formulas of Malinin and Gales (2021), and agreed upon by their released code.
EXAMPLE = np.log(
    [
        [[0.10, 0.70, 0.15, 0.05], [0.05, 0.05, 0.10, 0.80]],
        [[0.20, 0.50, 0.20, 0.10], [0.25, 0.25, 0.25, 0.25]],
        [[0.05, 0.30, 0.60, 0.05], [0.10, 0.20, 0.30, 0.40]],
    ]
)
PRODUCED = np.array([1, 3])
BY_TOKEN = {
    "expected_entropy": (1.03405110, 1.12483172, 1.07944141),
    "entropy_of_expected": (1.14189772, 1.25005616, 1.19597694),
    "mutual_information": (0.10784662, 0.12522444, 0.11653553),
    "epkl": (0.21858568, 0.26541689, 0.24200128),
    "rmi": (0.11073906, 0.14019244, 0.12546575),
    "ep_entropy_of_expected": (1.14189772, 1.19280700, 1.16735236),
    "ep_mutual_information": (0.10784662, 0.06797528, 0.08791095),
    "ep_epkl": (0.21858568, 0.21202892, 0.21530730),
    "ep_rmi": (0.11073906, 0.14405364, 0.12739635),
    "token_du": (0.75126498, 0.84190955, 0.79658726),
    "token_pe_tu": (0.69314718, 0.72704873, 0.71009796),
    "token_ep_tu": (0.69314718, 0.62237811, 0.65776265),
    "token_pe_mkl": (0.05811780, 0.11486082, 0.08648931),
    "token_ep_mkl": (0.05811780, 0.21953144, 0.13882462),
}
OF_SEQUENCE = {
    "sdu": 0.79658726,
    "pe_stu": 0.71009796,
    "ep_stu": 0.65776265,
    "pe_smkl": 0.08648931,
    "ep_smkl": 0.13882462,
    "var": 0.03527128,
    "combo": -0.93190991,
    "logvar": 0.12843074,
    "logcombo": -1.16122620,
    "log_prob": -1.42019591,
}
PRINTED = 0.6e-8  # half a unit of the last printed digit, and a little for the printing


def test_worked_example_by_token():
    values = token_measures(EXAMPLE, PRODUCED)
    assert tuple(values) == TOKEN_MEASURES
    for name, (first, second, _) in BY_TOKEN.items():
        assert values[name].dtype == np.float64
        assert values[name] == pytest.approx([first, second], abs=PRINTED, rel=0), name
    upper = values["entropy_of_expected"] + values["rmi"]
    assert upper == pytest.approx([1.25263678, 1.39024861], abs=PRINTED, rel=0)
    assert values["ep_entropy_of_expected"][1] + values["ep_rmi"][1] == pytest.approx(
        1.33686064, abs=PRINTED, rel=0
    )


def test_worked_example_of_the_sequence():
    values = sequence_measures(EXAMPLE, PRODUCED)
    assert tuple(values) == SEQUENCE_MEASURES
    for name, (_, _, mean) in BY_TOKEN.items():
        assert values[name] == pytest.approx(mean, abs=PRINTED, rel=0), name
    for name, value in OF_SEQUENCE.items():
        assert values[name] == pytest.approx(value, abs=PRINTED, rel=0), name
    assert -2 * values["ep_stu"] == pytest.approx(-1.31552529, abs=PRINTED, rel=0)


def test_torch_and_numpy_input_agree():
    ours = token_measures(torch.tensor(EXAMPLE), torch.tensor(PRODUCED, dtype=torch.int32))
    for name, value in token_measures(EXAMPLE, PRODUCED).items():
        assert np.array_equal(ours[name], value)
    rounded = token_measures(torch.tensor(EXAMPLE).bfloat16(), PRODUCED)
    assert rounded["rmi"] == pytest.approx([0.1107, 0.1402], abs=0.01)


@st.composite
def ensembles(draw, members=(1, 5), zeros=False):
    """Random log-probabilities [M, T, V] and tokens [T]; with ``zeros``, some probabilities are
    exactly 0.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.tuples(st.integers(*members), st.integers(1, 6), st.integers(2, 9)))
    p = rng.dirichlet(np.full(shape[2], draw(st.sampled_from([0.3, 1.0, 10.0]))), shape[:2]) + 1e-12
    if zeros:
        p[rng.random(shape) < 0.4] = 0
        p[..., 0] += 0.01
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum(-1, keepdims=True)), rng.integers(0, shape[2], shape[1])


@settings(deadline=None, max_examples=60)
@given(ensembles())
def test_identities(ensemble):
    log_p, y = ensemble
    t, s = token_measures(log_p, y), sequence_measures(log_p, y)
    assert t["epkl"] == pytest.approx(t["mutual_information"] + t["rmi"], abs=1e-10)
    assert t["ep_epkl"] == pytest.approx(t["ep_mutual_information"] + t["ep_rmi"], abs=1e-10)
    for name in (
        *DISTRIBUTION[:5],
        "ep_rmi",
        "token_du",
        "token_pe_tu",
        "token_ep_tu",
        "token_pe_mkl",
    ):
        assert (t[name] >= 0).all(), name
    for name in DISTRIBUTION[5:]:
        assert t[name][0] == pytest.approx(t[name.replace("ep_", "", 1)][0], abs=1e-10)
    assert s["ep_smkl"] >= 0
    assert s["ep_smkl"] == pytest.approx(t["token_ep_mkl"].mean(), abs=1e-10)
    assert s["pe_smkl"] == pytest.approx(t["token_pe_mkl"].mean(), abs=1e-10)
    assert s["log_prob"] == pytest.approx(-len(y) * s["pe_stu"], abs=1e-10)
    for name in TOKEN_MEASURES:
        assert s[name] == pytest.approx(t[name].mean(), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(ensembles())
def test_definitions_as_divergences(ensemble):
    """MI, RMI and EPKL as averages of Kullback-Leibler divergences: another route to the same
    figures.
    """
    log_p, y = ensemble
    p, log_q = np.exp(log_p), np.log(np.exp(log_p).mean(0))
    t = token_measures(log_p, y)
    assert t["mutual_information"] == pytest.approx((p * (log_p - log_q)).sum(2).mean(0), abs=1e-10)
    assert t["rmi"] == pytest.approx((np.exp(log_q) * (log_q - log_p)).sum(2).mean(0), abs=1e-10)
    pairs = (p[:, None] * (log_p[:, None] - log_p[None])).sum(3).mean((0, 1))
    assert t["epkl"] == pytest.approx(pairs, abs=1e-10)


@settings(deadline=None, max_examples=40)
@given(ensembles(), st.randoms(use_true_random=False))
def test_order_of_members_and_vocabulary_does_not_matter(ensemble, random):
    log_p, y = ensemble
    members, words = list(range(log_p.shape[0])), list(range(log_p.shape[2]))
    random.shuffle(members), random.shuffle(words)
    renamed = np.argsort(words)[y]
    first, second = (
        sequence_measures(log_p, y),
        sequence_measures(log_p[members][..., words], renamed),
    )
    for name in SEQUENCE_MEASURES:
        assert first[name] == pytest.approx(second[name], abs=1e-9), name


@settings(deadline=None, max_examples=30)
@given(ensembles(members=(1, 1)), st.integers(1, 4))
def test_identical_members_know_everything_there_is_to_know(ensemble, copies):
    log_p, y = ensemble
    t, s = (
        token_measures(np.repeat(log_p, copies, 0), y),
        sequence_measures(np.repeat(log_p, copies, 0), y),
    )
    for name in ("mutual_information", "epkl", "rmi", "ep_rmi", "token_pe_mkl", "token_ep_mkl"):
        assert t[name] == pytest.approx(np.zeros(len(y)), abs=1e-12), name
    assert t["entropy_of_expected"] == pytest.approx(t["expected_entropy"], abs=1e-12)
    assert s["var"] == pytest.approx(0, abs=1e-12) and s["combo"] == pytest.approx(-1, abs=1e-6)


def test_disagreement_is_what_one_member_has_none_of():
    """Between hypotheses of one member, the measures of disagreement do not differ, and all others
    do.
    """
    generator = np.random.default_rng(1)
    found = []
    for length in (2, 3, 5):
        log_p = generator.standard_normal((1, length, 7))
        log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
        found.append(sequence_measures(log_p, np.arange(length)))
    same = [name for name in SEQUENCE_MEASURES if np.ptp([values[name] for values in found]) < 1e-9]
    assert same == list(DISAGREEMENT)


def test_two_members_sure_of_different_things():
    log_p = np.log(
        np.array([[[1.0, 0.0]], [[0.0, 1.0]]]),
        where=np.eye(2)[:, None] > 0,
        out=np.full((2, 1, 2), -np.inf),
    )
    t = token_measures(log_p, [0])
    assert t["expected_entropy"] == 0
    assert t["entropy_of_expected"] == pytest.approx(math.log(2)) == t["mutual_information"]
    assert t["rmi"] == np.inf == t["epkl"]


def test_a_prefix_every_member_rules_out():
    with np.errstate(divide="ignore"):
        log_p = np.log(np.array([[[1.0, 0.0], [0.5, 0.5]]] * 2))
    for t in (token_measures(log_p, [1, 0]), by_definition(log_p, [1, 0])):
        assert t["rmi"].tolist() == [0, 0]
        assert (
            t["ep_rmi"][0] == 0
            and np.isnan(t["ep_rmi"][1])
            and np.isnan(t["ep_entropy_of_expected"][1])
        )
        assert t["token_du"].tolist() == [np.inf, math.log(2)]


@pytest.mark.parametrize(
    ("log_probs", "tokens", "message"),
    [
        (EXAMPLE[0], PRODUCED, "shape"),
        (EXAMPLE[:0], PRODUCED, "shape"),
        (EXAMPLE, [1], "needs"),
        (EXAMPLE, [1, 4], "ids from 0 to 3"),
        (EXAMPLE, [1.5, 0.0], "tokens must be whole numbers"),
        (EXAMPLE, [True, False], "tokens must be whole numbers"),
        ("abc", PRODUCED, "log_probs must be an array"),
        (EXAMPLE + 3, PRODUCED, "sum to 1"),
        (np.exp(EXAMPLE), PRODUCED, "sum to 1"),
    ],
)
def test_wrong_arguments(log_probs, tokens, message):
    with pytest.raises(InputError, match=message):
        token_measures(log_probs, tokens)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.booleans(), st.booleans())
def test_running_sums_equal_the_definition(data, zeros, single):
    """Several hypotheses side by side, one member at a time, against the formulas on each
    hypothesis alone.
    """
    first = data.draw(ensembles(zeros=zeros))
    others = [first]
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    for _ in range(data.draw(st.integers(0, 2))):
        keep = rng.integers(1, len(first[1]) + 1)
        order = rng.permutation(len(first[1]))[:keep]
        others.append((first[0][:, order], first[1][order]))
    kind, exact = (torch.float32, 2e-5) if single else (torch.float64, 1e-10)
    running = RunningMeasures(
        torch.tensor(np.concatenate([y for _, y in others])), [len(y) for _, y in others]
    )
    for m in range(len(first[0])):
        running.add(torch.tensor(np.concatenate([log_p[m] for log_p, _ in others])).to(kind) + 3)
    by_token, by_sequence = running.tokens(), running.sequences()
    for name in TOKEN_MEASURES:
        expected = np.concatenate([by_definition(*other)[name] for other in others])
        assert by_token[name] == pytest.approx(expected, abs=exact, rel=exact, nan_ok=True), name
    for name in SEQUENCE_MEASURES:
        expected = [sequence_measures(*other)[name] for other in others]
        assert by_sequence[name] == pytest.approx(expected, abs=exact, rel=exact, nan_ok=True), name


def test_long_hypotheses_do_not_underflow():
    """P_m(y_<t) of 400 tokens is far below the smallest float; its ratios between members are
    not.
    """
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.full(50, 0.2), (4, 400)) + 1e-9)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    y = rng.integers(0, 50, 400)
    running = RunningMeasures(torch.tensor(y))
    for member in log_p:
        running.add(torch.tensor(member))
    for name, value in by_definition(log_p, y).items():
        assert np.isfinite(value).all()
        assert running.tokens()[name] == pytest.approx(value, abs=1e-9)
    for name, value in sequence_measures(log_p, y).items():
        assert np.isfinite(value) and running.sequences()[name][0] == pytest.approx(
            value, abs=1e-9
        ), name


def test_running_measures_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="add up"):
        RunningMeasures(torch.tensor([1, 2]), [1])
    with pytest.raises(ValueError, match="add up"):
        RunningMeasures(torch.tensor([1, 2]), [2, 0])
    with pytest.raises(ValueError, match="expected"):
        RunningMeasures(torch.tensor([1, 2])).add(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="no member"):
        RunningMeasures(torch.tensor([1, 2])).tokens()
