"""64-bit hashes of the words of lines and pairs, by which lines are found again and drawn."""

from collections.abc import Iterable, Sequence

import numpy as np

from cgbench.text.blocks import join_blocks


def content_of(sources: Sequence[str], targets: Sequence[str]) -> np.ndarray:
    """The ``content`` [pairs] uint64 of pairs, as in a scan."""
    return pair_hash(line_hashes(sources), line_hashes(targets))


def line_hashes(lines: Iterable[str]) -> np.ndarray:
    """The hash of the words of each line, uint64 ``[lines]``."""
    from cgbench.text import word_kernels

    hashes = [np.empty(0, np.uint64)]
    for block in join_blocks(lines):
        count = block.count_lines()
        hashes.append(np.empty(count, np.uint64))
        word_kernels.hash_lines(block.buffer, block.size, np.empty(count + 1, np.int64), hashes[-1])
    return np.concatenate(hashes)


def pair_hash(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The ``content`` of pairs, from the hashes of the words of each side."""
    return mix(source * np.uint64(0x9E3779B97F4A7C15) + target)


def mix(values: np.ndarray) -> np.ndarray:
    """Scatter uint64 values, one to one (Steele et al. 2014, SplitMix64's finaliser)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
