"""Train an n-gram language model: count, smooth, write. What ``cgbench lm train`` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.errors import InputError
from cgbench.lm.counts import LONGEST, read_corpus, sort_places
from cgbench.lm.kenlm_binary import ORDERS
from cgbench.lm.smoothing import FALLBACK, Smoothing
from cgbench.machine import check_memory
from cgbench.text.word_counts import estimate_words

SUFFIXES = (".arpa", ".binary")
BYTES_A_WORD = {".arpa": 27, ".binary": 35}  # of the text, in memory; measured for order 5 in docs/performance.md


@dataclass(frozen=True)
class Trained:
    """What a model was made of, as JSON, and what its user should know, a line each."""

    figures: dict[str, Any]
    warnings: list[str]


def train(
    corpus: Path,
    out: Path,
    *,
    order: int = 5,
    prune: Sequence[int] = (0,),
    min_count: int = 1,
    skip_symbols: bool = False,
    fallback: tuple[float, float, float] = FALLBACK,
    jobs: int = 1,
) -> Trained:
    """Train an interpolated modified Kneser-Ney model and write it to ``out``, as ``.arpa`` or ``.binary``.

    :param corpus: a text, a sentence a line (.gz, .zst too), or ``TABLE:COLUMN``; ``-`` is standard input.
    :param prune: as for lmplz: a threshold an order, rising from 0, the last one for all further orders; n-grams that
        occur so often or less in the text are dropped.
    :param min_count: words that occur fewer times are ``<unk>``.
    :param skip_symbols: take ``<s>``, ``</s>``, ``<unk>`` in the text for white space instead of refusing it.
    :param fallback: discounts for the orders whose counts do not give any.
    :param jobs: threads; they change no byte.
    :raises InputError: the corpus cannot be read or is empty, or a value does not fit.
    """
    from cgbench.lm.arpa import kept_ngrams, write_arpa
    from cgbench.lm.kenlm_binary import write_binary

    thresholds = _check(out, order, prune, fallback)
    if (words := estimate_words(corpus)) is not None:
        remedy = "train on a part of the text, or on a machine with more"
        check_memory(f"{corpus}: a model of about {words:,} words", BYTES_A_WORD[out.suffix] * words, remedy)
    text = read_corpus(corpus, min_count=min_count, skip_symbols=skip_symbols)
    model = Smoothing(text, sort_places(text, order, jobs), thresholds, fallback, jobs)
    (write_arpa if out.suffix == ".arpa" else write_binary)(model, out)
    fallen = [number for number, figures in enumerate(model.orders, 1) if figures.problem]
    figures = {
        "out": str(out),
        "corpus": str(corpus),
        "sha256": text.sha256,
        "tokens": text.tokens,
        "sentences": text.sentences,
        "unknown_tokens": int(text.counts[0]),
        "skipped_symbols": text.skipped,
        "order": order,
        "ngrams": kept_ngrams(model),
        "pruned": [figures.nodes - figures.kept for figures in model.orders],
        "discounts": [list(figures.discounts) for figures in model.orders],
        "fallback": fallen,
        "signature": _signature(thresholds, min_count, skip_symbols, fallback if fallen else None),
    }
    return Trained(figures, _warnings(model, text.skipped))


def _check(out: Path, order: int, prune: Sequence[int], fallback: Sequence[float]) -> list[int]:
    """Check what can be checked before the work; the threshold of each order."""
    if out.suffix not in SUFFIXES:
        raise InputError(f"{out}: the name must end in .arpa (text) or .binary (KenLM's binary format)")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: there is no folder {out.parent}; make it first")
    if out.is_dir():
        raise InputError(f"{out}: a folder, where the model should be written")
    if not 1 <= order <= LONGEST:
        raise InputError(f"--order {order}: it must be from 1 to {LONGEST}")
    if out.suffix == ".binary" and order not in ORDERS:
        raise InputError(
            f"{out}: KenLM's binary files hold orders {ORDERS[0]} to {ORDERS[-1]}, not {order}; "
            f"write {out.stem}.arpa instead"
        )
    shown = " ".join(map(str, prune))
    if not prune or len(prune) > order:
        raise InputError(f"--prune {shown!r}: one threshold an order is needed, such as '0 0 1', at most {order}")
    if prune[0] != 0:
        raise InputError(f"--prune {shown!r}: the first threshold must be 0; to drop rare words use --min-count")
    if any(first > second for first, second in pairwise(prune)):
        raise InputError(f"--prune {shown!r}: the thresholds must not fall from one order to the next")
    if len(fallback) != 3 or any(not 0 <= value <= most for most, value in enumerate(fallback, 1)):
        shown = " ".join(map(str, fallback))
        raise InputError(f"--discount-fallback {shown!r}: three discounts are needed, at most 1, 2 and 3: '0.5 1 1.5'")
    return [*prune, *[prune[-1]] * (order - len(prune))]


def _signature(thresholds: list[int], min_count: int, skip: bool, fallback: Sequence[float] | None) -> str:
    parts = ["lm:mkn", f"order:{len(thresholds)}", "prune:" + ",".join(map(str, thresholds))]
    parts += [f"min_count:{min_count}"] if min_count > 1 else []
    parts += ["skip_symbols:yes"] if skip else []
    parts += ["fallback:" + ",".join(map(str, fallback))] if fallback else []
    return "|".join([*parts, f"v:{__version__}"])


def _warnings(model: Smoothing, skipped: int) -> list[str]:
    warnings = [
        f"order {order}: {figures.problem}, so that it has no discounts of its own; those of --discount-fallback "
        f"are used ({' '.join(map(str, figures.discounts))}). The corpus is small or repeats itself"
        for order, figures in enumerate(model.orders, 1)
        if figures.problem
    ]
    if skipped:
        warnings.append(f"{skipped:,} times <s>, </s> or <unk> in the text were taken for white space")
    if model.highest not in ORDERS:
        warnings.append(f"the kenlm package reads orders {ORDERS[0]} to {ORDERS[-1]}, not {model.highest}")
    return warnings
