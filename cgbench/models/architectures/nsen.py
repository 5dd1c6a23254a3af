"""Neural Shuffle-Exchange network (NSEN; Freivalds et al., 2019).

Source and target are padded to one length, a power of two. Blocks of switches, each on two
neighbouring positions, and of shuffles between them carry every position to every other in
O(n log n) steps. All target positions are predicted at once, and no prediction is fed back.

``form`` selects one of the authors' two programs, which compute different functions:

* ``tensor2tensor``: their port (tensor2tensor/models/research/shuffle_network.py);
* ``original``: LUMII-Syslab/shuffle-exchange, ``shuffle_exchange_network``, with one pair of
  switch and shuffle less in each direction, and without residual connections in the first block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.config.nsen import NSENConfig
from cgbench.models.parts.dropout import dropout
from cgbench.models.parts.layers import initialize_uniformly
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Layout, Ragged, grid_index, to_device
from cgbench.models.special_ids import PAD

NOISE = 0.001  # standard deviation of the factor of every state in training


class Switch(nn.Module):
    """A gated map of each pair of neighbouring positions (section 3.1 of the paper).

    :param residual: whether the maps also read the state at this depth of the block before.
    """

    def __init__(self, width: int, residual: bool) -> None:
        super().__init__()
        pair = 2 * width
        self.resets = nn.ModuleList(Linear(pair, pair) for _ in range(2))
        self.candidates = nn.ModuleList(Linear(pair, width) for _ in range(2))
        self.gate = Linear(pair, pair)
        self.residual_scale = nn.Parameter(torch.full((width,), 0.5)) if residual else None
        for linear in (*self.resets, *self.candidates, self.gate):
            initialize_uniformly(linear)
        with torch.no_grad():
            for linear in (*self.resets, self.gate):
                linear.bias.fill_(0.5)

    def forward(self, x: Tensor, before: Tensor | None) -> Tensor:
        """Map [rows, length, width] to the same shape; ``before``: of the block before."""
        read = x
        if self.residual_scale is not None and before is not None:
            read = x + before * self.residual_scale
        pairs = read.unflatten(1, (-1, 2)).flatten(2)
        halves = [
            candidate(pairs * torch.sigmoid(reset(pairs)))
            for reset, candidate in zip(self.resets, self.candidates, strict=True)
        ]
        new = torch.tanh(torch.cat(halves, 2)).unflatten(2, (2, -1)).flatten(1, 2)
        gate = torch.sigmoid(self.gate(pairs)).unflatten(2, (2, -1)).flatten(1, 2)
        return gate * swap_halves(x) + (1 - gate) * new


def swap_halves(x: Tensor) -> Tensor:
    """Exchange the first half of the channels between the positions of each pair."""
    partners = x.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)
    half = x.shape[2] // 2
    return torch.cat((partners[..., :half], x[..., half:]), 2)


def rotations(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers 0 to length-1 with their bits rotated left, and right.

    :param length: a power of two, at least 2.
    """
    numbers, bits = np.arange(length), length.bit_length() - 1
    left = ((numbers << 1) & (length - 1)) | (numbers >> (bits - 1))
    right = (numbers >> 1) | ((numbers & 1) << (bits - 1))
    return left, right


def padded_length(longest: int) -> int:
    """Return the least power of two that is at least ``longest``, and at least 2."""
    return max(2, 1 << (longest - 1).bit_length())


@dataclass
class ReadSource:
    """A batch of sources; the network reads it when the padded length is known."""

    source: Ragged

    @property
    def layout(self) -> Layout:
        """The layout of the source."""
        return self.source.layout


@dataclass
class WrittenState:
    """The states of all target positions, [rows, length, width], and the next position."""

    states: Tensor
    position: int = 0

    def reorder(self, index: np.ndarray) -> None:
        """Select the hypotheses ``index``."""
        self.states = self.states.index_select(0, to_device(index, self.states.device))


class NSEN(nn.Module):
    """The model, with the interface of
    :class:`~cgbench.models.architectures.transformer.Transformer`.

    Training pads a batch to the power of two that holds its longest side; evaluation pads to
    ``max_length``, as the port does when it does not know the target.
    """

    def __init__(self, config: NSENConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.ported = config.form == "tensor2tensor"
        self.source_embedding = nn.Embedding(source_size, width, padding_idx=PAD)
        self.forwards = nn.ModuleList()
        self.backwards = nn.ModuleList()
        for block in range(config.encoder_layers):
            for switches in (self.forwards, self.backwards):
                switches.append(Switch(width, residual=self.ported or block > 0))
        self.last = Switch(width, residual=self.ported or config.encoder_layers > 1)
        self.output = Linear(width, target_size, bias=not self.ported)
        self.initialize()

    def initialize(self) -> None:
        """Initialise the embeddings and the output as the chosen program does."""
        with torch.no_grad():
            if self.ported:
                self.source_embedding.weight.normal_(std=self.config.width**-0.5)
                self.source_embedding.weight[PAD] = 0
                self.output.weight.normal_(std=self.config.width**-0.5)
            else:
                # The original reads tanh(30 E), with a vector of its own for padding.
                self.source_embedding.weight.uniform_(-0.3, 0.3)
                initialize_uniformly(self.output)

    @property
    def longest_source(self) -> int:
        """Maximum tokens of a source, with its end token."""
        return self.config.max_length

    @property
    def longest_target(self) -> int:
        """Maximum tokens of a target, with its end token."""
        return self.config.max_length

    def encode(self, source: Ragged) -> ReadSource:
        """Keep the source ids."""
        return ReadSource(source)

    def decode(self, encoded: ReadSource, target: Ragged) -> Tensor:
        """Return the states at the target positions, [N, width]; only the target's lengths are
        used.
        """
        sides = (encoded.layout, target.layout)
        states = self.states(encoded.source, self.length_of(*sides))
        rows, columns = target.layout.sequence, target.layout.positions
        return states[rows, columns]

    def length_of(self, source: Layout, target: Layout) -> int:
        """Return the padded length of a batch.

        :raises InputError: it is in evaluation and has a longer side than ``max_length``.
        """
        longest = int(max(source.lengths.max(initial=1), target.lengths.max(initial=1)))
        if self.training:
            return padded_length(longest)
        if longest > self.config.max_length:
            raise InputError(
                f"model.max_length={self.config.max_length}: a sentence has {longest} tokens"
            )
        return self.config.max_length

    def states(self, source: Ragged, length: int) -> Tensor:
        """Return the states of all positions of sources padded to ``length``, [S, length,
        width].
        """
        layout = source.layout
        table, real = grid_index(layout.starts, layout.lengths[:, None])
        ids = source.ids[to_device(table, source.ids.device)]
        ids = ids.masked_fill(~to_device(real, ids.device), PAD)
        ids = torch.nn.functional.pad(ids, (0, length - ids.shape[1]), value=PAD)
        scale = self.config.width**0.5 if self.ported else 1.0
        return self.exchange(torch.tanh(self.source_embedding(ids) * scale))

    def exchange(self, x: Tensor) -> Tensor:
        """Apply all blocks to [S, length, width]."""
        length = x.shape[1]
        left, right = (to_device(index, x.device) for index in rotations(length))
        bits = length.bit_length() - 1
        depth = bits if self.ported else bits - 1
        before: list[Tensor] = []  # the input of every switch in the block before
        for forward, backward in zip(self.forwards, self.backwards, strict=True):
            inputs: list[Tensor] = []
            for switch, shuffle in ((forward, left), (backward, right)):
                for _ in range(depth):
                    residual = before[len(inputs)] if before else None
                    inputs.append(x)
                    x = self.noised(switch(x, residual), bits).index_select(1, shuffle)
            before = inputs
        # The port's last switch reads the last block's output twice, the original's its input.
        residual = x if self.ported else next(iter(before), None)
        return self.noised(self.last(x, residual), bits)

    def noised(self, x: Tensor, bits: int) -> Tensor:
        """Apply dropout and multiplicative noise in training."""
        p = self.config.dropout
        if not self.training:
            return x
        if p:
            x = dropout(x, p / bits)
        # The port adds noise beside dropout, the original instead of it.
        if self.ported == (p > 0):
            x = x * (1 + NOISE * torch.randn_like(x))
        return x

    def project(self, states: Tensor) -> Tensor:
        """Return logits [..., target vocabulary] of states [..., width]."""
        return cast("Tensor", self.output(states))

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, target vocabulary]; only the lengths of ``target`` are used."""
        return self.project(self.decode(self.encode(source), target))

    def padded_logits(self, source: Ragged, target: Ragged) -> tuple[Tensor, Tensor]:
        """Return logits [P, target vocabulary] and the right ids [P] of all P positions of a batch,
        padding included, which both programs train on.
        """
        length = self.length_of(source.layout, target.layout)
        layout = target.layout
        ids = target.ids.new_full((len(layout), length), PAD)
        ids[layout.sequence, layout.positions] = target.ids
        return self.project(self.states(source, length)).flatten(0, 1), ids.flatten()

    def start(self, encoded: ReadSource) -> WrittenState:
        """Return the state before the first step, with one row for each sentence."""
        return WrittenState(self.states(encoded.source, self.config.max_length))

    def step(self, tokens: Tensor, state: WrittenState) -> Tensor:
        """Return the logits of the next id [rows, target vocabulary]; ``tokens`` is ignored."""
        state.position += 1
        return self.project(state.states[:, state.position - 1])
