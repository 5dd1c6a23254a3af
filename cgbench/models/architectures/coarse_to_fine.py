"""C2F (Yin et al., 2021): BERT2SEQ predicts a sketch with slots, then the subtree of each slot.

A target is one sequence (:mod:`cgbench.models.text.programs`, ``sketches``): the sketch, and for
each slot a mark and its subtree. As in the authors' code, the same decoder predicts all of them.
For a subtree it starts from the state that predicted the slot, mapped with a learned tag; the
attentional vector is copied. The mark is the end of a sketch or subtree that others follow, so it
has the probability of the end token there, and elsewhere none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.models.architectures.bert2seq import Bert2Seq, CopyStates, EncodedPieces
from cgbench.models.architectures.lstm_lexicon import Hidden, RecurrentState, RowTensors, time_major
from cgbench.models.config.coarse_to_fine import CoarseToFineConfig
from cgbench.models.parts.linear import Linear
from cgbench.models.parts.ragged import Ragged, join_ranges, to_device
from cgbench.models.search import Translation, beam_search
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.special_ids import EOS, PAD


@dataclass
class SlotStates(CopyStates):
    """:class:`CopyStates`, and ``more``: whether an end is followed by a subtree, [N]."""

    more: Tensor


@dataclass
class Parents(RowTensors):
    """The states that predicted the slots of each row's sketch.

    :param h: [rows, slots, layers, width]; ``c``: the same; ``feed``: [rows, slots, width].
    :param slots: number of slots so far, [rows]; ``begun``: number of subtrees, [rows].
    """

    h: Tensor
    c: Tensor
    feed: Tensor
    slots: Tensor
    begun: Tensor


@dataclass
class SlotState(RecurrentState):
    """The state of decoding, with the parents of subtrees."""

    parents: Parents

    def reorder(self, index: np.ndarray) -> None:
        """Keep the rows ``index``, in that order."""
        super().reorder(index)
        self.parents = self.parents.select(to_device(index, self.hidden.feed.device))


class CoarseToFine(Bert2Seq):
    """The model; a target without slots is a sketch alone."""

    config: CoarseToFineConfig
    slot: Tensor

    def __init__(self, config: CoarseToFineConfig, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        inputs, width = config.width + config.tag_width, config.width
        self.tag = nn.Parameter(torch.zeros(config.tag_width))
        self.child_h, self.child_c = Linear(inputs, width), Linear(inputs, width)
        with torch.no_grad():
            for linear in (self.child_h, self.child_c):
                linear.weight.copy_(torch.eye(width, inputs))
                linear.bias.zero_()
        # The id of a slot, which :meth:`connect` sets, and that of the mark before a subtree.
        self.register_buffer("slot", torch.tensor(-1))
        self.mark = self.symbols + PAD

    @torch.no_grad()
    def connect(self, subwords: Any) -> None:
        """Learn which pieces are spelt like symbols, and which symbol is a slot."""
        super().connect(subwords)
        self.slot.fill_(subwords.slot if self.pieces else -1)

    # Teacher forcing

    def decode(self, encoded: EncodedPieces, target: Ragged) -> Any:
        """See :class:`Bert2Seq`."""
        slot = int(self.slot)
        if slot < 0:
            return super().decode(encoded, target)
        ids, layout, device = target.ids.cpu().numpy(), target.layout, target.ids.device
        sentences = np.repeat(np.arange(len(layout)), layout.lengths)
        subtrees = _running(ids == self.mark, layout.starts, sentences)
        is_slot = (ids == slot) & (subtrees == 0)
        # The sketches: the tokens before the first mark of each target.
        marks = np.flatnonzero(ids == self.mark)
        owners = sentences[marks]
        lengths = layout.lengths.copy()
        np.minimum.at(lengths, owners, marks - layout.starts[owners])
        memory = self.build_memory(encoded, np.arange(len(layout)))
        order, sizes, index = time_major(lengths)
        state = self.begin_decoding(encoded, order, sizes.tolist(), memory)
        tokens = join_ranges(layout.starts, lengths)
        read = target.ids[to_device(tokens, device)]
        states, hidden = self.run(state, read, sizes, index)
        levels, places = [states], [tokens]
        # The subtrees, from the states that predicted their slots.
        if len(marks):
            parents = _nth_slots(np.flatnonzero(is_slot) - 1, sentences, owners)
            steps = parents - layout.starts[owners]
            rows = np.argsort(order)[owners]
            parent_places = (np.cumsum(sizes) - sizes)[steps] + rows
            is_last = np.append(owners[1:] != owners[:-1], True)
            ends = np.append(marks[1:], layout.tokens)
            ends = np.where(is_last, (layout.starts + layout.lengths)[owners], ends)
            order, sizes, index = time_major(ends - marks)
            slots = _gather(hidden, to_device(parent_places[order], device))
            of_owners = memory.select(to_device(owners[order], device))
            state = RecurrentState(self._child(*slots), of_owners, self.maps(sizes.tolist()))
            tokens = join_ranges(marks, ends - marks)
            read = target.ids[to_device(tokens, device)]
            levels.append(self.run(state, read, sizes, index)[0])
            places.append(tokens)
        # Back in the order of the target.
        back = to_device(np.argsort(np.concatenate(places)), device)
        merged = {
            name: torch.cat([getattr(level, name) for level in levels])[back]
            for name in vars(states)
        }
        more = _running(is_slot, layout.starts, sentences) > subtrees
        return SlotStates(**merged, more=to_device(more, device))

    def project(self, states: Any) -> Tensor:
        """See :class:`Bert2Seq`."""
        log_p = super().project(states)
        if not isinstance(states, SlotStates):
            return log_p
        end = log_p[:, EOS]
        none = torch.full_like(end, float(np.log(torch.finfo(log_p.dtype).tiny)))
        ends = torch.where(states.more, none, end), torch.where(states.more, end, none)
        columns = torch.tensor([EOS, self.mark], device=log_p.device)
        return log_p.index_copy(1, columns, torch.stack(ends, 1))

    def predictable(self, source: Ragged, target: Ragged) -> Ragged:
        """See :class:`Bert2Seq`; marks are predictable."""
        changed = super().predictable(source, target)
        is_mark = target.ids == self.mark
        return Ragged(torch.where(is_mark, target.ids, changed.ids), target.layout)

    def sequences_of(self, target: Ragged) -> list[tuple[Tensor, int]]:
        """The sequence of each target token among the sketches, and among the subtrees; their
        number for tokens that belong to the others.
        """
        ids, layout = target.ids.cpu().numpy(), target.layout
        sentences = np.repeat(np.arange(len(layout)), layout.lengths)
        is_mark = ids == self.mark
        subtrees = int(is_mark.sum())
        # A mark ends what is before it.
        before = np.cumsum(is_mark) - is_mark
        in_sentence = _running(is_mark, layout.starts, sentences) - is_mark
        levels = (
            (np.where(in_sentence == 0, sentences, len(layout)), len(layout)),
            (np.where(in_sentence > 0, before - 1, subtrees), subtrees),
        )
        return [(to_device(index, target.ids.device), count) for index, count in levels]

    # Search

    @torch.inference_mode()
    def search(
        self, source: Ragged, settings: SearchSettings = DEFAULT_SEARCH
    ) -> list[list[Translation]]:
        """Search as the authors: for the best sketch of each sentence, then for the best subtree of
        each of its slots.

        :func:`~cgbench.models.search.beam_search`, which ensembles use, has one beam for all.

        :returns: one hypothesis per sentence.
        """
        encoded = self.encode(source)
        rows, device = np.arange(len(source.layout)), source.ids.device
        memory = self.build_memory(encoded, rows)
        level = _Level(self, self.begin_decoding(encoded, rows, memory=memory))
        sketches = [best for best, *_ in beam_search([level], source, settings)]
        slots = [np.flatnonzero(sketch.tokens == int(self.slot)) for sketch in sketches]
        owners = np.repeat(rows, [len(found) for found in slots])
        subtrees: list[Translation] = []
        if len(owners):
            # The states that predicted the slots, from decoding the sketches again.
            target = Ragged.pack([sketch.tokens for sketch in sketches], device)
            order, sizes, index = time_major(target.layout.lengths)
            state = self.begin_decoding(encoded, order, memory=memory)
            _, hidden = self.run(state, target.shifted().ids, sizes, index)
            steps, ranks = np.concatenate(slots), np.argsort(order)[owners]
            parents = to_device((np.cumsum(sizes) - sizes)[steps] + ranks, device)
            child = self._child(*_gather(hidden, parents))
            of_owners = memory.select(to_device(owners, device))
            level = _Level(self, RecurrentState(child, of_owners, self.maps(())))
            sentences = source.ids.cpu().split(source.layout.lengths.tolist())
            again = Ragged.pack([sentences[row] for row in owners.tolist()], device)
            subtrees = [best for best, *_ in beam_search([level], again, settings)]
        ends = np.cumsum([len(found) for found in slots])
        return [
            [self._joined(sketch, subtrees[end - len(found) : end], settings)]
            for sketch, found, end in zip(sketches, slots, ends.tolist(), strict=True)
        ]

    def _joined(
        self, sketch: Translation, subtrees: list[Translation], settings: SearchSettings
    ) -> Translation:
        """A sketch and its subtrees as one hypothesis."""
        tokens = sketch.tokens[:-1].tolist()
        for subtree in subtrees:
            tokens += [self.mark, *subtree.tokens[:-1].tolist()]
        tokens.append(EOS)
        log_prob = sketch.log_prob + sum(subtree.log_prob for subtree in subtrees)
        score = settings.score(log_prob, len(tokens))
        is_cut = sketch.cut or any(subtree.cut for subtree in subtrees)
        return Translation("", np.array(tokens, np.int32), log_prob, score, is_cut)

    def start(self, encoded: EncodedPieces) -> RecurrentState:
        """See :class:`Bert2Seq`."""
        state = super().start(encoded)
        rows, layers = len(state.hidden.feed), len(self.decoder)
        none = state.hidden.feed.new_zeros(rows, 0, layers, self.config.width)
        count = torch.zeros(rows, dtype=torch.int64, device=none.device)
        parents = Parents(none, none, none[:, :, 0], count, count)
        return SlotState(state.hidden, state.memory, state.linears, parents)

    def step_states(self, tokens: Tensor, state: Any) -> Any:
        """See :class:`Bert2Seq`."""
        if int(self.slot) < 0:
            return super().step_states(tokens, state)
        parents, hidden = state.parents, state.hidden
        is_slot = (tokens == self.slot) & (parents.begun == 0)
        if bool(is_slot.any()):
            parents = state.parents = _with_slot(parents, hidden, is_slot)
        begins = (tokens == self.mark) & (parents.begun < parents.slots)
        if bool(begins.any()):
            rows = torch.arange(len(tokens), device=tokens.device)
            which = parents.begun.clamp_max(parents.h.shape[1] - 1)
            parent = (table[rows, which] for table in (parents.h, parents.c, parents.feed))
            child = self._child(*parent)
            state.hidden = _where(begins, child, hidden)
            parents.begun = parents.begun + begins.long()
        states = self.advance(self.read_target(tokens), state)
        more = parents.slots > parents.begun
        return SlotStates(**vars(states), more=more)

    def read_target(self, ids: Tensor) -> Tensor:
        """See :class:`Bert2Seq`; a subtree begins as a sketch does."""
        return super().read_target(torch.where(ids == self.mark, EOS, ids))

    # Subtrees

    def _child(self, h: Tensor, c: Tensor, feed: Tensor) -> Hidden:
        """The state before a subtree; h and c of its slot, [rows, layers, width]."""
        tag = self.tag.expand(*h.shape[:2], -1)
        h = torch.tanh(self.child_h(torch.cat((h, tag), 2)))
        c = self.child_c(torch.cat((c, tag), 2))
        return Hidden(list(h.unbind(1)), list(c.unbind(1)), feed)


class _Level(nn.Module):
    """The sketches or the subtrees of a batch, as a model to search with."""

    def __init__(self, model: CoarseToFine, state: RecurrentState) -> None:
        super().__init__()
        self._model, self._state = (model,), state

    def encode(self, source: Ragged) -> Ragged:
        """Nothing: the batch is encoded already."""
        return source

    def start(self, encoded: Ragged) -> RecurrentState:
        """The state before the first step."""
        return self._state

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Consume one id per row; the end is the end of this level."""
        (model,) = self._model
        return model.project(Bert2Seq.step_states(model, tokens, state))


def _running(flags: np.ndarray, starts: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The number of flags in each token's sentence up to the token."""
    counts = np.cumsum(flags)
    return counts - (counts[starts] - flags[starts])[sentences]


def _nth_slots(positions: np.ndarray, sentences: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """The position of the slot of each mark: the first mark of a sentence has its first slot.

    :param positions: of all slots; ``owners``: the sentence of each mark.
    """
    first = np.searchsorted(sentences[positions], np.arange(sentences[-1] + 1))
    nth = np.arange(len(owners)) - np.searchsorted(owners, owners)
    return positions[first[owners] + nth]


def _gather(hidden: list[Hidden], chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """h and c, [chosen, layers, width], and the attentional vectors of tokens by step."""
    h, c = (
        torch.stack(
            [
                torch.cat([getattr(step, name)[layer] for step in hidden])[chosen]
                for layer in range(len(hidden[0].h))
            ],
            1,
        )
        for name in ("h", "c")
    )
    return h, c, torch.cat([step.feed for step in hidden])[chosen]


def _with_slot(parents: Parents, hidden: Hidden, is_slot: Tensor) -> Parents:
    """Add the state of the rows whose last token is a slot."""
    needed = int((parents.slots + is_slot.long()).max())
    tables = []
    for table, now in (
        (parents.h, torch.stack(hidden.h, 1)),
        (parents.c, torch.stack(hidden.c, 1)),
        (parents.feed, hidden.feed),
    ):
        rest = table.new_zeros(len(table), max(0, needed - table.shape[1]), *table.shape[2:])
        table = torch.cat((table, rest), 1)
        rows = is_slot.nonzero()[:, 0]
        table[rows, parents.slots[rows]] = now[rows]
        tables.append(table)
    h, c, feed = tables
    return Parents(h, c, feed, parents.slots + is_slot.long(), parents.begun)


def _where(rows: Tensor, first: Hidden, second: Hidden) -> Hidden:
    """The first state in some rows, the second in the others."""
    chosen = rows[:, None]
    h, c = (
        [torch.where(chosen, begun, going) for begun, going in zip(*layers, strict=True)]
        for layers in ((first.h, second.h), (first.c, second.c))
    )
    return Hidden(h, c, torch.where(chosen, first.feed, second.feed))
