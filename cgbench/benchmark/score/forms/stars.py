"""What the stars of a table mean."""

from collections.abc import Iterable

from cgbench.benchmark.score.comparison.results import Tested
from cgbench.benchmark.score.comparison.scored_systems import ScoredSystems
from cgbench.benchmark.score.comparison.significance import MARKS

STARS = ", ".join(f"{mark} p < {bound}" for bound, mark in reversed(MARKS))
"""What stars mean."""


def legend(scored: ScoredSystems, scores: Iterable[Tested]) -> str:
    """The meaning of the stars of ``scores``; whether Holm's method has changed any of their
    p-values.
    """
    adjusted = any(
        (score.p_value, score.p_calibrated) != (score.p_holm, score.p_calibrated_holm)
        for score in scores
        if score.p_holm is not None
    )
    by_holm = ", p adjusted by Holm's method, intervals not" if adjusted else ""
    return f"{STARS} ({scored.star_test}{by_holm})"
