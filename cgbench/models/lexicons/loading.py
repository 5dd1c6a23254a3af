"""Give a new model the lexicon that its configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from cgbench.errors import InputError
from cgbench.models.config.lexical import LexicalConfig
from cgbench.models.lexicons.lexicon import Lexicon
from cgbench.models.lexicons.matrix import lexicon_matrix
from cgbench.models.text.subwords import Subwords


def load_lexicon(model: Any, config: object, subwords: Subwords, lexicon: Path | None, seed: int) -> None:
    """Set what the source words of a model stand for; nothing to do for a model without lexical translation.

    :param config: the model's.
    :param lexicon: file of a lexicon, where ``config`` needs one.
    :param seed: of a random start.
    :raises InputError: the lexicon is empty, or names words that the dictionaries lack.
    """
    if not isinstance(config, LexicalConfig) or config.lexicon == "none":
        return
    entries = Lexicon.load(lexicon) if lexicon else None
    start = config.lexicon if config.lexicon in ("copy", "uniform", "random") else "lexicon"
    try:
        matrix = lexicon_matrix(
            entries,
            subwords.source,
            subwords.target,
            start=start,
            form="hard" if config.lexicon in ("hard", "copy") else "soft",
            rules=config.lexicon_rules,
            temperature=config.lexicon_temperature,
            seed=seed,
        )
    except InputError as error:
        raise InputError(f"{lexicon}: {error}") from None
    model.lexical.load(torch.from_numpy(matrix))
