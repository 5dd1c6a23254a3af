"""How many candidates are not translations of each other, and which cut that share asks for.

A cut given degree compares candidates with the median of their part (:func:`.parts_by_degree`).
Where noise is not rare in a part, it moves that median, and the part's noise is kept
(docs/lab/noise.md). So the share is estimated first: a sample of the sources is scored with the
references of other sources, which shows how unlikely pairs are that do not belong together. Half of
such noise is less likely than their median; twice the share of candidates that are is the estimate.
It counts pairs that do not belong together, so damaged sources and small errors count only in part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, parts_of_candidates

SHUFFLED = "shuffled"
"""The key of the median of shuffled pairs in the quality of the ensemble."""
RARE = 1 / 8
"""Up to this share of noise in every part, a cut may be given degree."""


def choose_cut(
    columns: Mapping[str, Sequence[Any]],
    config: Mapping[str, Any],
    quality: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """The estimated ``share`` of noise, the largest in a ``part`` of similar degree and length, and
    the measure to ``cut`` by: that of ``drop_by``, given degree only where noise is rare in every
    part.

    :param columns: of the candidates, with the likelihoods of their references.
    :param quality: of the ensemble (:mod:`cgbench.benchmark.candidates.ensemble_quality`).
    :returns: None if no references are dropped, or if the ensemble did not score shuffled pairs
        (external models) or has learned too little to tell them from others.
    """
    shuffled = quality["candidates"].get(SHUFFLED) if quality and not quality["warnings"] else None
    if not config.get("drop_reference") or shuffled is None:
        return None
    unlikely = np.array(columns[REFERENCE_LIKELIHOOD], np.float64) > shuffled
    noise_share, *noise_shares = (
        min(1.0, 2 * float(unlikely[rows].mean()))
        for rows in (slice(None), *parts_of_candidates(columns, config))
    )
    measure = str(config.get("drop_by", REFERENCE_LIKELIHOOD))
    cut = measure.removesuffix(GIVEN_DEGREE) if max(noise_shares) > RARE else measure
    return {"share": noise_share, "part": max(noise_shares), "cut": cut}


def noise_text(noise: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The estimate and the cut in a sentence."""
    measure, cut = config.get("drop_by", REFERENCE_LIKELIHOOD), noise["cut"]
    text = (
        f"about {noise['share']:.1%} of the candidates are as unlikely as shuffled pairs, at most"
        f" {noise['part']:.1%} for a degree and length"
    )
    if cut != measure:
        return f"{text}: more than {RARE:.1%}, so references are dropped by {cut}, not given degree"
    return f"{text}; references are dropped by {cut}"
