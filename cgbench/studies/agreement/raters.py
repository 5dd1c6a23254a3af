"""How well raters agree: Krippendorff's alpha, and the measures of metrics for a person."""

from collections.abc import Iterator

import numpy as np

from cgbench.errors import require
from cgbench.studies.agreement.judged_outputs import mean_of_raters

FEWEST_SHARED = 10
"""Outputs that a rater must share with others to be compared with them."""


def krippendorff_alpha(ratings: np.ndarray) -> float:
    """Krippendorff's alpha of interval-scaled ratings (Hayes and Krippendorff 2007); NaN if no
    output has two ratings, or if all ratings are equal.

    :param ratings: ``[raters, systems, items]``, NaN where there is none.
    :raises InputError: the library krippendorff is not installed.
    """
    library = require("krippendorff", "people")
    units = ratings.reshape(len(ratings), -1)
    shared = (~np.isnan(units)).sum(axis=0) > 1
    if not shared.any() or len(np.unique(units[:, shared][~np.isnan(units[:, shared])])) < 2:
        return float("nan")
    return float(library.alpha(reliability_data=units[:, shared], level_of_measurement="interval"))


def raters_and_others(ratings: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each rater who shares outputs with others: the mean of the others where the rater judged,
    and the rater's judgements; both ``[systems, items]``.
    """
    for rater in range(len(ratings)):
        others = mean_of_raters(np.delete(ratings, rater, axis=0))
        shared = ~np.isnan(others) & ~np.isnan(ratings[rater])
        if shared.sum() >= FEWEST_SHARED and (shared.sum(axis=0) > 1).any():
            yield np.where(shared, others, np.nan), np.where(shared, ratings[rater], 0.0)
