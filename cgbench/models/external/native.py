"""A native model (a cgbench checkpoint) as a member."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.errors import InputError, argument
from cgbench.models.checkpoints import read_config
from cgbench.models.ensemble import Ensemble
from cgbench.models.external.member import Done, Head, Member
from cgbench.models.external.monte_carlo_dropout import check_dropout
from cgbench.models.lengths import check_positions, longer_than_trained
from cgbench.models.search import Translation
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.text.batches import Rows
from cgbench.models.text.subwords import Subwords


def check_native_lengths(
    label: str, folder: Path, lines: Sequence[str], hypotheses: Sequence[str] | None
) -> None:
    """Check the length of sentences before a checkpoint is loaded."""
    config, subwords = read_config(folder), Subwords.load(folder)
    count, problem = longer_than_trained(subwords, lines, config.training.max_length)
    if count:
        raise InputError(
            f"{label}: {problem}; shorten or remove such lines, or train with a larger"
            " training.max_length"
        )
    if (
        hypotheses is not None
        and (most := getattr(config.model, "longest_target", None)) is not None
    ):
        lengths = [len(ids) for ids in subwords.encode_target(hypotheses)]
        check_positions(lengths, most, "the hypothesis of line", label)


class NativeMember(Member):
    """A loaded checkpoint.

    :param seed: of the masks of Monte-Carlo dropout; None: no dropout.
    """

    def __init__(self, folder: Path, device: str, seed: int | None, label: str) -> None:
        self._ensemble = Ensemble.open(folder, device)
        self._model: Any = self._ensemble.members[0]
        self._device, self._seed, self._shown = torch.device(device), seed, label
        if seed is not None:
            check_dropout(self._model, read_config(folder).model, label)

    def translate(
        self,
        lines: Sequence[str],
        settings: SearchSettings = DEFAULT_SEARCH,
        *,
        nbest: int = 1,
        batch_tokens: int | None = None,
        done: Done | None = None,
    ) -> list[list[Translation]]:
        """Beam search, as in ``cgbench translate --model``."""
        translations = self._ensemble.search(lines, settings, batch_tokens=batch_tokens)
        if done:
            done(len(lines))
        return [hypotheses[:nbest] for hypotheses in translations]

    def encode_targets(self, texts: Sequence[str]) -> list[np.ndarray]:
        """See :meth:`.member.Member.encode_targets`."""
        return list(self._ensemble.subwords.encode_target(texts))

    @torch.inference_mode()
    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """See :meth:`.member.Member.states`."""
        sources = self._ensemble.subwords.encode_source(lines)
        for side, sentences in (("source", sources), ("target", targets)):
            most = getattr(self._model, f"longest_{side}", None)
            check_positions(list(map(len, sentences)), most, f"the {side} of sentence", self._shown)
        source_rows, target_rows = Rows.pack(sources), Rows.pack(targets)

        def states_of(batch: np.ndarray) -> list[Tensor]:
            source, target = (
                source_rows.take(batch, self._device),
                target_rows.take(batch, self._device),
            )
            states = self._decode(source, target)
            return [
                sentence_states.float().cpu()
                for sentence_states in states.split(target.layout.lengths.tolist())
            ]

        lengths, width = (source_rows.lengths, target_rows.lengths), self._model.config.width
        return self._in_batches(states_of, lines, lengths, width, self._model, self._seed)

    def _decode(self, source: Any, target: Any) -> Tensor:
        states = self._model.decode(self._model.encode(source), target.shifted())
        if not isinstance(states, Tensor):
            raise InputError(
                f"{self._shown}: the distribution of a model with a lexicon depends on more than"
                f" its states; measure such models as one ensemble ({argument('ensemble')},"
                f" translate {argument('uncertainty')})"
            )
        return states

    @torch.inference_mode()
    def head(self) -> Head:
        """See :meth:`.member.Member.head`; every architecture without a lexicon has a linear last
        layer.
        """
        if (output := getattr(self._model, "output", None)) is not None:
            weight, bias = getattr(output, "weight", None), getattr(output, "bias", None)
        else:
            weight = getattr(getattr(self._model, "target_embedding", None), "weight", None)
            bias = getattr(self._model, "output_bias", None)
        if weight is not None:
            probe = torch.linspace(-1, 1, 3 * weight.shape[1], device=weight.device).view(3, -1)
            head = Head(weight.detach().float(), None if bias is None else bias.detach().float())
            if torch.allclose(head.logits(probe), self._model.project(probe), rtol=1e-4, atol=1e-4):
                return head
        raise InputError(
            f"{self._shown}: its last layer is not linear; measure such models as one ensemble"
            f" ({argument('ensemble')})"
        )
