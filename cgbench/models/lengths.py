"""Length limits of a checkpoint: that of training, and its number of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.errors import InputError

if TYPE_CHECKING:
    from cgbench.models.text.subwords import Subwords


def longer_than_trained(subwords: Subwords, lines: Sequence[str], most: int) -> tuple[int, str]:
    """Count the source lines longer than those of training.

    :param most: ``training.max_length`` of the model: tokens with the end token.
    :returns: the count, and a message that names the first of them ("" if none).
    """
    lengths = np.array([len(ids) for ids in subwords.encode_source(lines)], np.int64)
    over = np.flatnonzero(lengths > most)
    if not len(over):
        return 0, ""
    further = f" (and {len(over) - 1:,} more line{'s' * (len(over) > 2)})" if len(over) > 1 else ""
    return (
        len(over),
        (
            f"line {over[0] + 1}: {lengths[over[0]]} {subwords.unit} with the end token, but the"
            f" model was trained on at most {most}{further}"
        ),
    )


def check_positions(
    lengths: Sequence[int], most: int | None, noun: str = "line", model: str = ""
) -> None:
    """Check that sentences fit a model's positions.

    :param lengths: in tokens with the end token; ``most``: their maximum; None: no limit.
    :param noun: what a length is of, for the message; ``model``: its beginning.
    """
    if over := [
        line_number
        for line_number, length in enumerate(lengths, 1)
        if most is not None and length > most
    ]:
        further = f" (and {len(over) - 1:,} more)" if len(over) > 1 else ""
        raise InputError(
            f"{model and f'{model}: '}{noun} {over[0]}{further} has {lengths[over[0] - 1]:,}"
            f" tokens, but the model has positions for {most:,}; shorten or remove such sentences"
        )


def positions_of(config: Any) -> int | None:
    """Maximum number of tokens by the positions of a model of ``transformers``; None: no limit
    (T5).
    """
    if getattr(config, "model_type", "") in ("t5", "mt5", "umt5", "longt5"):
        return None
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    return int(positions) if positions else None
