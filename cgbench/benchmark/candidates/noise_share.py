"""How many candidates are noise, by kind, and which cut that asks for.

A cut given degree compares candidates with the median of their part (:func:`.parts_of_candidates`).
Where noise is not rare in a part, it moves that median, and the part's noise is kept
(docs/lab/noise.md). So the share of noise is estimated first. Its kinds are counted apart, so that
no pair counts twice, and added:

- **misaligned**: sources with the references of any other sources show how unlikely such pairs are.
  Half of this noise is less likely than their median, so the share of candidates that are is
  doubled.
- **similar**: references of similar sources, by the same rule. What is misaligned, and the share of
  clean pairs that are as unlikely, are subtracted.
- **cut**: references that are shorter by a fifth than usual for their source, and than the
  ensemble's translation, less those that are as much longer.
- **copies**: references equal to their source.
- **scrambled**: sources whose words are in no known order, with a reference that fits.

Wrong numbers, wrong words and negations are seen by none of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.amounts import AUTO, resolve_amount
from cgbench.benchmark.candidates.noise_measures import NOISE
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.benchmark.candidates.selection import GIVEN_DEGREE, parts_of_candidates
from cgbench.benchmark.candidates.uncertainty import REFERENCE

SHUFFLED = "shuffled"
"""The key of the median of shuffled pairs in the quality of the ensemble."""
RARE = 1 / 8
"""Up to this share of noise in every part, a cut may be given degree."""
SHORTER = 4 / 5
"""A reference below this share of its usual length is cut."""
LEAST_DROPPED, DROPPED_PER_NOISE = 1 / 100, 2
"""What ``drop_reference=auto`` drops: a share without noise, and more per share of noise, since
some kinds are seen in part.
"""
FAR_ABOVE = 1.5
"""Noise by this factor above what is dropped asks for a larger cut."""
KIND_TEXTS = {
    "misaligned": "misaligned",
    "similar": "references of similar sources",
    "cut": "cut references",
    "copies": "copied sources",
    "scrambled": "scrambled sources",
}


def choose_cut(
    columns: Mapping[str, Sequence[Any]],
    config: Mapping[str, Any],
    quality: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """The estimated noise, and the cut: ``share``, and that of each of its ``kinds`` (None: not
    seen); the largest share in a ``part`` of similar degree and length, without scrambled sources,
    whose references move no median; the measure to ``cut`` by, which is that of ``drop_by``, given
    degree only where noise is rare in every part; and how many to ``drop``.

    :param columns: of the candidates, with the likelihoods of their references.
    :param quality: of the ensemble (:mod:`cgbench.benchmark.candidates.ensemble_quality`).
    :returns: None if no references are dropped, or if the ensemble did not score shuffled pairs
        (external models) or has learned too little to tell them from others.
    """
    if not config.get("drop_reference") or quality is None or not sees_noise(quality):
        return None
    kinds = noise_kinds(columns, quality)
    noise_share = total(kinds)
    of_parts = [
        noise_kinds(columns, quality, rows) | {"scrambled": None}
        for rows in parts_of_candidates(columns, config)
    ]
    largest = max(map(total, of_parts))
    measure = str(config.get("drop_by", REFERENCE_LIKELIHOOD))
    cut = measure.removesuffix(GIVEN_DEGREE) if largest > RARE else measure
    return {
        "share": noise_share,
        "kinds": kinds,
        "part": largest,
        "cut": cut,
        "drop": _drop(noise_share, config, len(columns["degree"])),
    }


def sees_noise(quality: Mapping[str, Any]) -> bool:
    """Whether the ensemble tells pairs that belong together from others."""
    measured = quality["candidates"]
    return not quality["warnings"] and None not in (measured.get(SHUFFLED), measured.get(NOISE))


def noise_kinds(
    columns: Mapping[str, Any],
    quality: Mapping[str, Any],
    rows: np.ndarray | None = None,
) -> dict[str, float | None]:
    """The estimated share of noise by kind among the candidates, or among some ``rows`` of them;
    None for a kind that is not seen. Copies among ``rows`` count as misaligned.
    """
    losses = np.array(columns[REFERENCE_LIKELIHOOD], np.float64)
    shuffled, measures = quality["candidates"][SHUFFLED], quality["candidates"][NOISE]
    similar, is_whole = measures["similar"], rows is None
    rows = np.arange(len(losses)) if rows is None else rows

    def beyond(level: float, copies: str) -> float:
        """The share that is less likely, without copies."""
        share = float((losses[rows] > level).mean())
        return max(0.0, share - measures[copies]) if is_whole else share

    misaligned = min(1.0, 2 * beyond(shuffled, "copies_beyond_shuffled"))
    of_similar = None
    if similar is not None:
        others = misaligned * measures["shuffled_beyond_similar"]
        others += measures["held_out_beyond_similar"]
        of_similar = 2 * max(0.0, beyond(similar, "copies_beyond_similar") - others)
    fits = losses <= (shuffled if similar is None else similar)
    return {
        "misaligned": misaligned,
        "similar": of_similar,
        "cut": _cut_references(columns, rows, fits),
        "copies": measures["copies"] if is_whole else 0.0,
        "scrambled": measures["scrambled"],
    }


def total(kinds: Mapping[str, float | None]) -> float:
    """The share of noise of all kinds that are seen."""
    return min(1.0, sum(share or 0.0 for share in kinds.values()))


def _cut_references(columns: Mapping[str, Any], rows: np.ndarray, fits: np.ndarray) -> float:
    """The share of references that are cut, among ``rows`` whose references fit their sources.

    The lengths of translations vary as far in both directions; cut ones are short only. Lengths are
    compared by ratios, not logarithms, whose last digits differ between machines.
    """

    def numbers(name: str) -> np.ndarray:
        return np.array(columns[name], np.float64)

    def tokens(side: str) -> np.ndarray:
        """Their number: the total log-probability over the mean one; 1 if that is unknown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = np.round(np.abs(numbers(f"{side}log_prob") / numbers(f"{side}pe_stu")))
        return np.where(np.isfinite(counts), np.maximum(counts, 1.0), 1.0)

    ratios = [
        numbers("target_length") / np.maximum(numbers("source_length"), 1.0),
        tokens(REFERENCE) / tokens(""),
    ]
    relative = np.stack([ratio / np.median(ratio) for ratio in ratios])
    shorter, longer = (relative < SHORTER).all(axis=0), (relative > 1 / SHORTER).all(axis=0)
    return max(0.0, float((shorter & fits)[rows].mean() - (longer & fits)[rows].mean()))


def _drop(noise_share: float, config: Mapping[str, Any], candidates: int) -> int:
    """How many references to drop."""
    amount = config["drop_reference"]
    most = resolve_amount("drop_reference", amount, candidates)
    if amount != AUTO:
        return most
    return min(most, round((LEAST_DROPPED + DROPPED_PER_NOISE * noise_share) * candidates))


def with_cut(config: Mapping[str, Any], noise: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of the selection, with the cut that was chosen."""
    if noise is None:
        return dict(config)
    return {**config, "drop_by": noise["cut"], "drop_reference": noise["drop"]}


def noise_text(noise: Mapping[str, Any], config: Mapping[str, Any], candidates: int) -> str:
    """The estimate and the cut in a sentence, with advice if the cut is far too small."""
    measure, cut = config.get("drop_by", REFERENCE_LIKELIHOOD), noise["cut"]
    kinds = [f"{KIND_TEXTS[kind]} {share:.1%}" for kind, share in noise["kinds"].items() if share]
    unseen = [KIND_TEXTS[kind] for kind, share in noise["kinds"].items() if share is None]
    text = f"about {noise['share']:.1%} of the candidates are noise"
    text += f" ({', '.join(kinds)})" if kinds else ""
    text += f"; not seen: {', '.join([*unseen, 'wrong words and numbers'])}"
    text += f"; at most {noise['part']:.1%} for a degree and length"
    if cut != measure:
        text += f": more than {RARE:.1%}, so references are dropped by {cut}, not given degree"
    else:
        text += f"; references are dropped by {cut}"
    text += f" ({noise['drop']:,})"
    if noise["share"] * candidates > FAR_ABOVE * noise["drop"]:
        text += f"; to drop as many as are noise, set drop_reference={noise['share']:.2f}"
    return text
