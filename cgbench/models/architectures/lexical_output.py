"""The lexical translation mechanism (Akyürek and Andreas, 2021, section 3): an output layer that
can translate words.

With features f and attention α over the source words x_1..x_n, the probability of a word w is

    s(w) + g·Σ_j α_j L[x_j, w],

where s is a softmax over the vocabulary and one extra class, and g is the probability of that
class, whose logit is a linear map of f. This is the authors' code; the paper (equations 6 to 8) has
a sigmoid of the hidden state instead.

L is the lexicon: a distribution over target words for each source word, or zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.parts.linear import Linear
from cgbench.models.special_ids import BOS, PAD

EPSILON = 1e-7  # added to every probability before the logarithm, as by the authors


@dataclass
class LexicalStates:
    """Input of :class:`LexicalOutput`; can be sliced like a tensor of tokens.

    :param features: input of the word logits, [N, width].
    :param attention: weights of the source words, 0 for padding, [N, columns].
    :param words: source ids of these columns, [N, columns].
    """

    features: Tensor
    attention: Tensor
    words: Tensor

    def __getitem__(self, rows: slice) -> LexicalStates:
        return LexicalStates(*(tensor[rows] for tensor in vars(self).values()))


class LexicalOutput(nn.Module):
    """From word logits, features and attention to log-probabilities.

    The lexicon is empty until :meth:`load`.
    """

    aligned: Tensor
    rows: Tensor

    def __init__(
        self, width: int, source_size: int, target_size: int, config: LSTMLexiconConfig
    ) -> None:
        super().__init__()
        self.gate = Linear(width, 1)
        self.learned, self.one_word = config.lexicon_is_learned, config.lexicon in ("copy", "hard")
        if self.one_word:
            # The target word of each source word, or padding, which is never produced.
            self.register_buffer("aligned", torch.full((source_size,), PAD))
        elif self.learned:
            self.rows = nn.Parameter(torch.zeros(source_size, target_size))  # logits
        else:
            self.register_buffer("rows", torch.zeros(source_size, target_size))

    @torch.no_grad()
    def load(self, matrix: Tensor) -> None:
        """Set the lexicon.

        :param matrix: L, [source vocabulary, target vocabulary]; a row sums to 1, or to 0 for a
            word without entries.
        """
        if self.one_word:
            best, word = matrix.max(1)
            self.aligned.copy_(torch.where(best > 0, word, PAD))
        else:
            self.rows.copy_((matrix + EPSILON).log() if self.learned else matrix)

    def forward(self, logits: Tensor, states: LexicalStates) -> Tensor:
        """Return log-probabilities [N, target vocabulary], not renormalised.

        :param logits: word logits, [N, target vocabulary].
        """
        never = torch.zeros(logits.shape[1], device=logits.device)
        never[[BOS, PAD]] = -torch.inf
        logits = logits.float() + never
        gate = self.gate(states.features).float()
        lexical = self.translate(states, logits) * never.exp()
        p = torch.softmax(torch.cat((logits, gate), 1), 1)
        return (p[:, :-1] + p[:, -1:] * lexical + EPSILON).log()

    def translate(self, states: LexicalStates, like: Tensor) -> Tensor:
        """Return Σ_j α_j L[x_j, w], with shape and type of ``like``, [N, target vocabulary]."""
        attention, words = states.attention.to(like.dtype), states.words
        if self.one_word:
            return torch.zeros_like(like).scatter_add(1, self.aligned[words], attention)
        rows = self.rows
        if self.learned:
            distinct, words = words.unique(return_inverse=True)
            rows = torch.softmax(rows[distinct], 1)
        return F.embedding_bag(words, rows, per_sample_weights=attention, mode="sum")
