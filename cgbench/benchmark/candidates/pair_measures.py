"""Scores of a pair as a whole, from the scores of its two sides: the best measures of noise (docs/how-to/noise.md).

``dual_cross_entropy`` is the dual conditional cross-entropy of Junczys-Dowmunt, "Dual Conditional Cross-Entropy
Filtering of Noisy Parallel Corpora" (WMT 2018), section 2: how unlikely the sides are given each other, and how far the
two directions disagree about that. ``joint_cross_entropy`` is the negative logarithm of P(source) P(target | source), a
word: a language model says how likely the source is, the ensemble how likely the given translation. Neither needs a
threshold or a weight that would have to be learned from known noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

REFERENCE_LIKELIHOOD = "reference_pe_stu"  # -log probability of the given translation, a token
REVERSE_LIKELIHOOD = "reverse_pe_stu"
DUAL, JOINT = "dual_cross_entropy", "joint_cross_entropy"
NEEDS = {
    REVERSE_LIKELIHOOD: "an ensemble of the other direction",
    DUAL: "an ensemble of the other direction",
    JOINT: "a language model of the source",
}


def pair_measures(columns: Mapping[str, Sequence[Any]], perplexity_of: str | None) -> dict[str, list[float]]:
    """Those of a table of candidates for which it has what they are made of; in nats.

    :param columns: by name.
    :param perplexity_of: the side that the column ``perplexity`` is of.
    """
    import numpy as np

    found = {}
    if REVERSE_LIKELIHOOD in columns:
        forward, back = (np.array(columns[name], np.float64) for name in (REFERENCE_LIKELIHOOD, REVERSE_LIKELIHOOD))
        found[DUAL] = (np.abs(forward - back) + (forward + back) / 2).tolist()
    if perplexity_of == "source" and "reference_log_prob" in columns:
        names = ("perplexity", "reference_log_prob", "source_length", "target_length")
        perplexity, log_prob, source, target = (np.array(columns[name], np.float64) for name in names)
        # Words, and the end of each side; the length of the target in subwords depends on the merges.
        found[JOINT] = (((source + 1) * np.log(perplexity) - log_prob) / (source + target + 2)).tolist()
    return found
