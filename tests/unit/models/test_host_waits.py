"""What makes the host wait for a device, without one: a training update and a step of search on the
meta device, whose tensors have no values, so that reading one is an error; and a count of what is
read in search.

The meta device also shows wrong shapes, types and devices, for all that is not a fast form of a CPU
(these are not used there, nor on a GPU).
"""

import contextlib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from architecture_table import SOURCE_SIZE, TABLE, TARGET_SIZE, pairs, small_model
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from cgbench.models.config.architectures import ARCHITECTURES, build_model
from cgbench.models.config.common import MethodConfig, TrainingConfig
from cgbench.models.config.methods import METHODS
from cgbench.models.parts.cpu import plain_definitions
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import _next_words, beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.training.distributed import Processes
from cgbench.models.training.loop import TrainingRun
from cgbench.models.training.objective import Objective, build_objectives
from cgbench.models.training.span_supervision import Guide

READS = {
    *("item", "tolist", "cpu", "numpy", "nonzero", "unique", "masked_select", "__array__"),
    *("__bool__", "__int__", "__float__", "__index__", "is_nonzero", "equal", "argwhere"),
}
# What reads values of the device by its nature, with the reason.
EXCEPTIONS = {
    "coarse_to_fine": "the levels of a target follow from its ids, and slots begin where they are",
    "creg": "only words are compared, so their number is read, once per update (nonzero)",
    "lstm_lexicon-learned": "softmax only of the rows of a lexicon that the batch has (unique)",
}
LENGTHS = [(9, 7), (2, 12), (8, 3)]
NAMED = [pytest.param(*row.values, row.id, id=row.id) for row in TABLE]


def batch_on(device):
    sides = zip(*pairs(LENGTHS), strict=True)
    return tuple(Ragged.pack(side, device) for side in sides)


def meta_model(config):
    with torch.device("meta"):
        return build_model(config, SOURCE_SIZE, TARGET_SIZE)


def waits(name):
    """An error if anything is read; the named ones must read something."""
    if name not in EXCEPTIONS:
        return contextlib.nullcontext()
    return pytest.raises((RuntimeError, NotImplementedError), match="[Mm]eta tensors|nonzero")


def update(model, method, monkeypatch, guides=()):
    """One update of a training run, whose tensors are all on the meta device."""
    # Not on this device: a context of bfloat16, and the one kernel of a fused optimiser.
    monkeypatch.setattr(Objective, "autocast", lambda self, device: contextlib.nullcontext())
    objective = build_objectives(model, TrainingConfig(), method, TARGET_SIZE, False)[0]
    batch = batch_on("meta")
    run = SimpleNamespace(
        progress=SimpleNamespace(update=0, count=0),
        objective=objective.to("meta").train(),
        optimizer=SimpleNamespace(param_groups=[], zero_grad=lambda: None, step=lambda: None),
        data=SimpleNamespace(
            target=SimpleNamespace(lengths=batch[1].layout.lengths),
            take=lambda rows, device: (*batch, *guides),
        ),
        config=TrainingConfig(clip_norm=1.0),
        processes=Processes(0, 1, "meta"),
        parallel=objective,
        pending=[],
        _rate=lambda: 0.1,
    )
    with OneDevice() as devices:
        TrainingRun._update(run, [np.arange(len(LENGTHS))])
    assert not devices.mixed
    assert run.pending[0].device.type == "meta"
    assert all(
        parameter.grad is None or parameter.grad.shape == parameter.shape
        for parameter in objective.parameters()
    )
    assert any(parameter.grad is not None for parameter in objective.parameters())


@pytest.mark.parametrize(("config", "name"), NAMED)
def test_an_update_reads_nothing_from_the_device(config, name, monkeypatch):
    with waits(name):
        update(meta_model(config), MethodConfig(), monkeypatch)


@pytest.mark.parametrize(("config", "name"), NAMED)
def test_an_update_in_bfloat16_is_near_that_in_float32(config, name):
    """The types of every operation under autocast, on a CPU."""
    losses = []
    for in_bfloat16 in (False, True):
        objective = Objective(small_model(config), in_bfloat16=in_bfloat16)
        source, target = batch_on("cpu")
        loss, _ = objective(source, target)
        loss.backward()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_neither_do_training_methods(method, monkeypatch):
    config = TABLE[0].values[0]
    tokens = sum(target for _, target in LENGTHS)
    guides = (Guide(torch.zeros(tokens, 9, device="meta")),) if "span" in method else ()
    settings = METHODS[method].config(name=method)
    with waits(method):
        update(meta_model(config), settings, monkeypatch, guides)


@pytest.mark.parametrize(("config", "name"), NAMED)
def test_a_step_of_search_reads_nothing_before_its_candidates(config, name):
    model = meta_model(config).eval()
    source, _ = batch_on("meta")
    count = len(source.layout)
    with waits(name), torch.no_grad(), OneDevice() as devices:
        state = model.start(model.encode(source))
        for rows in ([0, 0, 1, 2, 2], [1, 3], [0]):  # hypotheses that continue
            tokens = torch.zeros(count, dtype=torch.int64, device="meta")
            p, words = _next_words([model], [state], tokens, 0, np.full(count, 3), 4)
            assert p.shape == words.shape == (count, 4)
            state.reorder(np.array(rows))
            count = len(rows)
    assert not devices.mixed


class OneDevice(TorchDispatchMode):
    """Operations, but for copies, whose tensors (with dimensions) are on several devices."""

    def __init__(self):
        super().__init__()
        self.mixed = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        tensors = [
            value
            for value in tree_leaves((args, kwargs or {}))
            if isinstance(value, torch.Tensor) and value.dim()
        ]
        if len({tensor.device.type for tensor in tensors}) > 1 and "copy" not in str(function):
            self.mixed[str(function)] += 1
        return function(*args, **(kwargs or {}))


class Reads(TorchFunctionMode):
    """Counts functions that read values of tensors."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        masks = [part for part in args[1:] if isinstance(part, torch.Tensor)]
        if name in READS:
            self.counts[name] += 1
        elif name == "__getitem__" and any(mask.dtype == torch.bool for mask in masks):
            self.counts["mask"] += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(("config", "name"), NAMED)
def test_search_reads_once_per_step_whatever_the_members(config, name):
    members = [small_model(config, seed) for seed in range(3)]
    source, _ = batch_on("cpu")
    steps = []
    name_of_step = "step_states" if hasattr(members[0], "step_states") else "step"
    step = getattr(members[0], name_of_step)
    setattr(members[0], name_of_step, lambda *arguments: (steps.append(0), step(*arguments))[1])
    with plain_definitions(), Reads() as reads:  # without forms for CPUs
        beam_search(members, source, SearchSettings(beam=4))
    assert len(steps) > 3
    more = reads.counts - Counter({"cpu": len(steps), "numpy": len(steps)})
    assert bool(more) == (name in EXCEPTIONS), more


def test_every_architecture_is_in_the_table():
    assert {row.values[0].architecture for row in TABLE} == set(ARCHITECTURES)


def test_what_is_read_is_seen():
    numbers = torch.arange(3)
    with Reads() as reads:
        bool(numbers[0] == 0), numbers.tolist(), numbers[numbers > 1], numbers.nonzero()
    assert reads.counts == {"__bool__": 1, "tolist": 1, "mask": 1, "nonzero": 1}
    with pytest.raises(RuntimeError, match="meta tensors"):
        numbers.to("meta").sum().item()
    with OneDevice() as devices:
        torch.zeros(3, device="meta")[numbers]
    assert sum(devices.mixed.values()) == 1
