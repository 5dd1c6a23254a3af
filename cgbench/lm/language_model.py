"""Score sentences with an n-gram language model: an ARPA file or a KenLM binary file, read by the kenlm package.

KenLM maps a binary file into memory and follows what stands there without a test. So it runs in a child process: one
that a damaged file ends, or keeps busy, is one line of error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.engines.child import Answer, Child
from cgbench.errors import InputError, require
from cgbench.files import ordinary_file
from cgbench.text.plain_text import words_of

BLOCK = 256  # lines of a question
SECONDS, CHARACTERS = 60.0, 100_000  # that an answer may take, and characters that take one second more
BYTES_A_SECOND = 10 << 20  # of a binary file, at least, when it is opened


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
        names = ("sentences", "tokens", "oovs", "log10", "perplexity", "perplexity_without_oovs")
        return {name: getattr(self, name) for name in names}


def _perplexity(log10: float, tokens: int) -> float:
    """10 to the mean, 1e300 at most: weights of zero, written as -99, can add up to more than a float holds."""
    return float(10.0 ** min(-log10 / tokens, 300.0)) if tokens else float("nan")


class LanguageModel:
    """A model in memory; :meth:`load` opens one.

    Words are what ASCII white space separates. ``<s>``, ``</s>`` and ``<unk>`` in a sentence are unknown words.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._died = (
            f"{path}: not a whole KenLM binary file (it ended the process that read it, or kept it busy); make it again"
        )
        with path.open("rb") as file:
            binary = file.read(len(_MAGIC)) == _MAGIC
        self._child = Child("cgbench.lm.language_model:answers")
        seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND if binary else None  # of an ARPA file nothing is known
        self.order: int = self._child.ask({"open": str(path)}, self._died, seconds=seconds)[0]
        """Words of its longest n-grams."""

    @classmethod
    def load(cls, path: Path) -> LanguageModel:
        """Open an ARPA file or a KenLM binary file.

        :raises InputError: kenlm is not installed, or the file is missing, damaged or not such a file.
        """
        require("kenlm", "analysis")
        if path.is_dir():
            raise InputError(f"{path}: a folder, where a language model is needed (.arpa or .binary)")
        return cls(ordinary_file(path, link=True))

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
        numbered = enumerate(lines, 1)
        size = 1  # a reader at a terminal sees the first scores at once
        while block := list(islice(numbered, size)):
            for number, line in block:
                if "\0" in line:
                    raise InputError(f"line {number}: holds a NUL byte, which no word can hold; remove it")
            seconds = SECONDS + sum(len(line) for _, line in block) / CHARACTERS
            found, _ = self._child.ask({"lines": [line for _, line in block]}, self._died, seconds=seconds)
            for log10, tokens, oovs, log10_of_oovs in found:
                if math.isnan(log10):
                    raise InputError(f"{self.path}: not a whole language model (a probability is not a number)")
                if total is not None:
                    total.sentences += 1
                    total.tokens += tokens
                    total.oovs += oovs
                    total.log10 += log10
                    total.log10_of_oovs += log10_of_oovs
                yield SentenceScore(log10, tokens - 1, oovs)
            size = min(2 * size, BLOCK)


# What the child process does.

_MAGIC = b"mmap lm "


def answers() -> Answer:
    """What opens a model, then scores lines: log10, tokens, unknown tokens, and the log10 of these, of each."""
    model: Any = None
    known = {"<s>": "<unk>", "</s>": "<unk>", "<unk>": "<unk>", "<UNK>": "<unk>"}

    def score(line: str) -> tuple[float, int, int, float]:
        words = words_of(line)
        for word in words:
            if word not in known:
                known[word] = word if word in model else "<unk>"
        tokens = list(model.full_scores(" ".join([known[word] for word in words])))  # (log10, n, is unknown)
        unknown = [log for log, _, is_unknown in tokens if is_unknown]
        return math.fsum(log for log, _, _ in tokens), len(tokens), len(unknown), math.fsum(unknown)

    def answer(question: dict[str, Any]) -> tuple[Any, bytes]:
        nonlocal model
        if "open" in question:
            model = _open(Path(question["open"]))
            return model.order, b""
        return [score(line) for line in question["lines"]], b""

    return answer


def _open(path: Path) -> Any:
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except UnicodeDecodeError:  # of what KenLM has to say
        raise InputError(f"{path}: not a language model that KenLM reads (it is not UTF-8)") from None
    except (OSError, RuntimeError, MemoryError) as error:
        # without the place in its source code where it says so
        text = " ".join(str(error.__cause__ or error).split())
        said = re.search(r"threw \w+(?: because `.*?')?\. (.*)", text)
        reason = (said.group(1) if said else text).removesuffix(".").strip()
        raise InputError(f"{path}: not a language model that KenLM reads ({reason})") from None
