"""Members side by side against the definitions, and against members one after another."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from twins_uncertainty import sequence_measures

from cgbench.models import teacher_forcing
from cgbench.models.config.measures import SEQUENCE_MEASURES
from cgbench.models.parts.ragged import Ragged
from cgbench.models.teacher_forcing import measure_members, score_hypotheses
from cgbench.models.uncertainty import RunningMeasures


def members_of(logits):
    """Members as :func:`measure_members` takes them; every other one writes into the table that it
    is given.
    """

    def member(number, table):
        return lambda part, out: (
            table[part] if out is None or number % 2 else out.copy_(table[part])
        )

    return [member(number, table) for number, table in enumerate(logits)]


def measured(logits, tokens, lengths, at_once=10_000):
    return measure_members(
        members_of(logits), torch.as_tensor(tokens), lengths, logits.shape[2], at_once
    )


def random_logits(members, tokens, size, seed, scale=3.0):
    return scale * torch.randn(members, tokens, size, generator=torch.Generator().manual_seed(seed))


def one_by_one(logits, tokens, lengths):
    sums = RunningMeasures(torch.as_tensor(tokens), lengths)
    for member in logits:
        sums.add(member)
    return sums.sequences()


@pytest.fixture
def no_running_sums(monkeypatch):
    """Members side by side, or an error."""
    monkeypatch.delattr(teacher_forcing, "RunningMeasures")


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 5),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.sampled_from([1, 2, 3, 100, 511, 512, 513, 1300]),
    st.sampled_from([0.0, 0.1, 3.0, 30.0]),
    st.integers(0, 1000),
)
def test_side_by_side_is_the_definition(members, lengths, size, scale, seed):
    logits = random_logits(members, sum(lengths), size, seed, scale) + 50 * (seed % 3 - 1)
    tokens = np.random.default_rng(seed).integers(0, size, sum(lengths))
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(teacher_forcing, "RunningMeasures")
        found = measured(logits, tokens, lengths)
    ends = np.cumsum(lengths)
    log_p = logits.double().log_softmax(-1)
    expected = [
        sequence_measures(log_p[:, end - length : end], tokens[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]
    for name in SEQUENCE_MEASURES:
        value = [one[name] for one in expected]
        assert found[name] == pytest.approx(value, abs=2e-5, rel=2e-5), name


def test_long_hypotheses_of_large_vocabularies(no_running_sums, monkeypatch):
    """400 tokens are far less likely than the smallest float; tables of some tokens go on where the
    last one ended.
    """
    logits, lengths = random_logits(3, 410, 2000, 0), [400, 10]
    tokens = np.random.default_rng(0).integers(0, 2000, 410)
    whole = measured(logits, tokens, lengths)
    monkeypatch.setattr(teacher_forcing, "TABLE", 0)
    monkeypatch.setattr(teacher_forcing, "ROWS", 7)
    parts = measured(logits, tokens, lengths)
    expected = sequence_measures(logits[:, :400].double().log_softmax(-1), tokens[:400])
    for name in SEQUENCE_MEASURES:
        assert parts[name].tobytes() == whole[name].tobytes(), name
        assert whole[name][0] == pytest.approx(expected[name], abs=1e-5, rel=1e-5), name


def test_sums_lose_less_than_running_sums():
    """Of a vocabulary of 64,000, ten times fewer digits than tables of float32 lose; the bound is
    theirs.
    """
    logits, tokens = random_logits(2, 6, 64_000, 1), np.arange(6)
    expected = sequence_measures(logits.double().log_softmax(-1), tokens)
    found, running = measured(logits, tokens, [6]), one_by_one(logits, tokens, [6])
    for name in ("rmi", "expected_entropy", "entropy_of_expected", "ep_rmi"):
        off = abs(found[name][0] / expected[name] - 1)
        assert off < 2e-6 and off <= max(1e-6, abs(running[name][0] / expected[name] - 1)), name


def test_forbidden_tokens(no_running_sums):
    """What some models write for "never": a number that is far below, but a number."""
    logits, tokens = random_logits(3, 8, 40, 2), np.arange(8)
    logits[:, :, 30:] = -1e9
    found = measured(logits, tokens, [8])
    for name, value in sequence_measures(logits.double().log_softmax(-1), tokens).items():
        assert found[name][0] == pytest.approx(value, abs=1e-5), name


@pytest.mark.parametrize("odd", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_no_number_goes_through_running_sums(odd, everywhere):
    logits, tokens, lengths = random_logits(3, 20, 700, 3), np.arange(20), [12, 8]
    logits[slice(None) if everywhere else 1, 4, 650] = odd
    found, expected = measured(logits, tokens, lengths), one_by_one(logits, tokens, lengths)
    for name in SEQUENCE_MEASURES:
        assert found[name] == pytest.approx(expected[name], abs=1e-6, nan_ok=True), name
    if odd == -np.inf and not everywhere:
        assert found["rmi"][0] == np.inf and np.isfinite(found["rmi"][1])


def test_no_hypotheses_have_no_measures():
    found = measured(random_logits(2, 0, 5, 0), np.zeros(0, np.int64), [])
    assert set(found) == set(SEQUENCE_MEASURES) and all(len(value) == 0 for value in found.values())


def test_double_precision_stays_double():
    logits, tokens = random_logits(2, 5, 30, 4).double(), np.arange(5)
    expected = sequence_measures(logits.log_softmax(-1), tokens)
    found = measured(logits, tokens, [5])
    assert {name: found[name][0] for name in found} == pytest.approx(expected, abs=1e-12)


def test_running_sums_of_some_hypotheses_at_a_time(monkeypatch):
    logits, tokens, lengths = random_logits(3, 20, 100, 5), np.arange(20), [12, 8]
    monkeypatch.setattr(teacher_forcing, "_in_one_pass", lambda *_: None)
    found, expected = (
        measured(logits, tokens, lengths, at_once=12),
        one_by_one(logits, tokens, lengths),
    )
    for name in SEQUENCE_MEASURES:
        assert found[name] == pytest.approx(expected[name], abs=1e-6), name


def test_polynomials():
    from cgbench.models.uncertainty_kernels import exponential, logarithm

    x = np.concatenate([np.linspace(-87, 0.2, 700), -np.logspace(-9, 0, 100), [0.0]]).astype(
        np.float32
    )
    found = np.array([exponential(one) for one in x], np.float64)
    assert found == pytest.approx(np.exp(x.astype(np.float64)), rel=2.5e-7, abs=0)
    assert exponential(np.float32(-87.5)) == exponential(np.float32(-np.inf)) == 0
    assert np.isnan(exponential(np.float32(np.nan)))
    y = np.concatenate([np.logspace(-37, 30, 700), np.linspace(0.5, 2, 100)]).astype(np.float32)
    found = np.array([logarithm(one) for one in y], np.float64)
    assert found == pytest.approx(np.log(y.astype(np.float64)), rel=2.5e-7, abs=1e-7)
    assert logarithm(np.float32(0)) == pytest.approx(np.log(1.1754944e-38))


class Toy(nn.Module):
    """Logits that depend on the source's sum and on the tokens so far, as a decoder's do."""

    def __init__(self, seed: int, size: int = 11):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.word = nn.Parameter(torch.randn(size, size, generator=generator))
        self.prefix = nn.Parameter(torch.randn(size, size, generator=generator))

    def encode(self, source):
        rows = self.word[source.ids].split(source.layout.lengths.tolist())
        return torch.stack([row.mean(0) for row in rows])

    def decode(self, told, target):
        rows = self.prefix[target.ids].split(target.layout.lengths.tolist())
        return torch.cat([row.cumsum(0) / 2 for row in rows]) + told[target.layout.sequence]

    def project(self, states):
        return states @ self.word

    def forward(self, source, target):
        return self.project(self.decode(self.encode(source), target))


def sentences(count, seed):
    rng = np.random.default_rng(seed)
    return [
        np.append(rng.integers(3, 11, n), 2).astype(np.int32) for n in rng.integers(0, 9, count)
    ]


def test_scores_are_the_measures_of_teacher_forcing():
    members = [Toy(seed) for seed in range(3)]
    sources, hypotheses = sentences(17, 0), sentences(17, 1)
    done: list[int] = []
    scores = score_hypotheses(members, sources, hypotheses, batch_tokens=40, done=done.append)
    assert sum(done) == 17 and len(done) > 3
    for i, (source, y) in enumerate(zip(sources, hypotheses, strict=True)):
        given = Ragged.pack([[2, *y[:-1].tolist()]])
        with torch.no_grad():
            logits = torch.stack([m(Ragged.pack([source]), given) for m in members])
        expected = sequence_measures(logits.double().log_softmax(-1), y)
        for name in SEQUENCE_MEASURES:
            assert scores[name][i] == pytest.approx(expected[name], abs=1e-5), name


def test_scores_do_not_depend_on_batches_or_order(monkeypatch):
    members = [Toy(seed) for seed in range(2)]
    sources, hypotheses = sentences(30, 2), sentences(30, 3)
    whole = score_hypotheses(members, sources, hypotheses, batch_tokens=10_000)
    again = score_hypotheses(members, sources, hypotheses, batch_tokens=10_000)
    alone = score_hypotheses(members, sources, hypotheses, batch_tokens=1)
    monkeypatch.setattr(teacher_forcing, "TABLE", 0)
    monkeypatch.setattr(teacher_forcing, "ROWS", 20)  # tokens at a time
    parts = score_hypotheses(members, sources, hypotheses, batch_tokens=10_000)
    order = np.random.default_rng(0).permutation(30)
    mixed = score_hypotheses(
        members, [sources[i] for i in order], [hypotheses[i] for i in order], batch_tokens=64
    )
    for name in SEQUENCE_MEASURES:
        assert whole[name].tobytes() == again[name].tobytes()
        assert parts[name] == pytest.approx(whole[name], abs=1e-5)
        assert alone[name] == pytest.approx(whole[name], abs=1e-5)
        assert mixed[name] == pytest.approx(whole[name][order], abs=1e-5)


def test_scoring_refuses_unfinished_hypotheses():
    with pytest.raises(ValueError, match="hypothesis 1 does not end"):
        score_hypotheses([Toy(0)], sentences(2, 0), [np.array([4, 2]), np.array([4])])
    with pytest.raises(ValueError, match="2 sources and 1 hyp"):
        score_hypotheses([Toy(0)], sentences(2, 0), sentences(1, 0))
