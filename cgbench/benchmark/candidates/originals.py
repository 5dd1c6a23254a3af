"""The original lines of pairs, found by their places in the pool.

Pairs are selected in the normalised form of their text, and published as their files have them:
byte for byte, without the line end. If the user says that a pool is tokenised (``detokenize``), its
original is the text without tokenisation.

The lines of a pool that is used in place have been read with the text of the pairs. Another pool
(compressed, a table, normalised text) is read once more, up to the last line that is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from cgbench.benchmark.candidates.row_texts import SideTexts
from cgbench.errors import InputError
from cgbench.text.corpus import ParallelText
from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.normalisation import Normalisation
from cgbench.text.tokenizers import detokenizer


def original_pairs(
    specs: Sequence[CorpusSpec],
    pools: Sequence[ParallelText],
    rows: Mapping[str, np.ndarray],
    sides: Sequence[SideTexts],
    normalisation: Normalisation,
) -> tuple[list[str], list[str]]:
    """The sources and targets of pairs as in their files.

    :param specs: the corpora of the pool as the user named them.
    :param pools: the same as they were scanned.
    :param rows: of the pairs by column of the scan: ``pool`` and ``line`` (from 0).
    :param sides: the text of the pairs as it was scanned.
    :raises InputError: a corpus cannot be read.
    """
    originals = np.full((2, len(rows["line"])), "", object)
    for corpus, (spec, pool) in enumerate(zip(specs, pools, strict=True)):
        corpus_rows = np.flatnonzero(rows["pool"] == corpus)
        if _in_place(spec, pool):
            texts = [
                _decoded(file.path, [side.lines[row] for row in corpus_rows.tolist()])
                for file, side in zip((pool.source, pool.target), sides, strict=True)
            ]
            pairs = [*zip(*texts, strict=True)]
        else:
            pairs = _read_lines(spec, rows["line"][corpus_rows])
        for side in (0, 1):
            publish = _publisher(normalisation, side)
            originals[side, corpus_rows] = [publish(pair[side]) for pair in pairs]
    sources, targets = originals.tolist()
    return sources, targets


def _in_place(spec: CorpusSpec, pool: ParallelText) -> bool:
    """Whether the files of the user were scanned themselves."""
    return spec.is_plain and tuple(spec.paths) == (pool.source.path, pool.target.path)


def _decoded(path: Path, lines: Sequence[bytes]) -> list[str]:
    try:
        return b"\n".join(lines).decode().split("\n")[: len(lines)]
    except UnicodeDecodeError:
        raise InputError(f"{path}: the file has changed while it was read; run again") from None


def _read_lines(spec: CorpusSpec, numbers: np.ndarray) -> list[Pair]:
    """The pairs with line ``numbers``."""
    needed = {*numbers.tolist()}
    pairs = islice(read_pairs(spec), max(needed, default=-1) + 1)
    pair_of_line = {line: pair for line, pair in enumerate(pairs) if line in needed}
    return [pair_of_line[line] for line in numbers.tolist()]


def _publisher(normalisation: Normalisation, side: int) -> Callable[[str], str]:
    """A function from a line of a file to the line that is published."""
    if not normalisation.detokenize:
        return lambda line: line.rstrip("\r")
    detokenize = detokenizer(normalisation.languages[side])
    return lambda line: detokenize(line.rstrip("\r"))


def original_of(pair: Pair, normalisation: Normalisation) -> Pair:
    """The pair as it is published, from that of its file."""
    source, target = (_publisher(normalisation, side)(pair[side]) for side in (0, 1))
    return source, target
