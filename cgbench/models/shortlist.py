"""A shortlist of output words: hypotheses are made of the most frequent target words and the likely translations of the
source's own, and the output layer computes no others.

As Marian has it, and Jean et al. (2015), section 3.2, before: faster on a CPU and not exact. The words are those of a
sentence, not of its batch, so that a translation does not depend on its neighbours. For hypotheses alone: uncertainty
is never measured with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.errors import InputError
from cgbench.models.checkpoints import member_folders
from cgbench.models.lexicons.lexicon import Lexicon
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.subwords import Subwords
from cgbench.text.formats import Pair

COMMON, LIKELY = 100, 100  # as in Marian
BLOCK = 10_000  # pairs encoded at a time


@dataclass(frozen=True)
class Chosen:
    """The output words of a batch.

    :param ids: of the words that any of its sentences has, rising, int64 [W]; the first are those with a meaning of
        their own (``<s>``, padding, ``</s>``, ``<unk>``), at their ids.
    :param forbidden: the words that a sentence has not, bool [sentences, W].
    """

    ids: np.ndarray
    forbidden: Tensor


@dataclass(frozen=True)
class Shortlist:
    """What each source id may become.

    :param size: ids of the target; ``common``: how many of the first, which are the most frequent, every sentence has.
    :param begin: the first entry of each source id, int64 [source ids + 1]; ``targets``: target ids, int64.
    """

    size: int
    common: int
    begin: np.ndarray
    targets: np.ndarray

    @classmethod
    def load(cls, path: Path, subwords: Subwords, common: int = COMMON, likely: int = LIKELY) -> Shortlist:
        """Read a lexicon of a model's own subwords (``cgbench lexicon learn --subwords MODEL``).

        :param common: so many of the most frequent target words; ``likely``: of the likeliest of each source word.
        :raises InputError: the file is none, or of other words.
        """
        lexicon = Lexicon.load(path)
        numbers = {word: number for number, word in enumerate(subwords.source)}
        target = {word: number for number, word in enumerate(subwords.target)}
        known = np.array([target.get(word, -1) for word in lexicon.target_words], np.int64)
        rows: list[np.ndarray] = [np.empty(0, np.int64)] * subwords.source_size
        for number, word in enumerate(lexicon.source_words):
            if word in numbers:
                span = slice(lexicon.begin[number], lexicon.begin[number + 1])
                found = known[lexicon.targets[span]][np.argsort(-lexicon.values[span], kind="stable")]
                rows[numbers[word]] = found[found >= 0]
        if not any(map(len, rows)):
            raise InputError(
                f"{path}: has no word of this model's; learn it with: cgbench lexicon learn --subwords MODEL"
            )
        rows = [row[:likely] for row in rows]
        begin = np.cumsum([0, *map(len, rows)])
        return cls(subwords.target_size, len(SPECIALS) + common, begin, np.concatenate(rows))

    def choose(self, sources: Sequence[np.ndarray]) -> Chosen:
        """The words of some sentences; ``sources``: their ids."""
        allowed = np.zeros((len(sources), self.size), bool)
        allowed[:, : self.common] = True
        for row, ids in zip(allowed, sources, strict=True):
            for source in ids.tolist():
                row[self.targets[self.begin[source] : self.begin[source + 1]]] = True
        found = np.flatnonzero(allowed.any(0))
        return Chosen(found, torch.from_numpy(~allowed[:, found]))


def in_subwords(pairs: Iterable[Pair], model: Path) -> Iterator[Pair]:
    """Sentence pairs as the tokens of a model, blanks between them: what its shortlist is learned from.

    :param model: its checkpoint, or the folder of an ensemble.
    :raises InputError: there is none, or one whose tokens are characters.
    """
    subwords = Subwords.load(member_folders(model)[0])
    if subwords.unit == "characters":
        raise InputError(f"{model}: its tokens are characters, of which there are too few for a shortlist")
    pairs = iter(pairs)
    while some := list(islice(pairs, BLOCK)):
        sides = (subwords.encode_source([pair[0] for pair in some]), subwords.encode_target([pair[1] for pair in some]))
        for source, target in zip(*sides, strict=True):
            yield (
                " ".join(subwords.source[token] for token in source[:-1].tolist()),
                " ".join(subwords.target[token] for token in target[:-1].tolist()),
            )


@contextlib.contextmanager
def shortlisted(models: Sequence[Any], ids: np.ndarray) -> Iterator[None]:
    """Within, models have logits of these target words alone, in their order.

    :raises InputError: one of them has an output layer of another kind.
    """
    for model in models:
        if not getattr(model, "takes_shortlist", False):
            raise InputError("a shortlist is for models whose output layer is one matrix, and not for a lexicon in it")
    rows = torch.from_numpy(ids)
    try:
        for model in models:
            weight, bias = model.output_layer()
            # A parameter: the form of products that is fastest may keep a copy in another order beside it.
            part = nn.Parameter(weight.detach()[rows], requires_grad=False)
            model.chosen = (part, None if bias is None else bias.detach()[rows])
        yield
    finally:
        for model in models:
            model.chosen = None
