"""Ten small models trained on one GPU: one after another, or several at once.

Used by ``perf/models.py ensemble --device cuda``. A small model leaves most of a GPU idle, because
the host cannot start its many small kernels fast enough. What is measured: one process a member;
and one process with a thread and a CUDA stream a member, which share the interpreter.
"""

import multiprocessing
import threading
import time
from typing import Any

import torch
from model_work import Setting, Training, sentences, training_batches

from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.presets import load_preset

MEMBERS = 10


def ensemble(setting: Setting) -> list[tuple[str, str, str]]:
    """Updates a second of ten small models together, three ways."""
    config = load_preset("small").model
    updates = setting.on_gpu(60, 2)
    rates = {
        "one after another": updates * MEMBERS / _alone(setting, config, updates * MEMBERS),
        "ten threads with a stream each": updates * MEMBERS / _threads(setting, config, updates),
    }
    for processes in (2, 5, 10):
        rates[f"{processes} processes"] = (
            updates * MEMBERS / _processes(setting, config, updates, processes)
        )
    first = rates["one after another"]
    return [
        (
            f"ten members of `small` on one device, {how}",
            f"{rate:,.1f} updates/s = {rate / first:.2f} x",
            "1.5 x" if how.endswith("processes") else "",
        )
        for how, rate in rates.items()
    ]


class _Member:
    """A model and the batches that it goes through."""

    def __init__(self, setting: Setting, config: TransformerConfig, seed: int) -> None:
        self.trained = Training(config, setting, seed)
        source, target = sentences(4000, seed)
        # Training builds its batches as it goes; so does this.
        self.sides, self.batches = (source, target), training_batches(source, target, 4096)
        self.setting = setting

    def run(self, updates: int) -> None:
        """Make so many updates."""
        for number in range(updates):
            batch = self.batches[number % len(self.batches)]
            self.trained.update(*(side.take(batch, self.setting.device) for side in self.sides))


def _alone(setting: Setting, config: TransformerConfig, updates: int) -> float:
    member = _Member(setting, config, 0)
    member.run(3)
    began = setting.clock()
    member.run(updates)
    return setting.clock() - began


def _threads(setting: Setting, config: TransformerConfig, updates: int) -> float:
    members = [_Member(setting, config, seed) for seed in range(MEMBERS)]

    def run(member: _Member, count: int) -> None:
        if setting.device == "cpu":
            member.run(count)
        else:
            with torch.cuda.stream(torch.cuda.Stream()):
                member.run(count)

    for member in members:
        run(member, 3)
    workers = [threading.Thread(target=run, args=(member, updates)) for member in members]
    began = setting.clock()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return setting.clock() - began


def _processes(setting: Setting, config: TransformerConfig, updates: int, processes: int) -> float:
    """All members in so many processes: seconds from the moment at which all are ready to the last
    one's end.
    """
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes + 1, timeout=300)
    share = MEMBERS // processes
    workers = [
        context.Process(target=_work, args=(setting, config, updates * share, number, together))
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    together.wait()
    began = time.perf_counter()
    together.wait()
    taken = time.perf_counter() - began
    for worker in workers:
        worker.join()
    return taken


def _work(
    setting: Setting, config: TransformerConfig, updates: int, seed: int, together: Any
) -> None:
    torch.set_num_threads(1)
    member = _Member(setting, config, seed)
    member.run(3)
    setting.clock()
    together.wait()
    member.run(updates)
    setting.clock()
    together.wait()
