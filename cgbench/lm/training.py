"""Train an n-gram language model (``cgbench lm train``): count, smooth, write."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgbench import __version__
from cgbench.argument_types import File, as_path
from cgbench.errors import InputError
from cgbench.lm.counts import LONGEST, read_text_corpus, sort_positions
from cgbench.lm.smoothing import FALLBACK, Smoothing
from cgbench.machine import check_memory, usable_cores
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.text.word_counts import estimate_words

KENLM_ORDERS = range(2, 7)  # that the kenlm package reads by default
BYTES_A_WORD = 27  # peak memory; measured for order 5, docs/lab/performance.md


@dataclass(frozen=True)
class Trained:
    """Statistics of a training run, for JSON, and its warnings."""

    figures: dict[str, Any]
    warnings: list[str]


class LmRequest(Request):
    """What :func:`train_lm` is asked for."""

    corpus: File = option(
        help="Text, one sentence per line, or TABLE:COLUMN; -: standard input",
    )
    out: File = option(
        "--out",
        help="Model file, .arpa",
        group="Output",
    )
    _: KW_ONLY
    order: int = option(
        "--order",
        default=5,
        help="Length of the longest n-grams",
        least=1,
        most=LONGEST,
        unit="words",
        group="Model",
    )
    jobs: int | None = option(
        "--jobs",
        default=None,
        help="Number of threads, which does not change the output [default: all cores]",
        least=1,
        group="Execution",
    )


@accepts(LmRequest)
def train_lm(request: LmRequest) -> Trained:
    """Train an interpolated modified Kneser-Ney model, the same as KenLM's lmplz, and write it.

    :raises InputError: the corpus cannot be read or is empty, or an option is invalid.
    """
    from cgbench.lm.arpa import ngram_counts, write_arpa

    corpus, out, jobs = (
        as_path(request.corpus),
        as_path(request.out),
        request.jobs or usable_cores(),
    )
    order = request.order
    _check(out)
    if (words := estimate_words(corpus)) is not None:
        remedy = "train on part of the text, or on a machine with more memory"
        check_memory(f"{corpus}: a model of about {words:,} words", BYTES_A_WORD * words, remedy)
    text = read_text_corpus(corpus)
    model = Smoothing(text, sort_positions(text, order, jobs), jobs)
    write_arpa(model, out)
    fallback_orders = [length for length, counts in enumerate(model.orders, 1) if counts.problem]
    figures = {
        "out": str(out),
        "corpus": str(corpus),
        "sha256": text.sha256,
        "tokens": text.tokens,
        "sentences": text.sentences,
        "order": order,
        "ngrams": ngram_counts(model),
        "discounts": [list(counts.discounts) for counts in model.orders],
        "fallback": fallback_orders,
        "signature": _signature(order, bool(fallback_orders)),
    }
    return Trained(figures, _warnings(model))


def _check(out: Path) -> None:
    """Check the name of the file before the work starts."""
    if out.suffix != ".arpa":
        raise InputError(f"{out}: the name must end in .arpa")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: the folder {out.parent} does not exist; create it first")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")


def _signature(order: int, fallback: bool) -> str:
    items = ["lm:mkn", f"order:{order}"]
    items += ["fallback:" + ",".join(map(str, FALLBACK))] if fallback else []
    return "|".join([*items, f"v:{__version__}"])


def _warnings(model: Smoothing) -> list[str]:
    warnings = [
        f"order {length}: {counts.problem}; the discounts {' '.join(map(str, counts.discounts))}"
        " are used. The corpus may be small or repetitive"
        for length, counts in enumerate(model.orders, 1)
        if counts.problem
    ]
    if model.highest not in KENLM_ORDERS:
        least, most = KENLM_ORDERS[0], KENLM_ORDERS[-1]
        warnings.append(f"the kenlm package reads orders {least} to {most}, not {model.highest}")
    return warnings
