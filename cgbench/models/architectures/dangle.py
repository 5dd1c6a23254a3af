"""Dangle (Zheng and Lapata, 2022): the source is encoded anew for every target prefix.

*Mixed* layers read the source and the prefix, y_0..y_p and a learned vector END, together. In the form
``encoder_decoder`` ordinary encoder layers follow over the source alone, and an ordinary decoder reads the prefix with
these encodings to predict one token. In the form ``encoder_only`` the mixed layers are all there is: END's last state
predicts. Source and target vectors have a learned vector of their side added. Details (the vectors of the sides, END,
heads, norms and dropout) are those of the authors' code.

The authors run a loop over prefixes. Here the prefixes of a batch are one ragged batch
(:mod:`cgbench.models.architectures.prefixes`), what does not depend on the prefix is computed once, and the last layers
compute only what is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.architectures.mixed_layers import MixedLayer, run_mixed
from cgbench.models.architectures.prefixes import Prefixes
from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.architectures.transformer import Encoded
from cgbench.models.config.architectures import DangleConfig
from cgbench.models.parts.attention import KVCache, SelfAttention, split_heads
from cgbench.models.parts.ragged import Layout, Pairing, Ragged, on_device


def build_dangle(config: DangleConfig, source_size: int, target_size: int) -> Dangle:
    """Build the form that ``config.form`` names."""
    kind = EncoderDangle if config.form == "encoder_only" else EncoderDecoderDangle
    return kind(config, source_size, target_size)


@dataclass
class PrefixState:
    """What decoding remembers; rows are hypotheses.

    :param encoded: what depends on the sources alone; ``sentence``: the source of each row, [rows].
    :param prefix: the ids consumed, [rows, length].
    :param target, source: memories of the decoder layers since the last encoding.
    :param mask: of cross-attention, [rows, 1, 1, source length], or None without padding.
    """

    encoded: Any
    sentence: np.ndarray
    prefix: Tensor
    target: list[KVCache]
    source: list[KVCache]
    mask: Tensor | None = None

    def keep(self, attention: SelfAttention, target: Tensor, source: Sequence[KVCache]) -> None:
        """Add the memories of the next decoder layer.

        :param target: keys and values of all prefixes, [rows x length, 2 width]; ``source``: one grid.
        """
        keys, values = split_heads(target.unflatten(0, (len(self.sentence), -1)), attention.heads, 2)
        memory = attention.empty(len(self.sentence), keys)
        memory.append(keys, values)
        self.target.append(memory)
        self.source.append(source[0])

    def reorder(self, index: np.ndarray) -> None:
        """Keep the rows ``index`` [new rows], in that order, of all state.

        The memories of the source, too: they depend on the hypothesis. (The authors' code leaves them in place while
        the number of rows stays the same, so with intervals above 1 hypotheses that swap go on with wrong keys.)
        """
        self.sentence = self.sentence[index]
        kept = on_device(index, self.prefix)
        self.prefix = self.prefix.index_select(0, kept)
        for memory in (*self.target, *self.source):
            memory.select(kept)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, kept)


class Dangle(PretrainedTransformer):
    """What both forms share, and R-Dangle with them: inputs, mixed layers, and prediction prefix by prefix."""

    def __init__(self, config: Any, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.mixed = nn.ModuleList(MixedLayer(config) for _ in range(config.mixed_layers))
        if self.pretrained is None:
            self.source_type = learned_vector(config.width)
        self.target_type = learned_vector(config.width)
        self.end = learned_vector(config.width)
        # The authors' code has no norm above the adaptive encoder, whatever the place of the others.
        self.encoder_norm = nn.Identity()

    def vectors(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        """See :class:`Transformer`; with the vector of the side."""
        x = super().vectors(embedding, ids, positions)
        if self.pretrained is not None:  # the source has its own block of embeddings
            x = x + self.source_embedding.at(positions).to(x.dtype)
        return x + (self.source_type if embedding is self.source_embedding else self.target_type).to(x.dtype)

    def encode_embedded(self, x: Tensor, layout: Layout) -> Encoded:
        """Return what can be said of sources without a target: their vectors."""
        return Encoded(x, layout)

    def decode(self, encoded: Any, target: Ragged) -> Tensor:
        """See :class:`Transformer`."""
        return self.predict(encoded, target.ids, Prefixes.at_intervals(encoded.layout, target.layout, 1))

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """Return the last states [positions, width] of the positions that the prefixes serve.

        :param ids: of the targets, [N].
        """
        raise NotImplementedError

    def embed_prefixes(self, ids: Tensor, prefixes: Prefixes) -> tuple[Tensor, Prefixes]:
        """Return vectors of the ids [N] that the prefixes read, and the prefixes as gathered from these.

        Each prefix has dropout of its own. Absolute positions count from its end: the newest token is the first. Over
        BART, whose decoder knows no such order, they count from the beginning, and all prefixes share their dropout.
        """
        shared = self.config.positions == "relative" and not (self.training and self.dropout.p)
        if shared or self.decodes_pretrained:
            return self.embed(self.target_embedding, ids, prefixes.target.positions), prefixes
        positions = torch.from_numpy(prefixes.positions_from_end).to(ids.device)
        rows = torch.from_numpy(prefixes.tokens).to(ids.device)
        return self.embed(self.target_embedding, ids[rows], positions), prefixes.with_own_rows()

    def read_target(self, ids: Tensor, positions: Tensor, y: Tensor) -> Tensor:
        """Return what the mixed layers read of target ids [N], given what the decoder reads of them, ``y``: the same.

        Over BART it is what BART's encoder would read of these words, with the vector of the side.
        """
        if not self.decodes_pretrained:
            return y
        return self.embed(self.source_embedding, ids, positions) + self.target_type.to(y.dtype)

    def mixed_stack(self) -> list[MixedLayer]:
        """The mixed layers from the bottom."""
        return cast("list[MixedLayer]", list(self.mixed))

    def start(self, encoded: Any, beam: int = 1) -> Any:
        """See :class:`Transformer`."""
        sentence = np.repeat(np.arange(len(encoded.layout)), beam)
        prefix = torch.empty(len(sentence), 0, dtype=torch.int64, device=encoded.states.device)
        return PrefixState(encoded, sentence, prefix, [], [])

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """See :class:`Transformer`; everything is computed anew."""
        state.prefix = torch.cat((state.prefix, tokens[:, None]), 1)
        prefixes = Prefixes.whole(state.encoded.layout, state.sentence, state.prefix.shape[1])
        return self.project(self.predict(state.encoded, state.prefix.flatten(), prefixes))


class EncoderDecoderDangle(Dangle):
    """The form with a decoder."""

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """See :class:`Dangle`."""
        y, prefixes = self.embed_prefixes(ids, prefixes)
        read = self.read_target(ids, prefixes.target.positions, y)
        return self.decode_prefixes(encoded, self.encode_anew(encoded, read, prefixes), y, prefixes)

    def encode_anew(self, encoded: Any, y: Tensor, prefixes: Prefixes) -> Tensor:
        """Return the source encoded for each prefix, [tokens of ``prefixes.encodings``, width].

        :param y: target vectors as the mixed layers read them, the table that ``prefixes`` are gathered from.
        """
        x = self.run_anew(self.mixed_stack(), self.end, encoded, y, prefixes)
        return self.encode_top(x, prefixes.encodings)

    def run_anew(
        self, layers: Sequence[MixedLayer], end: Tensor, encoded: Any, y: Tensor, prefixes: Prefixes
    ) -> Tensor:
        """What these mixed layers make of it, with this vector after each prefix, [width]."""
        table = torch.cat((encoded.states, y, end.to(y.dtype)[None]))
        sources = prefixes.encodings.lengths[:, None] * (1, 0)
        return run_mixed(layers, table, prefixes.mixed(len(encoded.states), len(y)), sources)

    def encode_top(self, x: Tensor, layout: Layout) -> Tensor:
        """Apply the layers above the mixed ones to source states [tokens, width]."""
        for layer in self.encoder_stack():
            x = layer(x, layout)
        return x

    def decode_prefixes(
        self, encoded: Any, states: Tensor, y: Tensor, prefixes: Prefixes, state: PrefixState | None = None
    ) -> Tensor:
        """Run the decoder over all prefixes; return the last states of the positions that they serve.

        :param states: the source encoded for each prefix; ``y``: target vectors as the decoder reads them.
        :param state: where to keep the memories, for rows with one prefix each.
        """
        *lower, top = self.decoder_stack()
        layout: Layout = prefixes.read
        pairings = self.pair(encoded, prefixes, layout.gathered)
        for number, layer in enumerate(lower):
            projected = layer.attention.project_in(layer.before(layer.attention_norm, y))
            change = layer.attention.attend(projected, layout, causal=True)
            y = layer.after(layer.attention_norm, layout.gather(y), change)
            memory = self.source_cache_anew(number, encoded, states, pairings)
            y = layer.consult(y, layout.gathered, memory, pairings[0].masks)
            layout = layout.gathered
            if state:
                state.keep(layer.attention, projected[:, self.config.width :], memory)
        # The top layer computes, beside keys and values, only what is predicted from.
        layout = prefixes.read_last.gathered if lower else prefixes.read_last
        served = layout.ends(prefixes.served)
        given = top.before(top.attention_norm, y)
        own = top.attention.project_memory(given)
        change = top.attention.attend_ends(given, own, layout, served, causal=True)
        y = top.after(top.attention_norm, served.gather(y), change)
        pairings = self.pair(encoded, prefixes, served.gathered)
        memory = self.source_cache_anew(len(lower), encoded, states, pairings)
        if state:
            state.keep(top.attention, own, memory)
            state.mask = pairings[0].masks[0]
        return self.decoder_norm(top.consult(y, served.gathered, memory, pairings[0].masks))

    def pair(self, encoded: Any, prefixes: Prefixes, layout: Layout) -> list[Pairing]:
        """Lay what cross-attention reads beside ``layout``, which has a sequence for each prefix."""
        return [Pairing(layout, prefixes.encodings)]

    def source_cache_anew(
        self, number: int, encoded: Any, states: Tensor, pairings: Sequence[Pairing]
    ) -> list[KVCache]:
        """Return the keys and values that decoder layer ``number`` attends to."""
        return self.decoder_stack()[number].cross.kv_cache(states, pairings[0])


class EncoderDangle(Dangle):
    """The form without a decoder."""

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """See :class:`Dangle`; here END has dropout, too."""
        y, prefixes = self.embed_prefixes(ids, prefixes)
        ends = self.dropout(self.end.to(y.dtype).expand(len(prefixes), -1))
        table = torch.cat((encoded.states, y, ends))
        wanted = np.tile((0, 1), (len(prefixes), 1))
        layout = prefixes.mixed(len(encoded.states), len(y), len(ends))
        return self.decoder_norm(run_mixed(self.mixed_stack(), table, layout, wanted))


def learned_vector(width: int) -> nn.Parameter:
    """Return a vector that starts as N(0, 0.02²), [width]."""
    return nn.Parameter(torch.empty(width).normal_(std=0.02))
