"""What holds for every architecture: both ways to logits agree, neighbours do not matter, the
future is unseen.
"""

import numpy as np
import pytest
import torch
from architecture_table import TABLE, TARGET_SIZE, pack, pairs, small_model
from ragged_models import state_of

from cgbench.models.config.architectures import ARCHITECTURES
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings

LENGTHS = [(9, 7), (2, 12), (1, 1), (14, 3), (9, 7)]
every_form = pytest.mark.parametrize("config", TABLE)


def test_every_architecture_has_a_row():
    seq2seq = {
        name
        for name, entry in ARCHITECTURES.items()
        if "positions" in entry.config.__dataclass_fields__
    }
    assert {parameter.values[0].architecture for parameter in TABLE} >= seq2seq


@every_form
def test_company_and_order_change_nothing(config):
    model, batch = small_model(config), pairs(LENGTHS)
    alone = [model(*pack([pair])) for pair in batch]
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 2, 0]):
        together = model(*pack([batch[i] for i in order]))
        assert torch.allclose(together, torch.cat([alone[i] for i in order]), atol=1e-5)


@every_form
def test_a_later_target_word_changes_no_earlier_logit(config):
    model = small_model(config)
    ((source, target),) = pairs([(8, 9)])
    changed = [*target[:5], 4 + (target[5] - 3) % (TARGET_SIZE - 4), *target[6:]]
    before, after = (model(*pack([(source, read)])) for read in (target, changed))
    assert torch.allclose(before[:5], after[:5], atol=1e-6)
    # These two never read what was predicted.
    reads = config.architecture not in ("syntactic_attention", "cgps", "nsen")
    assert ((before[5:] - after[5:]).abs().amax(1) > 1e-4).all() == reads


@every_form
@pytest.mark.parametrize("copies", [1, 3])
def test_teacher_forcing_equals_decoding_step_by_step(config, copies):
    model, batch = small_model(config), pairs([(m, 8) for m, _ in LENGTHS])
    source, target = pack(batch)
    expected = model(source, target).view(len(batch), 8, TARGET_SIZE).repeat_interleave(copies, 0)
    read = target.ids.view(len(batch), 8).repeat_interleave(copies, 0)
    state = state_of(model, source, copies)
    for t in range(8):
        assert torch.allclose(model.step(read[:, t], state), expected[:, t], atol=1e-5)


@every_form
def test_reordered_rows_go_on_as_the_hypotheses_they_are(config):
    """Swap within sentences, then across them, drop and double rows: each row stays the prefix it
    continues.
    """
    model, sources = small_model(config), [source for source, _ in pairs([(6, 1), (2, 1), (9, 1)])]
    generator = torch.Generator().manual_seed(2)
    state = state_of(model, Ragged.pack(sources), 2)
    hypotheses = [(sources[row // 2], [2]) for row in range(6)]
    model.step(torch.full((6,), 2), state)
    swap, keep = [1, 0, 3, 2, 4, 5], [0, 1, 2, 3, 4, 5]
    for index in (
        swap,
        swap,
        keep,
        [1, 0, 3, 3, 4, 5],
        [4, 5, 0, 2, 2, 1],
        [3, 0],
        [1, 1, 0],
        [2, 0],
    ):
        state.reorder(np.array(index))
        words = torch.randint(4, TARGET_SIZE, (len(index),), generator=generator)
        hypotheses = [
            (hypotheses[row][0], [*hypotheses[row][1], word])
            for row, word in zip(index, words.tolist(), strict=True)
        ]
        logits = model.step(words, state)
        source, target = pack(hypotheses)
        assert torch.allclose(logits, model(source, target)[target.layout.last], atol=1e-5)


@every_form
def test_scores_of_a_beam_are_those_of_teacher_forcing(config):
    model, sources = small_model(config), [source for source, _ in pairs([(5, 1), (2, 1), (5, 1)])]
    found = beam_search([model], Ragged.pack(sources), SearchSettings(beam=3, max_length_extra=2))
    for source, hypotheses in zip(sources, found, strict=True):
        for hypothesis in hypotheses:
            wanted = torch.from_numpy(hypothesis.tokens).long()
            log_p = model(*pack([(source, [2, *wanted[:-1].tolist()])])).log_softmax(1)
            assert log_p.gather(1, wanted[:, None]).sum().item() == pytest.approx(
                hypothesis.log_prob, abs=1e-4
            )


@every_form
def test_bfloat16_products_change_logits_and_gradients_little(config):
    model = small_model(config)
    source, target = pack(pairs(LENGTHS))
    results = []
    for enabled in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            logits = model(source, target).float()
        logits.square().mean().backward()
        gradients = [
            parameter.grad for parameter in model.parameters() if parameter.grad is not None
        ]
        results.append(
            torch.cat([tensor.detach().clone().flatten() for tensor in (logits, *gradients)])
        )
    exact, rounded = results
    assert 0 < (exact - rounded).norm() < 0.05 * exact.norm()


@every_form
def test_an_equal_start_gives_equal_models_and_dropout_does_nothing_in_evaluation(config):
    source, target = pack(pairs(LENGTHS))
    first, second, other = (small_model(config, seed) for seed in (0, 0, 1))
    expected = first(source, target)
    assert torch.equal(second(source, target), expected)
    assert not torch.allclose(other(source, target), expected, atol=1e-2)
    assert not torch.allclose(first.train()(source, target), expected, atol=1e-3)
