"""Which words systems get right: precision, recall and F1 of the words of a group, such as those of
a frequency in training (``--by-word``).

The question and the counts are those of compare-mt (Neubig et al. 2019): an output word is right if
the reference contains it, at most as often as there. Intervals and tests are over sentences. Words
are those between blanks; in text without blanks, characters.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cgbench.benchmark.measure.metrics.metric import Metric
from cgbench.benchmark.score.comparison.comparison import Comparison, compare_statistics
from cgbench.benchmark.score.comparison.paired_tests import CALIBRATED
from cgbench.benchmark.score.evaluation.analysis import Analysis
from cgbench.benchmark.score.evaluation.scoring_context import ScoringContext
from cgbench.benchmark.score.forms.rows import Row, subset_rows
from cgbench.benchmark.score.outputs.hypotheses import outputs_of
from cgbench.errors import InputError, argument
from cgbench.settings import did_you_mean
from cgbench.text.plain_text import words_of
from cgbench.text.profile import is_unspaced
from cgbench.text.streams import read_lines

if TYPE_CHECKING:
    from cgbench.benchmark.build.stats.pos import SpacyTags

COUNTS = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 99), (100, 999), (1000, None))
"""Groups of words by their count in training: the least and the most of each."""
LENGTHS = ((1, 3), (4, 6), (7, 9), (10, None))
"""Groups of words by their number of characters."""
TABLE = "table:"
TAGGED = "pos:"
OTHER = "other"
MEASURES = ("precision", "recall", "F1")
KINDS = ("frequency", "known", "length")
SPELLINGS = (*KINDS, f"{TAGGED}MODEL", f"{TABLE}FILE")

Split = Callable[[str], list[str]]


def label_of(bounds: tuple[int, int | None]) -> str:
    """The name of a group of numbers."""
    least, most = bounds
    return f"{least}" if least == most else f"{least}-{most}" if most else f">= {least}"


@dataclass(frozen=True)
class WordGroups:
    """Groups of words: their names, and the group of a word."""

    labels: tuple[str, ...]
    group_of: Callable[[str], int]

    @classmethod
    def by_number(
        cls, groups: Sequence[tuple[int, int | None]], number_of: Callable[[str], int]
    ) -> "WordGroups":
        """By a number of each word."""
        most = [high for _, high in groups if high is not None]
        labels = tuple(map(label_of, groups))
        return cls(labels, lambda word: bisect_left(most, number_of(word)))

    @classmethod
    def by_label(cls, labels: Mapping[str, str]) -> "WordGroups":
        """By a label of each word, such as its part of speech; others have none."""
        names = [*sorted(set(labels.values())), OTHER]
        positions = {name: position for position, name in enumerate(names)}
        return cls(tuple(names), lambda word: positions[labels.get(word, OTHER)])


def groups_of(
    kind: str,
    training: Callable[[], Sequence[str]] | None,
    references: Iterable[str] = (),
    outputs: Iterable[str] = (),
) -> WordGroups:
    """The groups that ``--by-word`` names.

    :param training: gives the lines of the training text, if there is one.
    :param references: the texts that parts of speech are read from, with the ``outputs``.
    :raises InputError: the name is unknown, or the training text, the table or the tagger is
        missing.
    """
    if kind == "length":
        return WordGroups.by_number(LENGTHS, len)
    if kind.startswith(TABLE):
        return WordGroups.by_label(_labels(Path(kind.removeprefix(TABLE))))
    if kind.startswith(TAGGED):
        return WordGroups.by_label(parts_of_speech(kind.removeprefix(TAGGED), references, outputs))
    if kind not in KINDS:
        raise InputError(f"{argument('by_word', kind)}{did_you_mean(kind, SPELLINGS)}")
    if training is None:
        raise InputError(
            f"{argument('by_word', kind)} needs the training text; give {argument('train')}"
        )
    counts = Counter(word for line in training() for word in words_of(line))
    if kind == "frequency":
        return groups_by_frequency(counts)
    return WordGroups(("new", "known"), lambda word: int(word in counts))


def groups_by_frequency(counts: Counter[str]) -> WordGroups:
    """Groups of words by their count in training."""
    return WordGroups.by_number(COUNTS, lambda word: counts[word])


def parts_of_speech(
    model: str, references: Iterable[str], outputs: Iterable[str]
) -> dict[str, str]:
    """The part of speech of each word: its most frequent tag in the references, or in the outputs
    if they alone contain it. So a system cannot change the tag of a word of the references.

    :param model: an installed spaCy pipeline.
    :raises InputError: it is a folder, is not installed, or has no tagger.
    """
    from cgbench.benchmark.build.stats.pos import SpacyTags

    if Path(model).exists():
        raise InputError(
            f"{argument('by_word', TAGGED + model)}: a spaCy pipeline in a folder can run any code;"
            " install it if you trust its author (pip install FOLDER), and give its name"
        )
    tagger = SpacyTags(model)
    return _usual_tags(tagger, outputs) | _usual_tags(tagger, references)


def _usual_tags(tagger: "SpacyTags", texts: Iterable[str]) -> dict[str, str]:
    """The most frequent tag of each word; of equally frequent ones, the first."""
    sentences = [words_of(text) for text in texts]
    tags_of_word: dict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in zip(sentences, tagger.tag(sentences, "the words", 0), strict=True):
        for word, tag in zip(words, tags, strict=True):
            tags_of_word[word][tag] += 1
    return {word: tags.most_common(1)[0][0] for word, tags in tags_of_word.items()}


def _labels(path: Path) -> dict[str, str]:
    """The label of each word: a word and its label per line, separated by a tab.

    :raises InputError: a line has another form, or a word has two labels.
    """
    labels: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        word, tab, label = line.partition("\t")
        if not (word and tab and label) or "\t" in label:
            raise InputError(f"{path}, line {number}: write a word, a tab and its label")
        if labels.setdefault(word, label) != label:
            raise InputError(f"{path}, line {number}: {word} has the label {labels[word]} above")
    return labels


@dataclass(frozen=True)
class WordCounts:
    """Counts the words of outputs by group, against the words ``expected`` of each example."""

    groups: WordGroups
    expected: Sequence[Mapping[str, int]]
    split: Split = words_of

    def of(self, lines: Sequence[str]) -> np.ndarray:
        """Matches, output words and reference words of each group, float64 ``[n, 3 * groups]``."""
        counts = self._of_references.copy()
        for row, (line, expected) in enumerate(zip(lines, self.expected, strict=True)):
            for word, count in Counter(self.split(line)).items():
                matches = min(count, expected.get(word, 0))
                counts[row, self.groups.group_of(word), :2] += (matches, count)
        return counts.reshape(len(counts), -1)

    def of_systems(self, texts: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
        """The same of each run of each system, ``[runs, n, 3 * groups]`` for each system."""
        return [np.stack([self.of(lines) for lines in runs]) for runs in texts]

    @cached_property
    def _of_references(self) -> np.ndarray:
        """The reference words of each group, ``[n, groups, 3]``."""
        counts = np.zeros((len(self.expected), len(self.groups.labels), 3))
        for row, expected in enumerate(self.expected):
            for word, count in expected.items():
                counts[row, self.groups.group_of(word), 2] += count
        return counts


class WordScores(Metric):
    """Precision, recall or F1 of some groups of words, in percent; 0 without a match.

    The statistics of an example are, for each group, the matches, the output words and the
    reference words.
    """

    name = "words"
    one_family = True

    def __init__(self, measure: str, counts: WordCounts, groups: Sequence[int]) -> None:
        """``groups``: the indices of those that are scored."""
        self.measure = measure
        self.figures = tuple(counts.groups.labels[group] for group in groups)
        self.columns = [3 * group + count for group in groups for count in range(3)]
        self._counts = counts

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self._counts.expected)

    def compute(self, sums: np.ndarray) -> np.ndarray:
        """The score of each group from sums ``[m, 3 * groups]``."""
        matches, outputs, references = (sums[:, start::3] for start in range(3))
        totals = {
            "precision": outputs,
            "recall": references,
            "F1": (outputs + references) / 2,
        }[self.measure]
        return 100 * np.divide(matches, totals, out=np.zeros_like(totals), where=totals > 0)

    def statistics(self, hypotheses: Sequence[str]) -> np.ndarray:
        """The counts of each example, float64 ``[n, 3 * groups]``."""
        self.check_hypotheses(hypotheses)
        return self._counts.of(hypotheses)[:, self.columns]


def expected_words(references: Sequence[Sequence[str]], split: Split) -> list[Counter[str]]:
    """The words of each example; of several references, as often as in the one that contains them
    most.
    """
    counts = []
    for example in references:
        most: Counter[str] = Counter()
        for text in example:
            most |= Counter(split(text))
        counts.append(most)
    return counts


def split_of(references: Sequence[Sequence[str]]) -> Split:
    """How the text is divided: at blanks; in text without blanks, into characters."""
    return characters_of if is_unspaced([example[0] for example in references]) else words_of


def characters_of(text: str) -> list[str]:
    """The characters of a text but blanks."""
    return [sign for sign in text if not sign.isspace()]


def _rows(context: ScoringContext) -> list[Row]:
    references = context.references
    texts = outputs_of(context.metric, context.systems)
    if references is None or not all(texts):
        raise InputError(f"{argument('by_word')} needs the outputs and {argument('references')}")
    kind = str(context.request.by_word)
    training = None if context.inputs.train is None else context.inputs.training
    outputs = (line for runs in texts for lines in runs for line in lines)
    groups = groups_of(kind, training, chain(*references), outputs)
    split = split_of(references)
    counts = WordCounts(groups, expected_words(references, split), split)
    return list(_scored(context, kind.partition(":")[0], counts, counts.of_systems(texts)))


def _scored(
    context: ScoringContext, kind: str, counts: WordCounts, statistics: Sequence[np.ndarray]
) -> Iterator[Row]:
    """A row per group, measure and system; groups without a word are left out."""
    totals = sum(system.sum(axis=(0, 1)) for system in statistics).reshape(-1, 3)
    used = np.flatnonzero(totals.any(axis=1)).tolist()
    reference_words = statistics[0][0].sum(axis=0).reshape(-1, 3)[:, 2]
    metrics = {measure: WordScores(measure, counts, used) for measure in MEASURES}
    labels = [counts.groups.labels[group] for group in used]
    systems = {
        system.name: runs[:, :, metrics["F1"].columns]
        for system, runs in zip(context.systems, statistics, strict=True)
    }
    comparison = _comparison(context)
    blank = Row("words", "", "", by=f"word {kind}", baseline=context.scored.baseline)
    rows = []
    for measure, metric in metrics.items():
        everything = [np.arange(context.metric.n)]
        (scores,) = compare_statistics(metric, context.sampling, systems, comparison, everything)
        for (name, runs), subset in zip(systems.items(), scores, strict=True):
            shared = replace(blank, system=name, runs=len(runs))
            rows += [
                replace(row, figure=measure, bin=row.figure, n=int(reference_words[used[position]]))
                for row in subset_rows(shared, subset)
                for position in [labels.index(row.figure)]
            ]
    yield from sorted(rows, key=lambda row: labels.index(str(row.bin)))


def _comparison(context: ScoringContext) -> Comparison:
    """The requested comparison, by the calibrated test, which suits every score."""
    comparison = context.comparison
    paired = CALIBRATED if comparison.paired else None
    return replace(comparison, paired=paired, confidence=True, require=())


BY_WORD = Analysis("by_word", _rows, for_first_metric=True)
