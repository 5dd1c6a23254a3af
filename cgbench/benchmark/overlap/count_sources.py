"""External n-gram counts, which can replace reading a corpus.

An infini-gram index (Liu et al. 2024, "Infini-gram: Scaling unbounded n-gram language models to a trillion tokens")
counts any n-gram of trillions of words; its hosted service answers over HTTP. An index counts strings as its own
tokeniser splits them, across the lines of a document. So its counts differ from those of a corpus read word by word.
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
WAIT = 1.0  # seconds before the second attempt, doubled for each later one
TIMEOUT = 60.0  # seconds for a complete answer
FORM = "INDEX, or INDEX@URL such as v4_rpj_llama_s4@https://api.infini-gram.io/"


class CountSource(Protocol):
    """A source of n-gram counts."""

    @property
    def name(self) -> str:
        """Its name in a result."""
        ...

    def count(self, words: Sequence[str]) -> int:
        """The number of occurrences of this sequence of words.

        :raises InputError: there is no answer.
        """
        ...


@dataclass(frozen=True)
class InfiniGram:
    """An index of an infini-gram service: its name, such as ``v4_rpj_llama_s4``, and its ``url``."""

    index: str
    url: str = URL

    @classmethod
    def named(cls, name: str) -> InfiniGram:
        """``INDEX``, or ``INDEX@URL``."""
        index, _, url = name.partition("@")
        return cls(index, url or URL)

    @property
    def name(self) -> str:
        """The index and its address."""
        return f"infini-gram index {self.index} of {self.url}"

    def count(self, words: Sequence[str]) -> int:
        """The number of occurrences of the words, separated by blanks.

        :raises InputError: the service cannot be reached, refuses, or does not answer with an exact count.
        """
        query = {"index": self.index, "query_type": "count", "query": " ".join(words)}
        answer = self._post(query)
        count = answer.get("count") if isinstance(answer, dict) else None
        if type(count) is not int or count < 0:
            error = answer.get("error", answer) if isinstance(answer, dict) else answer
            raise InputError(f"{self.name}: no count in its answer ({json.dumps(error)[:200]}); check the index name")
        if answer.get("approx"):
            raise InputError(f"{self.name}: the count of {query['query'][:80]!r} is not exact")
        return count

    def _post(self, query: dict[str, str]) -> Any:
        check_url(self.url, self.name, FORM)
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(WAIT * 2 ** (attempt - 1))
            try:
                reply = post_json(self.url, query, seconds=TIMEOUT)
            except NoReply as error:
                reason = str(error)
                continue
            try:
                return reply.json()
            except NoReply:
                message = f"the answer is not JSON (status {reply.status})"
                raise InputError(f"{self.name}: {message}") from None
        raise InputError(f"{self.name}: cannot be reached ({reason}); run the command again later")


def ends_from(source: CountSource, sentences: Sequence[Sequence[str]], min_count: int) -> np.ndarray:
    """The length of the longest n-gram that ends at each word of sentences and has a count of ``min_count`` in
    ``source``, int32 ``[words of all sentences]``. Makes at most two requests per word.

    Parts of a known n-gram are known. So the longest that ends at a word is at most one word longer than that at the
    word before."""
    known: dict[tuple[str, ...], bool] = {}
    ends = []
    with bar(sum(map(len, sentences)), "request counts", "word") as progress:
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
