"""Is a test set harder than its control set? chrF of the ensemble on both, with an interval.

Both sets pass the same filters and have the same lengths and words; only degree and uncertainty
select the test set. Where the ensemble that selected translates it no worse, the selection did
little.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.measure.metrics.bleu_chrf_ter import ChrF

SAMPLES = 1_000
TAILS = (2.5, 97.5)  # percentiles


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """The statistics of each pair, whose sums make chrF: float64 ``[pairs, statistics]``."""
    statistics: np.ndarray = ChrF([[line] for line in references]).statistics(hypotheses)
    return statistics.astype(np.float64)


def chrf_gap(test: np.ndarray, control: np.ndarray, seed: int) -> dict[str, float]:
    """How much higher chrF of the control set is than that of the test set, ``points``, with the
    95% percentile interval of the bootstrap over the pairs of both: ``low`` and ``high``.

    :param test: as :func:`chrf_statistics` returns them; ``control``: the same.
    """
    metric, generator = ChrF([]), np.random.default_rng(seed)

    def resampled(statistics: np.ndarray) -> np.ndarray:
        pairs = len(statistics)
        counts = generator.multinomial(pairs, [1 / pairs] * pairs, SAMPLES)
        scores: np.ndarray = metric.compute(counts @ statistics)[:, 0]
        return scores

    def score(statistics: np.ndarray) -> float:
        return float(metric.compute(statistics.sum(axis=0, keepdims=True))[0, 0])

    low, high = np.percentile(resampled(control) - resampled(test), TAILS)
    return {"points": score(control) - score(test), "low": float(low), "high": float(high)}


def no_harder(quality: Mapping[str, Any] | None) -> str | None:
    """What says that a test set is not shown to be harder than its control set, or None.

    The rule: the interval of the difference reaches 0.

    :param quality: of the ensemble, with ``harder_by`` if it translated a control set.
    """
    gap = (quality or {}).get("harder_by")
    if not gap or gap["low"] > 0:
        return None
    return (
        "the test set is not shown to be harder than its control set: chrF of the ensemble differs"
        f" by {gap['points']:.1f} points (95% interval {gap['low']:.1f} to {gap['high']:.1f})"
    )
