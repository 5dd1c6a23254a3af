"""Counts from elsewhere: whoever says how often an n-gram occurs can stand for a corpus that is read.

An infini-gram index (Liu et al. 2024, "Infini-gram: Scaling unbounded n-gram language models to a trillion tokens")
counts any n-gram of trillions of words; its hosted service answers over HTTP. An index counts strings as its own
tokeniser cuts them, across the lines of a document, so its figures are not those of a corpus that is read word by word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cgbench.errors import InputError
from cgbench.progress import bar
from cgbench.text.web import NoReply, check_url, post_json

URL = "https://api.infini-gram.io/"
ATTEMPTS = 5
WAIT = 1.0  # seconds before the second attempt, doubled for each after it
TIMEOUT = 60.0  # seconds for a whole answer
FORM = "INDEX, or INDEX@URL such as v4_rpj_llama_s4@https://api.infini-gram.io/"


class CountSource(Protocol):
    """What knows how often n-grams occur."""

    @property
    def name(self) -> str:
        """What it is called in a result."""
        ...

    def count(self, words: Sequence[str]) -> int:
        """How often these words occur one behind the other.

        :raises InputError: it does not say.
        """
        ...


@dataclass(frozen=True)
class InfiniGram:
    """An index of an infini-gram service: ``index`` by its name, such as ``v4_rpj_llama_s4``, at ``url``."""

    index: str
    url: str = URL

    @classmethod
    def named(cls, given: str) -> InfiniGram:
        """``INDEX``, or ``INDEX@URL``."""
        index, _, url = given.partition("@")
        return cls(index, url or URL)

    @property
    def name(self) -> str:
        """The index and where it is."""
        return f"infini-gram index {self.index} of {self.url}"

    def count(self, words: Sequence[str]) -> int:
        """How often the words, a blank between, occur.

        :raises InputError: the service cannot be reached, refuses, or answers with something else than an exact count.
        """
        asked = {"index": self.index, "query_type": "count", "query": " ".join(words)}
        answer = self._ask(asked)
        found = answer.get("count") if isinstance(answer, dict) else None
        if type(found) is not int or found < 0:
            said = answer.get("error", answer) if isinstance(answer, dict) else answer
            raise InputError(f"{self.name}: no count in its answer ({json.dumps(said)[:200]}); is the index right?")
        if answer.get("approx"):
            raise InputError(f"{self.name}: counts {asked['query'][:80]!r} about, not exactly")
        return found

    def _ask(self, asked: dict[str, str]) -> Any:
        check_url(self.url, self.name, FORM)
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(WAIT * 2 ** (attempt - 1))
            try:
                reply = post_json(self.url, asked, seconds=TIMEOUT)
            except NoReply as error:
                reason = str(error)
                continue
            try:
                return reply.json()
            except NoReply:
                said = f"answers with something that is not JSON (status {reply.status})"
                raise InputError(f"{self.name}: {said}") from None
        raise InputError(f"{self.name}: cannot be reached ({reason}); give the same command again later")


def ends_from(source: CountSource, sentences: Sequence[Sequence[str]], min_count: int) -> np.ndarray:
    """The words of the longest n-gram that ends at each word of sentences and that ``source`` counts ``min_count``
    times, int32 ``[words of all sentences]``, with at most two questions a word.

    What is within a known n-gram is known, so the longest that ends at a word is at most a word longer than that which
    ends at the word before.

    :raises InputError: the source does not say.
    """
    known: dict[tuple[str, ...], bool] = {}
    ends = []
    with bar(sum(map(len, sentences)), "ask for counts", "word") as progress:
        for words in sentences:
            longest = 0
            for end in range(1, len(words) + 1):
                longest += 1
                while longest:
                    ngram = tuple(words[end - longest : end])
                    if ngram not in known:
                        known[ngram] = source.count(ngram) >= min_count
                    if known[ngram]:
                        break
                    longest -= 1
                ends.append(longest)
            progress.update(len(words))
    return np.array(ends, np.int32)
