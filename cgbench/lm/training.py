"""Train an n-gram language model (``cgbench lm train``): count, smooth, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.argument_types import File, as_path
from cgbench.errors import InputError
from cgbench.lm.counts import LONGEST, read_corpus, sort_places
from cgbench.lm.kenlm_binary import ORDERS
from cgbench.lm.smoothing import FALLBACK, Smoothing
from cgbench.machine import check_memory, usable_cores
from cgbench.requests import KW_ONLY, accepts, option, request
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
    min_count: int = option(default=1, help="Minimum count of a word; rarer words become <unk>", least=1, group="Model")
    jobs: int | None = option(
        default=None, help="Number of threads, which does not change the output [default: all cores]", least=1,
        group="Execution",
    )  # fmt: skip


@accepts(LmRequest)
def train(request: LmRequest) -> Trained:
    """Train an interpolated modified Kneser-Ney model, the same as KenLM's lmplz, and write it.

    :raises InputError: the corpus cannot be read or is empty, or an option is invalid.
    """
    from cgbench.lm.arpa import ngram_counts, write_arpa
    from cgbench.lm.kenlm_binary import write_binary

    corpus, out, jobs = as_path(request.corpus), as_path(request.out), request.jobs or usable_cores()
    order, min_count = request.order, request.min_count
    _check(out, order)
    if (words := estimate_words(corpus)) is not None:
        remedy = "train on part of the text, or on a machine with more memory"
        check_memory(f"{corpus}: a model of about {words:,} words", BYTES_A_WORD[out.suffix] * words, remedy)
    text = read_corpus(corpus, min_count=min_count)
    model = Smoothing(text, sort_places(text, order, jobs), jobs)
    (write_arpa if out.suffix == ".arpa" else write_binary)(model, out)
    fallback_orders = [number for number, order in enumerate(model.orders, 1) if order.problem]
    figures = {
        "out": str(out),
        "corpus": str(corpus),
        "sha256": text.sha256,
        "tokens": text.tokens,
        "sentences": text.sentences,
        "unknown_tokens": int(text.counts[0]),
        "order": order,
        "ngrams": ngram_counts(model),
        "discounts": [list(each.discounts) for each in model.orders],
        "fallback": fallback_orders,
        "signature": _signature(order, min_count, bool(fallback_orders)),
    }
    return Trained(figures, _warnings(model))


def _check(out: Path, order: int) -> None:
    """Check the options before the work starts."""
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


def _signature(order: int, min_count: int, fallback: bool) -> str:
    parts = ["lm:mkn", f"order:{order}"]
    parts += [f"min_count:{min_count}"] if min_count > 1 else []
    parts += ["fallback:" + ",".join(map(str, FALLBACK))] if fallback else []
    return "|".join([*parts, f"v:{__version__}"])


def _warnings(model: Smoothing) -> list[str]:
    warnings = [
        f"order {number}: {order.problem}; the discounts {' '.join(map(str, order.discounts))} are used. "
        "The corpus may be small or repetitive"
        for number, order in enumerate(model.orders, 1)
        if order.problem
    ]
    if model.highest not in ORDERS:
        warnings.append(f"the kenlm package reads orders {ORDERS[0]} to {ORDERS[-1]}, not {model.highest}")
    return warnings
