"""Models on a GPU give what they give on a CPU. Skipped where there is none; to check the tests
themselves, CGBENCH_DEVICE=cpu runs them on the CPU.
"""

import copy
import os

import pytest
import torch
from architecture_table import TABLE, pairs, small_model
from training_runs import PRESET, contents, make_corpus, train

from cgbench.models.checkpoints import load_checkpoint
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.teacher_forcing import score_hypotheses
from cgbench.models.training.objective import Objective

DEVICE = os.environ.get("CGBENCH_DEVICE", "cuda" if torch.cuda.is_available() else "")
if not DEVICE:
    pytest.skip("there is no GPU", allow_module_level=True)
LENGTHS = [(9, 7), (2, 12), (8, 3), (1, 1)]


def batch_on(device):
    return tuple(Ragged.pack(side, device) for side in zip(*pairs(LENGTHS), strict=True))


def loss_and_gradients(model, device, in_bfloat16=False):
    objective = Objective(model.to(device), 0.1, in_bfloat16)
    loss, _ = objective(*batch_on(device))
    loss.backward()
    gradients = {
        name: parameter.grad.float().cpu()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return loss.item(), gradients


@pytest.mark.parametrize("config", TABLE)
def test_losses_and_gradients_are_those_of_a_cpu(config):
    model = small_model(config)
    expected, gradients = loss_and_gradients(copy.deepcopy(model), "cpu")
    loss, found = loss_and_gradients(copy.deepcopy(model), DEVICE)
    assert loss == pytest.approx(expected, rel=1e-4)
    assert found.keys() == gradients.keys()
    for name, gradient in gradients.items():
        scale = max(1.0, gradient.abs().max().item())
        torch.testing.assert_close(found[name], gradient, rtol=1e-3, atol=1e-4 * scale)
    reduced, _ = loss_and_gradients(copy.deepcopy(model), DEVICE, in_bfloat16=True)
    assert reduced == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("config", TABLE)
def test_translations_and_their_probabilities_are_those_of_a_cpu(config):
    members = [small_model(config, seed) for seed in range(2)]
    nbest = {}
    for device in ("cpu", DEVICE):
        source, _ = batch_on(device)
        nbest[device] = beam_search(
            [model.to(device) for model in members], source, SearchSettings(beam=3)
        )
    for expected, found in zip(nbest["cpu"], nbest[DEVICE], strict=True):
        assert [row.tokens.tolist() for row in found] == [row.tokens.tolist() for row in expected]
        assert [row.log_prob for row in found] == pytest.approx(
            [row.log_prob for row in expected], rel=1e-4
        )


def test_uncertainty_is_that_of_a_cpu():
    config = TABLE[0].values[0]
    members = [small_model(config, seed) for seed in range(3)]
    batch = pairs(LENGTHS)
    sources = [torch.tensor(source).numpy() for source, _ in batch]
    targets = [torch.tensor([*target[1:], target[0]]).numpy() for _, target in batch]
    measures = [
        score_hypotheses([model.to(device) for model in members], sources, targets, device=device)
        for device in ("cpu", DEVICE)
    ]
    assert str(measures[0].keys()) == str(measures[1].keys())
    for name, values in measures[0].items():
        assert measures[1][name] == pytest.approx(values, rel=1e-4, abs=1e-6), name


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_in_parts_ends_in_the_same_bytes(tmp_path, precision):
    corpus = make_corpus(tmp_path)
    preset = PRESET.replace({"training.precision": precision})
    for stop in (5, 10, None):
        train(corpus, tmp_path / "parts", preset, stop_after_updates=stop, device=DEVICE)
    train(corpus, tmp_path / "whole", preset, device=DEVICE)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    model, _, _ = load_checkpoint(tmp_path / "whole")
    assert all(parameter.isfinite().all() for parameter in model.parameters())
