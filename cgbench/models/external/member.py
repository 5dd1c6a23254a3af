"""What a member of an ensemble is, whoever made it; and its last layer, which can stand for itself.

The measures of an ensemble need every member's distribution at the same token, and a distribution is as long as the
vocabulary. What a member makes before its last layer, its *states*, is short; so members are asked for states one after
another, each is in memory once and alone, and the last layers meet over a few hundred tokens at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cgbench.errors import InputError
from cgbench.models.checkpoints import read_tensors, write_tensors

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from cgbench.models.ensemble import Translation

Done = Callable[[int], object]
"""Called with the number of sentences of every finished batch."""


class Member(Protocol):
    """A model that translates, and says how likely a translation is.

    Targets are ids of what is measured alone: neither what begins every output (a start token, a language code that is
    forced) nor a prompt, but the end token.
    """

    def translate(
        self,
        lines: Sequence[str],
        *,
        beam: int = 5,
        nbest: int = 1,
        max_length_ratio: float = 1.2,
        max_length_extra: int = 10,
        length_penalty: float = 1.0,
        batch_tokens: int | None = None,
        done: Done | None = None,
    ) -> list[list[Translation]]:
        """Up to ``nbest`` hypotheses of each line, best first."""

    def encode_targets(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Target ids of given translations, the end token included."""

    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """What goes into the last layer where each target token is predicted: float32 ``[T, width]`` on the CPU, in the
        order of the lines, T being the tokens of all targets. Batches are a function of lines and targets alone."""

    def head(self) -> Head:
        """The last layer.

        :raises InputError: the model does something else between its last layer and its logits.
        """


@dataclass(frozen=True)
class Head:
    """From states to logits: a linear map, and what some models do behind it.

    :param weight: float32 ``[vocabulary, width]``; ``bias``: float32 ``[vocabulary]``.
    :param scale: what logits are multiplied by; ``cap``: c of c tanh(logits / c), which bounds them.
    """

    weight: Tensor
    bias: Tensor | None = None
    scale: float = 1.0
    cap: float | None = None

    def logits(self, states: Tensor, out: Tensor | None = None) -> Tensor:
        """Logits ``[T, vocabulary]`` of states ``[T, width]``.

        :param out: a table that takes them: it saves the time in which an operating system hands out memory.
        """
        import torch

        if out is None:
            made = torch.nn.functional.linear(states, self.weight, self.bias)
        elif self.bias is None:
            made = torch.mm(states, self.weight.T, out=out)
        else:
            made = torch.addmm(self.bias, states, self.weight.T, out=out)
        if self.scale != 1:
            made *= self.scale
        return made if self.cap is None else made.div_(self.cap).tanh_().mul_(self.cap)

    def to(self, device: str) -> Head:
        """The same on a device."""
        return Head(self.weight.to(device), None if self.bias is None else self.bias.to(device), self.scale, self.cap)

    def save(self, path: Path) -> None:
        """Write it as safetensors, whole or not at all."""
        tensors = {"weight": self.weight} | ({} if self.bias is None else {"bias": self.bias})
        write_tensors(path, tensors, json.dumps({"cap": self.cap, "scale": self.scale}))

    @classmethod
    def load(cls, path: Path) -> Head:
        """Read what :meth:`save` wrote.

        :raises InputError: the file is missing or damaged.
        """
        tensors, text = read_tensors(path)
        return cls(tensors["weight"], tensors.get("bias"), **json.loads(text or "{}"))


def check_lengths(address: str, lengths: Sequence[int], most: int | None, what: str = "line") -> None:
    """Check that no sentence is longer than a model has positions for.

    :raises InputError: one is; the first is named.
    """
    over = [number for number, length in enumerate(lengths, 1) if most is not None and length > most]
    if over:
        more = f" (and {len(over) - 1:,} more)" if len(over) > 1 else ""
        raise InputError(
            f"{address}: {what} {over[0]}{more} has {lengths[over[0] - 1]:,} tokens, and the model has positions for "
            f"{most:,}; shorten or leave out such sentences"
        )


def in_order(batches: Iterable[np.ndarray], states_of: Callable[[np.ndarray], Iterable[Tensor]], width: int) -> Tensor:
    """The states ``[T, width]`` of all sentences by rows, from those of each batch of rows."""
    import torch

    found: dict[int, Tensor] = {}
    for batch in batches:
        found.update(zip(batch.tolist(), states_of(batch), strict=True))
    return torch.cat([found[row] for row in sorted(found)]) if found else torch.zeros(0, width)
