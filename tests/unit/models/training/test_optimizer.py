"""Adafactor is that of T5, and a run with it resumes in the same bytes."""

import pytest
import torch
from training_runs import PRESET, contents, log_of, train

from cgbench.models.training.loop import build_optimizer
from cgbench.models.training.objective import Objective

ADAFACTOR = PRESET.replace({"training.optimizer": "adafactor", "training.schedule": "constant"})


def test_adafactor_makes_the_updates_of_transformers():
    transformers = pytest.importorskip("transformers.optimization")
    torch.manual_seed(0)
    matrix, bias = torch.randn(6, 4), torch.zeros(5)
    models = [torch.nn.ParameterDict({"matrix": matrix, "bias": bias}) for _ in range(2)]
    models = [torch.nn.ParameterDict({k: v.clone() for k, v in m.items()}) for m in models]
    preset = ADAFACTOR.replace({"training.weight_decay": 0.0})
    ours = build_optimizer(Objective(models[0]), preset)
    theirs = transformers.Adafactor(
        models[1].parameters(), lr=1e-3, scale_parameter=True, relative_step=False
    )
    for group in ours.param_groups:
        group["lr"] = 1e-3
    for _ in range(5):
        for name, shape in (("matrix", (6, 4)), ("bias", (5,))):
            gradient = torch.randn(shape)
            for model in models:
                model[name].grad = gradient.clone()
        ours.step()
        theirs.step()
    assert not torch.equal(models[0]["matrix"], matrix)
    for name in ("matrix", "bias"):
        torch.testing.assert_close(models[0][name], models[1][name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("preset", [PRESET, ADAFACTOR])
def test_an_update_counts_as_a_change(preset):
    """Copies of a parameter in another layout are made again after it has changed."""
    parameter = torch.nn.Parameter(torch.ones(3, 2))
    optimizer = build_optimizer(Objective(torch.nn.ParameterDict({"matrix": parameter})), preset)
    for version in (1, 2):
        parameter.grad = torch.ones(3, 2)
        optimizer.step()
        assert parameter._version >= version


def test_a_run_in_parts_ends_in_the_same_bytes(corpus, tmp_path):
    train(corpus, tmp_path / "whole", ADAFACTOR)
    train(corpus, tmp_path / "parts", ADAFACTOR, stop_after_updates=5)
    train(corpus, tmp_path / "parts", ADAFACTOR)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    losses = [row["loss"] for row in log_of(tmp_path / "whole") if "loss" in row]
    assert losses[-1] < losses[0]
