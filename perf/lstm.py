"""Speed of the LSTM with input feeding, against a plain loop over torch's own layers of the same
size.
"""

import numpy as np
import torch
from model_work import Setting, adam, finish, in_turn, padded, spread
from torch import Tensor, nn

from cgbench.models.config.architectures import build_model
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.parts.ragged import Ragged
from cgbench.models.special_ids import EOS, PAD
from cgbench.models.training.objective import Objective

SIZE, WIDTH, LAYERS, DROPOUT = 875, 512, 2, 0.4  # of COGS


class PlainLoop(nn.Module):
    """Padded batches; the decoder steps through nn.LSTM and nn.MultiheadAttention, and feeds its
    features back.
    """

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = (nn.Embedding(SIZE, WIDTH, padding_idx=PAD) for _ in range(2))
        self.encoder = nn.LSTM(WIDTH, WIDTH, LAYERS, dropout=DROPOUT, batch_first=True)
        self.decoder = nn.LSTM(2 * WIDTH, WIDTH, LAYERS, dropout=DROPOUT, batch_first=True)
        self.attention = nn.MultiheadAttention(WIDTH, 1, batch_first=True)
        self.mix, self.output = nn.Linear(4 * WIDTH, WIDTH), nn.Linear(WIDTH, SIZE)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Return logits [sentences, positions, vocabulary]; ``target``: the ids that the decoder
        reads.
        """
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.source(source)), lengths, batch_first=True, enforce_sorted=False
        )
        packed, state = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        hidden = (
            torch.arange(memory.shape[1], device=memory.device)
            >= lengths.to(memory.device)[:, None]
        )
        words, feed = self.dropout(self.target(target)), memory.new_zeros(len(source), 1, WIDTH)
        features = []
        for position in range(target.shape[1]):
            read = torch.cat((words[:, position : position + 1], self.dropout(feed)), 2)
            h, state = self.decoder(read, state)
            context, _ = self.attention(h, memory, memory, hidden, need_weights=False)
            feed = self.dropout(self.mix(torch.cat((read, h, context), 2)))
            features.append(feed)
        return self.output(torch.cat(features, 1))


def lstm(setting: Setting) -> list[tuple[str, str, str]]:
    """Training steps of ``lstm_lexicon``, plain and with a hard lexicon, and of the plain loop."""
    rng = np.random.default_rng(0)
    rows = setting.on_gpu(128, 64)

    def side(mean: float) -> list[list[int]]:
        lengths = np.clip(np.rint(rng.lognormal(np.log(mean), 0.4, rows)), 2, 120).astype(int)
        return [[*rng.integers(4, SIZE, length - 1).tolist(), EOS] for length in lengths]

    source, target = (Ragged.pack(part, setting.device) for part in (side(9.0), side(32.0)))
    things = {"plain loop": _plain(setting, source, target)}
    for name, lexicon in (("ours", "none"), ("with a lexicon", "copy")):
        things[name] = _ours(setting, lexicon, source, target)
    series = in_turn(things, setting, setting.repeat)
    what = (
        f"training step of the LSTM with input feeding, width {WIDTH}, {rows} sentences as in COGS"
    )
    return [
        (
            what + ("" if name == "ours" else ", " + name),
            (
                f"{len(target.ids) / series.median(name):,.0f} target tokens/s ="
                f" {spread(series.ratios('plain loop', name))} x a loop over nn.LSTM and"
                f" nn.MultiheadAttention ({len(target.ids) / series.median('plain loop'):,.0f})"
            ),
            "1 x" if name == "ours" else "",
        )
        for name in ("ours", "with a lexicon")
    ]


def _ours(setting: Setting, lexicon: str, source: Ragged, target: Ragged):
    torch.manual_seed(0)
    config = LSTMLexiconConfig(
        width=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, dropout=DROPOUT, lexicon=lexicon
    )
    model = build_model(config, SIZE, SIZE).to(setting.device).train()
    if lexicon != "none":
        model.lexical.load(torch.eye(SIZE))
    objective, optimizer = Objective(model), adam(model)

    def update() -> None:
        optimizer.zero_grad()
        loss, _ = objective(source, target)
        (loss / len(target.ids)).backward()
        finish(objective, optimizer)

    return update


def _plain(setting: Setting, source: Ragged, target: Ragged):
    torch.manual_seed(0)
    model = PlainLoop().to(setting.device).train()
    optimizer = adam(model)
    lengths = torch.from_numpy(source.layout.lengths)
    table, read, wanted = padded(source, PAD), padded(target.shifted(), PAD), padded(target, PAD)

    def update() -> None:
        optimizer.zero_grad()
        logits = model(table, lengths, read)
        nn.functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD
        ).backward()
        finish(model, optimizer)

    return update
