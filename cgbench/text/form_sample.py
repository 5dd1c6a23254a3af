"""A sample of a text whose form is judged, and what several laws count in it."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from cgbench.records import Record
from cgbench.text.plain_text import words_of

LAST_LATIN = "\u2e7f"
"""The last character before those of East Asia."""


class FormSample(Record):
    """Lines of a text, with their words and characters, which are counted once."""

    lines: Sequence[str]

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self.lines)

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of the lines that have any."""
        return [words for words in map(words_of, self.lines) if words]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(chain.from_iterable(self.words))

    @cached_property
    def marked_counts(self) -> dict[str, int]:
        """The same of the words that are not only letters and digits, or begin with a Latin letter
        outside ASCII, which may be a mark of byte-level pieces.
        """
        return {
            word: count
            for word, count in self.counts.items()
            if not word.isalnum() or "\u0100" <= word[0] <= LAST_LATIN
        }

    @cached_property
    def characters(self) -> frozenset[str]:
        """The characters that occur."""
        return frozenset().union(*self.lines)

    def lines_with(self, text: str) -> int:
        """How many lines contain a text."""
        return sum(text in line for line in self.lines)
