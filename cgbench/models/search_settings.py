"""How hypotheses are searched for and scored: the settings of every search, with their defaults."""

import math
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from cgbench.records import Record
from cgbench.request import check

if TYPE_CHECKING:
    import numpy as np


class SearchSettings(Record):
    """Settings of a beam search.

    :param beam: number of hypotheses that a sentence has at a time; 1 is greedy search.
    :param max_length_ratio, max_length_extra: a hypothesis has at most ``max_length_ratio`` times
        the tokens of the source (with the end token, as in fairseq) plus ``max_length_extra``
        before its end, and at least one.
    :param length_penalty, length_offset: the score of a hypothesis is its log-probability divided
        by ((offset + tokens) / (offset + 1))^penalty, counting the end token. An offset of 0 is
        fairseq's normalisation, one of 5 that of Wu et al. (2016) and tensor2tensor.
    :raises InputError: a value is out of range.
    """

    _: KW_ONLY
    beam: int = 5
    max_length_ratio: float = 1.2
    max_length_extra: int = 10
    length_penalty: float = 1.0
    length_offset: float = 0.0

    def __post_init__(self) -> None:
        check(int, 1, beam=self.beam)
        check(float, 0, max_length_ratio=self.max_length_ratio)
        check(int, 0, max_length_extra=self.max_length_extra)
        check(float, length_penalty=self.length_penalty)
        check(float, 0, length_offset=self.length_offset)

    def limits(self, source_lengths: "np.ndarray") -> "np.ndarray":
        """Maximum tokens before the end token, from source lengths with the end token."""
        import numpy as np

        limits = np.floor(source_lengths * self.max_length_ratio + self.max_length_extra)
        return np.maximum(limits.astype(np.int64), 1)

    def score(self, log_prob: float, length: int) -> float:
        """The score of a hypothesis of ``length`` tokens, with the end token."""
        normalised_length = (self.length_offset + length) / (self.length_offset + 1)
        return log_prob / float(normalised_length**self.length_penalty)

    def extra_for(self, source_lengths: "np.ndarray", target_lengths: "np.ndarray") -> int:
        """The ``max_length_extra`` with which no hypothesis as long as its target is cut."""
        excess = target_lengths - self.max_length_ratio * source_lengths
        return math.ceil(float(excess.max(initial=0)))


DEFAULT_SEARCH = SearchSettings()
