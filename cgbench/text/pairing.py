"""Pairs that are no pairs: shifted, swapped or copied sides, other scripts, wrong encodings.

Each check is a cheap signal on a sample of a corpus (:mod:`cgbench.text.pair_sample`), whose order
and line numbers are known. A check gives the first line that it concerns, or nothing. The
thresholds leave room for the noise of real corpora: a few wrong pairs are normal.
"""

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass

import numpy as np

from cgbench.text.damage import repair_mojibake
from cgbench.text.pair_sample import PairSample, different
from cgbench.text.shifts import find_shift

LEAST_LINES = 10
MOST_SHARE = 0.05
"""Share of the sampled pairs above which a fault is no longer noise."""
MOJIBAKE_SHARE = 0.02
EDITED = 0.3  # mean likeness of pairs from which on both sides are of one language
ORIENTED = 2.0  # log odds of each side that tell a swapped pair
FIRST = 64  # pairs that tell the languages of a corpus without a training corpus
ROUNDS = 3
ABOUT_HALF = 0.25
CLEARLY = 1.25
GROWN = 256  # longest pairs that tell the languages where the beginning does not


@dataclass(frozen=True)
class Fault:
    """A fault: what it is and the remedy, in words for a message, and its first line."""

    text: str
    line: int
    remedy: str = "fix or remove these pairs"


def find_faults(sample: PairSample, training: PairSample | None = None) -> list[Fault]:
    """The faults of the pairs of a corpus.

    :param training: a sample of the training corpus, if that is another.
    """
    if not sample:
        return []
    checks = (
        _shifted(sample),
        _swaps(sample, training),
        _copies(sample),
        *(_other_script(sample, training or sample, side) for side in (0, 1)),
        _share(
            sample,
            [any(map(_is_mojibake, pair)) for pair in sample.pairs],
            "were decoded from UTF-8 by another encoding (mojibake)",
            MOJIBAKE_SHARE,
        ),
    )
    return [fault for fault in checks if fault]


def _shifted(sample: PairSample) -> Fault | None:
    """The fault of one side that is some lines ahead."""
    shift = find_shift(sample)
    if shift is None:
        return None
    ahead, behind = ("target", "source") if shift.by < 0 else ("source", "target")
    lines = f"{abs(shift.by)} line{'s' * (abs(shift.by) > 1)}"
    return Fault(
        f"the {ahead} is {lines} ahead of the {behind}",
        shift.first,
        f"the {ahead} lacks lines there",
    )


def _share(
    sample: PairSample, wrong: np.ndarray | list[bool], text: str, most: float = MOST_SHARE
) -> Fault | None:
    """The fault of pairs that are wrong by themselves, if they are too many."""
    is_wrong = np.asarray(wrong, bool)
    count = int(is_wrong.sum())
    if count < LEAST_LINES or count <= most * len(is_wrong):
        return None
    return Fault(
        f"{count:,} of {len(is_wrong):,} pairs that were checked {text}",
        sample.lines[_first_row(is_wrong, most)],
    )


def _first_row(is_wrong: np.ndarray, most: float) -> int:
    """The first row of the stretch that has the most wrong rows beyond the share of noise: single
    ones before it are noise.
    """
    begin, excess = 0, 0.0
    first, largest = 0, 0.0
    for row, excess_of_row in enumerate((is_wrong - most).tolist()):
        if excess <= 0:
            begin, excess = row, 0.0
        excess += excess_of_row
        if excess > largest:
            first, largest = begin, excess
    return first


def _copies(sample: PairSample) -> Fault | None:
    """The fault of equal sides, unless the sides are of one language, as in corpora of edits, where
    some texts need none.
    """
    sides = zip(*sample.word_lists, strict=True)
    equal = np.array([source == target for source, target in sides])
    if not equal.all() and _likeness(sample)[~equal].mean() > EDITED:
        return None
    is_long = sample.words[0].lengths > 3
    return _share(sample, equal & is_long, "have the same text on both sides")


def _likeness(sample: PairSample) -> np.ndarray:
    """The share of the words of each pair that are on both sides."""
    size = len(sample.vocabulary)
    source, target = (different(words.rows * size + words.numbers) for words in sample.words)
    both = np.append(source, target)
    on_sides, in_pair = (
        np.bincount(words // size, minlength=len(sample)) for words in (both, different(both))
    )
    likeness: np.ndarray = (on_sides - in_pair) / in_pair.clip(min=1)
    return likeness


def _is_mojibake(text: str) -> bool:
    return not text.isascii() and repair_mojibake(text) != text


# Scripts.


def _script(character: str) -> str:
    """The script of a letter; empty for other characters. Scripts of one language are one."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA") else name


def _scripts(sample: PairSample, side: int) -> list[str]:
    """The script of most letters of each text; empty if it has few letters or no such script."""
    counts = sample.count_characters(side, _script)
    counts.pop("", None)
    if not counts:
        return [""] * len(sample)
    names, letters = [*counts], np.array([*counts.values()])
    total, most = letters.sum(axis=0), letters.max(axis=0)
    is_clear = (total >= 5) & (most > 0.6 * total)
    return [
        names[number] if clear else ""
        for number, clear in zip(letters.argmax(axis=0).tolist(), is_clear.tolist(), strict=True)
    ]


def _other_script(sample: PairSample, training: PairSample, side: int) -> Fault | None:
    """Lines of a side in another script than that of the training corpus."""
    usual = Counter(_scripts(training, side))
    del usual[""]
    if not usual:
        return None
    script = usual.most_common(1)[0][0]
    name = ("source", "target")[side]
    return _share(
        sample,
        [text_script not in ("", script) for text_script in _scripts(sample, side)],
        f"have a {name} in another script than {script.capitalize()}",
    )


# Sides of the other language.


def _swaps(sample: PairSample, training: PairSample | None) -> Fault | None:
    """Pairs whose sides are swapped, by the words of the training corpus; in that itself, by the
    words of its beginning.
    """
    if training:
        odds = _odds(_count_words(training, np.zeros(len(training), bool)))
        odds_of_word = dict(zip(training.vocabulary, odds.tolist(), strict=True))
        odds = np.array([odds_of_word.get(word, 0.0) for word in sample.vocabulary])
    else:
        odds = _separated(sample, _odds(_beginning(sample)))
        grown = _separated(sample, _odds(_grown(sample)))
        if _separation(sample, grown) > CLEARLY * _separation(sample, odds):
            odds = grown
    return _share(sample, _are_swapped(sample, odds), "have source and target swapped")


def _count_words(sample: PairSample, swapped: np.ndarray) -> np.ndarray:
    """How often each word is in the language of the sources and in that of the targets, if some
    pairs are ``swapped``: int64 ``[2, vocabulary]``.
    """
    size = len(sample.vocabulary)
    counts = np.zeros(2 * size, np.int64)
    for side, words in enumerate(sample.words):
        language = np.where(swapped, 1 - side, side)[words.rows]
        counts += np.bincount(language * size + words.numbers, minlength=2 * size)
    return counts.reshape(2, size)


def _odds(counts: np.ndarray, words: np.ndarray | slice = slice(None)) -> np.ndarray:
    """The log odds of words to be of the sources' language; 0 of those that are in neither."""
    source, target = counts[:, words]
    source_size, target_size = counts.sum(axis=1) + 1
    odds = np.log((source + 0.5) / (target + 0.5)) + math.log(target_size / source_size)
    result: np.ndarray = np.where(source + target > 0, odds, 0)
    return result


def _sentence_odds(sample: PairSample, odds: np.ndarray) -> list[np.ndarray]:
    """The log odds of each source, and of each target, to be of the sources' language."""
    return [
        np.bincount(words.rows, odds[words.numbers], minlength=len(sample))
        for words in sample.words
    ]


def _are_swapped(sample: PairSample, odds: np.ndarray) -> np.ndarray:
    """Whether both sides of each pair are of the other's language."""
    source, target = _sentence_odds(sample, odds)
    swapped: np.ndarray = (source < -ORIENTED) & (target > ORIENTED)
    return swapped


def _separation(sample: PairSample, odds: np.ndarray) -> float:
    """The log odds that distinguish the sides of all pairs, whatever their order."""
    source, target = _sentence_odds(sample, odds)
    return float(np.abs(source - target).sum())


def _separated(sample: PairSample, odds: np.ndarray) -> np.ndarray:
    """The odds of words by the pairs that are like these, and by those that are when swapped.

    Most pairs are right; where about as many are swapped, those at the beginning are.
    """
    for _ in range(ROUNDS):
        odds = _odds(_count_words(sample, _are_swapped(sample, odds)))
    swapped = _are_swapped(sample, odds)
    is_about_half = ABOUT_HALF <= swapped.mean() <= 1 - ABOUT_HALF
    judged = swapped[:FIRST] if is_about_half else swapped
    return -odds if 2 * judged.sum() > len(judged) else odds


def _beginning(sample: PairSample) -> np.ndarray:
    """The counts of :func:`_count_words` in the first pairs."""
    counts = np.zeros((2, len(sample.vocabulary)), np.int64)
    for language_counts, words in zip(counts, sample.words, strict=True):
        np.add.at(language_counts, words.numbers[words.rows < FIRST], 1)
    return counts


def _grown(sample: PairSample) -> np.ndarray:
    """The same in the longest pairs, each turned so that it fits the longer ones: where half of the
    pairs are swapped at random, no part of the corpus tells them.
    """
    counts = np.zeros((2, len(sample.vocabulary)), np.int64)
    sources, targets = sample.words
    longest = np.argsort(-(sources.lengths + targets.lengths), kind="stable")[:GROWN]
    for row in longest.tolist():
        source, target = sources.of(row), targets.of(row)
        if _odds(counts, source).sum() < 0 < _odds(counts, target).sum():
            source, target = target, source
        np.add.at(counts[0], source, 1)
        np.add.at(counts[1], target, 1)
    return counts
