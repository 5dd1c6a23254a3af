"""The path classifier of HPD: ESIM (Chen et al., 2017) in the form of MatchZoo-py 1.1.

It decides whether a filled path belongs to the query of a question. Padding is masked here;
MatchZoo's masks are -1e-7, so that there an output depends on the longest pair of its batch.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from cgbench.models.special_ids import PAD

VALID = 0  # the class of paths that belong to the query


class PathClassifier(nn.Module):
    """From pairs of a question and a path to logits of two classes."""

    def __init__(
        self, words: int, width: int = 200, embedding: int = 300, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, embedding, padding_idx=PAD)
        self.read = nn.LSTM(embedding, width // 2, bidirectional=True, batch_first=True)
        self.project = nn.Linear(4 * width, width)
        self.compose = nn.LSTM(width, width // 2, bidirectional=True, batch_first=True)
        self.hidden = nn.Linear(4 * width, width)
        self.output = nn.Linear(width, 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, questions: Tensor, paths: Tensor) -> Tensor:
        """Return logits [rows, 2] of padded ids [rows, columns]."""
        question_mask, path_mask = questions != PAD, paths != PAD
        question = self._encode(self.read, self._embed(questions), question_mask)
        path = self._encode(self.read, self._embed(paths), path_mask)
        similar = question @ path.transpose(1, 2)
        both = question_mask.unsqueeze(2) & path_mask.unsqueeze(1)
        similar = similar.masked_fill(~both, torch.finfo(similar.dtype).min)
        of_path = torch.softmax(similar, 2) @ path
        of_question = torch.softmax(similar, 1).transpose(1, 2) @ question
        pooled = []
        for side, attended, mask in (
            (question, of_path, question_mask),
            (path, of_question, path_mask),
        ):
            compared = torch.cat((side, attended, side - attended, side * attended), 2)
            projected = F.relu(self.project(compared))
            states = self._encode(self.compose, projected, mask)
            real = mask.unsqueeze(2)
            pooled.append((states * real).sum(1) / real.sum(1))
            pooled.append(states.masked_fill(~real, -torch.inf).amax(1))
        features = torch.tanh(self.hidden(self.dropout(torch.cat(pooled, 1))))
        return self.output(self.dropout(features))

    def _embed(self, ids: Tensor) -> Tensor:
        """Embeddings, of which dropout hides the same channels in all words of a row."""
        embedded = self.embedding(ids)
        return embedded * self.dropout(torch.ones_like(embedded[:, :1]))

    def _encode(self, lstm: nn.LSTM, x: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(
            self.dropout(x), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=x.shape[1])
        return states
