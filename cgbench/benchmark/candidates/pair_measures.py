"""Measures of a pair as a whole, computed from those of its two sides. They detect noise best
(docs/how-to/noise.md).

``dual_cross_entropy`` is the dual conditional cross-entropy of Junczys-Dowmunt, "Dual Conditional
Cross-Entropy Filtering of Noisy Parallel Corpora" (WMT 2018), section 2: how unlikely the sides are
given each other, and how far the two directions disagree. ``joint_cross_entropy`` is the negative
logarithm of P(source) P(target | source) per word: a language model scores the source, the ensemble
the reference. Neither needs a threshold or weight tuned on known noise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

REFERENCE_LIKELIHOOD = "reference_pe_stu"  # -log probability of the reference, per token
REVERSE_LIKELIHOOD = "reverse_pe_stu"
DUAL, JOINT = "dual_cross_entropy", "joint_cross_entropy"
NEEDS = {
    REVERSE_LIKELIHOOD: "a reverse-direction ensemble",
    DUAL: "a reverse-direction ensemble",
    JOINT: "a language model of the source",
}


def pair_measures(
    columns: Mapping[str, Sequence[Any]], perplexity_of: str | None
) -> dict[str, list[float]]:
    """The pair measures, in nats, that can be computed from a table of candidates.

    :param columns: by name.
    :param perplexity_of: the side of the column ``perplexity``.
    """
    import numpy as np

    measures = {}
    if REVERSE_LIKELIHOOD in columns:
        forward, back = (
            np.array(columns[name], np.float64)
            for name in (REFERENCE_LIKELIHOOD, REVERSE_LIKELIHOOD)
        )
        measures[DUAL] = (np.abs(forward - back) + (forward + back) / 2).tolist()
    if perplexity_of == "source" and "reference_log_prob" in columns:
        names = ("perplexity", "reference_log_prob", "source_length", "target_length")
        perplexity, log_prob, source, target = (
            np.array(columns[name], np.float64) for name in names
        )
        # Per word and end of side: the length of the target in subwords would depend on the merges.
        measures[JOINT] = (
            ((source + 1) * np.log(perplexity) - log_prob) / (source + target + 2)
        ).tolist()
    return measures
