"""Score sentences with an n-gram language model: an ARPA file or a KenLM binary file, read by the
kenlm package.

KenLM maps a binary file into memory and follows its offsets unchecked. So it runs in a child
process: if a damaged file crashes or hangs it, cgbench raises an InputError.
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

BLOCK = 256  # lines per request
SECONDS, CHARACTERS = (
    60.0,
    100_000,
)  # time limit of a request, plus one second per this number of characters
BYTES_A_SECOND = 10 << 20  # minimum speed of opening a binary file


@dataclass(frozen=True)
class SentenceScore:
    """A sentence's log10 probability including ``</s>``, and its numbers of words and unknown
    words.
    """

    log10: float
    words: int
    oovs: int

    @property
    def perplexity(self) -> float:
        """Per token as KenLM defines it: ``</s>`` is one more token."""
        return _perplexity(self.log10, self.words + 1)

    def as_dict(self) -> dict[str, float]:
        """The fields and the perplexity, for JSON."""
        return {**asdict(self), "perplexity": self.perplexity}


@dataclass
class CorpusScore:
    """Sums over sentences as in KenLM's ``query``: tokens include the ``</s>`` of each sentence."""

    sentences: int = 0
    tokens: int = 0
    oovs: int = 0
    log10: float = 0.0
    log10_of_oovs: float = 0.0

    @property
    def perplexity(self) -> float:
        """Including unknown words, with the probability of ``<unk>``; nan without tokens."""
        return _perplexity(self.log10, self.tokens)

    @property
    def perplexity_without_oovs(self) -> float:
        """Over known words only."""
        return _perplexity(self.log10 - self.log10_of_oovs, self.tokens - self.oovs)

    def as_dict(self) -> dict[str, float]:
        """The fields and perplexities, for JSON."""
        names = ("sentences", "tokens", "oovs", "log10", "perplexity", "perplexity_without_oovs")
        return {name: getattr(self, name) for name in names}


def _perplexity(log10: float, tokens: int) -> float:
    """10 to the negative mean, at most 1e300: log10 values of -99 can add up to more than a float
    holds.
    """
    return float(10.0 ** min(-log10 / tokens, 300.0)) if tokens else float("nan")


class LanguageModel:
    """A model in memory; :meth:`load` opens one.

    ASCII white space separates words. ``<s>``, ``</s>`` and ``<unk>`` in a sentence are unknown
    words.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._died = (
            f"{path}: a damaged KenLM binary file (reading it crashed or took too long); make it"
            " again"
        )
        with path.open("rb") as file:
            binary = file.read(len(_MAGIC)) == _MAGIC
        self._child = Child("cgbench.lm.language_model:model_answers")
        seconds = (
            SECONDS + path.stat().st_size / BYTES_A_SECOND if binary else None
        )  # no limit for ARPA files
        self.order: int = self._child.ask({"open": str(path)}, self._died, seconds=seconds)[0]
        """Length of the longest n-grams."""

    @classmethod
    def load(cls, path: Path) -> LanguageModel:
        """Open an ARPA file or a KenLM binary file.

        :raises InputError: kenlm is not installed, or the file is missing, damaged or of another
            format.
        """
        require("kenlm", "kenlm")
        if path.is_dir():
            raise InputError(
                f"{path}: is a folder; a language model file is needed (.arpa or .binary)"
            )
        return cls(ordinary_file(path, link=True))

    def perplexity(self, lines: Iterable[str]) -> np.ndarray:
        """Perplexity of each sentence, ``</s>`` counted as a token, float64 ``[lines]``."""
        return np.array([score.perplexity for score in self.scores(lines)], np.float64)

    def scores(
        self, lines: Iterable[str], total: CorpusScore | None = None
    ) -> Iterator[SentenceScore]:
        """Yield each sentence's score, and add it to ``total``.

        KenLM's token scores are summed exactly; KenLM's own sentence sum is a 32-bit float, which
        loses digits in long sentences.
        """
        numbered = enumerate(lines, 1)
        block_size = 1  # a reader at a terminal sees the first scores at once
        while block := list(islice(numbered, block_size)):
            for line_number, line in block:
                if "\0" in line:
                    raise InputError(
                        f"line {line_number}: contains a NUL byte, which is not allowed; remove it"
                    )
            seconds = SECONDS + sum(len(line) for _, line in block) / CHARACTERS
            sums, _ = self._child.ask(
                {"lines": [line for _, line in block]}, self._died, seconds=seconds
            )
            for log10, tokens, oovs, log10_of_oovs in sums:
                if math.isnan(log10):
                    raise InputError(
                        f"{self.path}: a damaged language model (a probability is not a number)"
                    )
                if total is not None:
                    total.sentences += 1
                    total.tokens += tokens
                    total.oovs += oovs
                    total.log10 += log10
                    total.log10_of_oovs += log10_of_oovs
                yield SentenceScore(log10, tokens - 1, oovs)
            block_size = min(2 * block_size, BLOCK)


# The child process

_MAGIC = b"mmap lm "


def model_answers() -> Answer:
    """The handler that opens a model, then scores lines: log10, tokens, unknown tokens and their
    log10 for each.
    """
    model: Any = None
    known = {"<s>": "<unk>", "</s>": "<unk>", "<unk>": "<unk>", "<UNK>": "<unk>"}

    def score(line: str) -> tuple[float, int, int, float]:
        words = words_of(line)
        for word in words:
            if word not in known:
                known[word] = word if word in model else "<unk>"
        tokens = list(
            model.full_scores(" ".join([known[word] for word in words]))
        )  # (log10, n, is unknown)
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
    except UnicodeDecodeError:  # in KenLM's error message
        raise InputError(
            f"{path}: not a language model that KenLM reads (it is not UTF-8)"
        ) from None
    except (OSError, RuntimeError, MemoryError) as error:
        # without the position in KenLM's source code
        text = " ".join(str(error.__cause__ or error).split())
        match = re.search(r"threw \w+(?: because `.*?')?\. (.*)", text)
        reason = (match.group(1) if match else text).removesuffix(".").strip()
        raise InputError(f"{path}: not a language model that KenLM reads ({reason})") from None
