"""Train an n-gram language model (``cgbench lm train``): count, smooth, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from cgbench import __version__
from cgbench.errors import InputError, argument
from cgbench.lm.counts import LONGEST, read_corpus, sort_places
from cgbench.lm.kenlm_binary import ORDERS
from cgbench.lm.smoothing import FALLBACK, Smoothing
from cgbench.machine import check_memory, usable_cores
from cgbench.requests import KW_ONLY, File, accepts, as_path, option, request
from cgbench.text.word_counts import estimate_words

SUFFIXES = (".arpa", ".binary")
BYTES_A_WORD = {".arpa": 27, ".binary": 35}  # peak memory; measured for order 5, docs/lab/performance.md


@dataclass(frozen=True)
class Trained:
    """Statistics of a training run, for JSON, and its warnings."""

    figures: dict[str, Any]
    warnings: list[str]


@request
class LmRequest:
    """What :func:`train` is asked for."""

    corpus: File = option(help="Text, one sentence per line, or TABLE:COLUMN; -: standard input", python_only=True)
    out: File = option(help="Model file: .arpa (text) or .binary (KenLM)", group="Output")
    _: KW_ONLY
    order: int = option(
        default=5, help="Length of the longest n-grams", least=1, most=LONGEST, unit="words", group="Model"
    )
    prune: list[int] = option(
        default=(0,), help="Drop n-grams up to this count: one threshold per order, rising from 0", least=0,
        metavar="'0 0 1'", group="Model",
    )  # fmt: skip
    min_count: int = option(default=1, help="Minimum count of a word; rarer words become <unk>", least=1, group="Model")
    skip_symbols: bool = option(
        default=False, help="Treat <s>, </s> and <unk> in the text as white space", group="Advanced"
    )
    fallback: list[float] = option(
        default=FALLBACK, help="Discounts for orders whose counts determine none", least=0, most=3,
        metavar="'D1 D2 D3'", flag="discount-fallback", group="Advanced",
    )  # fmt: skip
    jobs: int | None = option(
        default=None, help="Number of threads, which does not change the output [default: all cores]", least=1,
        group="Execution",
    )  # fmt: skip


@accepts(LmRequest)
def train(request: LmRequest) -> Trained:
    """Train an interpolated modified Kneser-Ney model, the same as KenLM's lmplz, and write it.

    :raises InputError: the corpus cannot be read or is empty, or an option is invalid.
    """
    from cgbench.lm.arpa import kept_ngrams, write_arpa
    from cgbench.lm.kenlm_binary import write_binary

    corpus, out, jobs = as_path(request.corpus), as_path(request.out), request.jobs or usable_cores()
    order, min_count, skip_symbols = request.order, request.min_count, request.skip_symbols
    fallback = cast("tuple[float, float, float]", tuple(request.fallback))
    thresholds = _check(out, order, request.prune, fallback)
    if (words := estimate_words(corpus)) is not None:
        remedy = "train on part of the text, or on a machine with more memory"
        check_memory(f"{corpus}: a model of about {words:,} words", BYTES_A_WORD[out.suffix] * words, remedy)
    text = read_corpus(corpus, min_count=min_count, skip_symbols=skip_symbols)
    model = Smoothing(text, sort_places(text, order, jobs), thresholds, fallback, jobs)
    (write_arpa if out.suffix == ".arpa" else write_binary)(model, out)
    fallback_orders = [number for number, order in enumerate(model.orders, 1) if order.problem]
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
        "pruned": [each.nodes - each.kept for each in model.orders],
        "discounts": [list(each.discounts) for each in model.orders],
        "fallback": fallback_orders,
        "signature": _signature(thresholds, min_count, skip_symbols, fallback if fallback_orders else None),
    }
    return Trained(figures, _warnings(model, text.skipped))


def _check(out: Path, order: int, prune: Sequence[int], fallback: Sequence[float]) -> list[int]:
    """Check the options before the work starts; returns the threshold of each order."""
    if out.suffix not in SUFFIXES:
        raise InputError(f"{out}: the name must end in .arpa (text) or .binary (KenLM's binary format)")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; create it first")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    if out.suffix == ".binary" and order not in ORDERS:
        raise InputError(
            f"{out}: KenLM's binary files hold orders {ORDERS[0]} to {ORDERS[-1]}, not {order}; "
            f"write {out.stem}.arpa instead"
        )
    shown = " ".join(map(str, prune))
    if not prune or len(prune) > order:
        raise InputError(f"{argument('prune', shown)}: needs one threshold per order, such as '0 0 1', at most {order}")
    if prune[0] != 0:
        raise InputError(
            f"{argument('prune', shown)}: the first threshold must be 0; to drop rare words use {argument('min_count')}"
        )
    if any(first > second for first, second in pairwise(prune)):
        raise InputError(f"{argument('prune', shown)}: the thresholds must not fall from one order to the next")
    if len(fallback) != 3 or any(not 0 <= value <= most for most, value in enumerate(fallback, 1)):
        shown = " ".join(map(str, fallback))
        raise InputError(
            f"{argument('fallback', shown)}: needs three discounts, at most 1, 2 and 3, such as '0.5 1 1.5'"
        )
    return [*prune, *[prune[-1]] * (order - len(prune))]


def _signature(thresholds: list[int], min_count: int, skip: bool, fallback: Sequence[float] | None) -> str:
    parts = ["lm:mkn", f"order:{len(thresholds)}", "prune:" + ",".join(map(str, thresholds))]
    parts += [f"min_count:{min_count}"] if min_count > 1 else []
    parts += ["skip_symbols:yes"] if skip else []
    parts += ["fallback:" + ",".join(map(str, fallback))] if fallback else []
    return "|".join([*parts, f"v:{__version__}"])


def _warnings(model: Smoothing, skipped: int) -> list[str]:
    warnings = [
        f"order {number}: {order.problem}; the discounts of {argument('fallback')} are used "
        f"({' '.join(map(str, order.discounts))}). The corpus may be small or repetitive"
        for number, order in enumerate(model.orders, 1)
        if order.problem
    ]
    if skipped:
        warnings.append(f"special symbols in the text (<s>, </s>, <unk>), treated as white space: {skipped:,}")
    if model.highest not in ORDERS:
        warnings.append(f"the kenlm package reads orders {ORDERS[0]} to {ORDERS[-1]}, not {model.highest}")
    return warnings
