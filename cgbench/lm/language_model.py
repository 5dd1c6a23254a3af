"""Score sentences with an n-gram language model: an ARPA file or a KenLM binary file, read by the kenlm package."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.errors import InputError, require
from cgbench.lm.opened import open_model
from cgbench.text.plain_text import words_of


@dataclass(frozen=True)
class SentenceScore:
    """A sentence's log10 probability, that of ``</s>`` included; its words, and how many of them are unknown."""

    log10: float
    words: int
    oovs: int

    @property
    def perplexity(self) -> float:
        """By KenLM's definition: a token, with ``</s>`` as one more token."""
        return _perplexity(self.log10, self.words + 1)

    def as_dict(self) -> dict[str, float]:
        """As JSON."""
        return {**asdict(self), "perplexity": self.perplexity}


@dataclass
class CorpusScore:
    """The sums over sentences, as KenLM's ``query`` has them: tokens are words and the ``</s>`` of each sentence."""

    sentences: int = 0
    tokens: int = 0
    oovs: int = 0
    log10: float = 0.0
    log10_of_oovs: float = 0.0

    @property
    def perplexity(self) -> float:
        """With unknown words, at the probability of ``<unk>``; nan without a token."""
        return _perplexity(self.log10, self.tokens)

    @property
    def perplexity_without_oovs(self) -> float:
        """Over the words that are known."""
        return _perplexity(self.log10 - self.log10_of_oovs, self.tokens - self.oovs)

    def as_dict(self) -> dict[str, float]:
        """As JSON."""
        return {
            "sentences": self.sentences,
            "tokens": self.tokens,
            "oovs": self.oovs,
            "log10": self.log10,
            "perplexity": self.perplexity,
            "perplexity_without_oovs": self.perplexity_without_oovs,
        }


def _perplexity(log10: float, tokens: int) -> float:
    """10 to the mean, 1e300 at most: weights of zero, written as -99, can add up to more than a float holds."""
    return float(10.0 ** min(-log10 / tokens, 300.0)) if tokens else float("nan")


class LanguageModel:
    """A model in memory; :meth:`load` opens one.

    Words are what ASCII white space separates. ``<s>``, ``</s>`` and ``<unk>`` in a sentence are unknown words.
    """

    def __init__(self, model: Any, path: Path) -> None:
        self._model = model
        self.path = path
        self._known = {"<s>": "<unk>", "</s>": "<unk>", "<unk>": "<unk>", "<UNK>": "<unk>"}

    @classmethod
    def load(cls, path: Path) -> LanguageModel:
        """Open an ARPA file or a KenLM binary file.

        :raises InputError: kenlm is not installed, or the file is missing, damaged or not such a file.
        """
        require("kenlm", "analysis")
        if not path.exists():
            raise InputError(f"{path}: no such file")
        if path.is_dir():
            raise InputError(f"{path}: a folder, where a language model is needed (.arpa or .binary)")
        return cls(open_model(path), path)

    @property
    def order(self) -> int:
        """Words of its longest n-grams."""
        return int(self._model.order)

    def log10_probabilities(self, lines: Iterable[str]) -> np.ndarray:
        """log10 of the probability of each sentence with its ``</s>``, float64 ``[lines]``.

        :raises InputError: a line holds a NUL byte.
        """
        return np.array([score.log10 for score in self.scores(lines)], np.float64)

    def perplexity(self, lines: Iterable[str]) -> np.ndarray:
        """The perplexity of each sentence a token, ``</s>`` included, float64 ``[lines]``."""
        return np.array([score.perplexity for score in self.scores(lines)], np.float64)

    def scores(self, lines: Iterable[str], total: CorpusScore | None = None) -> Iterator[SentenceScore]:
        """Each sentence's score; ``total`` is added to.

        The scores of the tokens, which are KenLM's, are added up exactly; KenLM's own sum of a sentence is a float of
        32 bits and loses digits as the sentence grows.
        """
        for at, line in enumerate(lines, 1):
            text = self._text(line, at)
            tokens = list(self._model.full_scores(text))  # (log10, length of the n-gram, unknown) a token
            unknown = [log for log, _, is_unknown in tokens if is_unknown]
            score = SentenceScore(math.fsum(log for log, _, _ in tokens), len(tokens) - 1, len(unknown))
            if total is not None:
                total.sentences += 1
                total.tokens += len(tokens)
                total.oovs += len(unknown)
                total.log10 += score.log10
                total.log10_of_oovs += math.fsum(unknown)
            yield score

    def _text(self, line: str, number: int) -> str:
        """The sentence as KenLM is to see it: single blanks, and ``<unk>`` for what the model does not know."""
        if "\0" in line:
            raise InputError(f"line {number}: holds a NUL byte, which no word can hold; remove it")
        known = self._known
        found = words_of(line)
        for word in found:
            if word not in known:
                known[word] = word if word in self._model else "<unk>"
        return " ".join([known[word] for word in found])
