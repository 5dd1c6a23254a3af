"""How long a sentence may be for a checkpoint: as long as those it was trained on, and as it has positions for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.models.text.subwords import Subwords


def longer_than_trained(subwords: Subwords, lines: Sequence[str], most: int) -> tuple[int, str]:
    """How many source lines are longer than those of training, and what to say of them.

    :param most: ``training.max_length`` of the model: tokens, the end token included.
    :returns: the count, and a message that names the first of them (empty where there is none).
    """
    lengths = np.array([len(ids) for ids in subwords.encode_source(lines)], np.int64)
    over = np.flatnonzero(lengths > most)
    if not len(over):
        return 0, ""
    more = f" (and {len(over) - 1:,} more line{'s' * (len(over) > 2)})" if len(over) > 1 else ""
    return len(over), (
        f"line {over[0] + 1}: {lengths[over[0]]} {subwords.unit} with the end, where the model was trained on at most "
        f"{most}{more}"
    )


def check_positions(side: str, sentences: Sequence[np.ndarray], most: int | None) -> None:
    """Check that a model does not run out of positions.

    :param side: ``source`` or ``target``; ``sentences``: their ids with the end token.
    :param most: the most tokens that there are positions for; None for any number.
    :raises InputError: a sentence is longer; the first one is named.
    """
    for number, ids in enumerate(sentences, 1):
        if most is not None and len(ids) > most:
            raise InputError(
                f"sentence {number}: its {side} has {len(ids):,} tokens with the end, and the model has positions "
                f"for {most:,}; shorten or leave out such sentences"
            )
