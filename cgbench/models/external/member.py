"""The interface of ensemble members, native and external, and their last layer.

Uncertainty measures compare the members' distributions at the same token, and a distribution is as
long as the vocabulary. The *states*, the input of the last layer, are much shorter. So the members
compute their states one after another, with one member in memory at a time; then all last layers
run on a few hundred tokens at a time.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError, argument
from cgbench.models.checkpoints import read_tensors, write_tensors
from cgbench.models.devices import batch_tokens_on, one_thread
from cgbench.models.external.monte_carlo_dropout import masks
from cgbench.models.search import Translation
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.servers.prompt_templates import Pairs
from cgbench.models.text.batches import make_batches

Done = Callable[[int], object]
"""Called with the number of sentences of every finished batch."""


class Member(ABC):
    """A model that translates, and computes the probability of a translation.

    Target ids include the end token, but neither the tokens that begin every output (a start token,
    a forced language code) nor a prompt.
    """

    _device: torch.device

    @property
    def batch_tokens(self) -> int:
        """Default number of tokens per batch."""
        return batch_tokens_on(self._device)

    @abstractmethod
    def translate(
        self,
        lines: Sequence[str],
        settings: SearchSettings = DEFAULT_SEARCH,
        *,
        nbest: int = 1,
        batch_tokens: int | None = None,
        done: Done | None = None,
    ) -> list[list[Translation]]:
        """Up to ``nbest`` hypotheses of each line, best first. A hypothesis that reaches its length
        limit ends there.

        :raises InputError: a sentence is longer than the model's positions, or the model cannot
            search with these settings.
        """

    def give_shots(self, shots: Mapping[str, Pairs]) -> None:
        """Set the examples of each sentence, for ``{shots}`` in the prompt.

        :raises InputError: this kind of model has no prompts.
        """
        raise InputError(
            f"{argument('shots')}: only servers and decoder-only models (hf:) have prompts with"
            " examples"
        )

    @abstractmethod
    def encode_targets(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Target ids of translations, with the end token."""

    @abstractmethod
    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """Input of the last layer at each target token: float32 ``[T, width]`` on the CPU, in the
        order of the lines.

        T is the number of tokens of all targets. Batches depend only on lines and targets.

        :raises InputError: a sentence or a target is longer than the model's positions.
        """

    def _in_batches(
        self,
        states_of: Callable[[np.ndarray], Iterable[Tensor]],
        lines: Sequence[str],
        lengths: tuple[np.ndarray, np.ndarray],
        width: int,
        model: nn.Module,
        seed: int | None,
    ) -> Tensor:
        """The states ``[T, width]`` of all sentences in their order, from those of each batch of
        rows.

        :param lengths: on both sides.
        :param seed: of the masks of Monte-Carlo dropout, with which every sentence is its own
            batch; None: no dropout.
        """
        rows = np.arange(len(lines))
        batches = (
            make_batches(*lengths, rows, self.batch_tokens)
            if seed is None
            else np.split(rows, rows[1:])
        )
        by_row: dict[int, Tensor] = {}
        with one_thread(self._device):
            for batch in batches if lines else ():
                with nullcontext() if seed is None else masks(model, seed, lines[batch[0]]):
                    by_row.update(zip(batch.tolist(), states_of(batch), strict=True))
        return (
            torch.cat([by_row[row] for row in sorted(by_row)]) if by_row else torch.zeros(0, width)
        )

    @abstractmethod
    def head(self) -> Head:
        """The last layer.

        :raises InputError: the logits are not a function of the last layer alone.
        """


@dataclass(frozen=True)
class Head:
    """From states to logits: a linear map, and the scaling and capping of some models.

    :param weight: float32 ``[vocabulary, width]``; ``bias``: float32 ``[vocabulary]``.
    :param scale: factor of the logits; ``cap``: c in c tanh(logits / c), which bounds them.
    """

    weight: Tensor
    bias: Tensor | None = None
    scale: float = 1.0
    cap: float | None = None

    def logits(self, states: Tensor, out: Tensor | None = None) -> Tensor:
        """Logits ``[T, vocabulary]`` of states ``[T, width]``; ``out`` is an optional buffer to
        save allocation.
        """
        if out is None:
            logits = torch.nn.functional.linear(states, self.weight, self.bias)
        elif self.bias is None:
            logits = torch.mm(states, self.weight.T, out=out)
        else:
            logits = torch.addmm(self.bias, states, self.weight.T, out=out)
        if self.scale != 1:
            logits *= self.scale
        return logits if self.cap is None else logits.div_(self.cap).tanh_().mul_(self.cap)

    def to(self, device: str) -> Head:
        """A copy on a device."""
        return Head(
            self.weight.to(device),
            None if self.bias is None else self.bias.to(device),
            self.scale,
            self.cap,
        )

    def save(self, path: Path) -> None:
        """Write a safetensors file atomically."""
        tensors = {"weight": self.weight} | ({} if self.bias is None else {"bias": self.bias})
        write_tensors(path, tensors, json.dumps({"cap": self.cap, "scale": self.scale}))

    @classmethod
    def load(cls, path: Path) -> Head:
        """Read a file from :meth:`save`."""
        tensors, text = read_tensors(path)
        return cls(tensors["weight"], tensors.get("bias"), **json.loads(text or "{}"))
