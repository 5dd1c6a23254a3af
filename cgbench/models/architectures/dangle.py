"""Dangle (Zheng and Lapata, 2022): the source is re-encoded for every target prefix.

*Mixed* layers read the source together with the prefix, y_0..y_p, and a learned vector END. In the
form ``encoder_decoder`` ordinary encoder layers over the source follow, and an ordinary decoder
reads the prefix and these encodings to predict one token. In the form ``encoder_only`` there are
only mixed layers, and END's last state predicts. A learned vector per side is added to source and
target vectors. Details (these vectors, END, heads, norms and dropout) follow the authors' code.

The authors loop over prefixes. Here all prefixes of a batch form one ragged batch
(:mod:`cgbench.models.architectures.prefixes`), everything independent of the prefix is computed
once, and the last layers compute only the states that are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.architectures.prefixes import Prefixes
from cgbench.models.architectures.pretrained.transformer import PretrainedTransformer
from cgbench.models.architectures.transformer import Encoded
from cgbench.models.config.dangle import DangleConfig
from cgbench.models.config.prefixes import PrefixConfig
from cgbench.models.parts.attention import KVCache, SelfAttention, split_heads
from cgbench.models.parts.layers import EncoderLayer, build_self_attention
from cgbench.models.parts.positions import SegmentedDistanceTable
from cgbench.models.parts.ragged import Layout, Pairing, Ragged, to_device


def build_dangle(config: DangleConfig, source_size: int, target_size: int) -> Dangle:
    """Build the model of ``config.form``."""
    form = EncoderDangle if config.form == "encoder_only" else EncoderDecoderDangle
    return form(config, source_size, target_size)


class MixedLayer(EncoderLayer):
    """An encoder layer over a source and a target prefix, with its own number of heads.

    Attention is bidirectional over both. With relative positions, source and target have separate
    distance tables, and each direction between them has one vector
    (:class:`SegmentedDistanceTable`); with absolute positions attention is ordinary.
    """

    def __init__(self, config: PrefixConfig) -> None:
        if config.pretrained_encoder:
            return super().__init__(config.encoder_as_layers())
        heads = config.mixed_attention_heads
        relative = None
        if config.positions == "relative":
            relative = SegmentedDistanceTable(config.max_relative_position, config.width // heads)
        super().__init__(config, build_self_attention(config, heads, relative))

    def ends(self, x: Tensor, layout: Layout, counts: np.ndarray) -> Tensor:
        """Compute only the last tokens of each part, [queries, width]; the others provide keys and
        values.

        :param x: the tokens of ``layout``, or the table that it indexes.
        :param counts: number of tokens of each part of each sequence, [S, 2].
        """
        ends, inputs = layout.ends(counts), self.before(self.attention_norm, x)
        change = self.attention.attend_ends(
            inputs, self.attention.project_memory(inputs), layout, ends
        )
        return self.feed(self.after(self.attention_norm, ends.gather(x), change))


def run_mixed(layers: Iterable[Any], x: Tensor, layout: Layout, counts: np.ndarray) -> Tensor:
    """Apply mixed layers; arguments and result as in :meth:`MixedLayer.ends`."""
    *lower, top = layers
    for layer in lower:
        x = layer(x, layout)
        layout = layout.gathered
    return top.ends(x, layout, counts)


@dataclass
class PrefixState:
    """The state of step-by-step decoding; rows are hypotheses.

    :param encoded: the part that depends only on the sources; ``sentence``: the source of each row,
        [rows].
    :param prefix: the ids so far, [rows, length].
    :param target, source: caches of the decoder layers since the last encoding.
    :param mask: of cross-attention, [rows, 1, 1, source length], or None without padding.
    """

    encoded: Any
    sentence: np.ndarray
    prefix: Tensor
    target: list[KVCache]
    source: list[KVCache]
    mask: Tensor | None = None

    def keep(self, attention: SelfAttention, target: Tensor, source: Sequence[KVCache]) -> None:
        """Add the caches of the next decoder layer.

        :param target: keys and values of all prefixes, [rows x length, 2 width]; ``source``: one
            grid.
        """
        keys, values = split_heads(
            target.unflatten(0, (len(self.sentence), -1)), attention.heads, 2
        )
        memory = attention.empty(len(self.sentence), keys)
        memory.append(keys, values)
        self.target.append(memory)
        self.source.append(source[0])

    def reorder(self, index: np.ndarray) -> None:
        """Select the rows ``index`` [new rows] of the whole state.

        This includes the source caches, which depend on the hypothesis. (The authors' code does not
        reorder them while the number of rows is constant, so with intervals above 1 swapped
        hypotheses continue with wrong keys.)
        """
        self.sentence = self.sentence[index]
        rows = to_device(index, self.prefix.device)
        self.prefix = self.prefix.index_select(0, rows)
        for memory in (*self.target, *self.source):
            memory.select(rows)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)


class Dangle(PretrainedTransformer):
    """Base of both forms and of R-Dangle: inputs, mixed layers, and prediction prefix by prefix."""

    def __init__(self, config: Any, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.mixed = nn.ModuleList(MixedLayer(config) for _ in range(config.mixed_layers))
        if self.pretrained is None:
            self.source_type = learned_vector(config.width)
        self.target_type = learned_vector(config.width)
        self.end = learned_vector(config.width)
        # The authors' code has no norm after the adaptive encoder, pre-norm or post-norm.
        self.encoder_norm = nn.Identity()

    def vectors(self, embedding: nn.Embedding, ids: Tensor, positions: Tensor) -> Tensor:
        """See :class:`Transformer`; with the side's vector added."""
        x = super().vectors(embedding, ids, positions)
        if self.pretrained is not None:  # the source has other embeddings
            x = x + self.source_embedding.at(positions).to(x.dtype)
        return x + (
            self.source_type if embedding is self.source_embedding else self.target_type
        ).to(x.dtype)

    def encode_embedded(self, x: Tensor, layout: Layout) -> Encoded:
        """Return the source vectors: nothing else is independent of the target."""
        return Encoded(x, layout)

    def decode(self, encoded: Any, target: Ragged) -> Tensor:
        """See :class:`Transformer`."""
        return self.predict(
            encoded, target.ids, Prefixes.at_intervals(encoded.layout, target.layout, 1)
        )

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """Return the last states [positions, width] of the positions served by the prefixes.

        :param ids: of the targets, [N].
        """
        raise NotImplementedError

    def embed_prefixes(self, ids: Tensor, prefixes: Prefixes) -> tuple[Tensor, Prefixes]:
        """Return the vectors of ids [N] that the prefixes read, and the prefixes with indices into
        these.

        Each prefix has its own dropout. Absolute positions count from its end, from the newest
        token. With BART, whose decoder was not trained with this order, they count from the
        beginning, and all prefixes share their dropout.
        """
        shared = self.config.positions == "relative" and not (self.training and self.dropout.p)
        if shared or self.decodes_pretrained:
            return self.embed(self.target_embedding, ids, prefixes.target.positions), prefixes
        positions = torch.from_numpy(prefixes.positions_from_end).to(ids.device)
        rows = torch.from_numpy(prefixes.tokens).to(ids.device)
        return self.embed(self.target_embedding, ids[rows], positions), prefixes.with_own_rows()

    def read_target(self, ids: Tensor, positions: Tensor, y: Tensor) -> Tensor:
        """Return the input of the mixed layers for target ids [N]: the decoder's input ``y``.

        With BART it is the input of BART's encoder for these words, with the side's vector added.
        """
        if not self.decodes_pretrained:
            return y
        return self.embed(self.source_embedding, ids, positions) + self.target_type.to(y.dtype)

    def start(self, encoded: Any) -> Any:
        """See :class:`Transformer`."""
        sentence = np.arange(len(encoded.layout))
        prefix = torch.empty(len(sentence), 0, dtype=torch.int64, device=encoded.states.device)
        return PrefixState(encoded, sentence, prefix, [], [])

    def step_states(self, tokens: Tensor, state: Any) -> Tensor:
        """See :class:`Transformer`; everything is recomputed."""
        state.prefix = torch.cat((state.prefix, tokens[:, None]), 1)
        prefixes = Prefixes.whole(state.encoded.layout, state.sentence, state.prefix.shape[1])
        return self.predict(state.encoded, state.prefix.flatten(), prefixes)


class EncoderDecoderDangle(Dangle):
    """The form with a decoder."""

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """See :class:`Dangle`."""
        y, prefixes = self.embed_prefixes(ids, prefixes)
        read = self.read_target(ids, prefixes.target.positions, y)
        return self.decode_prefixes(encoded, self.encode_anew(encoded, read, prefixes), y, prefixes)

    def encode_anew(self, encoded: Any, y: Tensor, prefixes: Prefixes) -> Tensor:
        """Return the source encoded for each prefix, [tokens of ``prefixes.encodings``, width].

        :param y: the mixed layers' input for target tokens, which ``prefixes`` index.
        """
        return self.encode_by(self.mixed, encoded.states, y, self.end, prefixes)

    def encode_by(
        self, mixed: Iterable[Any], x: Tensor, y: Tensor, end: Tensor, prefixes: Prefixes
    ) -> Tensor:
        """As :meth:`encode_anew`, from source vectors [M, width], by these mixed layers and those
        above them.
        """
        table = torch.cat((x, y, end.to(y.dtype)[None]))
        sources = prefixes.encodings.lengths[:, None] * (1, 0)
        states = run_mixed(mixed, table, prefixes.mixed(len(x), len(y)), sources)
        for layer in self.encoder_stack():
            states = layer(states, prefixes.encodings)
        return states

    def decode_prefixes(
        self,
        encoded: Any,
        states: Tensor,
        y: Tensor,
        prefixes: Prefixes,
        state: PrefixState | None = None,
    ) -> Tensor:
        """Run the decoder over all prefixes; return the last states of the positions that they
        serve.

        :param states: the source encoded for each prefix; ``y``: the decoder's input.
        :param state: receives the caches, for rows with one prefix each.
        """
        *lower, top = self.decoder_stack()
        layout: Layout = prefixes.read
        pairings = self.pair(encoded, prefixes, layout.gathered)
        # The lower layers compute all states, which are keys and values of the layers above.
        for index, layer in enumerate(lower):
            projected = layer.attention.project_in(layer.before(layer.attention_norm, y))
            change = layer.attention.attend(projected, layout, causal=True)
            y = layer.after(layer.attention_norm, layout.gather(y), change)
            memory = self.source_cache_anew(index, encoded, states, pairings)
            y = layer.consult(y, layout.gathered, memory, pairings[0].masks)
            layout = layout.gathered
            if state:
                state.keep(layer.attention, projected[:, self.config.width :], memory)
        # Apart from keys and values, the top layer computes only the states for predictions.
        layout = prefixes.read_last.gathered if lower else prefixes.read_last
        served = layout.ends(prefixes.served)
        inputs = top.before(top.attention_norm, y)
        keys_values = top.attention.project_memory(inputs)
        change = top.attention.attend_ends(inputs, keys_values, layout, served, causal=True)
        y = top.after(top.attention_norm, served.gather(y), change)
        pairings = self.pair(encoded, prefixes, served.gathered)
        memory = self.source_cache_anew(len(lower), encoded, states, pairings)
        if state:
            state.keep(top.attention, keys_values, memory)
            state.mask = pairings[0].masks[0]
        return self.decoder_norm(top.consult(y, served.gathered, memory, pairings[0].masks))

    def pair(self, encoded: Any, prefixes: Prefixes, layout: Layout) -> list[Pairing]:
        """Pair ``layout``, with one sequence per prefix, with the layouts that cross-attention
        reads.
        """
        return [Pairing(layout, prefixes.encodings)]

    def source_cache_anew(
        self, layer: int, encoded: Any, states: Tensor, pairings: Sequence[Pairing]
    ) -> list[KVCache]:
        """Return the keys and values of the cross-attention of decoder layer ``layer``."""
        return self.decoder_stack()[layer].cross.kv_cache(states, pairings[0])


class EncoderDangle(Dangle):
    """The form without a decoder."""

    def predict(self, encoded: Any, ids: Tensor, prefixes: Prefixes) -> Tensor:
        """See :class:`Dangle`; here END also has dropout."""
        y, prefixes = self.embed_prefixes(ids, prefixes)
        ends = self.dropout(self.end.to(y.dtype).expand(len(prefixes), -1))
        table = torch.cat((encoded.states, y, ends))
        last = np.tile((0, 1), (len(prefixes), 1))  # END alone
        layout = prefixes.mixed(len(encoded.states), len(y), len(ends))
        return self.decoder_norm(run_mixed(self.mixed, table, layout, last))


def learned_vector(width: int) -> nn.Parameter:
    """Return a vector initialised from N(0, 0.02²), [width]."""
    return nn.Parameter(torch.empty(width).normal_(std=0.02))
