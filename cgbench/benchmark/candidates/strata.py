"""A stratified sample of all candidates, which can speak for them as the test set cannot.

Strata are formed by uncertainty, at equal steps of the cumulative square root of its frequency
(Dalenius and Hodges 1959, "Minimum Variance Stratification"), so the few most uncertain candidates
are strata of their own. The sample is divided among the strata equally, in proportion to their
size, or by Neyman's rule (1934), in proportion to size times standard deviation: that of the
sentence scores (chrF) of the ensemble's own translations, which stand in for those of the systems.
Two thirds of that sample are in proportion to size: a stratum in which the ensemble makes no
mistake still shows those of a system. Every stratum has at least two draws, so its variance can be
estimated (Cochran 1977, "Sampling Techniques", chapters 5 and 5A).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from cgbench.benchmark.candidates.inclusion import INCLUSION, inclusion_of
from cgbench.benchmark.candidates.selection import seeded_hash, selecting_measure

Allocation: TypeAlias = Literal["equal", "proportional", "neyman"]
STRATUM, SAMPLED, SAMPLE_INCLUSION, OWN_SCORE = (
    "stratum",
    "sampled",
    "sample_inclusion",
    "hypothesis_chrf",
)
COLUMNS = (INCLUSION, STRATUM, SAMPLED, SAMPLE_INCLUSION)  # of a release: about draws, not measures
FEWEST = 2  # draws per stratum
FLOOR = 2 / 3  # share of Neyman's sample that is in proportion to size
BINS = 100  # of the frequency of uncertainty


def strata_of(uncertainty: np.ndarray, rank: np.ndarray, strata: int) -> np.ndarray:
    """The stratum of each candidate, int64 ``[candidates]`` from 0: the most uncertain first. There
    may be fewer than asked for.

    :param uncertainty: values of any scale; NaN counts as the extreme of its rank.
    :param rank: places by uncertainty, each once.
    """
    order = np.argsort(rank)
    ordered = uncertainty[order]
    known = ordered[np.isfinite(ordered)]
    values = np.where(np.isfinite(ordered), ordered, known[0] if len(known) else 0.0)
    low, step = values.min(), (values.max() - values.min()) / BINS or 1.0
    bin_of_value = np.minimum((values - low) / step, BINS - 1).astype(np.int64)
    roots = np.sqrt(np.bincount(bin_of_value, minlength=BINS))
    middle = (np.cumsum(roots) - roots / 2) / roots.sum()
    block = np.minimum(middle * strata, strata - 1).astype(np.int64)[bin_of_value]
    stratum_of = np.empty(len(rank), np.int64)
    stratum_of[order] = np.cumsum(np.r_[0, np.diff(block) != 0])
    return stratum_of


def allocate(sizes: np.ndarray, deviations: np.ndarray, total: int, how: Allocation) -> np.ndarray:
    """The number of draws from each stratum, int64 ``[strata]``; their sum is ``total``.

    Shares become whole numbers so that the variance is the smallest for them (Wright 2012, "The
    Equivalence of Neyman Optimum Allocation for Sampling and Equal Proportions for Apportioning the
    U.S. House of Representatives").

    :param sizes: members of each stratum; ``deviations``: standard deviations in them, for
        ``neyman``. If all are 0, the allocation is proportional.
    :raises ValueError: ``total`` is too small for :data:`FEWEST` per stratum, or larger than the
        population.
    """
    shares = (np.ones(len(sizes)) if how == "equal" else sizes).astype(float)
    if how == "neyman" and deviations.any():
        shares = FLOOR * sizes / sizes.sum() + (1 - FLOOR) * sizes * deviations / (
            sizes @ deviations
        )
    low = np.minimum(sizes, FEWEST)
    if not low.sum() <= total <= sizes.sum():
        raise ValueError(f"{total} draws from {sizes.sum()} in {len(sizes)} strata")
    # Draw k + 1 of a stratum reduces the variance by its share squared / (k (k + 1)): the largest
    # come first.
    stratum = np.repeat(np.arange(len(sizes)), sizes - low)
    drawn = np.concatenate([np.arange(first, size) for first, size in zip(low, sizes, strict=True)])
    order = np.argsort(-shares[stratum] / np.sqrt(drawn * (drawn + 1.0)), kind="stable")
    return np.asarray(low + np.bincount(stratum[order[: total - low.sum()]], minlength=len(sizes)))


def draw_columns(
    columns: Mapping[str, Sequence[Any]], config: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, list[Any]]:
    """The columns of a release about its draws: ``inclusion``; and if there is a stratified sample,
    ``stratum`` (from 1), ``sampled`` and ``sample_inclusion``.

    :param columns: of :func:`.inclusion_of`; for a sample, the measure that ranks, ``rank``,
        ``content``, and :data:`OWN_SCORE` for Neyman's rule.
    :param sizes: of :func:`.selection_sizes`.
    """
    columns_of_draws = {INCLUSION: inclusion_of(columns, config, sizes["select"]).tolist()}
    if "sample" not in sizes:
        return columns_of_draws
    by, rank = (np.array(columns[name], np.float64) for name in (selecting_measure(config), "rank"))
    stratum = strata_of(by, rank, int(config.get("strata", 10)))
    pairs = np.bincount(stratum)
    how: Allocation = config.get("allocation", "neyman")
    deviations = (
        deviations_in(stratum, np.array(columns[OWN_SCORE], float))
        if how == "neyman"
        else np.ones(len(pairs))
    )
    draws = allocate(pairs, deviations, sizes["sample"], how)
    order = np.lexsort(
        (
            seeded_hash(np.array(columns["content"], np.uint64), int(config["seed"]), "sample"),
            stratum,
        )
    )
    position = np.arange(len(order)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    sampled = np.zeros(len(order), bool)
    sampled[order] = position < np.repeat(draws, pairs)
    inclusion = (draws / pairs)[stratum]
    return columns_of_draws | {
        STRATUM: (stratum + 1).tolist(),
        SAMPLED: sampled.tolist(),
        SAMPLE_INCLUSION: inclusion.tolist(),
    }


def deviations_in(stratum: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The standard deviation of values in each stratum, float64 ``[strata]``; 0 for one member."""
    values_by_stratum = [values[stratum == index] for index in range(int(stratum.max()) + 1)]
    return np.array(
        [members.std(ddof=1) if len(members) > 1 else 0.0 for members in values_by_stratum]
    )


def design_of(table: Any, counts: Mapping[str, int]) -> dict[str, Any]:
    """What each set of a release was drawn from, for the manifest: its ``population``, its number
    of ``pairs``, and how many were ``drawn``. The control set is matched to the test set, so it
    speaks for no population.

    :param table: every candidate (a pyarrow table); ``counts``: of the release.
    """
    design: dict[str, Any] = {
        "test": {"population": "window", "pairs": counts["window"], "drawn": counts["selected"]},
        **({"control": {"population": None}} if "control" in counts else {}),
    }
    if SAMPLED in table.column_names:
        drawn, strata = sum(table[SAMPLED].to_pylist()), max(table[STRATUM].to_pylist())
        design["sample"] = {
            "population": "candidates",
            "pairs": table.num_rows,
            "drawn": drawn,
            "strata": strata,
        }
    return design
