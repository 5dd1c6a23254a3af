"""The Transformer with lexical translation in its output layer, as suggested by Akyürek and Andreas (2021, section 6).

A separate attention over the encoder's states selects the source words to translate, because cross-attention has
several heads and layers, none of which is *the* alignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.models.architectures.lexical_output import LexicalOutput, LexicalStates
from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.architectures.transformer import Encoded, Transformer
from cgbench.models.config.architectures import LexicalTransformerConfig
from cgbench.models.config.common import TransformerConfig
from cgbench.models.config.encoders import OverEncoderConfig
from cgbench.models.parts.ragged import Ragged, grid_index, on_device
from cgbench.models.parts.source_attention import Memory, SourceAttention


@dataclass
class EncodedWords(Encoded):
    """Encoder output with the source ids, [M]."""

    ids: Tensor


@dataclass
class LexicalState:
    """The Transformer's decoding state, and the translatable words; one row per hypothesis."""

    plain: Any
    memory: Memory

    def reorder(self, index: np.ndarray) -> None:
        """Keep the rows ``index``, in that order."""
        self.plain.reorder(index)
        self.memory = self.memory.select(on_device(index, self.memory.keys))


class LexicalTransformer(Transformer):
    """A Transformer whose ``project`` takes :class:`~cgbench.models.architectures.lexical_output.LexicalStates`."""

    def __init__(self, config: LexicalTransformerConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.alignment = SourceAttention(config.width)
        self.lexical = LexicalOutput(config.width, source_size, target_size, config)

    def encode(self, source: Ragged) -> EncodedWords:
        """Encode source ids."""
        encoded = super().encode(source)
        return EncodedWords(encoded.states, encoded.layout, self.read_source(source).ids)

    def decode(self, encoded: Any, target: Ragged) -> Any:
        """Return the input of :class:`LexicalOutput` at the ids that the decoder reads."""
        features = super().decode(encoded, target)
        layout = target.layout
        memory = self.alignment.build_memory(encoded, np.arange(len(layout)))
        table, real = grid_index(layout.starts, layout.lengths[:, None])
        queries = features[on_device(table, features)]
        scores = queries @ memory.keys.transpose(1, 2) + memory.offset.unsqueeze(1)
        weights = torch.softmax(scores, 2)[on_device(real, features)]
        return LexicalStates(features, features, weights, memory.words[layout.sequence])

    def project(self, states: Any) -> Tensor:
        """Return log-probabilities [N, target vocabulary], not renormalised."""
        log_probabilities: Tensor = self.lexical(super().project(states.features), states)
        return log_probabilities

    def start(self, encoded: Any, beam: int = 1) -> LexicalState:
        """Return the state before the first step, with ``beam`` adjacent rows for each sentence."""
        order = np.repeat(np.arange(len(encoded.layout)), beam)
        return LexicalState(super().start(encoded, beam), self.alignment.build_memory(encoded, order))

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Consume one id per row [rows] and return the log-probabilities of the next [rows, target vocabulary]."""
        features, memory = self.step_states(tokens, state.plain), state.memory
        return self.project(LexicalStates(features, features, self.alignment.weights(memory, features), memory.words))


def build_transformer(config: TransformerConfig, source_size: int, target_size: int) -> Transformer:
    """Build a Transformer, with a lexicon or pre-trained parts according to the configuration."""
    if isinstance(config, LexicalTransformerConfig) and config.lexicon != "none":
        return LexicalTransformer(config, source_size, target_size)
    if isinstance(config, OverEncoderConfig) and (config.pretrained_encoder or not config.tie_output):
        return PretrainedTransformer(config, source_size, target_size)
    return Transformer(config, source_size, target_size)
