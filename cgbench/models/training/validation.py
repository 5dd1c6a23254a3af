"""Validate a model: loss, and BLEU or exact match of its outputs, or the consistency of its
predictions.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import nn

from cgbench.models.config.common import TrainingConfig
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.text.subwords import Subwords
from cgbench.models.training.creg import distance, twice
from cgbench.models.training.distributed import Processes
from cgbench.models.training.objective import Objective
from cgbench.models.training.training_data import Data
from cgbench.text.plain_text import words_of


class Validation:
    """Validates according to ``training.validate_*``; several processes share the batches."""

    def __init__(
        self,
        config: TrainingConfig,
        data: Data,
        subwords: Subwords,
        bfloat16: bool,
        processes: Processes,
    ) -> None:
        self.config, self.data, self.subwords = config, data, subwords
        self.bfloat16, self.processes, self.device = bfloat16, processes, processes.device
        self._tokens = int(data.target.lengths[data.rows].sum())

    def __call__(self, model: nn.Module) -> tuple[dict[str, float], float]:
        """Validate a model, which is left in training mode.

        :returns: metrics for the log: ``valid_loss`` (nats per token, without smoothing),
            ``valid_perplexity`` and ``valid_bleu`` or ``valid_exact_match`` (percent) or
            ``valid_consistency`` (nats per token, lower is better); and the score that selects the
            best model: higher is better, and ``valid_loss`` breaks ties.
        """
        model.eval()
        try:
            loss = self.loss(model)
            metrics = {"valid_loss": loss, "valid_perplexity": perplexity(loss)}
            metric = self.config.validate_metric
            if metric == "loss" or not math.isfinite(loss):
                return metrics, -loss
            if metric == "consistency":
                metrics["valid_consistency"] = value = self.consistency(model)
                return metrics, -value
            metrics[f"valid_{metric}"] = value = self._score(model)
            return metrics, value
        finally:
            model.train()

    @torch.no_grad()
    def loss(self, model: nn.Module) -> float:
        """Return the cross entropy per token in nats, without smoothing."""
        objective = Objective(model, in_bfloat16=self.bfloat16)
        take, batches = self.data.take, self.data.in_order()
        losses = self.processes.map(
            lambda batch: float(objective(*take(batch, self.device))[1]), batches
        )
        return math.fsum(losses) / self._tokens

    @torch.no_grad()
    def consistency(self, model: nn.Module) -> float:
        """Return how far two predictions with different dropout masks are apart: (KL(p‖q) +
        KL(q‖p)) / 2 per target token, in nats. Yin et al. (2023) propose it to select models
        without examples of the generalisation set.

        The masks are the same at every validation, and the random numbers of training are not used
        up.
        """
        objective = Objective(model, in_bfloat16=self.bfloat16)
        total = 0.0
        with torch.random.fork_rng([self.device] if self.device.startswith("cuda") else []):
            torch.manual_seed(0)
            model.train()
            for batch in self.data.in_order():
                source, target = self.data.take(batch, self.device)
                with objective.autocast(self.device):
                    logits = model(twice(source), twice(target).shifted())
                first, second = logits.float().chunk(2)
                total += float(distance(first, second))
        return total / self._tokens

    def _score(self, model: nn.Module) -> float:
        hypotheses, rows = self._decode(model), self.data.rows.tolist()
        as_decoded = getattr(self.subwords, "as_decoded", str)
        references = [self._compared(as_decoded(self.data.lines[row])) for row in rows]
        outputs = [self._compared(hypotheses[row]) for row in rows]
        if self.config.validate_metric == "exact_match":
            return (
                100
                * sum(a == b for a, b in zip(outputs, references, strict=True))
                / len(references)
            )
        import sacrebleu

        # force: no warning about text that looks tokenised
        bleu = sacrebleu.BLEU(tokenize=self.config.validate_tokenize, force=True)
        return float(bleu.corpus_score(outputs, [references]).score)

    def _compared(self, line: str) -> str:
        """Return a line for comparison: words separated by spaces, pieces joined."""
        text = " ".join(words_of(line))
        mark = self.config.validate_join
        # The last piece of a line may also have a mark.
        return f"{text} ".replace(f"{mark} ", "").rstrip() if mark else text

    def _decode(self, model: nn.Module) -> dict[int, str]:
        settings = SearchSettings(beam=self.config.validate_beam)
        if self.config.validate_length == "targets":
            # Never cut a correct answer short, even if targets are much longer than sources.
            sides = (self.data.source, self.data.target)
            extra = settings.extra_for(*(side.lengths[self.data.rows] for side in sides))
            settings = replace(settings, max_length_extra=max(settings.max_length_extra, extra))
        search = getattr(model, "search", partial(beam_search, [model]))

        def decode(batch: np.ndarray) -> dict[int, str]:
            hypotheses = search(self.data.source.take(batch, self.device), settings)
            return {
                row: self.subwords.decode_target(best.tokens.tolist())
                for row, (best, *_) in zip(batch.tolist(), hypotheses, strict=True)
            }

        decoded = self.processes.map(decode, self.data.in_order())
        return {row: text for texts in decoded for row, text in texts.items()}


def perplexity(loss: float) -> float:
    """Return exp(loss), or infinity on overflow."""
    return math.exp(loss) if loss < 700 else math.inf
