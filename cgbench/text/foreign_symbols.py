"""Characters that only the hypotheses have.

The laws: a symbol that most hypotheses and hardly any reference have is not of the language if the
hypotheses match their references better without it. A character that many hypotheses and hardly
any reference have stands for one that is missing from them (``。`` for ``.``, a Cyrillic ``а`` for
``a``) if they match better with that.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cgbench.records import Record
from cgbench.text.form_sample import FormSample
from cgbench.text.marks import AT_WORDS, RUNS, SENTENCE, Mark, is_symbol
from cgbench.text.pieces import FEWEST_WORDS, LEAST_PARTS

LEAST_LINES = 0.3  # of the hypotheses have a symbol
HARDLY_ANY = 0.1  # of that, of the references
MOST_SYMBOLS = 5  # are tried
LEAST_GAIN = 0.02  # of the units of all references
LEAST_PER_LINE = 0.1  # times that a character in place of another occurs
MOST_EXCHANGED = 4  # characters of each text are tried
FEWEST_RIGHT = 3  # different words, if a letter stands for another (not only "für" for "for")
LEAST_LESS = 0.15  # of the units of the hypotheses are gone without a symbol

Units = Callable[[str], Counter[str]]
"""What a metric compares."""


class _Units(NamedTuple):
    """How many units hypotheses have, and how many of them match."""

    matching: int
    total: int


def foreign_symbol(hypotheses: FormSample, references: FormSample, units: Units) -> Mark | None:
    """A symbol of most hypotheses and of hardly any reference, without which they match better;
    None without one.

    :param references: one per hypothesis.
    """
    for symbol, count in _foreign_marks(hypotheses, references):
        pairs = zip(hypotheses.lines, references.lines, strict=True)
        affected = [pair for pair in pairs if symbol in pair[0]]
        if _matches_better_without(symbol, affected, units):
            return Mark(symbol, count, "hypotheses")
    return None


def _matches_better_without(symbol: str, pairs: Sequence[tuple[str, str]], units: Units) -> bool:
    """Whether undoing what added a symbol makes hypotheses match, or removes units that do not."""
    references = [units(reference) for _, reference in pairs]
    least_gain = max(1, LEAST_GAIN * sum(map(Counter.total, references)))
    before = _units_of([hypothesis for hypothesis, _ in pairs], references, units)
    for repair in _repairs(symbol):
        after = _units_of([repair(hypothesis) for hypothesis, _ in pairs], references, units)
        gain, less = after.matching - before.matching, before.total - after.total
        if gain >= least_gain or (gain >= 0 and less >= LEAST_LESS * before.total):
            return True
    return False


def _repairs(symbol: str) -> Iterator[Callable[[str], str]]:
    """What a program may have done that adds a symbol, undone."""
    escaped = re.escape(symbol)
    yield lambda line: line.replace(symbol, "")
    yield lambda line: re.sub(f" ?{escaped} ?", "", line)
    yield lambda line: line.replace(symbol, " ")
    yield lambda line: line.replace(" ", "").replace(symbol, " ")


def _units_of(
    hypotheses: Sequence[str], references: Sequence[Counter[str]], units: Units
) -> _Units:
    """The units of hypotheses."""
    texts = list(map(units, hypotheses))
    pairs = zip(texts, references, strict=True)
    matching = sum((text & reference).total() for text, reference in pairs)
    return _Units(matching, sum(map(Counter.total, texts)))


def _foreign_marks(hypotheses: FormSample, references: FormSample) -> list[tuple[str, int]]:
    """The most frequent symbols of most lines, and runs of marks at or in words, that the
    references hardly have; with the number of lines that have them.
    """
    runs, of_references = _runs_of(hypotheses), _runs_of(references)
    least = max(FEWEST_WORDS, LEAST_PARTS * hypotheses.counts.total())
    foreign_runs = {
        run
        for run, count in runs.most_common(MOST_SYMBOLS)
        if count >= least and of_references[run] <= HARDLY_ANY * count and not _is_text(run)
    }
    marks = {*filter(is_symbol, hypotheses.characters), *foreign_runs}
    # Of marks in equally many lines, a run before the symbols that it consists of.
    longest_first = sorted(marks, key=lambda mark: (-len(mark), mark))
    lines = Counter({mark: hypotheses.lines_with(mark) for mark in longest_first})
    return [
        (mark, count)
        for mark, count in lines.most_common(MOST_SYMBOLS)
        if count >= max(1, LEAST_LINES * hypotheses.size)
        and references.lines_with(mark) <= HARDLY_ANY * count
    ]


def _is_text(run: str) -> bool:
    """Whether a run of marks is what people write at words or between them."""
    return all(mark in AT_WORDS or mark in SENTENCE for mark in run)


def _runs_of(text: FormSample) -> Counter[str]:
    """How often each run of marks occurs at or in words."""
    counts: Counter[str] = Counter()
    for word, count in text.marked_counts.items():
        for run in RUNS.findall(word):
            counts[run] += count
    return counts


class Exchange(Record):
    """A character of ``lines`` hypotheses for which the references have another."""

    character: str
    expected: str
    lines: int


def exchanged_character(
    hypotheses: FormSample, references: FormSample, units: Units
) -> Exchange | None:
    """The exchange without which hypotheses match best; None without one.

    :param references: one per hypothesis.
    """
    of_hypotheses, of_references = (
        Counter("".join(text.lines)) for text in (hypotheses, references)
    )
    foreign = _only_of_one(of_hypotheses, of_references, hypotheses.size)
    missing = _only_of_one(of_references, of_hypotheses, references.size)
    if not foreign:
        return None
    reference_units = [units(reference) for reference in references.lines]
    least_gain = max(1, LEAST_GAIN * sum(map(Counter.total, reference_units)))
    best, best_gain = None, 0
    for character in foreign:
        affected = [
            (line, expected_units)
            for line, expected_units in zip(hypotheses.lines, reference_units, strict=True)
            if character in line
        ]
        for expected in (*missing, *_compatible(character)):
            right = _units_of_exchange(character, expected, affected, units)
            gain = right.total()
            is_chance = character.isalpha() and len(right) < FEWEST_RIGHT
            if gain >= max(least_gain, best_gain + 1) and not is_chance:
                best, best_gain = Exchange(character, expected, len(affected)), gain
    return best


def _units_of_exchange(
    character: str, expected: str, pairs: Sequence[tuple[str, Counter[str]]], units: Units
) -> Counter[str]:
    """The units that match only with an exchange.

    :param pairs: hypotheses, and the units of their references.
    """
    right: Counter[str] = Counter()
    for line, expected_units in pairs:
        before, after = units(line), units(line.replace(character, expected))
        right += (after & expected_units) - (before & expected_units)
    return right


def _only_of_one(counts: Counter[str], others: Counter[str], lines: int) -> Sequence[str]:
    """The most frequent characters of a text that the other text hardly has."""
    return [
        character
        for character, count in counts.most_common()
        if count >= max(1, LEAST_PER_LINE * lines)
        and others[character] <= HARDLY_ANY * count
        and not character.isspace()
    ][:MOST_EXCHANGED]


def _compatible(character: str) -> list[str]:
    """The ordinary form of a full-width character or a ligature."""
    ordinary = unicodedata.normalize("NFKC", character)
    return [ordinary] if ordinary != character else []
