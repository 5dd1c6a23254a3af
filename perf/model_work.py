"""What the measurements of models share: made-up sentences, batches, useful work, timing in
turn.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.config.architectures import build_model
from cgbench.models.config.common import TransformerConfig
from cgbench.models.parts.cpu.packed import multiply
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS
from cgbench.models.text.batches import Rows, make_batches
from cgbench.models.training.objective import Objective

# Subwords of ReaCT's German and English, special ones included.
SOURCE_SIZE, TARGET_SIZE = 8848, 6632


@dataclass(frozen=True)
class Setting:
    """Where and how long to measure.

    :param precision: of matrix products: float32, or bfloat16 under autocast.
    """

    device: str
    repeat: int
    precision: torch.dtype

    def on_gpu(self, one: int, other: int) -> int:
        """Choose the first on a GPU, the second on a CPU."""
        return other if self.device == "cpu" else one

    def autocast(self) -> torch.autocast:
        """Within, matrix products have the setting's precision."""
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == torch.bfloat16)

    def clock(self) -> float:
        """Seconds, once a GPU has done all that it was asked. With one thread on a CPU, seconds of
        processor time, which other work on the machine disturbs less.
        """
        if self.device != "cpu":
            torch.cuda.synchronize()
        elif torch.get_num_threads() == 1:
            return time.process_time()
        return time.perf_counter()


# What there is to do.


def sentences(count: int, seed: int = 0, mean: float = 24.0) -> tuple[Rows, Rows]:
    """Pairs with lengths as in IWSLT14, </s> included: sources log-normal, targets about as long;
    random words.
    """
    rng = np.random.default_rng(seed)
    sigma = 0.6
    source = rng.lognormal(math.log(mean) - sigma**2 / 2, sigma, count)
    sides = []
    for lengths, size in (
        (source, SOURCE_SIZE),
        (source * rng.lognormal(-0.02, 0.2, count), TARGET_SIZE),
    ):
        whole = np.clip(np.rint(lengths), 2, 175).astype(int)
        sides.append(
            Rows.pack([np.append(rng.integers(4, size, length - 1), EOS) for length in whole])
        )
    return sides[0], sides[1]


def training_batches(source: Rows, target: Rows, max_tokens: int) -> list[np.ndarray]:
    """Batches in a random order, as training meets them."""
    return make_batches(source.lengths, target.lengths, np.arange(len(source)), max_tokens, (0, 0))


def padded(rows: Ragged, fill: int) -> Tensor:
    """The same batch as a table [rows, longest]."""
    sequences = rows.ids.split(rows.layout.lengths.tolist())
    return nn.utils.rnn.pad_sequence(list(sequences), batch_first=True, padding_value=fill)


def useful_flops(config: TransformerConfig, source: np.ndarray, target: np.ndarray) -> float:
    """Floating-point operations of a Transformer's forward pass: products of matrices, over real
    tokens alone.

    Of causal attention the half that counts. A training step is three times as many.

    :param source: lengths; ``target`` likewise.
    """
    d, f = config.width, config.feedforward_width
    n, m = source.astype(float), target.astype(float)
    encoder = n * (4 * d * d + 2 * d * f) + 2 * d * n * n
    decoder = m * (6 * d * d + 2 * d * f) + n * 2 * d * d + 2 * d * (m * (m + 1) / 2 + n * m)
    products = (
        config.encoder_layers * encoder + config.decoder_layers * decoder + m * d * TARGET_SIZE
    )
    return 2 * float(products.sum())


def matrix_rates(
    setting: Setting, config: TransformerConfig, seconds: float = 0.5
) -> dict[str, float]:
    """Return FLOP/s in the shapes of a training step, both gradients included: the limits at this
    moment, by library.

    torch.mm is MKL or cuBLAS in float32; oneDNN is called as the package calls it.
    """
    rates = {"torch.mm": _matrix_rate(setting, config, seconds, torch.mm)}
    if setting.device == "cpu":
        rates["oneDNN"] = _matrix_rate(
            setting, config, seconds, lambda left, right: multiply(left, right.T)
        )
    return rates


def _matrix_rate(
    setting: Setting,
    config: TransformerConfig,
    seconds: float,
    multiply: Callable[[Tensor, Tensor], Tensor],
) -> float:
    d, f, rows = config.width, config.feedforward_width, setting.on_gpu(16_384, 4096)
    pairs = []
    for inner, outer in ((d, 3 * d), (d, d), (d, f), (f, d), (d, TARGET_SIZE)):
        x, weight, gradient = (
            torch.randn(size, device=setting.device, dtype=setting.precision)
            for size in ((rows, inner), (outer, inner), (rows, outer))
        )
        pairs += [(x, weight.T), (gradient, weight), (gradient.T, x)]
    for left, right in pairs:
        multiply(left, right)
    done, began = 0.0, setting.clock()
    while setting.clock() - began < seconds:
        for _ in range(setting.on_gpu(10, 1)):
            for left, right in pairs:
                multiply(left, right)
                done += 2.0 * left.numel() * right.shape[1]
    return done / (setting.clock() - began)


class Training:
    """A model, its optimiser, and one update as :mod:`cgbench.models.training.loop` makes it."""

    def __init__(self, config: TransformerConfig, setting: Setting, seed: int = 0) -> None:
        torch.manual_seed(seed)
        model = build_model(config, SOURCE_SIZE, TARGET_SIZE).to(setting.device).train()
        self.setting = setting
        self.objective = Objective(model, 0.1, setting.precision == torch.bfloat16)
        self.optimizer = adam(model)

    def update(self, source: Ragged, target: Ragged) -> None:
        """Take one step."""
        self.optimizer.zero_grad()
        loss, _ = self.objective(source, target)
        (loss / len(target.ids)).backward()
        finish(self.objective, self.optimizer)


def adam(model: nn.Module) -> torch.optim.AdamW:
    """The optimiser of every model here."""
    return torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), weight_decay=1e-4, fused=True
    )


def finish(model: nn.Module, optimizer: torch.optim.AdamW) -> Tensor:
    """Look at the norm of the gradient and update."""
    norm = nn.utils.get_total_norm([one.grad for one in model.parameters() if one.grad is not None])
    optimizer.step()
    return norm


# How long it takes.


@dataclass
class Series:
    """Seconds of several things that were run in turn, a list each."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        """The middle one of the times."""
        return statistics.median(self.seconds[name])

    def ratio(self, one: str, other: str) -> float:
        """The middle one of the ratios round by round: what a machine of changing speed can be
        asked.
        """
        return statistics.median(self.ratios(one, other))

    def ratios(self, one: str, other: str) -> list[float]:
        """The ratio of each round."""
        return [a / b for a, b in zip(self.seconds[one], self.seconds[other], strict=True)]

    def extend(self, other: Series) -> None:
        """Add rounds."""
        for name, seconds in other.seconds.items():
            self.seconds.setdefault(name, []).extend(seconds)


def in_turn(
    things: dict[str, Callable[[], object]], setting: Setting, repeat: int, warm: int = 1
) -> Series:
    """Run things in turn, A B B A A B ..., and time each; the first ``warm`` rounds do not
    count.
    """
    series = Series({name: [] for name in things})
    order = list(things.items())
    for number in range(warm + repeat):
        for name, thing in order:
            gc.collect()
            began = setting.clock()
            thing()
            taken = setting.clock() - began
            if number >= warm:
                series.seconds[name].append(taken)
        order.reverse()
    return series


def spread(values: list[float], form: str = "{:.2f}") -> str:
    """The middle one, and the range."""
    low, middle, high = (
        form.format(value) for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low} to {high})"
