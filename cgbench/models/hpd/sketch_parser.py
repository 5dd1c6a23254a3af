"""The sketch parser of HPD: a GRU encoder, and a GRU decoder that predicts a set of next words.

As in poset_decoding/sketch_prediction/model.py. The paths of a sketch form a trie; at each prefix
the decoder predicts which words follow, each with a probability of its own. Decoding follows every
word that is likelier than not.
"""

import math
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from cgbench.models.special_ids import BOS, EOS, PAD

DEEPEST = 20  # words of a path
WIDEST = 64  # prefixes of a question that are followed; ours, for a parser that is not trained


class SketchParser(nn.Module):
    """From questions to probabilities of the next words of sketch paths."""

    def __init__(
        self,
        source_size: int,
        target_size: int,
        width: int = 512,
        embedding: int = 300,
        dropout: float = 0.4,
    ) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(source_size, embedding)
        self.encoder = nn.GRU(embedding, width, bidirectional=True, batch_first=True)
        self.begin = nn.Linear(2 * width, width)
        self.target_embedding = nn.Embedding(target_size, embedding)
        self.energy = nn.Linear(3 * width, width)
        self.score = nn.Parameter(torch.zeros(width))
        self.decoder = nn.GRUCell(2 * width + embedding, width)
        self.output = nn.Linear(3 * width + embedding, target_size)
        self.dropout = nn.Dropout(dropout)
        self.scale = math.sqrt(source_size)
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.normal_(parameter, std=0.01)
            else:
                nn.init.zeros_(parameter)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return states [rows, columns, 2 width] of padded source ids, and the decoder's first
        state [rows, width].
        """
        lengths = (source != PAD).sum(1).cpu()
        embedded = self.dropout(self.source_embedding(source) * self.scale)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, torch.tanh(self.begin(torch.cat((last[0], last[1]), 1)))

    def step(
        self, words: Tensor, hidden: Tensor, states: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Read one word per row: return logits [rows, words] of the next ones and the next state.

        :param mask: whether a column is a word of the source, [rows, columns].
        """
        embedded = self.dropout(self.target_embedding(words))
        query = hidden.unsqueeze(1).expand(-1, states.shape[1], -1)
        energy = torch.tanh(self.energy(torch.cat((query, states), 2)))
        weights = torch.softmax((energy @ self.score).masked_fill(~mask, -1e10), 1)
        context = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        hidden = self.decoder(torch.cat((embedded, context), 1), hidden)
        return self.output(torch.cat((hidden, context, embedded), 1)), hidden

    def forward(self, source: Tensor, rows: Tensor, paths: Tensor) -> Tensor:
        """Return logits [paths, length, words] of what follows each prefix.

        :param rows: the source of each path, [paths]; ``paths``: padded ids that the decoder reads,
            from <s> on, [paths, length].
        """
        states, hidden = self.encode(source)
        states, hidden, mask = states[rows], hidden[rows], (source != PAD)[rows]
        logits = []
        for words in paths.unbind(1):
            predicted, hidden = self.step(words, hidden, states, mask)
            logits.append(predicted)
        return torch.stack(logits, 1)

    def loss(self, source: Tensor, sketches: Sequence[Sequence[Sequence[int]]]) -> Tensor:
        """Return the mean binary cross entropy of all words after all prefixes of all paths.

        :param sketches: the paths of each source, as ids without <s> and </s>.
        """
        rows, paths, labels = training_table(sketches, self.output.out_features)
        device = source.device
        paths, labels = paths.to(device), labels.to(device)
        logits = self(source, rows.to(device), paths)
        real = labels.sum(2) > 0
        return F.binary_cross_entropy_with_logits(logits[real], labels[real])

    @torch.no_grad()
    def decode(self, source: Tensor) -> list[list[list[int]]]:
        """Return the paths of each of a batch of sources, as ids without <s> and </s>."""
        states, hidden = self.encode(source)
        mask = source != PAD
        results: list[list[list[int]]] = [[] for _ in source]
        prefixes: list[list[int]] = [[] for _ in source]
        rows = list(range(len(source)))
        words = source.new_full((len(source),), BOS)
        for _ in range(DEEPEST + 1):
            here = torch.tensor(rows, device=source.device)
            logits, hidden = self.step(words, hidden, states[here], mask[here])
            logits[:, [BOS, PAD]] = -math.inf
            follow = (logits > 0).tolist()
            parents: list[int] = []
            next_words: list[int] = []
            next_rows: list[int] = []
            for index, (row, prefix, likely) in enumerate(zip(rows, prefixes, follow, strict=True)):
                children = [word for word, follows in enumerate(likely) if follows]
                if not children or EOS in children:
                    results[row].append(prefix)
                for word in children:
                    if word != EOS and next_rows.count(row) < WIDEST:
                        parents.append(index)
                        next_words.append(word)
                        next_rows.append(row)
            if not next_rows:
                break
            prefixes = [
                [*prefixes[parent], word] for parent, word in zip(parents, next_words, strict=True)
            ]
            hidden = hidden[torch.tensor(parents, device=source.device)]
            rows, words = next_rows, torch.tensor(next_words, device=source.device)
        else:
            for row, prefix in zip(rows, prefixes, strict=True):
                results[row].append(prefix)
        return results


def training_table(
    sketches: Iterable[Sequence[Sequence[int]]], size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return, of all paths of all sketches: the sketch of each, [paths]; the ids that the decoder
    reads, [paths, length]; and whether a word follows in the trie, [paths, length, words].
    """
    rows, reads, follows = [], [], []
    for row, paths in enumerate(sketches):
        children: dict[tuple[int, ...], set[int]] = {}
        for path in paths:
            for position, word in enumerate(path):
                children.setdefault(tuple(path[:position]), set()).add(word)
        for path in paths:
            rows.append(row)
            reads.append([BOS, *path])
            before = [children[tuple(path[:position])] for position in range(len(path))]
            follows.append([*before, {EOS}])
    length = max(map(len, reads))
    table = torch.full((len(reads), length), PAD)
    labels = torch.zeros(len(reads), length, size)
    for index, (read, sets) in enumerate(zip(reads, follows, strict=True)):
        table[index, : len(read)] = torch.tensor(read)
        for position, words in enumerate(sets):
            labels[index, position, list(words)] = 1.0
    return torch.tensor(rows), table, labels
