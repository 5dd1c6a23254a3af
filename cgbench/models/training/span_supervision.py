"""Span supervision (Yin et al., 2021): attention is also trained to point at given source words.

The words of a target span attend evenly to the tokens of their source span. With ``outside``, the
other target words attend evenly to the source tokens of no span, special tokens included. A target
token for which nothing is left, and the end token, are free. As in the authors' code, the loss of a
sequence is the squared difference of attention weights, summed over the source, averaged over the
target tokens that are not free; sequences are averaged, with the free ones as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.config.methods import SpanSupervisionConfig
from cgbench.models.lexicons.spans import Span, program_spans, read_spans, word_spans
from cgbench.models.parts.ragged import Ragged, to_device
from cgbench.models.training.loss import label_smoothed_nll_loss
from cgbench.models.training.objective import Objective


@dataclass(frozen=True)
class Guide:
    """Where the target tokens of a batch should attend.

    :param wanted: attention weights over the columns of the model, [N, columns]; a row of zeros is
        free.
    """

    wanted: Tensor


class SpanGuides:
    """The spans of a training text in tokens.

    :param spans: of each pair, in words; ``outside``: whether the other words are guided as well.
    :param marks: numbers of special tokens that the model reads before and after the source.
    """

    def __init__(
        self,
        lines: tuple[Sequence[str], Sequence[str]],
        subwords: Any,
        spans: Sequence[Sequence[Span]],
        outside: bool,
        marks: tuple[int, int] = (0, 1),
    ) -> None:
        self.spans, self.outside, self.marks = spans, outside, marks
        self._sources = subwords.source_places(lines[0])
        self._targets = subwords.target_places(lines[1])

    def take(self, rows: np.ndarray, target_lengths: np.ndarray, device: str) -> Guide:
        """The guide of a batch of pairs."""
        tables = [
            self.table(row, length)
            for row, length in zip(rows.tolist(), target_lengths.tolist(), strict=True)
        ]
        columns = max((table.shape[1] for table in tables), default=0)
        padded = [np.pad(table, ((0, 0), (0, columns - table.shape[1]))) for table in tables]
        return Guide(to_device(np.concatenate(padded), device))

    def table(self, row: int, length: int) -> np.ndarray:
        """The weights of one pair, [target tokens, columns]."""
        source, target = self._sources[row], self._targets[row]
        before, after = self.marks
        columns = before + sum(map(len, source.words)) + after
        wanted = np.zeros((length, columns), np.float32)
        is_free, rest = np.ones(length, bool), np.ones(columns, bool)
        for span in self.spans[row]:
            read = [before + id_ for word in source.words[span[2] : span[3]] for id_ in word]
            written = [id_ for word in target.words[span[0] : span[1]] for id_ in word]
            wanted[np.ix_(written, read)] = 1
            is_free[written], rest[read] = False, False
        if self.outside:
            is_free[target.guided :] = False
            wanted[is_free] = rest
        wanted[-1] = 0
        return wanted / np.maximum(wanted.sum(1, keepdims=True), 1)


class SpanSupervision(Objective):
    """Cross entropy, and the difference of attention weights from those of the spans."""

    def __init__(
        self,
        model: nn.Module,
        smoothing: float,
        in_bfloat16: bool,
        method: SpanSupervisionConfig,
        target_size: int,
    ) -> None:
        super().__init__(model, smoothing, in_bfloat16)
        self.method = method

    def forward(  # type: ignore[override]
        self, source: Ragged, target: Ragged, guide: Guide
    ) -> tuple[Tensor, Tensor]:
        """See :class:`Objective`; ``guide``: of the batch."""
        predictable = self.predictable(source, target)
        with self.autocast(source.ids.device):
            states, weights = self.model.decode_attending(
                self.model.encode(source), predictable.shifted()
            )
            logits = self.model.project(states)
        loss, nll_loss = label_smoothed_nll_loss(logits, predictable.ids, self.smoothing)
        sequences = len(target.layout)
        # The loss of an update is divided by its tokens or by its sentences.
        scale = sequences if self.by_sentences else target.layout.tokens
        return loss + self.method.weight * scale * self.difference(weights, guide, target), nll_loss

    def difference(self, weights: Tensor, guide: Guide, target: Ragged) -> Tensor:
        """The mean difference of the batch's sequences.

        :param weights: attention weights, [N, columns].
        """
        weights, wanted = weights.float(), guide.wanted
        guided = wanted.any(1)
        square = (weights - wanted).square().sum(1) * guided
        # C2F has several sequences per pair, on two levels, which are averaged separately.
        divided = getattr(self.model, "sequences_of", None)
        parts = divided(target) if divided else [(target.layout.sequence, len(target.layout))]
        total = square.new_zeros(())
        for index, count in parts:
            # Tokens of the other level have a sequence of their own, which is dropped.
            sums, tokens = (
                square.new_zeros(count + 1).index_add(0, index, value)[:count]
                for value in (square, guided.to(square.dtype))
            )
            total = total + (sums / tokens.clamp_min(1)).sum() / max(count, 1)
        return total


def guides_of(
    model: Any,
    method: SpanSupervisionConfig,
    files: tuple[Path, Path],
    lines: tuple[Sequence[str], Sequence[str]],
    subwords: Any,
) -> SpanGuides:
    """The guides of a training text.

    :param model: the configuration of the model that is trained.

    :raises InputError: a file of spans does not fit the text.
    """
    pairs, marks = list(zip(*lines, strict=True)), _marks(model)
    if method.spans == "words":
        return SpanGuides(lines, subwords, word_spans(pairs), False, marks)
    if method.spans == "programs":
        return SpanGuides(lines, subwords, program_spans(pairs, subwords.slot >= 0), True, marks)
    path = Path(method.spans)
    spans = read_spans(path)
    if len(spans) != len(pairs):
        raise InputError(
            f"{path} has {len(spans)} lines and {files[0]} has {len(pairs)}: line i must have the"
            " spans of pair i"
        )
    for row, (pair, found) in enumerate(zip(pairs, spans, strict=True), 1):
        lengths = len(pair[1].split()), len(pair[0].split())
        for span in found:
            if span.target_end > lengths[0] or span.source_end > lengths[1]:
                raise InputError(f"{path}, line {row}: {span} ends after the words of its pair")
    return SpanGuides(lines, subwords, spans, True, marks)


def _marks(model: Any) -> tuple[int, int]:
    """Numbers of special tokens that a model reads before and after a source."""
    if getattr(model, "pretrained_encoder", False):
        return (1, 1) if model.encoder_marks else (0, 0)
    return int(model.begin_source), 1
