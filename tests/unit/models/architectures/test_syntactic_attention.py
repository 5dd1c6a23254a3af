"""Syntactic attention: against a loop over one sentence at a time, without batches or masks."""

import pytest
import torch

from cgbench.models.config.architectures import SyntacticAttentionConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.registry import build_model

torch.set_num_threads(1)
SOURCES = [[5, 6, 7, 2], [8, 2], [9, 10, 11, 12, 13, 2], [2]]
TARGETS = [[4, 5, 2], [6, 7, 8, 9, 2], [2], [10, 2]]


def model_of(read_syntax):
    torch.manual_seed(0)
    config = SyntacticAttentionConfig(width=12, syntax_width=6, meaning_width=7, read_syntax=read_syntax)
    return build_model(config, 20, 15).eval()


def slow_logits(model, source, steps):
    ids = torch.tensor([0, *source])
    meaning = model.meaning(ids)
    around, _ = model.around(model.syntax(ids))
    width = around.shape[1] // 2
    surroundings = [torch.cat((around[j - 1, :width], around[j + 1, width:])) for j in range(1, len(ids) - 1)]
    states, (last, _) = model.encoder(torch.stack([model.ends[0], *surroundings, model.ends[1]]))
    steer = model.begin(torch.cat((last[0], last[1]))).relu()
    h, c = torch.zeros(12), torch.zeros(12)
    found = []
    for _ in range(steps):
        weights = (states @ steer).softmax(0)
        read, context = weights @ meaning, weights @ states
        found.append(model.output(torch.cat((read, context)) if model.config.read_syntax else read))
        h, c = model.cell(context, (h, c))
        steer = h
    return torch.stack(found)


@pytest.mark.parametrize("read_syntax", [False, True])
def test_a_batch_is_the_loop_over_its_sentences(read_syntax):
    model = model_of(read_syntax)
    together = model(Ragged.pack(SOURCES), Ragged.pack(TARGETS).shifted())
    expected = torch.cat([slow_logits(model, s, len(t)) for s, t in zip(SOURCES, TARGETS, strict=True)])
    assert torch.allclose(together, expected, atol=1e-6)


def test_steps_give_the_same_and_rows_can_swap():
    model = model_of(False)
    whole = model(Ragged.pack(SOURCES[:2]), Ragged.pack([[4, 5, 2], [4, 4, 2]]).shifted()).view(2, 3, -1)
    state, rows = model.start(model.encode(Ragged.pack(SOURCES[:2])), copies=2), torch.tensor([0, 0, 1, 1])
    for t in range(3):
        assert torch.allclose(model.step(torch.zeros(4, dtype=torch.long), state), whole[rows, t], atol=1e-6)
        index = torch.tensor([3, 0, 0, 2])
        rows = rows[index]
        state.reorder(index)


def test_the_published_size():
    with torch.device("meta"):
        model = build_model(SyntacticAttentionConfig(), 16, 8)
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_253_288
