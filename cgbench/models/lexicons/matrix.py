"""The matrix L of a model's lexical translation: for each source word a distribution over target
words.

Akyürek and Andreas (2021), section 4. Where the paper differs from the authors' code, this is the
code.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError
from cgbench.models.config.lstm_lexicon import LSTMLexiconConfig
from cgbench.models.lexicons.counting import Entries
from cgbench.models.lexicons.lexicon import Lexicon
from cgbench.models.special_ids import SPECIALS
from cgbench.models.text.subwords import Subwords
from cgbench.numbers_as_text import counted

NO_WORDS = (*SPECIALS, "<copy>")  # tokens that only translate to themselves
SHOWN = 5  # maximum words in a message


def load_lexicon(model: Any, config: object, subwords: Subwords, lexicon: Path | None) -> None:
    """Set the lexicon matrix of a model with lexical translation.

    :param config: the model's.
    :param lexicon: the lexicon file, if ``config`` needs one.
    """
    import torch

    if not isinstance(config, LSTMLexiconConfig) or config.lexicon == "none":
        return
    entries = Lexicon.load(lexicon) if lexicon else None
    try:
        matrix = lexicon_matrix(config, entries, subwords.source, subwords.target)
    except InputError as error:
        raise InputError(f"{lexicon}: {error}") from None
    model.lexical.load(torch.from_numpy(matrix))


def lexicon_matrix(
    config: LSTMLexiconConfig, lexicon: Lexicon | None, source: Sequence[str], target: Sequence[str]
) -> np.ndarray:
    """Make the matrix L.

    ``config.lexicon`` is the source of its values:

    - ``hard``: a lexicon; each source word translates to its strongest target word, the first of
      ties (τ = 0 in the paper);
    - ``soft``, ``learned``: a lexicon; a softmax of the values with temperature τ;
    - ``copy``: words translate to the same word;
    - ``uniform``: 1/2 for all.

    A word without entries translates to the same word, or if that is not in the target vocabulary,
    to the target words without source words (to the first of them if hard); the softmax is over the
    whole vocabulary, where the same word has value 1/2. τ is ``config.lexicon_temperature``; the
    code's ``soft_temp`` is twice that, because it doubles the values.

    :param lexicon: if ``config`` needs one.
    :param source: source vocabulary by id, V_x words; ``target``: target vocabulary, V_y words.
    :returns: float32 [V_x, V_y]. A row sums to 1, or to 0 for a word without translation.
    """
    hard, temperature = config.lexicon in ("hard", "copy"), config.lexicon_temperature
    shape = len(source), len(target)
    values: np.ndarray
    if config.lexicon == "uniform":
        values = np.full(shape, 0.5, np.float32)
    else:
        values = np.zeros(shape, np.float32)
        entries = np.array(source, object), np.array(target, object)
        _, rows, columns = np.intersect1d(
            entries[0], entries[1], assume_unique=True, return_indices=True
        )
        values[rows, columns] = 0.5
        if lexicon is not None:
            _enter(values, lexicon, source, target)
    if not hard:
        weights = np.exp((values - values.max(1, keepdims=True)) / np.float32(temperature))
        return weights / weights.sum(1, keepdims=True)
    values[values == 0] = -np.inf
    translated = np.flatnonzero(values.max(1) > -np.inf)
    matrix = np.zeros(shape, np.float32)
    matrix[translated, values[translated].argmax(1)] = 1
    return matrix


def _enter(
    values: np.ndarray, lexicon: Lexicon, source: Sequence[str], target: Sequence[str]
) -> None:
    """Set the entries of a lexicon in half of the initial matrix of the authors' code, and those of
    words without.
    """
    sources, targets, strengths = _entries(lexicon, source, target)
    values[sources, targets] = strengths
    ordinary = (
        np.array([entry not in NO_WORDS for entry in side], bool) for side in (source, target)
    )
    rows, columns = (
        np.flatnonzero((values.sum(axis) == 0) & words)
        for axis, words in zip((1, 0), ordinary, strict=True)
    )
    if len(rows) and len(columns):
        values[np.ix_(rows, columns)] = 0.5 / len(columns)


def _entries(lexicon: Lexicon, source: Sequence[str], target: Sequence[str]) -> Entries:
    if not len(lexicon):
        raise InputError("the lexicon is empty")
    sources, targets = (
        {entry: index for index, entry in enumerate(side)} for side in (source, target)
    )
    target_words = [lexicon.target_words[index] for index in np.unique(lexicon.targets).tolist()]
    missing = [
        _missing(lexicon.source_words, sources, "source"),
        _missing(target_words, targets, "target"),
    ]
    if any(missing):
        raise InputError(
            f"the lexicon has {' and '.join(filter(None, missing))} not in the vocabulary; learn it"
            " from the same training data, and train with whole words (text.unit=words)"
        )
    rows = np.repeat([sources[word] for word in lexicon.source_words], np.diff(lexicon.begin))
    columns = np.array([targets.get(word, -1) for word in lexicon.target_words])[lexicon.targets]
    return rows, columns, lexicon.values.astype(np.float32)


def _missing(words: Collection[str], vocabulary: Collection[str], side: str) -> str:
    """``2 source words (dax, wif)``; empty if the vocabulary has all of them."""
    lacking = [word for word in words if word not in vocabulary]
    if not lacking:
        return ""
    examples = ", ".join(map(repr, lacking[:SHOWN])) + (", ..." if len(lacking) > SHOWN else "")
    return f"{counted(len(lacking), f'{side} word')} ({examples})"
