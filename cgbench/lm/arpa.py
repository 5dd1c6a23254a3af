"""Write a language model as an ARPA file, the standard text format for n-gram models.

The n-gram counts come first, then one section per order: log10 probability, words, and log10
back-off weight (not for the highest order). As in lmplz's files, ``<s>`` has probability 1, so that
scoring it has no effect, and n-grams that end in ``</s>`` have a log10 back-off of 0. There are no
comments, because some readers reject them. Numbers have six decimals; log10 of 0 is written as -99.
"""

import queue
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cgbench.files import atomic_path
from cgbench.lm.smoothing import Estimates, Smoothing, Stretch
from cgbench.machine import in_threads

_BUFFER = 4 << 20


def write_arpa(model: Smoothing, out: Path) -> None:
    """Estimate a model and write it to ``out`` atomically."""
    with atomic_path(out) as temporary, temporary.open("wb") as file:
        header = [f"ngram {order}={count}\n" for order, count in enumerate(ngram_counts(model), 1)]
        file.write(("\\data\\\n" + "".join(header)).encode())
        for estimates in model.estimate():
            file.write(f"\n\\{estimates.order}-grams:\n".encode())
            write_estimates = _write_words if estimates.order == 1 else _write_order
            write_estimates(model, estimates, file)
        file.write(b"\n\\end\\\n")


def ngram_counts(model: Smoothing) -> list[int]:
    """The number of n-grams of each order; words include ``<unk>`` and ``<s>``."""
    return [model.corpus.words, *(order.nodes for order in model.orders[1:])]


def _write_words(model: Smoothing, estimates: Estimates, file: BinaryIO) -> None:
    from cgbench.lm import arpa_kernels

    corpus = model.corpus
    probabilities, weights = model.of_words(estimates)
    logs = arpa_kernels.to_millionths(probabilities)
    backoffs = arpa_kernels.to_millionths(weights[: 0 if estimates.weights is None else None])
    spellings = arpa_kernels.spell_words(corpus.arena, corpus.starts, corpus.longest)
    buffer = np.empty(_BUFFER + corpus.longest, np.uint8)
    word = 0
    while word < corpus.words:
        word, filled = arpa_kernels.write_words(spellings, logs, backoffs, word, buffer)
        file.write(buffer[:filled].data)


def _write_order(model: Smoothing, estimates: Estimates, file: BinaryIO) -> None:
    from cgbench.lm import arpa_kernels

    corpus, sorting, order = model.corpus, model.sorting, estimates.order
    weights = np.empty(0, np.float32) if estimates.weights is None else estimates.weights
    capacity = max(_BUFFER, 4 * (order * (corpus.longest + 1) + arpa_kernels.LINE))
    spellings = arpa_kernels.spell_words(corpus.arena, corpus.starts, corpus.longest)
    ngrams = arpa_kernels.Ngrams(
        corpus.text,
        sorting.positions,
        sorting.shared,
        sorting.depths,
        order,
        estimates.probabilities,
        weights,
    )
    # Each thread fills buffers of a stretch; they are written in order, then used again.
    spare: queue.SimpleQueue[np.ndarray] = queue.SimpleQueue()

    def write(stretch: Stretch) -> list[tuple[np.ndarray, int]]:
        low, node, written = stretch.low, stretch.before[order], []
        while low < stretch.high:
            try:
                buffer = spare.get_nowait()
            except queue.Empty:
                buffer = np.empty(capacity, np.uint8)
            low, node, filled = arpa_kernels.write_ngrams(
                ngrams, spellings, low, stretch.high, node, buffer
            )
            written.append((buffer, filled))
        return written

    for written in in_threads(write, model.stretches, model.jobs, model.jobs + 2):
        for buffer, filled in written:
            file.write(buffer[:filled].data)
            spare.put(buffer)
