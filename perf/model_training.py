"""Speed of training steps: the Transformer against a peer, R-Dangle against the Transformer."""

import dataclasses
import multiprocessing
import resource
import statistics

import numpy as np
import torch
from model_work import (
    Series,
    Setting,
    Training,
    in_turn,
    matrix_rates,
    sentences,
    spread,
    training_batches,
    useful_flops,
)

from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.presets import load_preset
from cgbench.models.text.batches import Rows


def train(setting: Setting) -> list[tuple[str, str, str]]:
    """Training steps of ``transformer_iwslt`` and of MarianMT on the same batches, each beside the
    matrix rate.
    """
    config = load_preset("transformer_iwslt").model
    text = sentences(setting.on_gpu(20_000, 4000))
    max_tokens = setting.on_gpu(16_384, 4096)
    goals = "1.5 x" if setting.device != "cpu" else "1.15 x", "85%"
    return _steps(setting, config, text, max_tokens, setting.on_gpu(6, 4), "6+6 layers", goals)


def laptop(setting: Setting) -> list[tuple[str, str, str]]:
    """The same for ``laptop``, as users train it: short sentences, narrow layers, small batches."""
    preset = load_preset("laptop")
    text = sentences(4000, mean=12.0)
    name = "the preset `laptop` (2+2 layers, width 128)"
    rows = _steps(setting, preset.model, text, preset.training.max_tokens, 12, name, ("", "85%"))
    step, (what, share, goal) = rows
    return [step, (what.replace("the same", "steps of `laptop`"), share, goal)]


def _steps(
    setting: Setting,
    config: TransformerConfig,
    text: tuple[Rows, Rows],
    max_tokens: int,
    count: int,
    name: str,
    goals: tuple[str, str],
) -> list[tuple[str, str, str]]:
    """``count`` batches of a text by both programs."""
    from marian import MarianTraining

    source, target = text
    ours, theirs = Training(config, setting), MarianTraining(config, setting)
    plain = MarianTraining(config, dataclasses.replace(setting, precision=torch.float32))
    reduced = setting.device == "cpu" and setting.precision == torch.bfloat16
    series, ours_used, theirs_used, rates, tokens = Series({}), [], [], [], []
    for batch in training_batches(source, target, max_tokens)[:count]:
        pair = source.take(batch, setting.device), target.take(batch, setting.device)
        flops = 3 * useful_flops(config, source.lengths[batch], target.lengths[batch])
        for number in range(setting.repeat):
            rates.append(matrix_rates(setting, config))
            things = {
                "ours": lambda pair=pair: ours.update(*pair),
                "theirs": lambda pair=pair: theirs.update(*pair),
            }
            if reduced:
                things["float32"] = lambda pair=pair: plain.update(*pair)
            if (number + len(tokens)) % 2:
                things = dict(reversed(things.items()))
            once = in_turn(things, setting, 1, warm=int(number == 0))
            series.extend(once)
            ours_used.append(flops / once.median("ours") / max(rates[-1].values()))
            theirs_used.append(flops / once.median("theirs") / max(rates[-1].values()))
            tokens.append(int(target.lengths[batch].sum()))
    speed = {
        name: statistics.median(n / s for n, s in zip(tokens, series.seconds[name], strict=True))
        for name in ("ours", "theirs")
    }
    limits = ", ".join(
        f"{name} {statistics.median(rate[name] for rate in rates) / 1e9:,.0f}" for name in rates[0]
    )
    beside = (
        f"; {spread(series.ratios('float32', 'ours'))} x MarianMT in float32" if reduced else ""
    )
    what = f"training step, {name}, batches of {max_tokens:,} tokens with padding"
    return [
        (
            what,
            (
                f"{speed['ours']:,.0f} real target tokens/s ="
                f" {spread(series.ratios('theirs', 'ours'))} x MarianMT"
                f" ({speed['theirs']:,.0f}){beside}"
            ),
            goals[0],
        ),
        (
            f"the same against the faster matrix rate measured beside it, in GFLOP/s: {limits}",
            f"{statistics.median(ours_used):.0%}; MarianMT {statistics.median(theirs_used):.0%}",
            goals[1],
        ),
    ]


def r_dangle(setting: Setting) -> list[tuple[str, str, str]]:
    """A training step of R-Dangle, against the Transformer of 12 and 12 layers."""
    configs = {
        "Transformer": load_preset("transformer_iwslt_relative_12").model,
        "R-Dangle": load_preset("r_dangle_react_separate").model,
    }
    max_tokens = setting.on_gpu(2400, 600)  # 600: what the authors could take at once
    source, target = sentences(4000)
    batches = training_batches(source, target, max_tokens)
    # One that is like the others: the middle one by work.
    order = np.argsort(
        [float((source.lengths[batch] * target.lengths[batch]).sum()) for batch in batches]
    )
    batch = batches[int(order[len(order) // 2])]
    pair = source.take(batch, setting.device), target.take(batch, setting.device)
    things, memory = {}, {}
    for name, config in configs.items():
        memory[name] = peak_memory(setting, config, batch)
        trained = Training(config, setting)
        things[name] = lambda trained=trained: trained.update(*pair)
    series = in_turn(things, setting, setting.on_gpu(setting.repeat, min(3, setting.repeat)))
    goals = {"R-Dangle": "12 x" if setting.device != "cpu" else "17 x"}
    titles = {"R-Dangle": "R-Dangle with its own values, interval 1 (`r_dangle_react_separate`)"}
    size = (
        f"{len(batch)} sentences, {source.lengths[batch].sum()} and {target.lengths[batch].sum()}"
        " tokens"
    )
    rows = [
        (
            f"training step, Transformer 12+12, {size}",
            f"{series.median('Transformer'):.2f} s, {memory['Transformer'] / 1e9:.1f} GB",
            "",
        )
    ]
    for name, title in titles.items():
        rows.append(
            (
                title,
                (
                    f"{series.median(name):.2f} s = {spread(series.ratios(name, 'Transformer'))} x,"
                    f" {memory[name] / 1e9:.1f} GB"
                ),
                goals[name],
            )
        )
    return rows


def peak_memory(setting: Setting, config: TransformerConfig, batch: np.ndarray) -> float:
    """Bytes at the peak of two training steps, in a process of their own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_peak, (setting, config, batch, torch.get_num_threads()))


def _peak(setting: Setting, config: TransformerConfig, batch: np.ndarray, threads: int) -> float:
    torch.set_num_threads(threads)
    source, target = sentences(4000)
    trained = Training(config, setting)
    for _ in range(2):
        trained.update(source.take(batch, setting.device), target.take(batch, setting.device))
    if setting.device != "cpu":
        return float(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
