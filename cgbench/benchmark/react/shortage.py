"""Why a build has too little to choose from: the cause, and the remedy that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cgbench.benchmark.candidates.selection import DROPS, selection_sizes
from cgbench.benchmark.react.checks import lowerable
from cgbench.benchmark.react.request import BuildRequest
from cgbench.errors import InputError, argument
from cgbench.text.corpus import ParallelText
from cgbench.text.profile import is_unspaced
from cgbench.text.streams import read_lines


def check_enough(request: BuildRequest, counts: Mapping[str, int], train: ParallelText) -> None:
    """Stop before any model is trained when the pool has too little for what is asked.

    :param counts: pairs left at each stage.
    :raises InputError: it says what was left at each stage, where the others went, and what helps.
    """
    left = (
        f"pool {counts['pool']:,}, known words {counts['known_words']:,}, "
        f"within the length bounds {counts['within_length']:,}, candidates {counts['candidates']:,}"
    )
    if not counts["candidates"]:
        raise InputError(f"no candidate is left (left: {left}); {_why_none(request, counts, train)}")
    sizes = selection_sizes(request.as_dict(), counts["candidates"])
    for key in ("window", "select"):
        if not sizes[key]:
            raise InputError(
                f"{key}: {getattr(request, key)} of {counts['candidates']:,} candidates is none (left: {left})"
            )
    if request.until == "candidates":
        return
    drop = sum(sizes[key] for key in DROPS)
    if drop + sizes["window"] > counts["candidates"] or sizes["select"] > sizes["window"]:
        raise InputError(
            f"too few candidates to drop {drop:,} and draw {sizes['select']:,} of the next "
            f"{sizes['window']:,} (left: {left}); give a larger pool, or lower {lowerable(sizes)}"
        )


def _why_none(request: BuildRequest, counts: Mapping[str, int], train: ParallelText) -> str:
    if counts["within_length"]:
        return (
            "pairs that were seen (their source or target is a line of the training corpus or of an excluded one): "
            f"{counts['seen']:,}, repeats: {counts['duplicates']:,}; give a pool of other text"
        )
    for text in (train.source, train.target):
        if said := unspaced(text.path):
            return said
    if not counts["known_words"]:
        if counts["empty"] == counts["pool"]:
            return "every pair of the pool is empty on one side"
        return (
            f"pairs with a word that occurs less than {request.word_min_count} times in the training corpus: "
            f"{counts['rare_word']:,}, empty on one side: {counts['empty']:,}; the pool shares too few words with it: "
            "both need the same languages in the same order, the same tokenisation and case, or a lower word_min_count"
        )
    bounds = []
    if counts["too_short"]:
        bounds.append(f"shorter than min_length={request.min_length}: {counts['too_short']:,}")
    if counts["too_long"]:
        bounds.append(f"longer than max_length={request.max_length}: {counts['too_long']:,}")
    lower = counts["too_short"] >= counts["too_long"]
    return (
        f"no pair of the pool is within the length bounds: {', '.join(bounds)} (in words, on the {request.degree_side} "
        f"side); {'lower' if lower else 'raise'} it with {argument('min_length' if lower else 'max_length', 'N')}"
    )


def unspaced(path: Path) -> str:
    """What to say of a text in which nothing separates the words; nothing where something does."""
    if not is_unspaced(read_lines(path)):
        return ""
    return (
        f"{path} has no blanks between its words, and words are what blanks separate: put blanks between words "
        "(--tokenize zh=jieba, ja=ja, LANG=spacy:LANG) or characters (--tokenize zh=char)"
    )


def check_words(text: Path, words: int, min_count: int) -> None:
    """Check that a training text has words that are not rare.

    :param words: how many occur ``min_count`` times.
    :raises InputError: there is none, and why.
    """
    if words:
        return
    if not any(line.split() for line in read_lines(text)):
        raise InputError(f"{text}: there is no word in it; the corpus is empty")
    raise InputError(
        unspaced(text) or f"{text}: none of its words occurs {min_count} times; give more text, or lower word_min_count"
    )
