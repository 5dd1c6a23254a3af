"""Beam search with transformers' ``generate``, independent of batching and of the model's generation settings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def generate(
    model: Any, ids: Tensor, mask: Tensor, limits: np.ndarray, *, begin: int, ends: Sequence[int], end: int,
    pad: int, start: int | None, forced: int | None, beam: int, nbest: int, length_penalty: float,
) -> list[np.ndarray]:  # fmt: skip
    """The best ``nbest`` outputs of each sentence of a batch, in order: ids with the end token.

    :param ids: model input, ``[rows, columns]``, with its ``mask``.
    :param limits: maximum tokens of each output before its end.
    :param begin: number of tokens before the target; ``ends``: tokens that end an output; ``end``: the default one.
    :param start: the first decoder input of an encoder-decoder; ``forced``: a token that begins every output, not
        counted in ``limits``.
    """
    from transformers import GenerationConfig, LogitsProcessorList

    # Settings that do not depend on the model's own.
    configured = model.generation_config
    settings = GenerationConfig(
        num_beams=beam,
        num_return_sequences=nbest,
        do_sample=False,
        max_new_tokens=int(limits.max()) + 1 + (forced is not None),
        early_stopping=beam > 1,
        length_penalty=length_penalty,
        bos_token_id=configured.bos_token_id,
        eos_token_id=list(ends),
        bad_words_ids=configured.bad_words_ids,
        suppress_tokens=configured.suppress_tokens,
        pad_token_id=pad,
        decoder_start_token_id=start,
        forced_bos_token_id=forced,
    )
    model.generation_config = GenerationConfig()  # otherwise generate fills in its values
    try:
        output = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=settings,
            logits_processor=LogitsProcessorList([_EndAtLimit(limits, ends, end, begin)]),
        )
    finally:
        model.generation_config = configured
    # Cut each output after its first end token.
    outputs = []
    for path in output[:, begin:].cpu().numpy():
        over = np.flatnonzero(np.isin(path, ends))
        outputs.append((path[: over[0] + 1] if len(over) else np.append(path, end)).astype(np.int32))
    return outputs


class _EndAtLimit:
    """A logits processor that allows only the end token once a sentence has reached its limit."""

    def __init__(self, limits: np.ndarray, ends: Sequence[int], end: int, begin: int) -> None:
        self._limits, self._ends, self._end, self._begin = limits, list(ends), end, begin

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """``[rows, tokens so far]``, ``[rows, vocabulary]`` -> changed scores."""
        written = input_ids.shape[1] - self._begin
        if written < 0:
            return scores  # a forced token comes next
        over = np.repeat(self._limits <= written, len(scores) // len(self._limits))
        if over.any():
            rows = torch.from_numpy(np.flatnonzero(over)).to(scores.device)
            end = scores[rows, self._end]
            scores = scores.index_fill(0, rows, -torch.inf)
            scores[rows, self._end] = torch.where(torch.isfinite(end), end, 0)
        if written == 0:
            scores = scores.clone()
            scores[:, self._ends] = -torch.inf
        return scores
