"""Statistics of a benchmark: the row of Table 2 of Zheng and Lapata 2023 for a training and a test
text.

The number of examples, the compositional degree (the mean over sentences of pieces over words;
:mod:`~.known_ngrams.known`), and the novel n-grams of words and of part-of-speech tags
(:mod:`~.stats.novelty`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cgbench.benchmark.build.stats.novelty import Novelty, novel_ngrams, novel_tag_ngrams
from cgbench.benchmark.build.stats.single_texts import Text, check_sentences, text_digest
from cgbench.benchmark.measure.known_ngrams.known import KnownNgrams
from cgbench.benchmark.measure.metrics.metric import Signature
from cgbench.benchmark.measure.overlap.corpus_counts import CorpusCounts
from cgbench.benchmark.measure.overlap.known_from import ngrams_of_lines, text_of_lines
from cgbench.benchmark.release.manifest import summary
from cgbench.errors import InputError, argument
from cgbench.text.normalisation import Normalisation

if TYPE_CHECKING:
    from cgbench.benchmark.build.stats.pos import Tags
    from cgbench.benchmark.measure.divergence.elements import ElementType
    from cgbench.benchmark.measure.divergence.measure import Divergences

SHORT = {
    "orders": "o",
    "min": "m",
    "side": "s",
    "tok": "t",
    "case": "c",
    "train": "tr",
    "test": "te",
}


@dataclass(frozen=True)
class Wanted:
    """The requested counts: n-grams of ``orders`` words, ascending.

    ``divergence``: its elements; a type with files has that of the training text, then one per test
    text. It is compared with ``random_splits``.
    """

    orders: tuple[int, ...] = (2, 3)
    divergence: ElementType | None = None
    random_splits: int = 0


@dataclass(frozen=True)
class StatsRow:
    """The statistics of one test text.

    ``pieces`` and ``lengths`` int32 ``[examples]``: the pieces of a least cover by known n-grams,
    and the words. ``words`` and ``pos``: novel n-grams of words and of tags, by order.
    """

    name: str
    train: str
    pieces: np.ndarray
    lengths: np.ndarray
    words: dict[int, Novelty]
    pos: dict[int, Novelty] | None
    signature: Signature
    divergence: Divergences | None = None

    @property
    def examples(self) -> int:
        """The number of test sentences."""
        return len(self.lengths)

    @property
    def mean_length(self) -> float:
        """Words per sentence."""
        return float(self.lengths.mean())

    @property
    def degrees(self) -> np.ndarray:
        """The compositional degree of each sentence, float64 ``[examples]``."""
        return self.pieces / self.lengths

    @property
    def degree(self) -> float:
        """The mean degree."""
        return float(self.degrees.mean())

    @property
    def quantiles(self) -> dict[str, float]:
        """Minimum, quartiles and maximum of the degrees, named as in a release's manifest."""
        return {name: value for name, value in summary(self.degrees).items() if name != "mean"}


@dataclass
class Training:
    """A training text, and what measures lines against it.

    ``threshold`` is the minimum count of known n-grams; ``measure`` gives pieces and lengths of
    lines, both int32 ``[lines]``.
    """

    text: Text
    threshold: int
    digest: str
    measure: Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]
    tags: list[list[str]] | None = None

    @classmethod
    def learn(cls, text: Text, min_count: int) -> Training:
        """Learn the known n-grams of a text."""
        digest = text_digest(text)
        return cls(
            text, min_count, digest, KnownNgrams.learn(text.content, min_count=min_count).measure
        )

    @classmethod
    def of_overlap(cls, overlap: CorpusCounts, tests: Sequence[Text], min_count: int) -> Training:
        """A corpus known through a ``cgbench overlap`` result on the test texts; its text consists
        of the longest known n-grams of these.

        :raises InputError: a test text is not in the result.
        """
        lines = [line for test in tests for line in test.lines]
        text = Text(str(overlap.folder), None, text_of_lines(overlap, lines))
        return cls(
            text, min_count, overlap.digest, ngrams_of_lines(overlap, lines, min_count).measure
        )

    @cached_property
    def lines(self) -> list[str]:
        """The text, one sentence per line, words separated by one blank; kept in memory after the
        first call.
        """
        return [" ".join(words) for words in self.text.sentences()]


def measure_text(
    training: Training,
    test: Text,
    name: str,
    counts: Wanted,
    normalisation: Normalisation,
    tags: Tags | None,
    text_number: int,
) -> StatsRow:
    """The statistics of one test text.

    :param tags: the source of tags, if requested; ``text_number`` is that of the test text in it
        (from 0).
    :raises InputError: the text is empty or has an empty sentence, or tags belong to other words.
    """
    check_sentences(test)
    pieces, lengths = training.measure(test.lines)
    words = novel_ngrams(training.text.blocks(), test.lines, counts.orders)
    pos = None
    if tags:
        if training.tags is None:
            training.tags = tags.tag(training.text.sentences(), training.text.name, 0)
        tagged = tags.tag(test.sentences(), test.name, text_number + 1)
        pos = novel_tag_ngrams(training.tags, tagged, counts.orders)
    items = {
        "orders": "+".join(map(str, counts.orders)),
        "min": training.threshold,
        "side": test.side or training.text.side,
        "tok": normalisation.signature(normalisation.languages[0]),
        "case": "lc" if normalisation.lowercase else "mixed",
        "pos": tags.name if tags else None,
        "train": training.digest[:8],
        "test": text_digest(test)[:8],
    }
    divergences = None
    if counts.divergence:
        from cgbench.benchmark.measure.divergence.measure import text_divergences

        kind = _type_of(counts.divergence, text_number)
        items["div"] = f"{kind.label}+{kind.weights}"
        texts = (training.text.name, training.lines), (test.name, test.lines)
        divergences = text_divergences(*texts, kind, splits=counts.random_splits)
    return StatsRow(
        name, training.text.name, pieces, lengths, words, pos, Signature(items, SHORT), divergences
    )


def _type_of(kind: ElementType, text_number: int) -> ElementType:
    """A type with the files of the training text and of the test text with this number."""
    from cgbench.benchmark.measure.divergence.elements import OF_FILES

    if kind.name not in OF_FILES:
        return kind
    if len(kind.files) < text_number + 2:
        raise InputError(
            f"{argument('divergence')}: {kind.name} needs a file for the training text and one per"
            f" test text, separated by commas; {len(kind.files)} given"
        )
    return dataclasses.replace(kind, files=(kind.files[0], kind.files[text_number + 1]))


def statistics_as_json(row: StatsRow) -> dict[str, Any]:
    """A row as JSON; the schema is in ``docs/reference/formats.md``."""
    return {
        **{
            name: getattr(row, name)
            for name in ("name", "train", "examples", "mean_length", "degree")
        },
        "degree_quantiles": row.quantiles,
        "novel_words": _each(row.words, attrgetter("novel")),
        "novel_pos": _each(row.pos, attrgetter("novel")),
        "word_ngrams": _each(row.words, Novelty.as_dict),
        "pos_ngrams": _each(row.pos, Novelty.as_dict),
        "divergence": row.divergence.as_dict() if row.divergence else None,
        "signature": str(row.signature),
        "signature_short": row.signature.format(short=True),
    }


def _each(
    counts: dict[int, Novelty] | None, read: Callable[[Novelty], Any]
) -> dict[str, Any] | None:
    return {str(order): read(novelty) for order, novelty in counts.items()} if counts else None
