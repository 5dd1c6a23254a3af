"""Search against enumeration of every translation, and what must not matter: batches, padding,
order.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings


def transformer(seed: int, size: int = 9, sharpness: float = 4.0) -> nn.Module:
    """A tiny random Transformer whose distributions are far from uniform."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        encoder_layers=1,
        decoder_layers=2,
        width=16,
        feedforward_width=16,
        attention_heads=2,
        positions="relative",
    )
    model = build_model(config, size, size).eval()
    with torch.no_grad():
        model.target_embedding.weight.mul_(sharpness)
    return model


def probabilities(members, source, tokens):
    """What the ensemble gives each token of one translation, by teacher forcing: the definition."""
    with torch.no_grad():
        given = Ragged.pack([[2, *tokens[:-1]]])
        p = torch.stack(
            [m(Ragged.pack([source]), given).double().softmax(-1) for m in members]
        ).mean(0)
    return p[torch.arange(len(tokens)), torch.tensor(tokens)].log()


def enumerate_all(members, source, words, limit):
    """Every translation of 1..limit words with its log-probability."""
    found = {}
    for length in range(1, limit + 1):
        for path in itertools.product(words, repeat=length):
            tokens = (*path, 2)
            found[tokens] = float(probabilities(members, source, tokens).sum())
    return found


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
def test_a_wide_beam_finds_what_enumeration_finds(count, penalty):
    members = [transformer(seed, size=6) for seed in range(count)]
    source = Ragged.pack([[3, 5, 4, 2]])
    # 4 tokens: 3 words at most, from <unk> and two others.
    settings = SearchSettings(
        beam=60, length_penalty=penalty, max_length_ratio=0.5, max_length_extra=1
    )
    everything = enumerate_all(members, source.ids, (3, 4, 5), 3)
    ranked = sorted(everything, key=lambda tokens: -everything[tokens] / len(tokens) ** penalty)
    found = beam_search(members, source, settings)[0]
    assert len(found) == len(ranked) == 3 + 9 + 27
    for hypothesis, tokens in zip(found, ranked, strict=True):
        assert tuple(hypothesis.tokens.tolist()) == tokens
        assert hypothesis.log_prob == pytest.approx(everything[tokens], abs=1e-4)
        assert hypothesis.score == pytest.approx(
            everything[tokens] / len(tokens) ** penalty, abs=1e-4
        )
        assert hypothesis.tokens.dtype == np.int32


def random_sources(count, size, seed):
    rng = np.random.default_rng(seed)
    return [np.append(rng.integers(3, size, n), 2) for n in rng.integers(0, 7, count)]


def test_a_beam_of_one_takes_the_most_probable_token_at_every_step():
    model = transformer(0, size=30)
    found = beam_search([model], Ragged.pack(random_sources(20, 30, 0)), SearchSettings(beam=1))
    assert len({len(one.tokens) for (one,) in found}) > 3
    for source, (one,) in zip(random_sources(20, 30, 0), found, strict=True):
        tokens = torch.from_numpy(one.tokens).long()
        log_p = model(Ragged.pack([source]), Ragged.pack([tokens.numpy()]).shifted()).log_softmax(1)
        assert one.tokens.dtype == np.int32 and one.score == pytest.approx(
            one.log_prob / len(tokens)
        )
        assert one.log_prob == pytest.approx(
            log_p.gather(1, tokens[:, None]).sum().item(), abs=1e-4
        )
        log_p[:, [0, 1]] = log_p[0, 2] = -math.inf
        assert log_p.argmax(1).tolist()[: len(tokens) - 1] == tokens[:-1].tolist()


def test_a_class_that_extends_a_model_is_searched_by_its_own_step():
    model = transformer(0, size=30)
    sources, greedy = Ragged.pack(random_sources(3, 30, 0)), SearchSettings(beam=1)
    calls = []

    class OwnStates(type(model)):
        def step_states(self, tokens, state):
            calls.append("states")
            return super().step_states(tokens, state)

    class OwnStep(OwnStates):
        def step(self, tokens, state):
            calls.append("step")
            return super().step(tokens, state)

    for kind, expected in ((OwnStates, {"states"}), (OwnStep, {"step", "states"})):
        calls.clear()
        model.__class__ = kind
        beam_search([model], sources, greedy)
        assert {*calls} == expected


def test_translations_do_not_depend_on_the_batch():
    members = [transformer(seed, size=30) for seed in range(2)]
    rows = random_sources(12, 30, 1)
    together = beam_search(members, Ragged.pack(rows), SearchSettings(beam=4))
    backwards = beam_search(members, Ragged.pack(rows[::-1]), SearchSettings(beam=4))[::-1]
    for row, one, other in zip(rows, together, backwards, strict=True):
        (alone,) = beam_search(members, Ragged.pack([row]), SearchSettings(beam=4))
        for found in (one, other):
            assert [h.tokens.tolist() for h in found] == [h.tokens.tolist() for h in alone]
            assert [h.log_prob for h in found] == pytest.approx(
                [h.log_prob for h in alone], abs=1e-4
            )


def test_log_probabilities_are_those_of_teacher_forcing():
    """Wrong caches after a beam swap would show here: every hypothesis is scored again from the
    start.
    """
    members = [transformer(seed, size=30) for seed in range(3)]
    rows = random_sources(8, 30, 2)
    for row, found in zip(
        rows, beam_search(members, Ragged.pack(rows), SearchSettings(beam=5)), strict=True
    ):
        assert len(found) == 5
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        for hypothesis in found:
            tokens = hypothesis.tokens.tolist()
            expected = float(probabilities(members, row, tokens).sum())
            assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)
            assert hypothesis.score == pytest.approx(expected / len(tokens), abs=1e-4)
            assert tokens[-1] == 2 and len(tokens) >= 2 and not {0, 1, 2} & set(tokens[:-1])
            assert len(tokens) <= math.floor(1.2 * len(row) + 10) + 1


class Scripted(nn.Module):
    """A model that gives each position's distribution whatever came before; it has the search's
    interface only.
    """

    def __init__(self, *steps):
        super().__init__()
        self.steps = torch.tensor(steps)

    def encode(self, source):
        return source

    def start(self, encoded, beam=1):
        return ScriptedState()

    def step(self, tokens, state):
        p = self.steps[min(state.position, len(self.steps) - 1)]
        state.position += 1
        return p.log().expand(len(tokens), -1)


class ScriptedState:
    position = 0

    def reorder(self, index):
        pass


def test_members_are_averaged_by_probability():
    """By mean probability 5 is the best word; by mean log-probability, on which both members can
    agree, 4 would be.
    """
    first, second = [0, 0, 0, 0.05, 0.30, 0.65], [0, 0, 0, 0.60, 0.35, 0.05]
    end = [0, 0, 1.0, 0, 0, 0]
    members, source = [Scripted(first, end), Scripted(second, end)], Ragged.pack([[4, 2]])
    assert beam_search(members, source, SearchSettings(beam=1))[0][0].tokens.tolist() == [5, 2]
    found = beam_search(members, source, SearchSettings(beam=3, length_penalty=0))[0]
    assert found[0].tokens.tolist() == [5, 2]
    assert {int(h.tokens[0]): math.exp(h.log_prob) for h in found} == pytest.approx(
        {3: 0.325, 4: 0.325, 5: 0.35}
    )


def test_only_the_best_continuations_may_end():
    """With a beam of 2, the end after 4 is third, and the unfinished ones before it may still be
    better.
    """
    model = Scripted([0, 0, 0, 0, 0.6, 0.4], [0, 0, 0.28, 0, 0.40, 0.32], [0, 0, 1.0, 0, 0, 0])
    found = beam_search(
        [model], Ragged.pack([[4, 5, 2]]), SearchSettings(beam=2, length_penalty=0)
    )[0]
    assert [h.tokens.tolist() for h in found] == [[4, 4, 2], [4, 5, 2]]


def test_what_may_not_be_produced():
    """The model wants <s>, <pad> and an early end, and never to end later."""
    eager = Scripted([0.3, 0.3, 0.3, 0.05, 0.04, 0.01], [0.5, 0.49, 1e-30, 0.001, 0.005, 0.004])
    for beam in (5, 1):
        best = beam_search(
            [eager],
            Ragged.pack([[4, 5, 2]]),
            SearchSettings(beam=beam, max_length_ratio=1.0, max_length_extra=2),
        )[0][0]
        assert best.tokens.tolist() == [
            3,
            4,
            4,
            4,
            4,
            2,
        ]  # 1 * 3 + 2 words at most, then a forced end
        assert best.log_prob == pytest.approx(math.log(0.05 * 0.005**4) + math.log(1e-30), rel=1e-4)


def test_a_forced_end_of_probability_zero_is_still_a_translation():
    endless = Scripted([0, 0, 0, 0.5, 0.5, 0.0])
    for beam in (5, 1):
        (found,) = beam_search(
            [endless],
            Ragged.pack([[2]]),
            SearchSettings(beam=beam, max_length_ratio=1.0, max_length_extra=0),
        )
        assert found and all(len(h.tokens) == 2 and math.isfinite(h.score) for h in found)


def test_nothing_to_translate():
    assert len(beam_search([transformer(0)], Ragged.pack([[2]]), SearchSettings(beam=1))[0]) == 1
    (found,) = beam_search([transformer(0)], Ragged.pack([[2]]), SearchSettings(beam=3))
    assert len(found) == 3 and all(len(h.tokens) <= 12 for h in found)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="no model"):
        beam_search([], Ragged.pack([[4, 2]]))


def test_limits_and_the_room_that_targets_need():
    lengths, targets = np.array([5, 10]), np.array([30, 11])
    settings = SearchSettings(max_length_ratio=1.2, max_length_extra=2)
    assert settings.limits(lengths).tolist() == [8, 14]
    assert SearchSettings(max_length_ratio=0, max_length_extra=0).limits(lengths).tolist() == [1, 1]
    extra = settings.extra_for(lengths, targets)
    assert extra == 24  # 30 - 1.2 * 5
    roomy = SearchSettings(max_length_extra=extra)
    assert (roomy.limits(lengths) >= targets).all()
    assert SearchSettings(max_length_ratio=9.0).extra_for(lengths, targets) == 0
