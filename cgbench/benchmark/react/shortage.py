"""Why a build has too little to choose from: the cause, and the remedy that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from cgbench.benchmark.candidates.amounts import parse_amount, resolve_amount
from cgbench.benchmark.candidates.selection import DROPS, selection_sizes
from cgbench.benchmark.react.config import ReactConfig
from cgbench.errors import InputError, argument
from cgbench.text.corpus import ParallelText
from cgbench.text.profile import is_unspaced
from cgbench.text.streams import read_lines


def check_shares(config: ReactConfig, pool: int | None = None) -> None:
    """Check, before anything runs, that what is to be dropped and drawn can fit into the candidates.

    :param pool: pairs of the pool, where they have been counted: there are no more candidates than that.
    :raises InputError: it cannot, however many candidates there are.
    """
    amounts = {key: parse_amount(key, getattr(config, key)) for key in _AMOUNTS}
    shares = {key: amount for key, amount in amounts.items() if amount < 1}
    cut = (*DROPS, "window")
    if sum(shares.get(key, Fraction(0)) for key in cut) > 1:
        named = ", ".join(f"{key}={getattr(config, key)}" for key in cut if shares.get(key))
        raise InputError(f"{named}: more than all candidates together; lower one of them")
    if "select" in shares and "window" in shares and shares["select"] > shares["window"]:
        raise InputError(f"select={config.select}: more than window={config.window}, which it is drawn from")
    if amounts["candidates"] < 1 and pool is None:
        return
    most = resolve_amount("candidates", config.candidates, pool or 0)
    most = most if pool is None else min(most, pool)
    sizes = selection_sizes(config.as_dict(), most)
    drop = sum(sizes[key] for key in DROPS)
    # A window given as a share shrinks with the candidates, a number stays: what does not fit here fits nowhere.
    if drop + sizes["window"] > most or ("select" not in shares and sizes["select"] > sizes["window"]):
        have = f"the {pool:,} pairs of the pool" if pool is not None and most == pool else f"{most:,} candidates"
        raise InputError(
            f"{have} are too few to drop {drop:,} and draw {sizes['select']:,} of the next {sizes['window']:,}; "
            f"give a larger pool, or lower {_names(sizes)}"
        )


def _names(sizes: Mapping[str, int]) -> str:
    """What can be lowered: what drops something, the window and the draw."""
    return f"{', '.join(key for key in DROPS if sizes[key] or key == 'drop')}, window and select"


_AMOUNTS = ("candidates", *DROPS, "window", "select")


def check_enough(config: ReactConfig, counts: Mapping[str, int], until: str, train: ParallelText) -> None:
    """Stop before any model is trained when the pool has too little for what is asked.

    :param counts: pairs left at each stage.
    :raises InputError: it says what was left at each stage, where the others went, and what helps.
    """
    left = (
        f"pool {counts['pool']:,}, known words {counts['known_words']:,}, "
        f"within the length bounds {counts['within_length']:,}, candidates {counts['candidates']:,}"
    )
    if not counts["candidates"]:
        raise InputError(f"no candidate is left (left: {left}); {_why_none(config, counts, train)}")
    sizes = selection_sizes(config.as_dict(), counts["candidates"])
    for key in ("window", "select"):
        if not sizes[key]:
            raise InputError(
                f"{key}: {getattr(config, key)} of {counts['candidates']:,} candidates is none (left: {left})"
            )
    if until == "candidates":
        return
    drop = sum(sizes[key] for key in DROPS)
    if drop + sizes["window"] > counts["candidates"] or sizes["select"] > sizes["window"]:
        raise InputError(
            f"too few candidates to drop {drop:,} and draw {sizes['select']:,} of the next "
            f"{sizes['window']:,} (left: {left}); give a larger pool, or lower {_names(sizes)}"
        )


def _why_none(config: ReactConfig, counts: Mapping[str, int], train: ParallelText) -> str:
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
            f"pairs with a word that occurs less than {config.word_min_count} times in the training corpus: "
            f"{counts['rare_word']:,}, empty on one side: {counts['empty']:,}; the pool shares too few words with it: "
            "both need the same languages in the same order, the same tokenisation and case, or a lower word_min_count"
        )
    bounds = []
    if counts["too_short"]:
        bounds.append(f"shorter than min_length={config.min_length}: {counts['too_short']:,}")
    if counts["too_long"]:
        bounds.append(f"longer than max_length={config.max_length}: {counts['too_long']:,}")
    lower = counts["too_short"] >= counts["too_long"]
    return (
        f"no pair of the pool is within the length bounds: {', '.join(bounds)} (in words, on the {config.degree_side} "
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
