"""Encoded sentence pairs, and their batches for training and validation."""

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.machine import check_memory
from cgbench.models.config.common import TrainingConfig
from cgbench.models.config.methods import SpanSupervisionConfig
from cgbench.models.config.presets import Preset
from cgbench.models.text.batches import Rows, make_batches
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.span_supervision import guides_of
from cgbench.text.streams import read_lines
from cgbench.text.word_counts import estimate_words

BYTES_A_WORD = (
    40  # lines and subwords of both sides (36 to 38 measured, with 1.5 subwords per word)
)


class Data:
    """Encoded sentence pairs, without those that are too long or have an empty side.

    ``rows``: the pairs in use; ``skipped``: number of the others; ``left_out``: why, with the
    numbers, empty if there are none; ``lines``: target text, with
    ``keep_lines``.

    :param files: source and target, plain text.
    :param preset: of the model, whose training method may need more of the text.
    """

    def __init__(
        self,
        files: tuple[Path, Path],
        subwords: Subwords,
        config: TrainingConfig,
        keep_lines: bool = False,
        preset: Preset | None = None,
    ) -> None:
        needed = BYTES_A_WORD * sum(estimate_words(path) or 0 for path in files)
        check_memory(f"{files[0]} {files[1]}: training data", needed, "train on a part of it")
        source, target = (list(read_lines(path)) for path in files)
        if len(source) != len(target):
            raise InputError(
                f"{files[0]} has {len(source)} lines and {files[1]} has {len(target)}: line i must"
                " translate line i"
            )
        self.config, self.lines = config, target if keep_lines else []
        self.source = Rows.pack(subwords.encode_source(source))
        self.target = Rows.pack(subwords.encode_target(target))
        # The length of a side counts its end token.
        lengths = np.maximum(self.source.lengths, self.target.lengths)
        sides = zip(source, target, strict=True)
        is_empty = np.array(
            [not (first.strip() and second.strip()) for first, second in sides], bool
        )
        is_long = lengths > config.max_length
        good = ~is_long & ~is_empty
        self.rows = np.flatnonzero(good)
        self.skipped = len(good) - len(self.rows)
        long, empty = int(is_long.sum()), int((is_empty & ~is_long).sum())
        reasons = [
            *([f"{long:,} above training.max_length={config.max_length}"] if long else []),
            *([f"{empty:,} with an empty side"] if empty else []),
        ]
        total = f"{self.skipped:,} of {len(good):,} pairs"
        self.left_out = f"{total} ({', '.join(reasons)})" if reasons else ""
        self.guides: Any = None
        if preset and isinstance(preset.method, SpanSupervisionConfig):
            lines = source, target
            self.guides = guides_of(preset.model, preset.method, files, lines, subwords)
        if not len(self.rows):
            raise InputError(
                f"{files[0]}: all {len(good)} lines are longer than training.max_length"
                f" ({config.max_length} subwords)"
                if len(good) and is_long.all()
                else f"{files[0]}: no pair is left: {self.left_out}"
                if len(good)
                else f"{files[0]}: empty"
            )

    def epoch(self, seed: int, epoch: int) -> list[np.ndarray]:
        """Return the batches of a training epoch, counted from 0."""
        if pairs := self.config.batch_sentences:
            random = np.random.Generator(np.random.PCG64([seed, epoch]))
            if self.config.batch_draw == "epoch":
                order = random.permutation(self.rows)
                return np.split(order, range(pairs, len(order), pairs))
            return list(random.choice(self.rows, (math.ceil(len(self.rows) / pairs), pairs)))
        return make_batches(
            self.source.lengths,
            self.target.lengths,
            self.rows,
            self.config.max_tokens,
            (seed, epoch),
        )

    def in_order(self) -> list[np.ndarray]:
        """Return batches of all pairs by increasing length."""
        return make_batches(
            self.source.lengths, self.target.lengths, self.rows, self.config.max_tokens
        )

    def take(self, rows: np.ndarray, device: str) -> tuple[Any, ...]:
        """Return source and target of a batch, and what its attention is guided by, if it is."""
        batch = self.source.take(rows, device), self.target.take(rows, device)
        if self.guides is None:
            return batch
        return *batch, self.guides.take(rows, self.target.lengths[rows], device)

    @property
    def digest(self) -> str:
        """sha256 of the encoded pairs."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            digest.update(side.ids.tobytes())
            digest.update(side.offsets.tobytes())
        if self.guides is not None:
            digest.update(repr(self.guides.spans).encode())
        return digest.hexdigest()
