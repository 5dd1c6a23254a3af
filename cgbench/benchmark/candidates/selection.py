"""Which candidates become the benchmark: rank by uncertainty, cut the noise, draw (ReaCT, section
4).

The most uncertain candidates are mostly noise and are dropped; the benchmark is drawn at random
from the next most uncertain ones. The draw uses a seeded hash of each pair's content (or of its
document, to draw whole documents). So it depends neither on the order of the candidates nor on the
version of a random generator. Uncertainty only depends on the source, so candidates may be dropped
first for a high perplexity under a language model, or for a reference that the ensemble finds
unlikely (docs/how-to/noise.md), overall or among candidates of similar degree and length
(:func:`given_degree`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cgbench.benchmark.candidates.amounts import resolve_amount
from cgbench.benchmark.candidates.documents import DOCUMENT, hash_documents
from cgbench.benchmark.candidates.pair_measures import REFERENCE_LIKELIHOOD
from cgbench.errors import InputError
from cgbench.text.hashes import mix

STAGES = ("rest", "dropped", "window", "selected", "dropped_perplexity", "dropped_reference")
FIRST = (
    "dropped_perplexity",
    "dropped_reference",
)  # cuts before that of the most uncertain; not in every build
GIVEN_DEGREE = (  # suffix of a measure compared only among candidates of similar degree
    "_given_degree"
)
PARTS = 3  # equal parts by degree; each has as many by length
DROPS = ("drop", "drop_perplexity", "drop_reference")


def count_stages(stages: list[str]) -> dict[str, int]:
    """The number of candidates in each stage. ``window`` includes those that were drawn; empty
    stages of :data:`FIRST` are left out."""
    counts = {stage: stages.count(stage) for stage in STAGES}
    counts["window"] += counts["selected"]
    return {stage: count for stage, count in counts.items() if count or stage not in FIRST}


def select(
    uncertainty: np.ndarray,
    content: np.ndarray,
    *,
    drop: int,
    window: int,
    count: int,
    seed: int,
    first: Mapping[str, tuple[np.ndarray, int]] | None = None,
    documents: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Drop the ``drop`` most uncertain candidates and draw ``count`` of the next ``window``.

    :returns: ``rank`` [candidates]: place by uncertainty from 0, the most uncertain first;
        ``stage`` [candidates]: indices into :data:`STAGES` (``window``: candidates that were not
        drawn from the window).
    :param uncertainty: [candidates] float, higher is more uncertain; NaN ranks highest, as noise.
    :param content: [candidates] uint64, a hash of each pair's words: breaks ties and, with
        ``seed``, decides the draw.
    :param first: by stage (of :data:`FIRST`, in that order), values [candidates] and a number N:
        the N candidates with the highest values are dropped before the most uncertain. They keep
        their ranks.
    :param documents: [candidates] uint64, a hash of each pair's document: whole documents (what the
        window has of them) are drawn until there are at least ``count`` pairs.
    :raises ValueError: the numbers do not fit together (callers check them, with clearer messages).
    """
    total = len(uncertainty)
    first = first or {}
    if not (
        count <= window
        and sum(drop_count for _, drop_count in first.values()) + drop + window <= total
    ):
        raise ValueError(
            f"cannot drop {drop} and draw {count} of the next {window} from {total} candidates"
        )
    order = _from_the_highest(uncertainty, seeded_hash(content, seed, "rank"))
    rank = np.empty(total, np.int64)
    rank[order] = np.arange(total)
    stage = np.zeros(total, np.int8)
    for name, (values, drop_count) in first.items():
        worst = _from_the_highest(values, seeded_hash(content, seed, name.removeprefix("dropped_")))
        stage[worst[stage[worst] == 0][:drop_count]] = STAGES.index(name)
    order = order[stage[order] == 0]
    stage[order[:drop]] = STAGES.index("dropped")
    inside = order[drop : drop + window]
    stage[inside] = STAGES.index("window")
    draw = seeded_hash((content if documents is None else documents)[inside], seed, "draw")
    drawn = np.argsort(draw, kind="stable")[:count]
    if documents is not None and count:
        drawn = np.flatnonzero(draw <= draw[drawn[-1]])
    stage[inside[drawn]] = STAGES.index("selected")
    return rank, stage


def _from_the_highest(values: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """Places from the highest value down; NaN comes first."""
    return np.lexsort((tie, -np.where(np.isnan(values), np.inf, values)))


def given_degree(values: np.ndarray, groups: Sequence[np.ndarray]) -> np.ndarray:
    """How far each value is above those of candidates of similar degree and length, float64
    [candidates].

    Compositional sentences are also unlikely: the loss on good pairs rises with their degree, and a
    cut by the plain values would drop the highest degrees first. A value becomes its distance from
    the median of its part, in units of the part's interquartile range. A few noisy pairs do not
    move the median, and a part with more of them loses more; many do move it (:mod:`.noise_share`).
    The result is the same on every machine.

    :param values: [candidates] float, higher is more like noise; NaN stays above all others.
    :param groups: of :func:`parts_of_candidates`.
    """
    result = np.where(np.isnan(values), np.inf, values).astype(np.float64)
    for rows in groups:
        # Median and quartiles of the values that are known.
        known = np.sort(result[rows][np.isfinite(result[rows])])
        if len(known):
            quarters = [len(known) // 4, len(known) // 2, 3 * len(known) // 4]
            lower, middle, upper = known[quarters]
            result[rows] = (result[rows] - middle) / ((upper - lower) or 1.0)
    return result


def parts_of_candidates(
    columns: Mapping[str, Sequence[Any]], config: Mapping[str, Any]
) -> list[np.ndarray]:
    """The positions of candidates of similar degree and length: :data:`PARTS` equal parts by
    degree, each of them divided by length. A hash of each candidate orders equal ones.

    :param columns: by name: ``degree``, the length on the side of the degree, and ``content``.
    """
    tie = seeded_hash(np.array(columns["content"], np.uint64), config["seed"], "given_degree")
    groups = [np.arange(len(tie))]
    for values in (
        np.array(columns[name]) for name in ("degree", f"{config['degree_side']}_length")
    ):
        groups = [
            group
            for rows in groups
            for group in np.array_split(rows[np.lexsort((tie[rows], values[rows]))], PARTS)
        ]
    return [rows for rows in groups if len(rows)]


def seeded_hash(content: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """A uniformly distributed hash [n] uint64 of each content hash, one per ``seed`` and
    ``purpose``.
    """
    salt = int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:8], "little")
    return mix(content.astype(np.uint64) + np.uint64(salt))


def selection_sizes(config: Mapping[str, Any], candidates: int) -> dict[str, int]:
    """:data:`DROPS`, ``window`` and ``select`` of a configuration as numbers of candidates;
    ``sample`` of a stratified sample, if there is one."""
    sizes = {
        key: resolve_amount(key, config.get(key, 0), candidates)
        for key in (*DROPS, "window", "select")
    }
    if config.get("design") == "stratified":
        sizes["sample"] = resolve_amount(
            "sample", config.get("sample") or config["select"], candidates
        )
    return sizes


def selecting_measure(config: Mapping[str, Any]) -> str:
    """The column of the candidates by which a configuration ranks them."""
    return (
        str(config["uncertainty"])
        if config.get("select_by", "uncertainty") == "uncertainty"
        else "difficulty"
    )


def select_rows(
    columns: Mapping[str, Sequence[Any]], config: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[list[int], list[str]]:
    """:func:`select` for a table of candidates: the rank of each, from 1, and the name of its
    stage.

    :param columns: by name: ``content``, the measure ``config["uncertainty"]`` and the measures to
        drop by. A ``drop_by`` that ends in :data:`GIVEN_DEGREE` also needs the degree and the
        length of its side.
    :param sizes: of :func:`selection_sizes`.
    :raises InputError: there is no such measure.
    """

    def values_of(key: str, measure: str) -> np.ndarray:
        if measure not in columns:
            floats = {
                name
                for name, values in columns.items()
                if len(values) and isinstance(values[0], float)
            }
            known = sorted(floats - {"degree", "perplexity"})
            raise InputError(f"{key}: there is no measure {measure!r}; there is {', '.join(known)}")
        return np.array(columns[measure], np.float64)

    # What is dropped before the most uncertain: by perplexity, then by the likelihood of the
    # reference.
    first, content = {}, np.array(columns["content"], np.uint64)
    if sizes["drop_perplexity"]:
        first["dropped_perplexity"] = (
            values_of("drop_perplexity", "perplexity"),
            sizes["drop_perplexity"],
        )
    if sizes["drop_reference"]:
        name = config.get("drop_by", REFERENCE_LIKELIHOOD)
        measure = name.removesuffix(GIVEN_DEGREE)
        # Of a log-probability, the lowest are the least likely.
        values = (-1 if measure.endswith("log_prob") else 1) * values_of("drop_by", measure)
        if name != measure:
            values = given_degree(values, parts_of_candidates(columns, config))
        first["dropped_reference"] = (values, sizes["drop_reference"])
    # Rank the others, drop the most uncertain and draw from the next.
    by = config.get("select_by", "uncertainty")
    ranked = values_of(
        "uncertainty" if by == "uncertainty" else "select_by", selecting_measure(config)
    )
    rank, stages = select(
        -ranked if by == "easiness" else ranked,
        content,
        drop=sizes["drop"],
        window=sizes["window"],
        count=sizes["select"],
        seed=config["seed"],
        first=first,
        documents=hash_documents(columns[DOCUMENT]) if config.get("draw_by") == DOCUMENT else None,
    )
    return (rank + 1).tolist(), [STAGES[stage] for stage in stages]
