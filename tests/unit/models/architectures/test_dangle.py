"""Dangle, and R-Dangle in all its forms: all prefixes at once, one at a time, step by step."""

import dataclasses

import pytest
import torch
from dangle_models import (
    DANGLE,
    ENCODER_ONLY,
    FORMS,
    R_DANGLE,
    SIZE,
    SOURCES,
    batch,
    build,
    slow_batch,
)
from ragged_models import state_of, unpad

from cgbench.models.architectures.prefixes import Prefixes
from cgbench.models.config.architectures import build_model
from cgbench.models.parts.ragged import Layout, Ragged


@pytest.mark.parametrize("form", FORMS)
def test_all_prefixes_at_once_are_one_prefix_at_a_time(form):
    """Logits and gradients."""
    model = build(FORMS[form])
    # Sines are float32 in both.
    near = {"rtol": 0, "atol": 1e-5 if model.config.positions == "sinusoidal" else 1e-10}
    fast, slow = model(*batch()), slow_batch(model)
    assert torch.allclose(fast, slow, **near)
    weight = torch.randn_like(fast)
    parameters = list(model.parameters())
    of_fast, of_slow = (
        torch.autograd.grad(
            (logits * weight).sum(), parameters, allow_unused=True, materialize_grads=True
        )
        for logits in (fast, slow)
    )
    for (name, _), first, second in zip(model.named_parameters(), of_fast, of_slow, strict=True):
        assert torch.allclose(first, second, **near), name


@pytest.mark.parametrize("form", FORMS)
def test_steps_are_teacher_forcing(form):
    model = build(FORMS[form])
    source = Ragged.pack(SOURCES)
    target = torch.randint(4, SIZE, (8, 11), generator=torch.Generator().manual_seed(1))
    target[:, 0] = 2
    expected = model(Ragged.pack([row for row in SOURCES for _ in range(2)]), unpad(target)).view(
        8, 11, -1
    )
    state = state_of(model, source, beam=2)
    for t in range(11):
        assert torch.allclose(model.step(target[:, t], state), expected[:, t], rtol=0, atol=1e-10)


def test_dangle_has_no_norm_above_its_encoder_and_its_vectors_start_small():
    torch.manual_seed(0)
    config = dataclasses.replace(DANGLE, width=512, mixed_attention_heads=8, norm="pre")
    model = build_model(config, 20, 20)
    assert not any(name.startswith("encoder_norm") for name, _ in model.named_parameters())
    for vector in (model.source_type, model.target_type, model.end):
        assert vector.std().item() == pytest.approx(0.02, rel=0.15)
    tables = [p for name, p in model.named_parameters() if ".relative." in name]
    assert len(tables) == 3 * 2 + 1 + 2 and not any(table.abs().max() for table in tables)


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        # Targets of 4, 9, 1 and 2 tokens; prefixes of 10, 45, 1 and 3 tokens in all.
        (DANGLE, [18, 59]),
        (dataclasses.replace(DANGLE, **ENCODER_ONLY), [18, 59, 16]),
        (R_DANGLE, [18, 16]),
    ],
)
def test_what_has_dropout_of_its_own(config, rows):
    """Each prefix in Dangle, each token in R-Dangle; END where there is no decoder alone."""
    model = build(dataclasses.replace(config, dropout=0.5)).train()
    seen = []
    model.dropout.register_forward_hook(lambda module, given, result: seen.append(len(given[0])))
    model(*batch())
    assert seen == rows


def test_prefixes_by_hand():
    """Two targets, of 4 and 1 tokens, an interval of 2."""
    prefixes = Prefixes.at_intervals(Layout([2, 1]), Layout([4, 1]), 2)
    assert prefixes.sentence.tolist() == [0, 0, 1]
    assert (prefixes.newest.tolist(), prefixes.end.tolist()) == ([0, 2, 0], [2, 4, 1])
    assert prefixes.tokens.tolist() == [0, 0, 1, 2, 4]
    assert prefixes.positions_from_end.tolist() == [0, 2, 1, 0, 0]
    assert prefixes.read.rows.tolist() == [0, 1, 0, 1, 2, 3, 4]
    # Three source vectors, then five target vectors, then END.
    assert prefixes.mixed(3, 5).rows.tolist() == [0, 1, 3, 8, 0, 1, 3, 4, 5, 8, 2, 7, 8]
