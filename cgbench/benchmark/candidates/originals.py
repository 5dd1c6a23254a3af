"""The original lines of pairs, found by their places in the pool.

Pairs are selected in the normalised form of their text, and published as their files have them:
byte for byte, without the line end. If the user says that a pool is tokenised (``detokenize``), its
original is the text without tokenisation.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.normalisation import Normalisation
from cgbench.text.tokenizers import detokenizer


def original_pairs(
    specs: Sequence[CorpusSpec], pool: np.ndarray, line: np.ndarray, normalisation: Normalisation
) -> tuple[list[str], list[str]]:
    """The sources and targets of pairs as in their files.

    :param specs: the corpora of the pool; ``pool`` and ``line``: int64 ``[pairs]``, the place of
        each pair, from 0.
    :raises InputError: a corpus cannot be read.
    """
    sources, targets = [""] * len(line), [""] * len(line)
    for corpus, spec in enumerate(specs):
        rows = np.flatnonzero(pool == corpus).tolist()
        row_of = {int(line[row]): row for row in rows}
        for file_line, pair in enumerate(islice(read_pairs(spec), max(row_of, default=-1) + 1)):
            if (row := row_of.get(file_line)) is not None:
                sources[row], targets[row] = original_of(pair, normalisation)
    return sources, targets


def original_of(pair: Pair, normalisation: Normalisation) -> Pair:
    """The pair as it is published, from that of its file."""
    source, target = (side.rstrip("\r") for side in pair)
    if normalisation.detokenize:
        first, second = map(detokenizer, normalisation.languages)
        return first(source), second(target)
    return source, target
